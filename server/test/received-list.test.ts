import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import { checkQueried } from '../src/domain/deposits/checks/check-charge.ts'
import type { Check } from '../src/domain/deposits/checks/check-queue.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { makeApiPix } from '../src/providers/api-pix/adapter.ts'
import { checkDue, startCheckWorker } from '../src/workers/check.ts'
import { makeCharges, payAll } from './reconcile-bank.ts'
import { closeAfterTest } from './scripted-psp.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const NET_CENTS = 49_50

/** The bank, which counts what it is asked. `shows` decides what its list shows. */
function watchBank(w: Pick<World, 'ctx'>, shows: (payment: ReceivedPayment) => boolean = () => true) {
  const bank = w.ctx.providers[0]!
  const asked = { lists: 0, lastFrom: new Date(0), charges: [] as string[], payments: [] as string[] }
  w.ctx.providers[0] = {
    ...bank,
    async *listReceived(window, onUnread) {
      asked.lists++
      asked.lastFrom = window.from
      for await (const page of bank.listReceived(window, onUnread)) yield page.filter(shows)
    },
    check(txid, options) {
      asked.charges.push(txid)
      return bank.check(txid, options)
    },
    findPayment(endToEndId) {
      asked.payments.push(endToEndId)
      return bank.findPayment(endToEndId)
    },
  }
  return asked
}

/** Paid at the bank, and nobody was told. */
async function paidCharges(w: World, account: TestAccount, count: number): Promise<string[]> {
  const charges = await openCharges(w, account, count)
  for (const { emv } of charges) await w.sandbox.pay({ emv })
  return charges.map(({ id }) => id)
}

function openCharges(w: World, account: TestAccount, count: number): Promise<Charge[]> {
  return Promise.all(Array.from({ length: count }, () => w.deposit(account)))
}

const hint = (w: World, txids: string[]) =>
  w.ctx.hints.add({ provider: 'sandbox', hints: txids.map((txid) => ({ txid, endToEndId: null })) })

async function listed(w: World): Promise<ReceivedPayment[]> {
  const found: ReceivedPayment[] = []
  const window = { from: new Date(0), to: new Date(w.clock.now().getTime() + 1_000) }
  for await (const page of w.ctx.providers[0]!.listReceived(window)) found.push(...page)
  return found
}

// ---- Hints ----

test('the hints of many payments are answered by one list, and their checks end with the settlement', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 30)
  const asked = watchBank(w)
  await hint(w, txids)
  await checkDue(w.ctx)
  expect(asked).toMatchObject({ lists: 1, charges: [], payments: [] })
  expect(await w.balanceCents(account.accountId)).toBe(30 * NET_CENTS)
  expect(await w.count('checks')).toBe(0)
})

test('a few hints are asked about one by one: the list would cost as much', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 8)
  const asked = watchBank(w)
  await hint(w, txids)
  await checkDue(w.ctx)
  expect(asked.lists).toBe(0)
  expect(asked.charges).toHaveLength(8)
  expect(await w.balanceCents(account.accountId)).toBe(8 * NET_CENTS)
})

test('a worker follows a hint up as soon as it is stored, without a claim from the queue', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 50)
  const asked = watchBank(w)
  const worker = startCheckWorker(w.ctx)
  await Promise.all(txids.map((txid) => hint(w, [txid])))
  await until('all is credited', async () => (await w.balanceCents(account.accountId)) === 50 * NET_CENTS)
  await worker.stop()
  expect(asked.lists).toBeLessThan(10)
  expect(await w.count('checks')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('what the list does not show is asked about alone', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 20)
  const hidden = txids[7]
  const asked = watchBank(w, ({ txid }) => txid !== hidden)
  await hint(w, txids)
  await checkDue(w.ctx)
  expect(asked).toMatchObject({ lists: 1, charges: [hidden], payments: [] })
  expect(await w.balanceCents(account.accountId)).toBe(20 * NET_CENTS)
})

test('a second payment that a hint names is not taken for the first one that the list shows', async () => {
  const w = await world()
  const account = await w.account()
  const txids = (await openCharges(w, account, 10)).map(({ id }) => id)
  const { pix } = await w.sandbox.pay({ txid: txids[0]!, times: 2 })
  const [first, second] = pix.map(({ endToEndId }) => endToEndId)
  const asked = watchBank(w, ({ endToEndId }) => endToEndId !== second)
  const worker = startCheckWorker(w.ctx)
  const hints = [first!, second!].map((endToEndId) => ({ txid: txids[0]!, endToEndId }))
  await Promise.all([w.ctx.hints.add({ provider: 'sandbox', hints }), hint(w, txids.slice(1))])
  await until('both are booked', async () => (await w.count('payments')) === 2)
  await worker.stop()
  expect(asked.payments.length + asked.charges.filter((txid) => txid === txids[0]).length).toBeGreaterThan(0)
  expect(await w.count('exceptions', `kind = 'second_payment'`)).toBe(1)
})

test('a list that fails lets everybody be asked alone, and is left alone for a while', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 40)
  const asked = watchBank(w, () => {
    throw new Error('the bank writes something else')
  })
  await hint(w, txids.slice(0, 20))
  await checkDue(w.ctx)
  await hint(w, txids.slice(20))
  await checkDue(w.ctx)
  expect(asked.lists).toBe(1)
  expect(new Set(asked.charges).size).toBe(40)
  expect(await w.balanceCents(account.accountId)).toBe(40 * NET_CENTS)
})

test('a Pix of the list that cannot be booked keeps back no other, and is asked about alone', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 20)
  const bank = w.ctx.providers[0]!
  const mad = txids[3]
  w.ctx.providers[0] = {
    ...bank,
    async *listReceived(window) {
      for await (const page of bank.listReceived(window))
        yield page.map((payment) => (payment.txid === mad ? { ...payment, txid: 'no text\u{0}' } : payment))
    },
  }
  await hint(w, txids)
  await checkDue(w.ctx)
  expect(w.logged).toMatchObject([{ level: 'error', text: 'booking a received payment failed' }])
  expect(await w.balanceCents(account.accountId)).toBe(20 * NET_CENTS)
})

// The clock of the rate limit stands still, so the bank is asked as often as its bucket has tokens: ten times at most.
test('a thousand hints are credited with a handful of calls where the bank allows ten a second', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await makeCharges(w, account, 1_000)
  await payAll(w, txids)
  const before = (await w.sandbox.stats()).calls
  const scarce = makeApiPix({
    name: 'sandbox',
    url: w.sandbox.url,
    tokenUrl: `${w.sandbox.url}/oauth/token`,
    clientId: 'sandbox',
    clientSecret: 'sandbox',
    pixKey: 'sandbox@guiche.example',
    callsPerSecond: 10,
    now: w.clock.now,
    log: w.ctx.log,
  })
  closeAfterTest(() => scarce.close())
  w.ctx.providers[0] = scarce
  const worker = startCheckWorker(w.ctx)
  for (let at = 0; at < txids.length; at += 100) await hint(w, txids.slice(at, at + 100))
  await until('all is credited', async () => (await w.balanceCents(account.accountId)) === 1_000 * NET_CENTS)
  await worker.stop()
  const { calls } = await w.sandbox.stats()
  const asked = (operation: string) => (calls[operation] ?? 0) - (before[operation] ?? 0)
  expect(asked('GET /pix') + asked('GET /cob/:txid')).toBeLessThanOrEqual(10)
})

// ---- What is in the books needs no question ----

test('a notification of a Pix in the books asks nothing, unless it tells of refunds', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await w.ctx.settlements.add([payment])
  const asked = watchBank(w)
  const { txid, endToEndId } = payment
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid, endToEndId }] })
  expect(await checkDue(w.ctx)).toBe('idle')
  expect(asked.charges).toEqual([])
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid, endToEndId, mentionsRefunds: true }] })
  await checkDue(w.ctx)
  expect(asked.charges).toEqual([txid])
})

test('a Pix that was booked without its txid is asked about again: it may complete its charge', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  await w.ctx.settlements.add([{ ...payment, txid: null }])
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: payment.txid, endToEndId: payment.endToEndId }] })
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(NET_CENTS)
})

test('a hint whose payment a list has shown just before costs no call', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 20)
  const payments = await listed(w)
  const asked = watchBank(w)
  const worker = startCheckWorker(w.ctx)
  await hint(w, txids.slice(0, 15))
  await until('the list is booked', async () => (await w.count('payments')) === 20)
  const late = payments.filter(({ txid }) => txids.indexOf(txid!) >= 15)
  await w.ctx.hints.add({ provider: 'sandbox', hints: late })
  await worker.stop()
  expect(asked).toMatchObject({ lists: 1, charges: [], payments: [] })
  expect(await w.balanceCents(account.accountId)).toBe(20 * NET_CENTS)
})

// ---- Leases and transactions ----

test('a process that dies after it stored a hint leaves it to others when its lease ends', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  Object.assign(w.ctx.hintFollower, { room: () => 10, follow: () => {} })
  await hint(w, [payment.txid!])
  const other = await w.anotherProcess()
  expect(await checkDue(other.ctx)).toBe('idle')
  w.clock.advance(30_000)
  expect(await checkDue(other.ctx)).toBe('more')
  expect(await w.balanceCents(account.accountId)).toBe(NET_CENTS)
  expect(await w.count('checks')).toBe(0)
})

test('the hints that a dead process left are answered by one list, however many claims they take', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await makeCharges(w, account, 600)
  await payAll(w, txids)
  Object.assign(w.ctx.hintFollower, { room: () => 1_000, follow: () => {} })
  for (let at = 0; at < txids.length; at += 100) await hint(w, txids.slice(at, at + 100))
  w.clock.advance(30_000)
  const other = await w.anotherProcess()
  const asked = watchBank(other)
  while ((await checkDue(other.ctx)) === 'more');
  expect(asked).toMatchObject({ lists: 1, charges: [] })
  expect(await w.balanceCents(account.accountId)).toBe(600 * NET_CENTS)
  expect(await w.count('checks')).toBe(0)
})

test('every answer of a list is recorded, also when it answers as many checks as a process may hold', async () => {
  const w = await world()
  const check = { provider: 'sandbox', kind: 'payment' } as Check
  const finished = Array.from({ length: 20_256 }, (_, place) => ({
    check: { ...check, subject: `E${place}` },
    nextDueAt: null,
    untilEnded: false,
    wasAsked: true,
  }))
  expect(await Promise.all(finished.map((one) => w.ctx.finishedChecks.add(one)))).toHaveLength(20_256)
})

test('with no room in memory hints wait in the queue, due at once', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  const followed: unknown[] = []
  Object.assign(w.ctx.hintFollower, { room: () => 0, follow: (checks: unknown[]) => followed.push(...checks) })
  await hint(w, [payment.txid!])
  expect(followed).toEqual([])
  expect(await checkDue(w.ctx)).toBe('more')
  expect(await w.balanceCents(account.accountId)).toBe(NET_CENTS)
})

test('a check that was stored long after it was due is found, although claims have passed its time', async () => {
  const w = await world()
  const account = await w.account()
  const [first, second] = await paidCharges(w, account, 2)
  const makeDue = (txid: string | undefined, at: Date) =>
    query(w.pool, 'update checks set due_at = $1 where subject = $2', [at, txid])
  await makeDue(first, w.clock.now())
  const worker = startCheckWorker(w.ctx)
  await until('a claim has reached the present', async () => (await w.balanceCents(account.accountId)) === NET_CENTS)
  await makeDue(second, new Date(w.clock.now().getTime() - 3_600_000))
  w.clock.advance(30_000)
  await until('it is credited', async () => (await w.balanceCents(account.accountId)) === 2 * NET_CENTS)
  await worker.stop()
  expect(await w.count('checks')).toBe(0)
})

test('a process that stops makes the hints due that it has not asked about', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 80)
  const bank = w.ctx.providers[0]!
  const answers = makeGate()
  let asked = 0
  w.ctx.providers[0] = {
    ...bank,
    listReceived: () => {
      throw new Error('no list')
    },
    async check(...question) {
      asked++
      await answers.opened
      return bank.check(...question)
    },
  }
  const worker = startCheckWorker(w.ctx)
  await hint(w, txids)
  await until('as many are asked about as may be at a time', async () => asked === 64)
  const stopped = worker.stop()
  const due = `due_at <= '${w.clock.now().toISOString()}'`
  await until('the others are due', async () => (await w.count('checks', due)) === 16)
  answers.open()
  await stopped
  expect(asked).toBe(64)
  expect(await w.balanceCents(account.accountId)).toBe(64 * NET_CENTS)
  // Nobody asked, so that is no attempt.
  expect(await w.count('checks', 'attempts = 0')).toBe(16)
  const other = await w.anotherProcess()
  const asks = watchBank(other)
  await checkDue(other.ctx)
  expect(asks).toMatchObject({ lists: 1, charges: [] })
  expect(await w.balanceCents(account.accountId)).toBe(80 * NET_CENTS)
})

// The database refuses to delete checks, so a settlement that ends one in its own transaction is undone with it.
test('a check ends in the transaction that settles its payment', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 1)
  await query(w.pool, `create function refuse() returns trigger language plpgsql as 'begin raise ''no''; end'`)
  await query(w.pool, 'create trigger refuse before delete on checks for each row execute function refuse()')
  await hint(w, txids)
  await checkDue(w.ctx)
  expect(await w.count('payments')).toBe(0)
  await query(w.pool, 'drop trigger refuse on checks')
  w.clock.advance(5_000)
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(NET_CENTS)
  expect(await w.count('checks')).toBe(0)
})

test('a hint that arrives while its payment is being settled keeps its check', async () => {
  const w = await world()
  const account = await w.account()
  const [txid] = await paidCharges(w, account, 1)
  await hint(w, [txid!])
  let checking: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges where id = $1::uuid for update', [txid])
    checking = checkDue(w.ctx)
    await w.lockWait()
    await hint(w, [txid!])
  })
  await checking
  expect(await w.balanceCents(account.accountId)).toBe(NET_CENTS)
  expect(await w.count('checks')).toBe(1)
  await checkDue(w.ctx)
  expect(await w.count('checks')).toBe(0)
})

// ---- Queries ----

const ask = (w: World, charge: Charge) => queryDeposit(w.ctx, charge.accountId, charge.paymentLinkId)

/** All at once on every machine: the bank says nothing of single charges until the last query has come. */
async function askAll(w: World, charges: Charge[]) {
  const { receivedLists, providers } = w.ctx
  const bank = providers[0]!
  const allCame = makeGate()
  let came = 0
  const list = receivedLists.of(bank)
  const query: typeof list.query = (asked) => {
    if (++came === charges.length) allCame.open()
    return list.query(asked)
  }
  const slow = {
    ...bank,
    check: async (...asked: Parameters<Provider['check']>) => (await allCame.opened, bank.check(...asked)),
  }
  const ctx = { ...w.ctx, providers: [slow], receivedLists: { ...receivedLists, of: () => ({ ...list, query }) } }
  return Promise.all(charges.map((charge) => queryDeposit(ctx, charge.accountId, charge.paymentLinkId)))
}

const statuses = (answers: Awaited<ReturnType<typeof ask>>[]) => [
  ...new Set(answers.map(({ charge, check }) => `${charge.status} ${check}`)),
]

test('queries of many pending charges share one list, which also shows what was paid', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 20)
  const asked = watchBank(w)
  expect(statuses(await askAll(w, charges))).toEqual(['PENDING fresh'])
  expect(asked.lists).toBeGreaterThan(0)
  expect(asked.lists + asked.charges.length).toBeLessThan(20)

  await w.sandbox.pay({ emv: charges[4]!.emv })
  const answers = await askAll(w, charges)
  expect(answers.filter(({ charge }) => charge.status === 'COMPLETED').map(({ charge }) => charge.id)).toEqual([
    charges[4]!.id,
  ])
  expect(await w.balanceCents(account.accountId)).toBe(NET_CENTS)
})

test('a charge from before the time that lists cover is asked about alone once', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 12)
  w.clock.advance(20_000)
  const asked = watchBank(w)
  await askAll(w, charges)
  expect([asked.lists, asked.charges.length]).toEqual([0, 12])
  w.clock.advance(1_000)
  await askAll(w, charges)
  await askAll(w, charges)
  expect(asked.lists).toBeGreaterThan(0)
  expect(asked.charges.length).toBeLessThan(24)
  const { lists } = asked
  const alone = asked.charges.length
  // After two minutes without a list nothing is covered any more.
  w.clock.advance(120_000)
  await askAll(w, charges)
  expect([asked.lists, asked.charges.length]).toEqual([lists, alone + 12])
})

test('a payment from before the time that lists cover is found all the same', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 12)
  await w.sandbox.pay({ emv: charges[11]!.emv })
  w.clock.advance(20_000)
  expect((await askAll(w, charges))[11]!.charge.status).toBe('COMPLETED')
})

test('a query that begins while a list is read is answered by the next one', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 40)
  const bank = w.ctx.providers[0]!
  const [begun, go] = [makeGate(), makeGate()]
  w.ctx.providers[0] = {
    ...bank,
    async *listReceived(window) {
      const pages: ReceivedPayment[][] = []
      for await (const page of bank.listReceived(window)) pages.push(page)
      begun.open()
      await go.opened
      yield* pages
    },
  }
  const came = watchQueries(w)
  const early = askAll(w, charges.slice(0, 20))
  await begun.opened
  await w.sandbox.pay({ emv: charges[39]!.emv })
  const late = askAll(w, charges.slice(20))
  await until('the late ones wait', async () => came().length === 40)
  go.open()
  expect(statuses(await early)).toEqual(['PENDING fresh'])
  expect((await late)[19]!.charge.status).toBe('COMPLETED')
})

/**
 * The first list shows the payment and cannot book it yet. A query comes, and reads its charge as PENDING. Its own list
 * begins after the first one is booked and covered, so it does not show the payment again.
 */
test('a query whose payment an earlier list showed, and booked after the query read its charge, answers COMPLETED', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 47)
  const [paid, ...rest] = charges
  const [others, more] = [rest.slice(0, 23), rest.slice(23)]
  const asked = watchBank(w)
  const waiting = watchQueries(w)
  await askAll(w, others)
  await w.sandbox.pay({ emv: paid!.emv })
  const paidAt = w.clock.now()
  w.clock.advance(10_000)
  const rounds: Promise<unknown>[] = []
  let answer: ReturnType<typeof ask> | undefined
  const listsBefore = asked.lists
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges where id = $1::uuid for update', [paid!.id])
    rounds.push(askAll(w, others))
    await w.lockWait()
    w.clock.advance(10_000)
    rounds.push(askAll(w, more))
    answer = ask(w, paid!)
    await until('the query of the paid charge waits for a list', async () => waiting().includes(paid!.id))
  })
  expect((await answer!).charge.status).toBe('COMPLETED')
  await Promise.all(rounds)
  expect(asked.lists - listsBefore).toBeGreaterThanOrEqual(2)
  expect(asked.lastFrom > paidAt).toBe(true)
  expect(asked.charges).not.toContain(paid!.id)
})

test('a query of a charge with a first payment that did not fit waits for the second one', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 20)
  const paid = charges[7]!
  await w.sandbox.pay({ emv: paid.emv, amountCents: 1_00, force: true })
  expect(statuses(await askAll(w, charges))).toEqual(['PENDING fresh'])
  await w.sandbox.pay({ txid: paid.id, amountCents: 50_00, force: true })
  let answers: ReturnType<typeof askAll> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges where id = $1::uuid for update', [paid.id])
    answers = askAll(w, charges)
    await w.lockWait()
  })
  expect((await answers!)[7]!.charge.status).toBe('COMPLETED')
  expect(await w.count('exceptions')).toBe(1)
})

test('a list that is behind the charges is noticed, and queries are asked one by one for ten minutes', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 20)
  let isBehind = true
  const asked = watchBank(w, () => !isBehind)
  await askAll(w, charges)
  await w.sandbox.pay({ emv: charges[19]!.emv })
  // Found by asking about it alone, and by no list that is read after that.
  await hint(w, [charges[19]!.id])
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(NET_CENTS)
  await askAll(w, charges.slice(0, 19))
  const { lists } = asked
  expect(w.logged.filter(({ text }) => text.startsWith('the list of received Pix lacks'))).toHaveLength(1)
  await w.sandbox.pay({ emv: charges[0]!.emv })
  expect((await askAll(w, charges.slice(0, 19)))[0]!.charge.status).toBe('COMPLETED')
  expect(asked.lists).toBe(lists)
  isBehind = false
  w.clock.advance(600_000)
  await askAll(w, charges.slice(1, 19))
  await askAll(w, charges.slice(1, 19))
  expect(asked.lists).toBeGreaterThan(lists)
})

test('a charge that the bank withdrew is found within a minute of polling', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 20)
  const asked = watchBank(w)
  // In one turn, so that a list answers all but the first.
  const poll = () =>
    Promise.all(
      charges.map((charge) => checkQueried(w.ctx, charge, { onBehalfOf: charge.accountId, beganAt: w.clock.now() })),
    )
  await poll()
  const last = charges[19]!.id
  await w.ctx.providers[0]!.cancel(last)
  for (let ms = 0; ms < 60_000; ms += 10_000) {
    await poll()
    w.clock.advance(10_000)
  }
  expect(asked.charges).not.toContain(last)
  w.clock.advance(1)
  await poll()
  expect(await w.count('charges', `status = 'CANCELED'`)).toBe(1)
  expect(asked.lists).toBeGreaterThanOrEqual(7)
})

test('a list that hangs does not keep a query from its answer', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 20)
  const bank = w.ctx.providers[0]!
  w.ctx.providers[0] = {
    ...bank,
    async *listReceived() {
      await new Promise(() => {})
      yield []
    },
  }
  const began = performance.now()
  const answers = await askAll(w, charges)
  expect(performance.now() - began).toBeLessThan(4_000)
  expect(statuses(answers).toSorted()).toEqual(['PENDING failed', 'PENDING fresh'])
})

/** The txids of queries that have come to a list. */
function watchQueries(w: World): () => string[] {
  const came: string[] = []
  const { of } = w.ctx.receivedLists
  w.ctx.receivedLists.of = (provider: Provider) => {
    const list = of(provider)
    return {
      ...list,
      query(asked) {
        came.push(asked.txid)
        return list.query(asked)
      },
    }
  }
  return () => came
}

function makeGate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}
