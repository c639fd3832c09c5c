// Breaks the build on purpose, one small edit at a time, and runs a proof on it: prove/money.mjs, or the one that the
// break names. A proof that does not fail then proves nothing.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'

/**
 * Each entry is a mistake that a developer could make. The proof in `proof` must notice it; without one, it is
 * prove/money.mjs under `plans`. One of the claims in `by` must fail. An edit is a text, its replacement, and its file
 * if that is not `file`.
 */
const BREAKS = [
  {
    name: 'believes-notifications',
    says: 'credits what a notification says, without asking the bank',
    file: 'http/callbacks.js',
    find: 'await ctx.hints.add({ provider, hints: paid, cause: currentSpan() });',
    replace: `await ctx.settlements.add(JSON.parse(body).pix.map((pix) => ({ provider, endToEndId: pix.endToEndId, txid: pix.txid,
      amountCents: Math.round(Number(pix.valor) * 100), occurredAt: new Date(pix.horario) })));`,
    plans: 'calm',
    scenarios: 24,
    by: ['invented', 'lost'],
  },
  {
    name: 'books-twice',
    says: 'a payment that is reported again is taken for another one',
    file: 'domain/deposits/book-payments.js',
    find: "end_to_end_id: ['text', ({ settlement }) => settlement.payment.endToEndId],",
    replace: "end_to_end_id: ['text', ({ settlement }) => settlement.payment.endToEndId + settlement.paymentId],",
    plans: 'calm',
    by: ['lost', 'invented'],
  },
  {
    name: 'stumbles-over-the-known',
    says: 'a payment that is reported again makes the whole batch fail',
    file: 'domain/deposits/settle.js',
    edits: [
      ['on conflict (end_to_end_id) do nothing', '', 'domain/deposits/book-payments.js'],
      ['received.filter((payment) => !recorded.has(payment.endToEndId))', 'received'],
    ],
    plans: 'calm',
    scenarios: 24,
    by: ['answers', 'lost'],
  },
  {
    name: 'takes-any-amount',
    says: 'a payment completes its charge whatever its amount',
    file: 'domain/deposits/settle.js',
    find: 'charge.valueCents !== payment.amountCents',
    replace: 'false',
    plans: 'calm',
    by: ['credited', 'sum'],
  },
  {
    name: 'unknown-is-failed',
    says: 'treats a charge with an unknown outcome as not made',
    file: 'domain/deposits/open-deposit.js',
    find: "outcome: error.outcome === 'unknown' ? 'unknown' : 'failed'",
    replace: "outcome: 'failed'",
    plans: 'waves',
    scenarios: 24,
    by: ['one-code', 'unpayable'],
  },
  {
    name: 'forgets-the-first-attempt',
    says: 'takes a failed second attempt for the outcome of the first',
    file: 'domain/deposits/open-deposit.js',
    find: 'mayExist ? asUnknown(caught) : caught',
    replace: 'caught',
    plans: 'calm',
    by: ['one-code', 'unpayable'],
  },
  {
    name: 'forgets-keys',
    says: 'idempotency keys are kept for no time at all',
    file: 'domain/deposits/intents.js',
    find: 'const IDEMPOTENCY_MS = 24 * 3_600_000;',
    replace: 'const IDEMPOTENCY_MS = 0;',
    plans: 'calm',
    by: ['one-code'],
  },
  {
    name: 'takes-used-keys',
    says: 'a request takes over the idempotency key of an earlier one, and opens a second deposit',
    file: 'domain/deposits/intents.js',
    find: /on conflict do nothing(\s+returning charge_id\s+\), named as)/,
    replace: `on conflict (account_id, key) do update set request_hash = excluded.request_hash, charge_id = excluded.charge_id,
      created_at = excluded.created_at$1`,
    plans: 'calm',
    by: ['one-code'],
  },
  {
    name: 'opens-without-a-check',
    says: 'a charge is stored, and nobody is told to ask about it later',
    file: 'domain/deposits/intents.js',
    find: / from opened(?=\s+\)\s+select \S+ as id from n)/,
    replace: ' from opened where false',
    plans: 'calm',
    by: ['audit', 'rest'],
  },
  {
    name: 'answers-from-memory',
    says: 'a deposit is answered with its code before the code is stored',
    file: 'domain/deposits/open-deposit.js',
    find: 'const isAccepted = await ctx.acceptances.add({ chargeId, provider: provider.name, emv, hasKey });',
    replace: 'const isAccepted = true;',
    plans: 'calm',
    by: ['answers', 'audit'],
  },
  {
    name: 'cancels-unasked',
    says: 'a deposit is called CANCELED before the bank has withdrawn it',
    file: 'domain/deposits/query-deposit.js',
    find: 'await providerNamed(ctx, charge.provider).cancel(charge.id, { onBehalfOf: accountId })',
    replace: "'withdrawn'",
    plans: 'calm',
    by: ['unpayable'],
  },
  {
    name: 'answers-too-early',
    says: 'a query answers before what it learned is in the books',
    file: 'domain/deposits/checks/check-charge.js',
    find: 'payments.length > 0 && (await ctx.settlements.add(payments, check))',
    replace: 'payments.length > 0 && !ctx.settlements.add(payments, check)',
    plans: 'drop',
    scenarios: 24,
    by: ['fresh', 'in-time'],
  },
  {
    name: 'expires-unasked',
    says: 'a deposit expires by the clock, and the bank is not asked once more',
    file: 'domain/deposits/checks/check-charge.js',
    find: 'const answer = await list.alone(() => bank.check(id, { onBehalfOf }));',
    replace:
      "const answer = ctx.now() > expiresAt ? 'absent' : await list.alone(() => bank.check(id, { onBehalfOf }));",
    plans: 'drop',
    scenarios: 60,
    by: ['in-time', 'fresh'],
  },
  {
    name: 'pays-out-the-fee',
    says: 'the account is credited the whole value, and the fee is booked besides',
    file: 'domain/deposits/book-payments.js',
    find: 'amount_cents - fee_cents as amount_cents',
    replace: 'amount_cents',
    plans: 'calm',
    by: ['sum', 'balances'],
  },
  {
    name: 'tells-nobody',
    says: 'a deposit is completed without its event',
    file: 'domain/deposits/book-payments.js',
    edits: [
      [/(2 \* place \+ 1\s+from kept where kind <> 'excepted')(?=\s+\), \$\{TELL\})/, '$1 and false'],
      [' || told !== events', ''],
    ],
    plans: 'calm',
    by: ['told', 'audit'],
  },
  {
    name: 'balance-before-the-wait',
    says: 'transfers continue from the balance that was read before another settlement ended',
    file: 'domain/ledger/ledger.js',
    find: 'move_balance(id, debits, credits) + debits - credits as cents',
    replace: `(select credits_cents - debits_cents from ledger_balances b where b.ledger_account_id = s.id)
      + 0 * move_balance(id, debits, credits) as cents`,
    proof: 'hints',
    by: ['audit'],
  },
  {
    name: 'keeps-what-was-delivered',
    says: 'a delivery that was made is looked for with another lease, so it never leaves the queue',
    file: 'domain/webhooks/attempts.js',
    find: 'd.leased_until = n.leased_until',
    replace: 'd.leased_until = n.leased_until - make_interval(secs => 1)',
    plans: 'calm',
    by: ['rest'],
  },
  {
    name: 'gives-up-at-once',
    says: 'a failed attempt ends its delivery, and is not retried',
    file: 'domain/webhooks/attempts.js',
    find: "outcome.kind === 'retry' ? new Date(at.getTime() + outcome.afterMs) : null",
    replace: 'null',
    plans: 'calm',
    scenarios: 60,
    by: ['told'],
  },
  {
    name: 'audits-no-transfers',
    says: 'the audit adds transfers up, and does not ask what each of them follows from: forged books pass',
    file: 'domain/audit/ledger.js',
    find: 'export const LEDGER_CHECKS = { transfer, balance,',
    replace: 'export const LEDGER_CHECKS = { balance,',
    proof: 'tamper',
    by: ['named'],
  },
  {
    name: 'forgets-doubt',
    says: 'a refund that may have been made is failed because a later request for it is refused',
    file: 'domain/refunds/run-refund.js',
    find: "failure === 'refused' && isOver",
    replace: "failure === 'refused'",
    proof: 'refunds',
    by: ['released', 'refunded'],
  },
  {
    name: 'believes-a-lagging-lookup',
    says: 'a refund whose answer was lost is failed because the repeat is refused and a lookup finds nothing',
    file: 'providers/http/provider.js',
    find: "isKnown &&= !saysTaken(reply) && found.kind === 'refused'",
    replace: "isKnown = !saysTaken(reply) && found.kind === 'refused' && found.status === 404",
    proof: 'refunds',
    by: ['released', 'refunded'],
  },
  {
    name: 'overlooks-refunds-made-again',
    says: 'a refund that the bank took back and made again stays undone',
    file: 'domain/refunds/external-refunds.js',
    find: "(n.status = 'failed') = (u.id is null)",
    replace: "(n.status = 'failed' and u.id is null)",
    proof: 'refunds',
    by: ['cash', 'again'],
  },
  {
    name: 'stumbles-over-the-malformed',
    says: 'one malformed entry in the bank’s list stops the sweep',
    file: 'providers/http/messages.js',
    find: 'if (!(error instanceof MalformedResponse))',
    replace: 'if (error)',
    plans: 'calm',
    by: ['list'],
  },
  {
    name: 'the-second-cookie',
    says: 'the list of sessions reads the cookies again, by a more lenient rule than the one that authorized',
    file: 'http/auth/sign-in-settings.js',
    find: 'listing, ({ session }) => listSessions(ctx, session)',
    replace: `listing, async ({ headers }) => {
        const { readVisitor } = await import('./session.js');
        const again = await readVisitor(ctx, { headers: { cookie: headers.cookie.replaceAll(/[\\s"]/g, '') } });
        return listSessions(ctx, again.session);
    }`,
    proof: 'session',
    by: ['one-session'],
  },
  {
    name: 'the-clock-ahead',
    says: 'the time is that of the machine, and not the database’s',
    file: 'db/clock.js',
    find: 'const databaseMs = await readClock(pool);',
    replace: 'const databaseMs = (await readClock(pool), wallMs());',
    proof: 'clock',
    by: ['future'],
  },
  {
    name: 'small-pages',
    says: 'reads the list of the bank in pages of ten',
    file: 'providers/http/limits.js',
    find: 'pageSize: 1_000',
    replace: 'pageSize: 10',
    proof: 'many',
    by: ['cheap'],
  },
  {
    name: 'answers-anybody',
    says: 'a completed deposit in memory is answered whoever asks',
    file: 'http/api/completed-answers.js',
    find: 'entry?.accountId === accountId ? entry.answer : undefined',
    replace: 'entry?.answer',
    proof: 'answers',
    by: ['own'],
  },
  {
    name: 'keeps-what-is-not-final',
    says: 'an expired or canceled deposit is kept in memory too, and stays so when it is paid late',
    file: 'http/api/deposits.js',
    find: "if (charge.status === 'COMPLETED')",
    replace: "if (charge.status !== 'PENDING')",
    proof: 'answers',
    by: ['final'],
  },
  {
    name: 'joins-a-read-in-flight',
    says: 'who asks while the same is being read gets what that read finds',
    file: 'db/shared-reads.js',
    find: 'return (read, key) => readerOf(read)(key);',
    replace: `const flights = new Map();
    return (read, key) => {
        const flight = flights.get(read.sql + key) ?? readerOf(read)(key).finally(() => flights.delete(read.sql + key));
        flights.set(read.sql + key, flight);
        return flight;
    };`,
    proof: 'answers',
    by: ['fresh'],
  },
  {
    name: 'remembers-a-query',
    says: 'a query of the same charge a moment ago is answered again',
    file: 'base/single-flight.js',
    edits: [
      ['current.then(land, land);', 'setTimeout(land, 1_000).unref();'],
      ['return flight.next;', 'return flight.current;'],
      [/flight\.next \?\?= .*/, ''],
    ],
    proof: 'answers',
    by: ['asked'],
  },
  {
    name: 'ends-checks-early',
    says: 'a check ends before its payment is settled, and not with it',
    file: 'domain/deposits/settlements.js',
    find: 'const settled = await transactOrders(core, async (tx, open) => {',
    replace: `await transactOrders(core, (tx) => endChecks(tx, items.flatMap(({ check }) => check ?? [])));
        const settled = await transactOrders(core, async (tx, open) => {`,
    proof: 'hints',
    by: ['credited'],
  },
  {
    name: 'overlooks-refunds',
    says: 'a notification of a payment in the books asks nothing, although it tells of a refund',
    file: 'domain/deposits/checks/check-queue.js',
    find: '(mentions_refunds or is_booked is not true)',
    replace: 'is_booked is not true',
    proof: 'hints',
    by: ['refunds'],
  },
  {
    name: 'asks-one-by-one',
    says: 'the bank is asked for each payment, however many wait',
    file: 'domain/deposits/checks/received-list.js',
    find: 'const FEW = 8;',
    replace: 'const FEW = Infinity;',
    proof: 'hints',
    by: ['cheap'],
  },
  {
    name: 'asks-nobody',
    says: 'a query answers what is stored, and calls that fresh',
    file: 'domain/deposits/query-deposit.js',
    find: 'await checkCharge(ctx, charge, { onBehalfOf: accountId });',
    replace: "{ outcome: 'unpaid' };",
    proof: 'hints',
    by: ['fresh'],
  },
  {
    name: 'replaces-without-withdrawing',
    says: 'the deposit of an order is canceled in the books alone, and another one made in its place',
    file: 'domain/deposits/orders.js',
    find: 'await withdraw(ctx, open);',
    replace: "await (await import('./charge-states.js')).markCanceled(ctx, open.id);",
    proof: 'orders',
    by: ['codes', 'held'],
  },
  {
    name: 'credits-an-order-twice',
    says: 'a deposit is credited although another one of its order was paid late',
    file: 'domain/deposits/settle.js',
    find: ' || charge.orderPaid',
    replace: '',
    proof: 'orders',
    by: ['held', 'audit'],
  },
  {
    name: 'ignores-limits-of-codes',
    says: 'a payment of a lasting code is credited although it is above the limit of the code',
    file: 'domain/deposits/code-payments.js',
    find: '(code.maxValueCents ?? amountCents)',
    replace: 'Infinity',
    proof: 'codes',
    by: ['held', 'audit'],
  },
  {
    name: 'credits-whoever-paid',
    says: 'a payment that the bank does not list under the number of its payer is confirmed all the same',
    file: 'providers/api-pix/payers.js',
    find: "again.isWhole ? 'mismatched' : 'unknown'",
    replace: "'matched'",
    proof: 'payers',
    by: ['credited', 'refunded'],
  },
  {
    name: 'keeps-numbers-of-payers',
    says: 'all digits of the number of a payer are kept, and not the last two',
    file: 'domain/core/payers.js',
    find: 'ending: number.slice(-2)',
    replace: 'ending: number',
    proof: 'payers',
    by: ['secret'],
  },
  {
    name: 'naive-reader',
    says: 'positions go to events with a later id than the last one, and those that were committed late get none',
    file: 'domain/history/number-pending.js',
    find: '(select * from unnumbered order by place limit $1) u',
    replace: `(
      select * from unnumbered
      where event_ids is null or event_ids[1] > coalesce(
        (select event_ids[1] from history_runs order by event_ids[1] desc limit 1), '00000000-0000-0000-0000-000000000000')
      order by place limit $1) u`,
    proof: 'history',
    by: ['once'],
  },
  {
    name: 'takes-reversals-for-refunds',
    says: 'what a bank returns by itself is taken for a refund that was asked for',
    file: 'domain/refunds/refund-states.js',
    find: "return isAskedFor ? null : (nature ?? 'other');",
    replace: 'return null;',
    proof: 'reversals',
    by: ['once', 'told', 'policy'],
  },
  {
    name: 'forgets-debts',
    says: 'a payment is available to an account that owes something',
    file: 'domain/deposits/book-payments.js',
    find: 'await payDebts(tx, now, booked.owing);',
    replace: '',
    proof: 'reversals',
    by: ['debt', 'audit'],
  },
  {
    name: 'reserves-without-looking',
    says: 'a payout is reserved whatever is available',
    file: 'domain/payouts/payout-states.js',
    find: 'await requireBalance(tx, available, wanted.valueCents, [movement]);',
    replace: '',
    proof: 'payouts',
    by: ['never', 'answers'],
  },
  {
    name: 'decides-again',
    says: 'a payout that has ended is decided on once more',
    file: 'domain/payouts/payouts.js',
    find: "payout.status === 'REQUESTED'",
    replace: 'true',
    proof: 'payouts',
    by: ['ended', 'answers'],
  },
  {
    name: 'forgets-roles',
    says: 'every member may do what an owner may',
    file: 'domain/accounts/sessions.js',
    find: '[...ROLES[row.role]]',
    replace: '[...ROLES.owner]',
    proof: 'session',
    by: ['roles'],
  },
  {
    name: 'mails-at-once',
    says: 'an e-mail is made for whatever is new, and not one an hour',
    file: 'domain/notices/tell-notices.js',
    find: "greatest(excluded.due_at, followers.moved_at + $6 * interval '1 ms')",
    replace: "greatest(excluded.due_at, followers.moved_at + 0 * $6 * interval '1 ms')",
    proof: 'notices',
    by: ['digest'],
  },
  {
    name: 'tells-ends-again',
    says: 'a trouble that is over is compared with what is wrong as if it were open, and told each minute',
    file: 'domain/notices/watch-states.js',
    find: "from notices where kind = $1 and what = 'began' and over_at is null",
    replace: "from notices where kind = $1 and what = 'began'",
    proof: 'notices',
    by: ['once'],
  },
]

const WITHOUT_SEED = ['session', 'clock', 'many', 'hints', 'answers', 'history']

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string', default: '7' },
    check: { type: 'boolean', default: false },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(help())
  process.exit(0)
}
if (!options.dist) await ensureBuilt()
const chosen = options.only ? BREAKS.filter(({ name }) => options.only.split(',').includes(name)) : BREAKS
for (const broken of chosen)
  for (const [from, , file = broken.file] of editsOf(broken)) requireOnce(join(builtAt(), file), from)
if (options.check) process.exit(0)
let isBad = false
for (const proof of new Set(chosen.map(proofOf))) {
  const plans = new Set(chosen.flatMap(({ plans }) => plans ?? []))
  const whole = await tryOn({ proof, plans: [...plans].join(',') })
  report(
    `whole (${proof})`,
    'nothing is broken, and every claim must hold',
    whole,
    whole.code === 0 ? 'held' : 'NOT HELD',
  )
}
for (const broken of chosen) {
  const result = await tryOn(broken)
  const isNoticed = result.code === 1 && broken.by.some((claim) => result.claims.includes(claim))
  report(broken.name, broken.says, result, isNoticed ? 'noticed' : 'NOT NOTICED')
}
console.log(
  isBad
    ? '\nA break was not noticed: see above.'
    : `\nAll ${chosen.length} breaks were noticed, and the whole build passed.`,
)
process.exitCode = isBad ? 1 : 0

function proofOf({ proof = 'money' }) {
  return proof
}

function report(name, says, { seconds, claims, output }, verdict) {
  console.log(`${name}: ${says}\n    ${verdict}${claims.length > 0 ? ` by ${claims.join(', ')}` : ''} (${seconds} s)`)
  if (verdict.startsWith('NOT')) {
    isBad = true
    console.log(output.replaceAll(/^/gm, '    | '))
  }
}

/**
 * Runs the proof on a broken copy of the build. Exit code 1: a claim failed. 2: the proof could not run, so the mistake
 * was not noticed.
 */
async function tryOn({ proof = 'money', file, find, replace, edits, plans, scenarios = 14 }) {
  const began = performance.now()
  const place = copyBuild()
  try {
    for (const [from, to, other = file] of editsOf({ edits, find, replace }))
      edit(join(place, 'server/dist', other), from, to)
    const bounds = ['--plans', plans, '--scenarios', String(scenarios), '--kills', '1', '--database-kills', '0']
    const seed = WITHOUT_SEED.includes(proof) ? [] : ['--seed', options.seed]
    const args = [...seed, ...(proof === 'money' ? bounds : proof === 'history' ? ['--quick'] : [])]
    const script = fileURLToPath(new URL(`${proof}.mjs`, import.meta.url))
    const child = spawn(process.execPath, [script, ...args, '--dist', join(place, 'server/dist')])
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const [code] = await once(child, 'close')
    const claims = [...output.matchAll(/^NOT HELD ([\w-]+)/gm)].map(([, claim]) => claim)
    return { code, claims, output, seconds: Math.round((performance.now() - began) / 1000) }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

function builtAt() {
  return resolve(options.dist ?? join(root, 'server/dist'))
}

/** Copies the build, and links what it needs beside it. */
function copyBuild() {
  const dist = builtAt()
  const server = dirname(dist)
  const place = mkdtempSync(join(tmpdir(), 'guiche-broken-'))
  mkdirSync(join(place, 'server'))
  for (const name of readdirSync(server))
    if (name !== 'dist') symlinkSync(join(server, name), join(place, 'server', name))
  for (const name of readdirSync(dirname(server))) {
    if (name !== 'server' && name !== '.git') symlinkSync(join(dirname(server), name), join(place, name))
  }
  cpSync(dist, join(place, 'server/dist'), { recursive: true })
  return place
}

function edit(path, from, to) {
  writeFileSync(path, requireOnce(path, from).replace(from, to))
}

/** Throws for a break that no longer applies. All are checked before the first proof, which takes minutes. */
function requireOnce(path, from) {
  const text = readFileSync(path, 'utf8')
  const places =
    typeof from === 'string' ? text.split(from).length - 1 : [...text.matchAll(new RegExp(from, 'g'))].length
  if (places !== 1) throw new Error(`${path} must contain this text once, and contains it ${places} times: ${from}`)
  return text
}

function editsOf({ edits, find, replace }) {
  return edits ?? (find ? [[find, replace]] : [])
}

function help() {
  return `node prove/broken.mjs [--only a,b] [--seed N] [--check] [--dist DIR]

Breaks a copy of the build on purpose, and shows that the proof that concerns the break fails on it. With --check it only
looks whether every break still applies to the build.
Exit 0: every break was noticed.

${BREAKS.map(({ name, says }) => `  ${name.padEnd(30)}${says}`).join('\n')}`
}
