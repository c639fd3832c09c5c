import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { loadConfig } from '../src/config/config.ts'
import { transact } from '../src/db/tx.ts'
import type { Context } from '../src/domain/context.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { claimSweep } from '../src/domain/reconciliation/sweeps.ts'
import { makeWindowSize } from '../src/domain/reconciliation/compare.ts'
import { reconcileDue, startReconcileWorker } from '../src/workers/reconcile.ts'
import { checkDue } from '../src/workers/check.ts'
import { makeCharges, payAll, smallPages, sweepAll, sweptUntil } from './reconcile-bank.ts'
import { patient, until, world } from './world.ts'

const MINUTE_MS = 60_000
const LEASE_MS = 2 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const dueIn = (ctx: Context, provider = ctx.providers[0]!) => reconcileDue(ctx, provider)

// ---- What notifications missed ----

// prove/many.mjs does the same with ten thousand payments, in pages of a thousand.
test('with every notification lost, a thousand payments are credited once each, and cost the bank ten questions', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await makeCharges(w, account, 1_000)
  await payAll(w, charges)
  w.clock.advance(MINUTE_MS)
  const before = await w.sandbox.stats()
  const provider = smallPages(w, 100)

  expect(await dueIn(w.ctx, provider)).toBe('idle')
  const after = await w.sandbox.stats()
  expect(after.calls['GET /pix']).toBe(10)
  for (const operation of ['GET /cob/:txid', 'GET /pix/:e2eid']) {
    expect(after.calls[operation]).toBe(before.calls[operation])
  }
  expect(await w.count('charges', `status = 'COMPLETED' and not paid_late`)).toBe(1_000)
  expect(await w.balanceCents(account.accountId)).toBe(1_000 * 49_50)

  // Each sweep reaches back a little, so the payments are listed again, and are known.
  w.clock.advance(MINUTE_MS)
  expect(await dueIn(w.ctx, provider)).toBe('idle')
  expect((await w.sandbox.stats()).calls['GET /pix']).toBe(20)
  expect(await w.count('payments')).toBe(1_000)
  expect(await w.count('transfers')).toBe(2_000)
  expect(await w.count('events')).toBe(1_000)
  expect(await w.differences()).toEqual([])
})

test('a payment that stands in the bank’s list some minutes late is found, though the sweep has passed its time', async () => {
  const w = await world()
  const account = await w.account()
  const [charge] = await makeCharges(w, account, 1)
  w.clock.advance(HOUR_MS / 2)
  await sweepAll(w)
  w.clock.advance(MINUTE_MS)
  const at = new Date(w.clock.now().getTime() - 9 * MINUTE_MS).toISOString()
  await w.sandbox.pay({ txid: charge!, amountCents: 50_00, at })
  await sweepAll(w)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

test('the first sweep reaches back to the provider’s first charge, and not to what the account received before', async () => {
  const w = await world()
  const account = await w.account()
  const at = new Date(w.clock.now().getTime() - HOUR_MS).toISOString()
  await w.sandbox.pay({ txid: 'before', amountCents: 7_00, at })
  const { charge } = await w.paidCharge({ account })
  w.clock.advance(3 * DAY_MS)
  await sweepAll(w)
  expect(await w.count('payments')).toBe(1)
  expect(await w.count('charges', `status = 'COMPLETED' and replace(id::text, '-', '') = '${charge.id}'`)).toBe(1)
})

test('what the books have already is passed over without waiting for anybody', async () => {
  const w = await world()
  await w.paidCharge()
  w.clock.advance(1_000)
  await sweepAll(w)
  w.clock.advance(MINUTE_MS)
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges for update')
    expect(await dueIn(w.ctx)).toBe('idle')
  })
  expect(w.logged).toEqual([])
  expect(await sweptUntil(w)).toEqual(w.clock.now())
})

// ---- Step by step ----

test('a long outage is caught up in steps of at most a day that leave nothing out', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await makeCharges(w, account, 10)
  for (const txid of charges) {
    w.clock.advance(DAY_MS)
    await w.sandbox.pay({ txid, amountCents: 50_00 })
  }
  w.clock.advance(1_000)
  const windows: { from: Date; to: Date }[] = []
  const watched: Provider = {
    ...w.ctx.providers[0]!,
    listReceived(window) {
      windows.push(window)
      return w.ctx.providers[0]!.listReceived(window)
    },
  }
  const sweeping = { windowSize: makeWindowSize() }
  const began = (await claimlessBeginning(w.ctx)).getTime()
  for (let round = 0; (await sweptUntil(w))! < w.clock.now(); round++) {
    expect(round).toBeLessThan(30)
    await reconcileDue(w.ctx, watched, sweeping)
  }
  // After the last step, days are closed, and the bank is asked about them again.
  const sweeps = windows.slice(0, 1 + windows.findIndex(({ to }) => to.getTime() === w.clock.now().getTime()))
  expect(sweeps.length).toBeGreaterThanOrEqual(10)
  expect(sweeps[0]!.from.getTime()).toBe(began - 10 * MINUTE_MS)
  for (const [index, { from, to }] of sweeps.entries()) {
    expect(to.getTime() - from.getTime()).toBeLessThanOrEqual(DAY_MS + 10 * MINUTE_MS)
    const next = sweeps[index + 1]
    if (next) expect(next.from.getTime()).toBe(to.getTime() - 10 * MINUTE_MS)
  }
  expect(await w.balanceCents(account.accountId)).toBe(10 * 49_50)
})

/** Begins the sweep of the provider without sweeping, and returns when it begins. */
async function claimlessBeginning(ctx: Context): Promise<Date> {
  const sweep = await claimSweep(ctx, 'sandbox')
  await ctx.pool.query('update sweeps set due_at = $1, claim = null', [ctx.now()])
  return sweep!.beganAt
}

test('a process that is killed half-way is followed by another when its lease ends, and nothing is lost or booked twice', async () => {
  const w = await world()
  const account = await w.account()
  await payAll(w, await makeCharges(w, account, 100))
  w.clock.advance(1_000)
  const began = w.clock.now()
  const doomed = await w.anotherProcess()
  const pages = smallPages(w, 10)
  const dying: Provider = {
    ...pages,
    async *listReceived(window) {
      let page = 0
      for await (const payments of pages.listReceived(window)) {
        if (++page === 4) await doomed.die()
        yield payments
      }
    },
  }
  await expect(dueIn(doomed.ctx, dying)).rejects.toThrow('pool')
  expect(await w.count('payments')).toBe(30)
  expect((await sweptUntil(w))!.getTime()).toBeLessThan(began.getTime())

  w.clock.advance(LEASE_MS - 1)
  expect(await dueIn(w.ctx, pages)).toBe('idle')
  expect(await w.count('payments')).toBe(30)
  w.clock.advance(1)
  await dueIn(w.ctx, pages)
  expect(await w.count('payments')).toBe(100)
  expect(await w.balanceCents(account.accountId)).toBe(100 * 49_50)
  expect(await w.differences()).toEqual([])
})

test('a sweep that is told to stop does so between pages, and another process goes on at once', async () => {
  const w = await world()
  const account = await w.account()
  await payAll(w, await makeCharges(w, account, 30))
  w.clock.advance(1_000)
  const stopping = new AbortController()
  const pages = smallPages(w, 10)
  const stopped: Provider = {
    ...pages,
    async *listReceived(window) {
      for await (const payments of pages.listReceived(window)) {
        yield payments
        stopping.abort()
      }
    },
  }
  expect(await reconcileDue(w.ctx, stopped, { windowSize: makeWindowSize(), signal: stopping.signal })).toBe('idle')
  expect(await w.count('payments')).toBe(10)
  expect(w.logged).toEqual([])
  await dueIn((await w.anotherProcess()).ctx)
  expect(await w.balanceCents(account.accountId)).toBe(30 * 49_50)
})

test('a sweep keeps no page in memory that it has booked, however long the list is', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const w = await world()
  await payAll(w, await makeCharges(w, await w.account(), 100))
  w.clock.advance(1_000)
  const bank = smallPages(w, 10)
  const read: WeakRef<ReceivedPayment[]>[] = []
  const kept: number[] = []
  const watched: Provider = {
    ...bank,
    async *listReceived(window) {
      for await (const page of bank.listReceived(window)) {
        read.push(new WeakRef(page))
        yield page
        // JavaScript keeps the target of a new WeakRef alive until the current job has ended.
        await new Promise(setImmediate)
        collectGarbage()
        kept.push(read.filter((ref) => ref.deref() !== undefined).length)
      }
    },
  }
  const { signal } = new AbortController()
  await reconcileDue(w.ctx, watched, { windowSize: makeWindowSize(), signal })
  expect(await w.count('payments')).toBe(100)
  expect(kept).toHaveLength(10)
  // These are the page that is being read, and those that a step of the loop still holds.
  expect(Math.max(...kept)).toBeLessThanOrEqual(3)
})

test('the worker stops at once while the bank does not answer', async () => {
  const w = await world()
  await w.paidCharge()
  w.clock.advance(1_000)
  await w.sandbox.faults({ hangRate: 1, seed: 1 })
  const worker = startReconcileWorker(w.ctx)
  await until('the bank is asked', async () => (await w.sandbox.stats()).calls['GET /pix'] === 1)
  const start = performance.now()
  await worker.stop()
  expect(performance.now() - start).toBeLessThan(patient(1_000))
  expect(await w.count('sweeps', 'claim is null and due_at <= now()')).toBe(1)
})

// ---- One at a time ----

// The first holds the row until the second waits for it. Without the condition on due_at, the second would take the
// sweep over.
test('of two processes that want to sweep at the same moment, one does', async () => {
  const w = await world()
  const other = await w.anotherProcess()
  await claimlessBeginning(w.ctx)
  let second: ReturnType<typeof claimSweep> | undefined
  await transact(w.pool, async (tx) => {
    const until = new Date(w.clock.now().getTime() + LEASE_MS)
    await tx.run('update sweeps set claim = gen_random_uuid(), due_at = $1', [until])
    second = claimSweep(other.ctx, 'sandbox')
    await w.lockWait()
  })
  expect(await second).toBeUndefined()
})

test('while one process sweeps a provider, others ask it nothing', async () => {
  const w = await world()
  await payAll(w, await makeCharges(w, await w.account(), 20))
  w.clock.advance(1_000)
  const other = await w.anotherProcess()
  const pages = smallPages(w, 10)
  let asked = 0
  const busy: Provider = {
    ...pages,
    async *listReceived(window) {
      for await (const payments of pages.listReceived(window)) {
        expect(await dueIn(other.ctx)).toBe('idle')
        asked++
        yield payments
      }
    },
  }
  await dueIn(w.ctx, busy)
  expect(asked).toBe(2)
  expect((await w.sandbox.stats()).calls['GET /pix']).toBe(2)
  // All of them together sweep once in a while, not each of them.
  expect(await dueIn(other.ctx)).toBe('idle')
  w.clock.advance(MINUTE_MS)
  await Promise.all([dueIn(w.ctx), dueIn(other.ctx)])
  expect((await w.sandbox.stats()).calls['GET /pix']).toBe(3)
})

test('a sweep that takes longer than its lease keeps it, page by page', async () => {
  const w = await world()
  await payAll(w, await makeCharges(w, await w.account(), 30))
  w.clock.advance(1_000)
  const now = w.clock.now()
  const other = await w.anotherProcess()
  const pages = smallPages(w, 10)
  const slow: Provider = {
    ...pages,
    async *listReceived(window) {
      for await (const payments of pages.listReceived(window)) {
        w.clock.advance(LEASE_MS - 1)
        expect(await claimSweep(other.ctx, 'sandbox')).toBeUndefined()
        yield payments
      }
    },
  }
  await dueIn(w.ctx, slow)
  expect(await sweptUntil(w)).toEqual(now)
})

test('a process whose lease ended while it was busy does not move the cursor of the one that took over', async () => {
  const w = await world()
  await payAll(w, await makeCharges(w, await w.account(), 20))
  w.clock.advance(1_000)
  const other = await w.anotherProcess()
  const pages = smallPages(w, 10)
  let takenOver = false
  const slow: Provider = {
    ...pages,
    async *listReceived(window) {
      for await (const payments of pages.listReceived(window)) {
        if (!takenOver) w.clock.advance(LEASE_MS)
        takenOver ||= (await claimSweep(other.ctx, 'sandbox')) !== undefined
        yield payments
      }
    },
  }
  const before = await claimlessBeginning(w.ctx)
  await dueIn(w.ctx, slow)
  expect(takenOver).toBe(true)
  expect(await sweptUntil(w)).toEqual(before)
  expect(await w.count('sweeps', 'claim is not null')).toBe(1)
  expect(w.logged).toMatchObject([{ fields: { err: { name: 'ClaimLost' } } }])
})

// ---- What fails ----

test('a bank that cannot be asked is asked again at the next sweep, and the cursor waits', async () => {
  const w = await world()
  const { account } = await w.paidCharge()
  w.clock.advance(1_000)
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  expect(await dueIn(w.ctx)).toBe('idle')
  expect(await sweptUntil(w)).toEqual(new Date(w.clock.now().getTime() - 1_000))
  expect(w.logged.filter(({ text }) => text.includes('sweep'))).toHaveLength(1)
  await w.sandbox.faults({})
  w.clock.advance(MINUTE_MS)
  await dueIn(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await sweptUntil(w)).toEqual(w.clock.now())
})

test('a bank that fails at a later page has the earlier ones settled, and the cursor waits', async () => {
  const w = await world()
  const account = await w.account()
  await payAll(w, await makeCharges(w, account, 30))
  const before = w.clock.now()
  w.clock.advance(1_000)
  const pages = smallPages(w, 10)
  const failing: Provider = {
    ...pages,
    async *listReceived(window) {
      let page = 0
      for await (const payments of pages.listReceived(window)) {
        if (++page === 3) throw new Error('the third page is missing')
        yield payments
      }
    },
  }
  await dueIn(w.ctx, failing)
  expect(await w.count('payments')).toBe(20)
  expect(await sweptUntil(w)).toEqual(before)
  w.clock.advance(MINUTE_MS)
  await dueIn(w.ctx, pages)
  expect(await w.balanceCents(account.accountId)).toBe(30 * 49_50)
})

test('a stretch that holds more than the bank lists is asked for in smaller ones', async () => {
  const w = await world()
  const account = await w.account()
  await payAll(w, await makeCharges(w, account, 60), { everyMs: MINUTE_MS })
  const pages = smallPages(w, 10, { maxPages: 3 })
  const windowSize = { spanMs: DAY_MS }
  for (let round = 0; (await w.count('payments')) < 60; round++) {
    expect(round).toBeLessThan(30)
    await reconcileDue(w.ctx, pages, { windowSize })
    w.clock.advance(MINUTE_MS)
  }
  expect(await w.balanceCents(account.accountId)).toBe(60 * 49_50)
})

test('a payment that cannot be booked keeps back no other, and is asked about until it can', async () => {
  const w = await world()
  const account = await w.account()
  const { payment } = await w.paidCharge({ account })
  await payAll(w, await makeCharges(w, account, 3))
  w.clock.advance(1_000)
  const [provider] = w.ctx.providers
  const mad = { ...payment, txid: 'no text of PostgreSQL\u{0}' }
  const madden = (one: ReceivedPayment) => (one.endToEndId === payment.endToEndId ? mad : one)
  const lying: Provider = {
    ...provider!,
    async *listReceived(window) {
      for await (const page of provider!.listReceived(window)) yield page.map(madden)
    },
    findPayment: () => Promise.resolve(mad),
  }
  expect(await dueIn(w.ctx, lying)).toBe('idle')
  expect(await w.balanceCents(account.accountId)).toBe(3 * 49_50)
  expect(await sweptUntil(w)).toEqual(w.clock.now())
  expect(w.logged).toMatchObject([{ level: 'error', fields: { endToEndId: payment.endToEndId } }])

  const lied = { ...w.ctx, providers: [lying] }
  for (let attempt = 1; attempt <= 12; attempt++) {
    expect(await checkDue(lied)).toBe('more')
    w.clock.advance(5 * MINUTE_MS)
  }
  await checkDue(w.ctx)
  expect(await w.count('payments', `end_to_end_id = '${payment.endToEndId}'`)).toBe(1)
})

test('when nothing can be booked the cursor waits', async () => {
  const w = await world()
  await payAll(w, await makeCharges(w, await w.account(), 101))
  const before = w.clock.now()
  w.clock.advance(1_000)
  await w.pool.query(`alter table payments add constraint refuse_all check (amount_cents < 0) not valid`)
  await dueIn(w.ctx)
  expect(await sweptUntil(w)).toEqual(before)
  await w.pool.query(`alter table payments drop constraint refuse_all`)
  w.clock.advance(MINUTE_MS)
  await dueIn(w.ctx)
  expect(await w.count('payments')).toBe(101)
})

test('RECONCILE_SECONDS says how often, a minute unless it is set, and 0 is never', () => {
  const secondsOf = (env: Record<string, string>) => loadConfig(env).settings.reconcileSeconds
  expect(secondsOf({})).toBe(60)
  expect(secondsOf({ RECONCILE_SECONDS: '0' })).toBe(0)
  expect(() => secondsOf({ RECONCILE_SECONDS: '-1' })).toThrow('RECONCILE_SECONDS must be a whole number')
})
