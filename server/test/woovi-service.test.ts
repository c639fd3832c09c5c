import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { listClosings } from '../src/domain/reconciliation/closings.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { reconcileDue } from '../src/workers/reconcile.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { holdings, OPERATOR } from './refund-steps.ts'
import { bearer, deposit, get, post } from './requests.ts'
import { serveWithWoovi } from './woovi-world.ts'

// The whole service with Woovi as its only provider: real sockets in both directions, and notifications that Woovi
// really posts.

const HOUR_MS = 3_600_000

test('a deposit is paid, Woovi tells us, it is credited once, and the books agree with Woovi’s', async () => {
  const s = await serveWithWoovi()
  // Woovi's tests of the address, for Pix and for disputes.
  const tests = s.woovi.notified.length
  expect(s.woovi.notified).toEqual(Array(5).fill(expect.objectContaining({ status: 200 })))
  const charge = await s.open()
  expect(charge).toMatchObject({ status: 'PENDING', emv: expect.stringContaining('br.gov.bcb.pix') })
  expect(s.woovi.charges.get(charge.id)).toMatchObject({ value: 50_00 })

  const endToEndId = await s.woovi.pay(charge.id)
  expect(s.woovi.notified[tests]).toMatchObject({ status: 200 })
  // A notification is only a hint: nothing is credited before Woovi is asked.
  expect(await s.balanceCents(s.account.accountId)).toBe(0)
  await s.checkAll()
  expect(await s.balanceCents(s.account.accountId)).toBe(49_50)

  // The notification is repeated, and Woovi is asked again in every way there is.
  const { url, body, signature } = s.woovi.notified[tests]!
  const again = { method: 'POST', headers: { 'x-webhook-signature': signature }, body }
  expect((await fetch(url, again)).status).toBe(200)
  await s.checkAll()
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'COMPLETED' })
  expect(await s.count('payments', `end_to_end_id = '${endToEndId}' and credited`)).toBe(1)
  expect(await s.balanceCents(s.account.accountId)).toBe(49_50)
  expect(await s.isClean()).toEqual([])
})

test('a query alone finds a payment that nobody told us of', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  await s.woovi.pay(charge.id, { sent: false })
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'COMPLETED' })
  expect(await s.balanceCents(s.account.accountId)).toBe(49_50)
  expect(await s.isClean()).toEqual([])
})

test('a forged notification is refused with 403 and asks nothing', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  const payload = JSON.stringify({ charge: { correlationID: charge.id, status: 'COMPLETED' } })
  const url = '/callbacks/woovi/secret-of-woovi'
  for (const headers of [{}, { 'x-webhook-signature': 'Zm9yZ2Vk' }]) {
    const answer = await s.app.inject({ method: 'POST', url, headers, payload })
    expect([answer.statusCode, answer.json()]).toEqual([
      403,
      { success: false, error: 'Invalid notification signature' },
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
  }
  expect(await s.count('checks', `due_at <= '${s.clock.now().toISOString()}'`)).toBe(0)
  // With Woovi's signature it is accepted, but changes nothing, because nobody paid.
  const headers = { 'x-webhook-signature': s.woovi.sign(payload) }
  expect((await s.app.inject({ method: 'POST', url, headers, payload })).statusCode).toBe(200)
  await s.checkAll()
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'PENDING' })
  expect(await s.balanceCents(s.account.accountId)).toBe(0)
})

test('an unpaid charge expires by our clock, and is completed late if it is paid after all', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  s.clock.advance(HOUR_MS + 60_000)
  await s.checkAll()
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'EXPIRED' })
  await s.woovi.pay(charge.id)
  await s.checkAll()
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'COMPLETED' })
  expect(await s.balanceCents(s.account.accountId)).toBe(49_50)
  expect(await s.isClean()).toEqual([])
})

test('a canceled charge is gone at Woovi, and money that came all the same is credited late', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  const kept = s.woovi.charges.get(charge.id)!
  const answer = await s.app.inject(post(s.account.key, `/api/deposit/${charge.paymentLinkId}/cancel`))
  expect(answer.json()).toMatchObject({ charge: { status: 'CANCELED' } })
  expect(s.woovi.charges.size).toBe(0)
  // The payer's bank already had the code. Woovi books the Pix and notifies us, but no longer shows the charge.
  s.woovi.charges.set(charge.id, kept)
  const paying = s.woovi.pay(charge.id)
  s.woovi.charges.delete(charge.id)
  await paying
  await s.checkAll()
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'COMPLETED' })
  expect(await s.balanceCents(s.account.accountId)).toBe(49_50)
  expect(await s.isClean()).toEqual([])
})

test('a Pix without a charge, and one of a wrong amount, wait for the operator', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  await s.woovi.payByKey(7_00)
  await s.woovi.pay(charge.id, { value: 49_99 })
  await s.checkAll()
  expect(await s.count('exceptions', `kind = 'unknown_charge'`)).toBe(1)
  expect(await s.count('exceptions', `kind = 'wrong_amount'`)).toBe(1)
  expect(await s.balanceCents(s.account.accountId)).toBe(0)
  expect(await s.isClean()).toEqual([])
})

// ---- Money that is gone before it is credited ----

test('a Pix that Woovi had refunded when it first told of it is recorded with its refund, and credited to nobody', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  const endToEndId = await s.woovi.pay(charge.id, { sent: false })
  s.woovi.changeEntry(endToEndId, { status: 'REFUNDED' })
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'PENDING' })
  expect(await s.count('payments', `end_to_end_id = '${endToEndId}' and not credited`)).toBe(1)
  expect(await s.count('refunds', `status = 'DONE' and source = 'provider' and amount_cents = 5000`)).toBe(1)
  expect(await s.count('exceptions', `kind = 'refunded_payment' and resolution = 'refund'`)).toBe(1)
  expect(await s.count('events', `kind = 'DEPOSIT_ASSET_SUCCESS'`)).toBe(0)
  expect(await holdings(s)).toEqual({})
  expect(await s.isClean()).toEqual([])

  // Woovi has the money after all, and says so again when it is asked about this Pix.
  s.woovi.changeEntry(endToEndId, { status: 'CONFIRMED' })
  s.clock.advance(26 * HOUR_MS)
  while ((await reconcileDue(s.ctx, s.provider)) === 'more');
  const [closing] = await listClosings(s.ctx, { limit: 1 })
  expect(closing).toMatchObject({ differences: [{ kind: 'refund_not_at_provider', endToEndId }] })
  await runDueRefunds(s.ctx)
  const { exceptions } = await listExceptions(s.ctx, { state: 'open', limit: 10 })
  expect(exceptions).toMatchObject([{ kind: 'undone_refund', amountCents: 50_00 }])
  expect(await holdings(s)).toEqual({ cash: 50_00, suspense: 50_00 })
  await resolveException(
    s.ctx,
    OPERATOR,
    exceptions[0]!.id,
    { how: 'credit', accountId: s.account.accountId },
    'theirs',
  )
  expect(await s.balanceCents(s.account.accountId)).toBe(50_00)
  await s.checkAll()
  expect(await s.isClean()).toEqual([])
})

test('a process that dies before it books the refund of such a Pix leaves it to the next sweep', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  const endToEndId = await s.woovi.pay(charge.id, { sent: false })
  s.woovi.changeEntry(endToEndId, { status: 'REFUNDED' })
  const payment = await s.provider.findPayment(endToEndId)
  await transact(s.pool, (tx) => settle(tx, s.clock.now(), [payment as ReceivedPayment]))
  expect(await holdings(s)).toEqual({ cash: 50_00, suspense: 50_00 })
  s.clock.advance(60_000)
  while ((await reconcileDue(s.ctx, s.provider)) === 'more');
  expect(await holdings(s)).toEqual({})
  expect(await s.count('refunds')).toBe(1)
  expect(await s.isClean()).toEqual([])
})

test('a Pix of which a part was refunded before it is credited waits for the operator', async () => {
  const s = await serveWithWoovi()
  const charge = await s.open()
  const endToEndId = await s.woovi.pay(charge.id, { sent: false })
  s.woovi.changeEntry(endToEndId, { status: 'PARTIAL_REFUND' })
  await s.query(charge.paymentLinkId)
  expect(await holdings(s)).toEqual({ cash: 50_00, suspense: 50_00 })
  const { exceptions } = await listExceptions(s.ctx, { state: 'open', limit: 10 })
  expect(exceptions).toMatchObject([{ kind: 'refunded_payment', charge: { id: charge.id } }])
  await resolveException(s.ctx, OPERATOR, exceptions[0]!.id, { how: 'match' }, 'the shop gave a discount')
  expect(await s.query(charge.paymentLinkId)).toMatchObject({ status: 'COMPLETED' })
  // Nobody knows how much went back, so the audit names the payment until an operator has looked.
  expect(await s.isClean()).toMatchObject([{ subject: `payment ${endToEndId}` }])
})

// ---- Charges that are called paid without a Pix ----

/** After its expiry, Woovi calls the charge COMPLETED but has no transaction of it. */
async function paidWithoutPix() {
  const s = await serveWithWoovi()
  const charge = await s.open()
  s.woovi.charges.get(charge.id)!.paidAt = s.clock.now()
  s.clock.advance(HOUR_MS + 60_000)
  await s.checkAll()
  const open = async () => (await listExceptions(s.ctx, { state: 'open', limit: 10 })).exceptions
  const pix = { type: 'PAYMENT', status: 'CONFIRMED', value: 50_00, charge: { correlationID: charge.id } }
  const namePix = () => s.woovi.addEntry({ ...pix, endToEndId: 'E54811417202603021200foundlater1' })
  return { ...s, charge, open, namePix }
}

test('a charge that Woovi calls paid without a Pix is one exception, which ends when the Pix appears', async () => {
  const s = await paidWithoutPix()
  s.clock.advance(600_000)
  await s.checkAll()
  expect(await s.query(s.charge.paymentLinkId)).toMatchObject({ status: 'PENDING' })
  const facts = { kind: 'unnamed_payment', provider: 'woovi', endToEndId: null, amountCents: 50_00, occurredAt: null }
  expect(await s.open()).toMatchObject([{ ...facts, charge: { id: s.charge.id, status: 'PENDING' } }])
  expect(await s.isClean()).toMatchObject([
    { subject: `charge ${s.charge.id}`, text: expect.stringMatching(/names no Pix/) },
  ])

  s.namePix()
  s.clock.advance(600_000)
  await s.checkAll()
  expect(await s.query(s.charge.paymentLinkId)).toMatchObject({ status: 'COMPLETED' })
  expect(await s.balanceCents(s.account.accountId)).toBe(49_50)
  expect(await s.count('exceptions', `resolution = 'match' and resolved_by_kind = 'system'`)).toBe(1)
  expect(await s.isClean()).toEqual([])
})

test('an operator gives up a charge that is called paid: it expires, and a Pix that appears later completes it', async () => {
  const s = await paidWithoutPix()
  const [exception] = await s.open()
  for (const how of ['refund', 'match'] as const)
    await expect(resolveException(s.ctx, OPERATOR, exception!.id, { how }, 'no')).rejects.toMatchObject({
      code: 'resolution_invalid',
    })
  const giveUp = { how: 'write_off', charge: 'keep' } as const
  expect(
    await resolveException(s.ctx, OPERATOR, exception!.id, giveUp, 'Woovi says: an error of theirs'),
  ).toMatchObject({
    state: 'resolved',
  })
  await expect(resolveException(s.ctx, OPERATOR, exception!.id, giveUp, 'again')).rejects.toMatchObject({
    code: 'exception_resolved',
  })
  s.clock.advance(600_000)
  await s.checkAll()
  expect(await s.query(s.charge.paymentLinkId)).toMatchObject({ status: 'EXPIRED' })
  expect(await s.count('exceptions')).toBe(1)
  expect(await s.isClean()).toEqual([])
  s.namePix()
  while ((await reconcileDue(s.ctx, s.provider)) === 'more');
  expect(await s.query(s.charge.paymentLinkId)).toMatchObject({ status: 'COMPLETED' })
  expect(await s.isClean()).toEqual([])
})

test('a transaction of a kind that nobody knows is told once and named when its day is closed, and holds up no other', async () => {
  const s = await serveWithWoovi()
  const sweep = async () => {
    while ((await reconcileDue(s.ctx, s.provider)) === 'more');
  }
  await sweep()
  s.woovi.addEntry({ type: 'GIFT', endToEndId: 'E54811417202603021200gift0000001' })
  s.clock.advance(HOUR_MS)
  await sweep()
  const late = await s.woovi.payByKey(7_00)
  s.clock.advance(60_000)
  await sweep()
  expect(await s.count('payments', `end_to_end_id = '${late}'`)).toBe(1)
  expect(s.logged.filter(({ level }) => level === 'error')).toMatchObject([
    { text: expect.stringContaining('cannot be read'), fields: { endToEndId: 'E54811417202603021200gift0000001' } },
  ])
  expect(await s.ctx.metrics.unread.get()).toMatchObject({ values: [{ value: 1, labels: { provider: 'woovi' } }] })
  // Woovi is not asked about the entry again and again.
  expect(await s.count('checks', `subject like '%gift%'`)).toBe(0)

  s.clock.advance(24 * HOUR_MS)
  await sweep()
  const [closing] = await listClosings(s.ctx, { limit: 1 })
  expect(closing).toMatchObject({
    day: '2026-03-02',
    differenceCount: 1,
    differences: [{ kind: 'unread', text: expect.stringContaining('GIFT') }],
  })
  expect(await s.isClean()).toMatchObject([{ subject: 'payment E54811417202603021200gift0000001' }])
})

test('a Pix received that cannot be read is asked about until it can, and holds up no other', async () => {
  const s = await serveWithWoovi()
  const sweep = async () => {
    while ((await reconcileDue(s.ctx, s.provider)) === 'more');
  }
  await sweep()
  const endToEndId = 'E54811417202603021200halfread001'
  const entry = { type: 'PAYMENT', status: 'CONFIRMED', endToEndId, value: 'much' as string | number }
  s.woovi.addEntry(entry)
  s.clock.advance(HOUR_MS)
  await sweep()
  expect(await s.count('sweeps', `swept_until = '${s.clock.now().toISOString()}'`)).toBe(1)
  expect(await s.count('checks', `subject = '${endToEndId}'`)).toBe(1)
  await s.checkAll()
  expect(await s.count('checks', `subject = '${endToEndId}'`)).toBe(1)
  s.woovi.changeEntry(endToEndId, { value: 7_00 })
  s.clock.advance(HOUR_MS)
  await s.checkAll()
  expect(await s.count('payments', `end_to_end_id = '${endToEndId}' and amount_cents = 700`)).toBe(1)
})

test('a lost answer leaves one charge and one deposit', async () => {
  const s = await serveWithWoovi()
  s.woovi.fail('POST /charge', 'lose')
  const charge = await s.open()
  expect(charge.status).toBe('PENDING')
  expect([...s.woovi.charges.keys()]).toEqual([charge.id])
})

test('the same deposit asked for again, while Woovi was away, is one charge', async () => {
  const s = await serveWithWoovi()
  const headers = { ...bearer(s.account.key), 'idempotency-key': 'once' }
  s.woovi.fail('POST /charge', 'lose', 3)
  s.woovi.fail('GET /charge/:id', 'error', 30)
  const first = await s.app.inject(deposit(s.account.key, '{"value":5000}', headers))
  expect(first.statusCode).toBe(503)
  s.woovi.heal()
  // An open breaker would have held the request back for this long.
  s.clock.advance(5_000)
  const second = await s.app.inject(deposit(s.account.key, '{"value":5000}', headers))
  expect([second.statusCode, s.woovi.charges.size]).toEqual([201, 1])
})

test('a lasting code is made once although the answer was lost, and each Pix of it is a deposit', async () => {
  const s = await serveWithWoovi()
  const headers = { authorization: `Bearer ${s.account.key}` }
  const ensure = () => s.app.inject({ method: 'PUT', url: '/api/codes/customer-17', headers, payload: {} })
  s.woovi.fail('POST /qrcode-static', 'lose')
  s.woovi.fail('GET /qrcode-static/:id', 'error', 10)
  expect((await ensure()).statusCode).toBe(503)
  expect(await s.count('codes', 'emv is not null')).toBe(0)
  s.woovi.heal()
  const { code } = (await ensure()).json()
  expect((await ensure()).json().code).toEqual(code)
  const asked = s.woovi.exchanges.filter(({ operation }) => operation === 'POST /qrcode-static')
  expect(asked.map(({ body }) => body)).toEqual([1, 2].map(() => ({ correlationID: code.txid, name: 'customer-17' })))

  for (const value of [30_00, 40_00]) {
    const endToEndId = await s.woovi.payByKey(value, { sent: false })
    s.woovi.changeEntry(endToEndId, { pixQrCode: { correlationID: code.txid, name: 'customer-17' } })
  }
  s.clock.advance(60_000)
  await reconcileDue(s.ctx, s.provider)
  expect(await s.balanceCents(s.account.accountId)).toBe(69_30)
  const { deposits } = (await s.app.inject(get(s.account.key, '/api/deposits?code=customer-17'))).json()
  expect(deposits).toHaveLength(2)
  expect(await s.isClean()).toEqual([])
})
