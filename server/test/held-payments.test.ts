import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { openPage } from './pages.ts'
import { changeProvider, followToEnd, OPERATOR } from './refund-steps.ts'
import { get } from './requests.ts'
import { world, type TestAccount, type World } from './world.ts'

// Money that was received and completes no charge, as the payer and the account holder see it.

const PT = { 'accept-language': 'pt-BR' }
const EN = { 'accept-language': 'en-US' }
const ES = { 'accept-language': 'es-AR' }

/** R$ 90,00 is paid on a charge of R$ 100,00. */
async function underpaid(w: World, account: TestAccount) {
  const charge = await w.deposit(account, { valueCents: 100_00 })
  const { pix } = await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  return { charge, endToEndId: pix[0]!.endToEndId }
}

async function resolve(w: World, resolution: Parameters<typeof resolveException>[3]) {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  return resolveException(w.ctx, OPERATOR, exceptions[0]!.id, resolution, 'the payer typed it wrong')
}

async function lifeOf(w: World, account: TestAccount, paymentLinkId: string) {
  const session = await w.session(account)
  return (await session.ask('GET', `/dashboard/api/deposit/${paymentLinkId}/timeline`)).json()
}

test('whoever paid another amount reads that it arrived, and is not asked to pay again', async () => {
  const w = await world()
  const { charge } = await underpaid(w, await w.account())

  const page = await openPage(w, charge.paymentLinkId, PT)
  expect(page.state).toBe('HELD')
  expect(page.text).toContain('Pagamento em análise')
  expect(page.text).toContain('Recebemos R$ 90,00, mas esta cobrança é de R$ 100,00.')
  expect(page.text).toContain('Não pague de novo: quem enviou este link já foi avisado.')
  expect(page.body).not.toContain(charge.emv)
  expect(page.body).not.toContain('sandbox-payment')
  expect((await openPage(w, charge.paymentLinkId, EN)).text).toContain('We received R$90.00, but this charge is for')
  expect((await openPage(w, charge.paymentLinkId, ES)).text).toContain('No pague de nuevo: quien le envió')
  // The page says so because the shop's history does.
  const told = await query(w.pool, `select from events where kind = 'DEPOSIT_HELD'`)
  expect(told).toHaveLength(1)

  // The page does not ask for the payment again when the charge's time ends.
  w.clock.advance(3_700_000)
  expect((await openPage(w, charge.paymentLinkId, PT)).state).toBe('HELD')
})

test('a second payment is told beside the first one, and the page is not done until it is decided', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 100_00 })
  const { pix } = await w.sandbox.pay({ emv: charge.emv, times: 2 })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)

  const page = await openPage(w, charge.paymentLinkId, PT)
  expect(page.state).toBe('COMPLETED')
  expect(page.text).toContain('Além deste pagamento, recebemos mais R$ 100,00, que estão em análise.')
  const { deposit, timeline } = await lifeOf(w, account, charge.paymentLinkId)
  expect(deposit).toMatchObject({ status: 'COMPLETED', heldValue: 100_00, keptValue: 0 })
  expect(timeline).toContainEqual(
    expect.objectContaining({ kind: 'payment_held', value: 100_00, why: 'second_payment' }),
  )

  const texts = async () =>
    Promise.all([PT, EN, ES].map(async (headers) => (await openPage(w, charge.paymentLinkId, headers)).text))
  for (const text of await texts()) expect(text).not.toMatch(/Tudo certo|All done|Todo listo/)
  const { refund, endToEndId } = await resolve(w, { how: 'refund' })
  expect(pix.map((one) => one.endToEndId)).toContain(endToEndId)
  await followToEnd(w, { id: refund!.id, endToEndId: endToEndId! })
  for (const [index, wanted] of [
    ['Tudo certo.', 'Devolvemos R$ 100,00, recebidos além deste pagamento.'],
    ['All done.', 'We returned R$100.00, which we received besides this payment.'],
    ['Todo listo.', 'Devolvimos R$ 100,00, que recibimos además de este pago.'],
  ].entries())
    for (const sentence of wanted) expect((await texts())[index]).toContain(sentence)
})

test('the account holder sees what is held in the list, the deposit, its history and the overview', async () => {
  const w = await world()
  const account = await w.account()
  const { charge, endToEndId } = await underpaid(w, account)

  const { deposits } = (await w.app.inject(get(account.key, '/api/deposits'))).json()
  expect(deposits).toMatchObject([{ status: 'PENDING', heldValue: 90_00, keptValue: 0 }])
  const { deposit, timeline } = await lifeOf(w, account, charge.paymentLinkId)
  expect(deposit).toMatchObject({ heldValue: 90_00, keptValue: 0 })
  expect(timeline).toContainEqual({
    kind: 'payment_held',
    at: w.clock.now().toISOString(),
    endToEndId,
    value: 90_00,
    why: 'wrong_amount',
  })
  const session = await w.session(account)
  const { attention, latest } = (await session.ask('GET', '/dashboard/api/overview')).json()
  expect(latest).toMatchObject([{ heldValue: 90_00 }])
  expect(attention[0]).toEqual({
    kind: 'payment_held',
    subjectId: charge.paymentLinkId,
    name: 'wrong_amount',
    at: w.clock.now().toISOString(),
    value: 90_00,
  })
  const csv = (await session.ask('GET', '/dashboard/api/deposits.csv')).body
  expect(csv).toContain('heldValue')
  expect(csv).toContain('90.00')
  // Another account sees none of it.
  const stranger = await w.session(await w.account())
  const others = (await stranger.ask('GET', '/dashboard/api/overview')).json()
  expect(others.attention.map((one: { kind: string }) => one.kind)).not.toContain('payment_held')
  // The two endpoints of the specification keep their fields.
  const queried = (await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))).json()
  expect(Object.keys(queried.charge)).not.toContain('heldValue')
})

test('what the operator credited is not asked for again, and the history says what became of it', async () => {
  const w = await world()
  const account = await w.account()
  const { charge } = await underpaid(w, account)
  w.clock.advance(60_000)
  await resolve(w, { how: 'credit', accountId: account.accountId })

  const page = await openPage(w, charge.paymentLinkId, EN)
  expect(page.state).toBe('KEPT')
  expect(page.text).toContain('We received R$90.00 for this charge of R$100.00. Do not pay again.')
  expect(page.body).not.toContain(charge.emv)
  const { deposit, timeline } = await lifeOf(w, account, charge.paymentLinkId)
  expect(deposit).toMatchObject({ heldValue: 0, keptValue: 90_00 })
  expect(timeline).toContainEqual(
    expect.objectContaining({ kind: 'payment_released', value: 90_00, how: 'credit', isOwn: true }),
  )
  const session = await w.session(account)
  const { attention } = (await session.ask('GET', '/dashboard/api/overview')).json()
  expect(attention.map((one: { kind: string }) => one.kind)).not.toContain('payment_held')
})

test('once the money went back to the payer, the page says so and can be paid from again', async () => {
  const w = await world()
  const account = await w.account()
  const { charge, endToEndId } = await underpaid(w, account)
  const { refund } = await resolve(w, { how: 'refund' })
  // While the refund is under way, the money is still with us.
  expect((await openPage(w, charge.paymentLinkId, PT)).state).toBe('HELD')
  await followToEnd(w, { id: refund!.id, endToEndId })

  const page = await openPage(w, charge.paymentLinkId, PT)
  expect(page.state).toBe('PENDING')
  expect(page.text).toContain('Devolvemos R$ 90,00, que era diferente do valor.')
  expect((await openPage(w, charge.paymentLinkId, EN)).text).toContain(
    'We returned R$90.00, which was not the amount of this charge.',
  )
  expect((await openPage(w, charge.paymentLinkId, ES)).text).toContain(
    'Devolvimos R$ 90,00, que no era el importe de este cobro.',
  )
  const { deposit, timeline } = await lifeOf(w, account, charge.paymentLinkId)
  expect(deposit).toMatchObject({ heldValue: 0, keptValue: 0 })
  expect(timeline).toContainEqual(expect.objectContaining({ kind: 'payment_released', how: 'refund', isOwn: false }))
})

test('a charge that its provider does not withdraw while money for it is held says so, with the amount', async () => {
  const w = await world()
  const account = await w.account()
  const { charge } = await underpaid(w, account)
  // This bank keeps the charge open after a payment of another amount, and does not withdraw it.
  const { id: txid, emv, valueCents, expiresAt } = charge
  changeProvider(w, {
    cancel: async () => 'not_active',
    check: async () => ({ txid, emv, valueCents, expiresAt, status: 'active', payments: [] }),
  })
  await expect(cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).rejects.toMatchObject({
    code: 'payment_held',
    details: { heldCents: 90_00 },
    message: expect.stringContaining('ask the operator'),
  })
})

// A payment is booked while the answer is being read. A lock on a table that settling does not touch holds the reader
// between the charge and the rest.
test('a deposit and its history are of one moment', async () => {
  const w = await world()
  const { charge, payment, account } = await w.paidCharge()
  let answer: Promise<{ deposit: { status: string }; timeline: { kind: string }[] }> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('lock table checks in access exclusive mode')
    answer = lifeOf(w, account, charge.paymentLinkId)
    await w.lockWait()
    await w.ctx.settlements.add([payment])
  })
  const { deposit, timeline } = (await answer)!
  const kinds = timeline.map((moment) => moment.kind)
  expect([deposit.status, kinds]).toEqual(['PENDING', ['created', 'next_check']])
  const after = await lifeOf(w, account, charge.paymentLinkId)
  expect(after.deposit.status).toBe('COMPLETED')
})
