import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import type { Check } from '../src/domain/deposits/checks/check-queue.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { makeApiPix } from '../src/providers/api-pix/adapter.ts'
import { checkDue, startCheckWorker } from '../src/workers/check.ts'
import { makeCharges, payAll } from './reconcile-bank.ts'
import { closeAfterTest } from './scripted-psp.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const NET_CENTS = 49_50

/** Counts what the bank is asked. `shows` decides which payments its list has. */
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

/** Makes charges that are paid at the bank without a notification. */
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

test('a bank that writes txids in upper case is understood in notifications, lists and comparisons', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 30)
  const asked = watchBank(w)
  const bank = w.ctx.providers[0]!
  w.ctx.providers[0] = {
    ...bank,
    async *listReceived(...question) {
      for await (const page of bank.listReceived(...question))
        yield page.map((payment) => ({ ...payment, txid: payment.txid!.toUpperCase() }))
    },
  }
  await hint(w, [...txids.map((txid) => txid.toUpperCase()), ...txids])
  await checkDue(w.ctx)
  expect(asked).toMatchObject({ lists: 1, charges: [], payments: [] })
  expect(await w.balanceCents(account.accountId)).toBe(30 * NET_CENTS)
  expect(await w.count('checks')).toBe(0)
  w.ctx.providers[0] = bank
  expect(await w.differences()).toEqual([])
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

test('a worker that was stopped and started again in one process follows hints up as before', async () => {
  const w = await world()
  const account = await w.account()
  const txids = await paidCharges(w, account, 40)
  for (const some of [txids.slice(0, 20), txids.slice(20)]) {
    const worker = startCheckWorker(w.ctx)
    await Promise.all(some.map((txid) => hint(w, [txid])))
    await until(
      'all is credited',
      async () => (await w.count('charges', `status = 'COMPLETED'`)) >= txids.indexOf(some.at(-1)!) + 1,
    )
    await worker.stop()
  }
  expect(await w.count('checks')).toBe(0)
  // While no worker runs, hints wait in the queue and are due at once.
  const { payment } = await w.paidCharge({ account })
  await hint(w, [payment.txid!])
  expect(await w.count('checks', 'claim is not null')).toBe(0)
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
  w.ctx.providers[0] = scarceBank(w)
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
  w.ctx.hintFollower.attach({ room: () => 10, follow: () => {} })
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
  w.ctx.hintFollower.attach({ room: () => 1_000, follow: () => {} })
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
  w.ctx.hintFollower.attach({ room: () => 0, follow: (checks) => void followed.push(...checks) })
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
  // The bank was not asked about these, so that is no attempt.
  expect(await w.count('checks', 'attempts = 0')).toBe(16)
  const other = await w.anotherProcess()
  const asks = watchBank(other)
  await checkDue(other.ctx)
  expect(asks).toMatchObject({ lists: 1, charges: [] })
  expect(await w.balanceCents(account.accountId)).toBe(80 * NET_CENTS)
})

// The database refuses to delete checks. A settlement that ends a check in its own transaction is undone with it.
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

const askAll = (w: World, charges: Charge[]) =>
  Promise.all(charges.map((charge) => queryDeposit(w.ctx, charge.accountId, charge.paymentLinkId)))

const statuses = (answers: Awaited<ReturnType<typeof queryDeposit>>[]) => [
  ...new Set(answers.map(({ charge, check }) => `${charge.status} ${check}`)),
]

test('a query asks about its own charge, however many wait: a list that is behind makes no answer untrue', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 20)
  const asked = watchBank(w, () => false)
  expect(statuses(await askAll(w, charges))).toEqual(['PENDING fresh'])
  for (const { emv } of charges) await w.sandbox.pay({ emv })
  expect(statuses(await askAll(w, charges))).toEqual(['COMPLETED fresh'])
  expect([asked.lists, asked.charges.length]).toEqual([0, 40])
  expect(await w.balanceCents(account.accountId)).toBe(20 * NET_CENTS)
})

// The clock of the rate limit stands still, so the bank is asked as often as its bucket has tokens.
test('where the bank allows ten calls a second, a query that cannot ask answers what is stored, and says so', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await openCharges(w, account, 40)
  for (const { emv } of charges) await w.sandbox.pay({ emv })
  w.ctx.providers[0] = scarceBank(w)
  const answers = await askAll(w, charges)
  expect(statuses(answers).toSorted()).toEqual(['COMPLETED fresh', 'PENDING failed'])
  expect(answers.filter(({ check }) => check === 'fresh').length).toBeLessThanOrEqual(10)
})

function scarceBank(w: World): Provider {
  const bank = makeApiPix({
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
  closeAfterTest(() => bank.close())
  return bank
}

function makeGate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}
