import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../src/commands/program.ts'
import { query, transact } from '../src/db/tx.ts'
import { readCharge, type Charge } from '../src/domain/deposits/charge-reads.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { resumeAccount, suspendAccount } from '../src/domain/accounts/accounts.ts'
import { eraseAccount, whyNotErasable } from '../src/domain/accounts/erase-account.ts'
import { findSession } from '../src/domain/accounts/sessions.ts'
import { signUp } from '../src/domain/accounts/sign-up.ts'
import { setAccountTerms } from '../src/domain/accounts/terms.ts'
import { createInvitation } from '../src/domain/users/invitations.ts'
import { auditSecurity, purgeSignIns } from '../src/domain/users/security-events.ts'
import { keepAttemptPartitions } from '../src/domain/webhooks/attempt-partitions.ts'
import { exportAccount } from '../src/domain/reports/export-account.ts'
import { checkDue } from '../src/workers/check.ts'
import { CONSOLE } from './operators-client.ts'
import { CLI, runCli, startChild, temporaryHome } from './process.ts'
import { completedCharge, followToEnd, refund, untilWaiting } from './refund-steps.ts'
import { startReceiver } from './receiver.ts'
import { get } from './requests.ts'
import { cob, connectScripted, E2E, ok, TXID } from './scripted-psp.ts'
import { add, deliver } from './webhooks-client.ts'
import { CHARGE_SECRET } from './databases.ts'
import { authenticate, world, type TestAccount, type World } from './world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 3_600_000
const REFUNDS = { byAccounts: true, returnFee: true }

/** An account with everything that is stored about one, and nothing under way: its only deposit was refunded. */
async function lived(w: World): Promise<{ account: TestAccount; userId: string }> {
  const account = await w.account()
  const { accountId, email } = account
  const [{ id: userId }] = (await query(w.pool, 'select id from users where email = $1', [email])) as [{ id: string }]
  const receiver = await startReceiver()
  await add(w, account, receiver.url, { name: 'Ana’s shop', authorization: 'Bearer of-ana' })
  await w.session(account)
  await auditSecurity(w.ctx, userId, 'session.opened', { network: '203.0.113.7' })
  await transact(w.pool, (tx) => createInvitation(tx, w.clock.now(), { email }, CONSOLE))
  await setAccountTerms(w.ctx, CONSOLE, accountId, { feeBps: 200 }, 'contract')
  const { charge } = await completedCharge(w, { account })
  await deliver(w)
  await followToEnd(w, await refund(w, charge, { accountId }))
  await w.app.inject(get(account.key, `/api/orders/${encodeURIComponent('order of Ana')}`))
  await w.ctx.requestLog.flush()
  expect(await w.balanceCents(accountId)).toBe(0)
  expect(await w.count('api_requests')).toBe(2)
  return { account, userId }
}

async function suspended(w: World) {
  const found = await lived(w)
  await suspendAccount(w.ctx, CONSOLE, found.account.accountId, 'closed by request')
  w.clock.advance(MINUTE_MS)
  return found
}

/** Every row of every table, as text. */
async function everything(w: World, { without = '' } = {}): Promise<string> {
  const { rows } = await w.pool.query<{ text: string }>(
    `select query_to_xml(format('select * from %I.%I', n.nspname, c.relname), true, false, '')::text as text
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = current_schema() and c.relkind = 'r' and c.relname <> $1`,
    [without],
  )
  return rows.map(({ text }) => text).join('\n')
}

// ---- Payers ----

const PAYER = { nome: 'Maria da Silva', cpf: '12345678909' }

test('what a provider says of the payer reaches no table and no log line, by whichever way a payment arrives', async () => {
  const w = await world()
  const account = await w.account()
  const pay = async (by: (charge: Charge, endToEndId: string) => Promise<unknown>) => {
    const charge = await w.deposit(account)
    const { pix } = await w.sandbox.pay({ emv: charge.emv, infoPagador: `${PAYER.nome} ${PAYER.cpf}` })
    await by(charge, pix[0]!.endToEndId)
  }
  const notify = (charge: Charge, endToEndId: string) => {
    const payload = { pix: [{ txid: charge.id, endToEndId, pagador: PAYER, infoPagador: PAYER.nome }] }
    return w.app.inject({ method: 'POST', url: '/callbacks/sandbox/secret-of-sandbox', payload })
  }
  await pay((charge) => queryDeposit(w.ctx, account.accountId, charge.paymentLinkId))
  await pay(notify)
  await pay(notify)
  w.clock.advance(MINUTE_MS)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'COMPLETED'`)).toBe(3)
  const kept = (await everything(w)) + JSON.stringify(w.logged)
  for (const text of Object.values(PAYER)) expect([text, kept.includes(text)]).toEqual([text, false])
})

test('the adapter drops the payer of a Pix, also of one that it cannot read', async () => {
  const pix = { endToEndId: E2E, txid: TXID, valor: '50.00', horario: '2026-03-01T12:00:00Z', pagador: PAYER }
  const given: unknown[] = []
  for (const entry of [pix, { ...pix, valor: PAYER.nome }]) {
    const { provider } = await connectScripted(({ path }) =>
      ok(path.startsWith('/cob') ? cob({ devedor: PAYER, status: 'CONCLUIDA', pix: [entry] }) : entry),
    )
    for (const asked of [provider.findPayment(E2E), provider.check(TXID)])
      given.push(await asked.catch((error: Error) => error.message))
  }
  expect(given).toMatchObject([{ endToEndId: E2E }, { payments: [{ endToEndId: E2E }] }, /valor/, /valor/].map(like))
  for (const text of Object.values(PAYER)) expect(JSON.stringify(given)).not.toContain(text)
})

function like(wanted: object): unknown {
  return wanted instanceof RegExp ? expect.stringMatching(wanted) : wanted
}

// ---- Erasing ----

test('after an erasure no table names the person, the books are whole, and the audit agrees', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  const { account } = await suspended(w)
  const other = await w.account()
  const personal = [account.email, account.email.split('@')[0]!, 'Ana’s shop', '203.0.113.7']
  const before = await everything(w)
  for (const text of personal) expect([text, before.includes(text)]).toEqual([text, true])
  const books = async () => {
    const tables = ['charges', 'payments', 'transfers', 'refunds', 'events', 'delivery_outcomes', 'account_terms']
    return Promise.all(tables.map(async (table) => (await w.pool.query(`select * from ${table} order by 1`)).rows))
  }
  const kept = await books()

  const erased = await eraseAccount(w.ctx, CONSOLE, account, 'asked for by letter')
  expect(erased).toEqual({ balanceCents: 0, sessions: 1, keys: 1, webhooks: 1, auditLines: expect.any(Number) })
  const after = await everything(w)
  for (const text of personal) expect([text, after.includes(text)]).toEqual([text, false])
  expect(after).toContain(other.email)
  expect(await books()).toEqual(kept)
  expect(await w.differences()).toEqual([])
  expect(await w.count('audit_log', `action = 'account.erased' and account_id = '${account.accountId}'`)).toBe(1)
})

test('an erased account cannot sign in, use a key, or be resumed; its e-mail is free for a new account', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  const { account, userId } = await suspended(w)
  const session = await w.session(account)
  await eraseAccount(w.ctx, CONSOLE, account, 'asked for by letter')
  w.clock.advance(2_000)
  await expect(authenticate(w.ctx, account.key)).rejects.toThrow('Invalid API key')
  expect((await session.ask('GET', '/dashboard/api/overview')).statusCode).toBe(401)
  for (const table of ['sessions', 'credentials', 'second_factors'])
    expect([table, await w.count(table, `user_id = '${userId}'`)]).toEqual([table, 0])
  await expect(resumeAccount(w.ctx, CONSOLE, account.accountId, 'back')).rejects.toThrow('were erased')
  await expect(w.pool.query('update accounts set suspended_at = null, suspended_reason = null')).rejects.toThrow(
    'accounts_erased',
  )
  const again = { email: account.email, name: 'Ana', password: 'correct horse battery', invitation: null }
  await expect(signUp(w.ctx, again)).resolves.toBeDefined()
})

test('an account in use, with a balance or with anything under way is not erased, and the reason is told', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  const account = await w.account()
  const why = () => whyNotErasable(w.ctx, account)
  expect(await why()).toMatch(/^it is in use; first: guiche account suspend --email/)
  const { charge } = await completedCharge(w, { account })
  const open = await w.deposit(account)
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed by request')
  expect(await why()).toMatch(/^it was suspended less than a minute ago/)
  w.clock.advance(MINUTE_MS)
  expect(await why()).toMatch(/^its balance is R\$\s49,50; .* add --paid-out$/)
  expect(await whyNotErasable(w.ctx, { ...account, isPaidOut: true })).toMatch(/^it has charges/)
  const sent = await refund(w, charge)
  expect(await why()).toMatch(/^it has charges or codes that can still be paid/)
  await w.pool.query(`update charges set status = 'EXPIRED', closed_at = $2 where payment_link_id = $1`, [
    open.paymentLinkId,
    w.clock.now(),
  ])
  expect(await why()).toMatch(/^a refund is in progress/)
  // The table of processes is left out: this one renews its presence every two seconds.
  const before = await everything(w, { without: 'processes' })
  expect(await eraseAccount(w.ctx, CONSOLE, account, 'letter')).toMatchObject({ refusal: expect.any(String) })
  expect(await everything(w, { without: 'processes' })).toBe(before)
  await followToEnd(w, sent)
  expect(await why()).toBeUndefined()
  await eraseAccount(w.ctx, CONSOLE, account, 'letter')
  expect(await why()).toBe('it was erased before')
})

test('a balance that was paid out elsewhere stays in the books, and the audit log has it', async () => {
  const w = await world()
  const { account } = await completedCharge(w)
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed by request')
  w.clock.advance(MINUTE_MS)
  const erased = await eraseAccount(w.ctx, CONSOLE, { ...account, isPaidOut: true }, 'paid by TED')
  expect(erased).toMatchObject({ balanceCents: 49_50 })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('audit_log', `action = 'account.erased' and details ->> 'balanceCents' = '4950'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

// Both wait for the row of the account, and get it in the order in which they asked.
test('an account that is resumed while it is being erased stays erased', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  const { account } = await suspended(w)
  const { accountId } = account
  const racers = await transact(w.pool, async (tx) => {
    await tx.rows('select id from accounts where id = $1 for no key update', [accountId])
    const erased = eraseAccount(w.ctx, CONSOLE, { accountId }, 'letter')
    await untilWaiting(w, 1)
    const resumed = resumeAccount(w.ctx, CONSOLE, accountId, 'back').catch(String)
    await untilWaiting(w, 2)
    return { erased, resumed }
  })
  expect(await racers.erased).toMatchObject({ keys: 1 })
  expect(await racers.resumed).toContain('were erased')
  expect(await w.count('accounts', 'erased_at is not null and suspended_at is not null')).toBe(1)
})

// The sign-in holds a lock on the row of the user until it commits.
test('a session that is opened while the account is being erased is gone, and one opened after it is worth nothing', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  const { account, userId } = await suspended(w)
  const insert = `insert into sessions (id, user_id, token, created_at, expires_at, authenticated_at)
    values (gen_random_uuid(), $1, $2, $3, $3::timestamptz + interval '1 day', $3)`
  const erased = await transact(w.pool, async (tx) => {
    await tx.run(insert, [userId, 'during', w.clock.now()])
    const waiting = eraseAccount(w.ctx, CONSOLE, account, 'letter')
    await w.lockWait()
    return { waiting }
  })
  expect(await erased.waiting).toMatchObject({ sessions: 2 })
  expect(await w.count('sessions')).toBe(0)
  await w.pool.query(insert, [userId, 'after', w.clock.now()])
  expect(await findSession(w.ctx, 'after', { isUnattended: true })).toBeUndefined()
})

test('the audit names an account that was marked as erased by somebody else, and the trigger keeps the rest of its log', async () => {
  const w = await world()
  const account = await w.account()
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed')
  await w.pool.query('update accounts set erased_at = now()')
  const text = expect.stringContaining('is other than after line')
  expect(await w.differences()).toMatchObject([{ check: 'row', subject: expect.stringMatching(/^account /), text }])
  await expect(w.pool.query(`delete from audit_log where action = 'account.suspended'`)).rejects.toThrow('append only')
})

// ---- Exporting ----

test('an export is one JSON document with all that is stored of the account, page by page, and without a secret', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  const { account } = await lived(w)
  const stranger = await w.account()
  await w.deposit(stranger)
  // These are more rows than fit in one page.
  const rows = 1_201
  await w.pool.query(
    `insert into audit_log (at, actor_kind, actor, action, subject, account_id, details)
     select now(), 'operator', 'olga@ops.example', 'session.opened', 'user', $1, '{}' from generate_series(1, $2)`,
    [account.accountId, rows],
  )
  const pieces: string[] = []
  for await (const piece of exportAccount(w.ctx, account.accountId)) pieces.push(piece)
  const text = pieces.join('')
  // oxlint-disable-next-line typescript/no-explicit-any -- what the document holds is what this test is about
  const document: any = JSON.parse(text)
  expect(document).toMatchObject({
    account: { email: account.email },
    user: { email: account.email, two_factor_enabled: false },
    balance_cents: 0,
    api_keys: [{ name: 'test' }],
    webhooks: [{ name: 'Ana’s shop' }],
    sessions: [{}],
    invitations: [{ email: account.email }],
    terms_history: [{ fee_bps: 200 }],
    charges: [{ status: 'COMPLETED', payments: [{ credited: true }], refunds: [{ status: 'DONE' }] }],
    events: [{ kind: 'WEBHOOK_TEST' }, { kind: 'DEPOSIT_ASSET_SUCCESS' }, { kind: 'DEPOSIT_REFUNDED' }],
  })
  expect(document.transfers.length).toBeGreaterThan(2)
  expect(new Set(document.audit_log.map(({ id }: { id: number }) => id)).size).toBe(document.audit_log.length)
  expect(document.audit_log.length).toBeGreaterThanOrEqual(rows)
  for (const secret of ['hash', 'secret_box', 'token"', 'password', 'olga@ops.example', stranger.email])
    expect([secret, text.includes(secret)]).toEqual([secret, false])
})

// ---- The commands ----

function envOf(w: World): Record<string, string> {
  const bank = { PROVIDER_SANDBOX_URL: w.sandbox.url, SECRET_KEY: CHARGE_SECRET }
  return { DATABASE_URL: w.databaseUrl, ...bank, GUICHE_HOME: temporaryHome() }
}

test('account export prints the document, and account erase asks for --yes where nobody can answer', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  // Commands use the real clock, so the world's clock is set near it.
  w.clock.advance(Date.now() - 20 * MINUTE_MS - w.clock.now().getTime())
  const { account } = await suspended(w)
  const env = envOf(w)
  const guiche = (...args: string[]) => runCli(['account', ...args, '--email', account.email], env)
  expect(JSON.parse((await guiche('export')).stdout)).toMatchObject({ account: { id: account.accountId } })
  const asked = await guiche('erase', '--reason', 'letter')
  expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('add --yes')])
  expect(await w.count('accounts', 'erased_at is not null')).toBe(0)
  const done = await guiche('erase', '--reason', 'letter', '--yes')
  expect([done.code, done.stdout]).toEqual([
    0,
    `${account.email}: erased; the account is now ${account.accountId}@erased.invalid\n`,
  ])
  expect((await guiche('erase', '--reason', 'letter', '--yes')).stderr).toContain('No account has the e-mail')
  w.clock.advance(Date.now() - w.clock.now().getTime())
  expect(await w.differences()).toEqual([])
})

test.each([
  ['a reader that hung up', 'EPIPE'],
  ['a full disk', 'ENOSPC'],
])('account export to %s ends with one line and exit code 1', async (_, code) => {
  const w = await world()
  const { email } = await w.account()
  const output = code === 'ENOSPC' ? openSync('/dev/full', 'w') : 'pipe'
  const child = startChild(process.execPath, [CLI, 'account', 'export', '--email', email], {
    env: { ...process.env, ...envOf(w) },
    stdio: ['ignore', output, 'pipe'],
  })
  child.stdout?.destroy()
  if (typeof output === 'number') closeSync(output)
  let said = ''
  child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()))
  expect(await once(child, 'close')).toEqual([1, null])
  expect(said).toMatch(
    new RegExp(`^guiche: Standard output cannot be written, so the result is not whole: .*${code}.*\\n$`),
  )
})

test.each([
  ['account export, which then reads nothing more', (email: string) => ['account', 'export', '--email', email]],
  ['account list', () => ['account', 'list', '--json']],
])('a command whose output cannot be written exits with 1: %s', async (_, argsFor) => {
  const w = await world()
  const { email } = await w.account()
  const written: string[] = []
  const code = await runCommand(argsFor(email), {
    stdout: { write: (text) => written.push(text) },
    outputError: () => (written.length > 0 ? new Error('EPIPE') : undefined),
    stderr: { write: () => {} },
    readInput: async () => '',
    keyboard: undefined,
    env: envOf(w),
    start: () => Promise.reject(new Error('it starts nothing')),
  })
  expect([code, written.length]).toEqual([1, 1])
})

test('an operator cancels the open charges of a suspended account, and can then erase it', async () => {
  const w = await world()
  w.clock.advance(Date.now() - 20 * MINUTE_MS - w.clock.now().getTime())
  const account = await w.account()
  const [open, paid] = [await w.deposit(account), await w.deposit(account)]
  const guiche = (...args: string[]) =>
    runCli(['account', ...args, '--email', account.email, '--reason', 'closed'], envOf(w))
  const early = await guiche('cancel-charges')
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('first: guiche account suspend')])
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed')
  w.clock.advance(2 * MINUTE_MS)
  await w.sandbox.pay({ emv: paid.emv })
  const refused = await guiche('erase', '--paid-out', '--yes')
  expect(refused.stderr).toContain(`guiche account cancel-charges --email ${account.email} --reason`)
  const done = await guiche('cancel-charges')
  expect([done.code, done.stdout, done.stderr]).toEqual([0, `${account.email}: 1 charge canceled\n`, ''])
  const statusOf = async ({ id }: Charge) => (await readCharge(w.ctx, id)).status
  // The bank does not withdraw a charge that was paid, so that charge is credited.
  expect([await statusOf(open), await statusOf(paid)]).toEqual(['CANCELED', 'COMPLETED'])
  expect(await w.count('audit_log', `action = 'account.charges_canceled' and reason = 'closed'`)).toBe(1)
  expect((await guiche('erase', '--paid-out', '--yes')).code).toBe(0)
})

test('account erase does nothing unless the e-mail is typed as it is', async () => {
  const w = await world({ settings: { refunds: REFUNDS } })
  const { account } = await suspended(w)
  const env = envOf(w)
  const typing = async (typed: string) => {
    const keyboard = new PassThrough()
    onTestFinished(() => void keyboard.destroy())
    keyboard.write(`${typed}\n`)
    let shown = ''
    const screen = { write: (text: string) => (shown += text) }
    const args = ['account', 'erase', '--email', account.email, '--reason', 'letter']
    const start = () => Promise.reject(new Error('not started'))
    const code = await runCommand(args, {
      stdout: screen,
      stderr: screen,
      readInput: async () => '',
      keyboard,
      env,
      start,
    })
    return { code, shown }
  }
  expect(await typing('yes')).toEqual({ code: 1, shown: expect.stringContaining('nothing was erased') })
  expect(await w.count('accounts', 'erased_at is not null')).toBe(0)
  expect(await typing(account.email)).toEqual({ code: 0, shown: expect.stringContaining('cannot be undone') })
  expect(await w.count('accounts', 'erased_at is not null')).toBe(1)
})

// ---- Retention ----

test('records of sign-ins go after RETAIN_SIGN_INS_DAYS, in batches; decisions stay for ever', async () => {
  const w = await world({ settings: { retention: { attemptsDays: 30, requestsDays: 30, signInsDays: 180 } } })
  const account = await w.account()
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed')
  await transact(w.pool, (tx) => createInvitation(tx, w.clock.now(), { email: 'bia@loja.example' }, CONSOLE))
  await w.pool.query(
    `insert into audit_log (at, actor_kind, actor, action, subject, account_id, details)
     select $2, 'account', 'ana', 'session.opened', 'user', $1, '{}' from generate_series(1, 1000)`,
    [account.accountId, w.clock.now()],
  )
  w.clock.advance(179 * DAY_MS)
  expect(await purgeSignIns(w.ctx)).toBe('idle')
  expect(await w.count('audit_log')).toBe(1_004)
  w.clock.advance(2 * DAY_MS)
  expect(await purgeSignIns(w.ctx)).toBe('more')
  expect(await purgeSignIns(w.ctx)).toBe('idle')
  expect(await w.count('audit_log', `action in ('account.created', 'account.suspended', 'key.created')`)).toBe(3)
  expect(await w.count('audit_log')).toBe(3)
  w.clock.advance(10 * DAY_MS)
  await purgeSignIns(w.ctx)
  expect(await w.count('invitations')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('with RETAIN_SIGN_INS_DAYS=0 nothing of the audit log is deleted', async () => {
  const w = await world({ settings: { retention: { attemptsDays: 30, requestsDays: 30, signInsDays: 0 } } })
  await transact(w.pool, (tx) => createInvitation(tx, w.clock.now(), { email: 'bia@loja.example' }, CONSOLE))
  w.clock.advance(3_650 * DAY_MS)
  expect(await purgeSignIns(w.ctx)).toBe('idle')
  expect([await w.count('audit_log'), await w.count('invitations')]).toEqual([1, 1])
})

test('attempts go after RETAIN_ATTEMPTS_DAYS, and the audit does without them', async () => {
  const w = await world({ settings: { retention: { attemptsDays: 3, requestsDays: 30, signInsDays: 0 } } })
  const account = await w.account()
  await keepAttemptPartitions(w.ctx)
  await add(w, account, (await startReceiver()).url)
  await completedCharge(w, { account })
  await deliver(w)
  w.clock.advance(4 * DAY_MS)
  expect((await keepAttemptPartitions(w.ctx)).dropped).toHaveLength(1)
  expect(await w.differences()).toEqual([])
})
