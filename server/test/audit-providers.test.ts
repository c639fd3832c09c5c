import { expect, onTestFinished, test } from 'vitest'
import { audit } from '../src/domain/audit/audit.ts'
import { dayOf } from '../src/domain/core/business-days.ts'
import { ProviderError, type Provider, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { compareWindow } from '../src/domain/reconciliation/compare.ts'
import { makeCharges, payAll, smallPages, sweepAll } from './reconcile-bank.ts'
import { changeProvider, completedCharge, holdings, refund, settleAll } from './refund-steps.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { runCli, temporaryHome } from './process.ts'
import { makeWoovi } from '../src/providers/woovi/adapter.ts'
import { APP_ID, openWooviServer } from './woovi-server.ts'
import { makeContext } from '../src/domain/context.ts'
import { CHARGE_SECRET } from './databases.ts'
import { world, type World } from './world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const DAY = { from: new Date('2026-03-02T03:00:00Z'), to: new Date('2026-03-03T03:00:00Z') }

// ---- However long the history is ----

test('a day that holds more than the adapter reads at once is compared in shorter stretches, and counted once', async () => {
  const w = await world()
  const account = await w.account()
  await payAll(w, await makeCharges(w, account, 60), { everyMs: MINUTE_MS })
  await sweepAll(w)
  // The provider lists three pages of ten, which is half an hour. The first stretch is a day.
  const provider = smallPages(w, 10, { maxPages: 3 })
  const read = await compareWindow(w.ctx, provider, DAY, { mode: 'read', windowSize: { spanMs: DAY_MS } })
  expect(read).toMatchObject({ providerCount: 60, ledgerCount: 60, differenceCount: 0 })
  const report = await audit({ ...w.ctx, providers: [provider] })
  expect(report).toMatchObject({ compared: [{ payments: 60 }], notCompared: [], differences: [] })
})

test('what was booked before a stretch turned out too long is counted as booked', async () => {
  const w = await world()
  await payAll(w, await makeCharges(w, await w.account(), 60), { everyMs: MINUTE_MS })
  const provider = smallPages(w, 10, { maxPages: 3 })
  const statement = await compareWindow(w.ctx, provider, DAY, { windowSize: { spanMs: DAY_MS } })
  expect(statement).toMatchObject({ providerCount: 60, ledgerCount: 60, settledCount: 60, differenceCount: 0 })
  expect(statement).toMatchObject({ providerTotalCents: 60 * 50_00, settledTotalCents: 60 * 50_00 })
})

test('an audit books nothing and opens nothing', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await w.ctx.providers[0]!.refund({ endToEndId: payment.endToEndId, refundId: 'window7', amountCents: 5_00 })
  expect(await w.differences()).toMatchObject([{ text: expect.stringContaining('but it is not in our books') }])
  for (const table of ['payments', 'transfers', 'exceptions', 'refunds']) expect(await w.count(table)).toBe(0)
})

// ---- What our side holds outside of every list ----

test.each([
  ['two days ahead', 2 * DAY_MS],
  ['ten years ahead', 3_650 * DAY_MS],
  ['long before the first charge', -900 * DAY_MS],
])('a payment that was made up with a time %s is named', async (_, aheadMs) => {
  const w = await world()
  const { payment } = await completedCharge(w)
  const occurredAt = new Date(w.clock.now().getTime() + aheadMs)
  await settleAll(w, [{ ...payment, endToEndId: 'E-invented', txid: null, amountCents: 7_00, occurredAt }])
  const before = (await w.sandbox.stats()).calls['GET /pix'] ?? 0
  expect(await w.differences()).toEqual([
    {
      check: 'provider',
      subject: 'payment E-invented',
      text: 'stands in our books with 700 cents, but sandbox does not know it',
    },
  ])
  // The audit does not ask the bank about years without a charge.
  expect((await w.sandbox.stats()).calls['GET /pix']! - before).toBeLessThan(10)
})

test('a payment that the bank itself dates ahead, or before the first charge, is no difference', async () => {
  const w = await world()
  await w.deposit(await w.account())
  const ahead = new Date(w.clock.now().getTime() + 3 * DAY_MS).toISOString()
  for (const at of [ahead, '2026-02-02T12:00:00Z']) {
    const { pix } = await w.sandbox.pay({ txid: 'nobody', amountCents: 3_00, at })
    const found = await w.ctx.providers[0]!.findPayment(pix[0]!.endToEndId)
    await settleAll(w, [found as ReceivedPayment])
  }
  expect(await w.differences()).toEqual([])
})

test('a list that leaves the txid out says nothing about it', async () => {
  const w = await world()
  await completedCharge(w)
  const [provider] = w.ctx.providers
  changeProvider(w, {
    async *listReceived(window) {
      for await (const page of provider!.listReceived(window)) yield page.map((one) => ({ ...one, txid: null }))
    },
  })
  expect(await w.differences()).toEqual([])
})

test('a payment that stands in our books under another provider is named', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await settleAll(w, [{ ...payment, provider: 'bankb' }])
  const [provider] = w.ctx.providers
  const bankb: Provider = {
    ...provider!,
    name: 'bankb',
    async *listReceived() {},
    findPayment: () => Promise.resolve({ ...payment, provider: 'bankb' }),
  }
  const report = await audit({ ...w.ctx, providers: [provider!, bankb] })
  expect(report.differences).toMatchObject([
    {
      subject: `payment ${payment.endToEndId}`,
      text: expect.stringMatching(/^sandbox received 5000 cents .*, which our books have as received by bankb$/),
    },
  ])
})

// ---- What cannot be compared ----

test('a provider that cannot be asked is reported as not compared, and the books’ own differences are told all the same', async () => {
  const w = await world()
  await completedCharge(w)
  w.clock.advance(5 * DAY_MS)
  await w.pool.query(
    `update ledger_balances set credits_cents = credits_cents + 1 where not may_be_negative and credits_cents > 100`,
  )
  changeProvider(w, { listReceived: refusing(() => true) })
  const report = await audit(w.ctx)
  expect(report.differences).toMatchObject([{ check: 'balance' }])
  const what = 'payments and refunds of 2026-03-02 to 2026-03-08'
  expect(report.notCompared).toEqual([{ provider: 'sandbox', what, why: 'sandbox: listReceived: no' }])
})

test('a bank that lists only its last days is compared as far as it lists', async () => {
  const w = await world()
  await completedCharge(w)
  w.clock.advance(20 * DAY_MS)
  await w.paidCharge()
  const oldest = new Date(w.clock.now().getTime() - 10 * DAY_MS)
  changeProvider(w, { listReceived: refusing(({ from }) => from < oldest, w.ctx.providers[0]) })
  const report = await audit(w.ctx)
  expect(report.differences).toMatchObject([{ text: expect.stringContaining('but it is not in our books') }])
  const what = 'payments and refunds of 2026-03-02 to 2026-03-12'
  expect(report.notCompared).toEqual([{ provider: 'sandbox', what, why: 'sandbox: listReceived: no' }])
})

test('with a first day, older days are not asked for, and the books are proved whole', async () => {
  const w = await world()
  const { payment } = await completedCharge(w)
  await settleAll(w, [{ ...payment, endToEndId: 'E-invented', txid: null }])
  w.clock.advance(5 * DAY_MS)
  await completedCharge(w)
  const report = await audit(w.ctx, { since: '2026-03-06' })
  expect(report).toMatchObject({ since: '2026-03-06', payments: 3, differences: [], notCompared: [] })
  expect(report.compared).toMatchObject([{ from: new Date('2026-03-06T03:00:00Z'), payments: 1 }])
  await w.pool.query(
    'update ledger_balances set credits_cents = credits_cents + 1 where ledger_account_id = (select credit_id from transfers order by id limit 1)',
  )
  expect((await audit(w.ctx, { since: '2026-03-06' })).differences).toMatchObject([{ check: 'balance' }])
})

function refusing(isRefused: (window: { from: Date }) => boolean, provider?: Provider): Provider['listReceived'] {
  return async function* (window, onUnread) {
    if (isRefused(window)) throw new ProviderError('refused', 'sandbox: listReceived: no')
    yield* provider!.listReceived(window, onUnread)
  }
}

// ---- Refunds, in both directions ----

// Our books have everything that a refund leaves there, and the bank has nothing.
test('a refund that was made up is named, by the audit and when its day is compared', async () => {
  const w = await world()
  const { charge, payment } = await completedCharge(w, { valueCents: 50_00 })
  const [provider] = w.ctx.providers
  changeProvider(w, {
    refund: ({ refundId, amountCents }) => Promise.resolve({ refundId, amountCents, status: 'done', reason: null }),
  })
  const forged = await refund(w, charge, { amountCents: 49_00 })
  expect(forged.status).toBe('DONE')
  w.ctx.providers[0] = provider!
  const text = `our books say that 4900 cents were given back (refund ${forged.id}), but sandbox does not`
  expect(await w.differences()).toEqual([{ check: 'provider', subject: `payment ${payment.endToEndId}`, text }])
  expect((await compareWindow(w.ctx, provider!, DAY)).differences).toEqual([
    { kind: 'refund_not_at_provider', endToEndId: payment.endToEndId, text },
  ])
})

async function withWoovi() {
  const w = await world()
  const woovi = await openWooviServer({ now: w.clock.now })
  const provider = makeWoovi({
    name: 'woovi',
    url: woovi.url,
    appId: APP_ID,
    callsPerSecond: 0,
    now: w.clock.now,
    log: w.ctx.log,
  })
  onTestFinished(async () => {
    await provider.close()
    await woovi.stop()
  })
  const { pool, clock, log, metrics, settings, webhookSender, instance, mailer } = w.ctx
  const ctx = makeContext({
    pool,
    clock,
    log,
    metrics,
    settings,
    providers: [provider],
    webhookSender,
    mailer,
    instance,
  })
  const paid = async () => {
    const endToEndId = await woovi.payByKey(50_00, { sent: false })
    await ctx.settlements.add([(await provider.findPayment(endToEndId)) as ReceivedPayment])
    return endToEndId
  }
  return { ...w, ctx, woovi, provider, paid }
}

/** Books a refund as if Woovi had said that it was done. */
async function bookRefund(w: World, endToEndId: string, refundId: string, amountCents: number): Promise<void> {
  const told = { refundId, amountCents, status: 'done' as const, reason: null }
  const found = (await w.ctx.providers[0]!.findPayment(endToEndId)) as ReceivedPayment
  await w.ctx.settlements.add([{ ...found, refunds: [told] }])
  w.clock.advance(1_000)
}

test('Woovi lists no refunds: it is asked about each of ours', async () => {
  const s = await withWoovi()
  const endToEndId = await s.paid()
  await s.provider.refund({ endToEndId, refundId: 'r1', amountCents: 20_00 })
  s.woovi.endRefund('r1', 'REFUNDED')
  s.woovi.changeEntry(endToEndId, { status: 'PARTIAL_REFUND' })
  await bookRefund(s, endToEndId, 'r1', 20_00)
  expect(await audit(s.ctx)).toMatchObject({ differences: [], notCompared: [] })

  await bookRefund(s, endToEndId, 'r2', 7_00)
  const text = 'our books say that 700 cents were given back (refund r2), but woovi does not'
  expect((await audit(s.ctx)).differences).toEqual([{ check: 'provider', subject: `payment ${endToEndId}`, text }])
  expect((await compareWindow(s.ctx, s.provider, DAY)).differences).toMatchObject([
    { kind: 'foreign_refund', text: 'woovi gave back 2000 cents of it (refund r1), which we did not ask for' },
    { kind: 'refund_not_at_provider', text },
  ])
  // A refund that Woovi does not find is not the same as one that Woovi calls failed.
  expect(await s.count('refund_checks')).toBe(0)
})

test('a refund that Woovi takes back and makes again is named by the audit, and booked after its day was compared', async () => {
  const s = await withWoovi()
  const endToEndId = await s.paid()
  await s.provider.refund({ endToEndId, refundId: 'r1', amountCents: 50_00 })
  const woovi = (refund: 'REFUNDED' | 'NOT_ACCOMPLISHED') => {
    s.woovi.endRefund('r1', refund)
    s.woovi.changeEntry(endToEndId, { status: refund === 'REFUNDED' ? 'REFUNDED' : 'CONFIRMED' })
  }
  const texts = async () => (await audit(s.ctx)).differences.map(({ text }) => text)
  const compare = async () => (await compareWindow(s.ctx, s.provider, DAY)).differences.map(({ text }) => text)
  woovi('REFUNDED')
  await bookRefund(s, endToEndId, 'r1', 50_00)
  expect(await holdings(s)).toEqual({})

  woovi('NOT_ACCOMPLISHED')
  const not = 'our books say that 5000 cents were given back (refund r1), but woovi does not'
  expect([await texts(), await compare()]).toEqual([[not], [not]])
  expect(await holdings(s)).toEqual({})
  await runDueRefunds(s.ctx)
  expect(await holdings(s)).toEqual({ cash: 50_00, suspense: 50_00 })
  s.clock.advance(1_000)
  expect([await texts(), await compare()]).toEqual([[], []])

  woovi('REFUNDED')
  const sums = 'woovi gave back all 5000 cents, our books 0 cents'
  const again = 'woovi gave back 5000 cents again (refund r1), which our books have as undone'
  expect([await texts(), await compare()]).toEqual([
    [sums, again],
    [sums, again],
  ])
  await runDueRefunds(s.ctx)
  expect(await holdings(s)).toEqual({})
  s.clock.advance(1_000)
  expect([await texts(), await compare()]).toEqual([[], []])
})

test.each([
  ['PARTIAL_REFUND', 'a part of 5000 cents'],
  ['REFUNDED', 'all 5000 cents'],
])('a Pix that Woovi calls %s, and of which our books gave nothing back, is named', async (status, share) => {
  const s = await withWoovi()
  const endToEndId = await s.paid()
  s.woovi.changeEntry(endToEndId, { status })
  const text = `woovi gave back ${share}, our books 0 cents`
  expect((await audit(s.ctx)).differences).toEqual([{ check: 'provider', subject: `payment ${endToEndId}`, text }])
  const read = await compareWindow(s.ctx, s.provider, DAY, { mode: 'read' })
  expect(read.differences).toMatchObject([{ kind: 'refund_not_in_books', text }])
})

test('money in suspense that Woovi calls REFUNDED is booked as gone when its day is compared', async () => {
  const s = await withWoovi()
  const endToEndId = await s.paid()
  expect(await holdings(s)).toEqual({ cash: 50_00, suspense: 50_00 })
  s.woovi.changeEntry(endToEndId, { status: 'REFUNDED' })
  expect((await compareWindow(s.ctx, s.provider, DAY)).differences).toEqual([])
  expect(await holdings(s)).toEqual({})
  expect(await s.count('exceptions', `resolution = 'refund'`)).toBe(1)
  expect((await audit(s.ctx)).differences).toEqual([])
})

test('a Pix of which Woovi does not say how it stands is reported as compared without refunds', async () => {
  const s = await withWoovi()
  const endToEndId = await s.paid()
  s.woovi.changeEntry(endToEndId, { status: undefined })
  const why = 'it does not tell what was given back of 1 payment'
  expect(await audit(s.ctx)).toMatchObject({
    differences: [],
    notCompared: [{ provider: 'woovi', what: 'refunds', why }],
  })
})

test('one refund that cannot be asked about is not compared, and holds up no other', async () => {
  const s = await withWoovi()
  const [first, second] = [await s.paid(), await s.paid()]
  for (const [endToEndId, refundId] of [
    [first, 'r1'],
    [second, 'r2'],
  ] as const) {
    await s.provider.refund({ endToEndId, refundId, amountCents: 20_00 })
    s.woovi.endRefund(refundId, 'REFUNDED')
    s.woovi.changeEntry(endToEndId, { status: 'PARTIAL_REFUND' })
    await bookRefund(s, endToEndId, refundId, refundId === 'r2' ? 20_01 : 20_00)
  }
  s.woovi.fail('GET /refund/:id', 'error', 3)
  const report = await audit(s.ctx)
  expect(report.differences).toMatchObject([{ text: 'woovi says that refund r2 is of 2000 cents, our books 2001' }])
  expect(report.notCompared).toMatchObject([{ what: 'refunds' }])
})

// ---- The command ----

function envOf(w: World): Record<string, string> {
  const bank = { PROVIDER_SANDBOX_URL: w.sandbox.url, SECRET_KEY: CHARGE_SECRET }
  return { DATABASE_URL: w.databaseUrl, ...bank, GUICHE_HOME: temporaryHome() }
}

test('the command exits 0 only when everything was compared and agrees, 1 with differences, and 3 with neither', async () => {
  // The command uses the machine's clock, and compares each day since this one.
  const first = dayOf(new Date(Date.now() - 3 * DAY_MS))
  const w = await world({ at: new Date(`${first}T12:00:00Z`) })
  const { payment } = await completedCharge(w)
  const agrees = await runCli(['audit'], envOf(w))
  expect(agrees.stdout).toContain(`\ncompared   sandbox: 1 received since ${first}, R$ 50,00\n`)
  expect(agrees.stdout).toMatch(/^took {7}\d+(\.\d)? s, at most \d+ MiB of memory$/m)
  expect(agrees.stdout).toMatch(/\nEverything agrees: .*, and the list of sandbox\.\n$/)
  expect(agrees.stderr).toContain('100 %')
  expect(agrees.code).toBe(0)

  const today = dayOf(new Date())
  const since = await runCli(['audit', '--since', today, '--json'], envOf(w))
  expect(JSON.parse(since.stdout)).toMatchObject({ since: today, compared: [{ payments: 0 }], differences: [] })
  expect(since.code).toBe(0)

  await settleAll(w, [{ ...payment, endToEndId: 'E-old', provider: 'ghost', txid: null }])
  const left = await runCli(['audit', '--since', today], envOf(w))
  expect(left.stdout).not.toContain('Everything agrees')
  expect(left.stdout).toContain(
    'No differences, but not everything could be compared.\nNot compared:\n  ghost: payments and refunds: 1 payment came through it, and it is not configured any more\n',
  )
  expect(left.code).toBe(3)

  const away = await runCli(['audit', '--since', today], { ...envOf(w), PROVIDER_SANDBOX_URL: 'http://127.0.0.1:9' })
  expect(away.stdout).toContain('  sandbox: payments and refunds of ')
  expect(away.code).toBe(3)

  await w.paidCharge()
  const differs = await runCli(['audit'], envOf(w))
  expect(differs.stdout).toContain('1 difference:\n')
  expect(differs.code).toBe(1)
  expect((await runCli(['audit', '--since', 'monday'], envOf(w))).stderr).toContain(
    'It must be a day such as 2026-01-31.',
  )
  expect((await runCli(['audit', '--help'], envOf(w))).stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}3 /)
})
