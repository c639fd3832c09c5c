import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { actorOf } from '../src/domain/accounts/callers.ts'
import { lockCodes } from '../src/domain/deposits/code-payments.ts'
import { closeCode, ensureCode, type Code } from '../src/domain/deposits/codes.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { noticeFacts, noticeText } from '../src/domain/notices/notice-kinds.ts'
import type { Resolution } from '../src/domain/exceptions/exception-states.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { EVENT_EXAMPLES } from '../src/http/api/event-examples.ts'
import { followToEnd, hearOf, OPERATOR, refundAtBank } from './refund-steps.ts'
import { world, type World } from './world.ts'

// The account holder learns of money that a lasting code does not take, as of money that is held for a charge.

const MAX_CENTS = 50_00

test('money that a code does not take is told once, with its code, and its API and the overview show it', async () => {
  const { w, account, code } = await withCode()
  const above = await pay(w, code, MAX_CENTS + 1)
  await w.ctx.settlements.add([above])
  await closeCode(w.ctx, actorOf(account.caller), account.accountId, code.externalId)
  const late = await pay(w, code, 20_00)
  await Promise.all([w.ctx.settlements.add([late]), w.ctx.settlements.add([late, above])])

  const about = { transactionId: null, paymentLinkId: null, externalId: null, value: null, metadata: null }
  expect(await told(w)).toEqual(
    [
      { receivedValue: MAX_CENTS + 1, reason: 'code_limits', payment: above },
      { receivedValue: 20_00, reason: 'code_closed', payment: late },
    ].map(({ payment, ...wanted }) => [
      'DEPOSIT_HELD',
      account.accountId,
      { ...about, ...wanted, code: 'mesa/7', endToEndId: payment.endToEndId, paidAt: payment.occurredAt.toISOString() },
    ]),
  )
  expect(Object.keys(EVENT_EXAMPLES.DEPOSIT_HELD!.data)).toEqual(Object.keys((await told(w))[0]![2]))
  const session = await w.session(account)
  const ask = async (path: string) => (await session.ask('GET', `/dashboard/api${path}`)).json()
  expect((await ask('/codes/mesa%2F7')).code).toMatchObject({ heldValue: MAX_CENTS + 20_01, keptValue: 0 })
  expect((await ask('/codes')).codes).toMatchObject([{ heldValue: MAX_CENTS + 20_01 }])
  const { attention } = await ask('/overview')
  expect(attention.slice(0, 2)).toMatchObject([
    { kind: 'code_payment_held', subjectId: 'mesa/7', name: 'code_limits', value: MAX_CENTS + 1 },
    { kind: 'code_payment_held', subjectId: 'mesa/7', name: 'code_closed', value: 20_00 },
  ])
  const stranger = await w.session(await w.account())
  const others = (await stranger.ask('GET', '/dashboard/api/overview')).json()
  expect(others.attention.map((one: { kind: string }) => one.kind)).not.toContain('code_payment_held')
  expect(await w.differences()).toEqual([])
})

test('a payment that two report at once after its code was closed is told once', async () => {
  const { w, account, code } = await withCode()
  await closeCode(w.ctx, actorOf(account.caller), account.accountId, code.externalId)
  const payment = await pay(w, code, 30_00)
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    const codes = await lockCodes(tx, w.ctx.settings, w.clock.now(), [payment])
    await settle(tx, w.clock.now(), [payment], [], codes)
    second = w.ctx.settlements.add([payment])
    await w.lockWait()
  })
  await second
  expect(await told(w)).toMatchObject([['DEPOSIT_HELD', account.accountId, { reason: 'code_closed' }]])
  expect(await w.differences()).toEqual([])
})

test('the end of money that is held of a code is told once, whatever was decided', async () => {
  const { w, account, code } = await withCode()
  const other = await w.account()
  const decisions: [resolution: Resolution, told: object, after: object][] = [
    [
      { how: 'credit', accountId: account.accountId },
      { outcome: 'credited', creditedValue: 60_00, returnedValue: 0 },
      { heldValue: 0, keptValue: 60_00 },
    ],
    [
      { how: 'credit', accountId: other.accountId },
      { outcome: 'credited_elsewhere', creditedValue: 0, returnedValue: 0 },
      { heldValue: 0, keptValue: 120_00 },
    ],
    [
      { how: 'write_off' },
      { outcome: 'written_off', creditedValue: 0, returnedValue: 0 },
      { heldValue: 0, keptValue: 180_00 },
    ],
    [
      { how: 'refund' },
      { outcome: 'refunded', creditedValue: 0, returnedValue: 60_00 },
      { heldValue: 0, keptValue: 180_00 },
    ],
  ]
  for (const [resolution, released, after] of decisions) {
    const { endToEndId } = await pay(w, code, 60_00)
    await hearOf(w, endToEndId)
    const { refund } = await decide(w, resolution)
    if (refund) await followToEnd(w, { id: refund.id, endToEndId })
    await hearOf(w, endToEndId)
    const about = { transactionId: null, code: 'mesa/7', endToEndId, receivedValue: 60_00, stillPayable: false }
    expect((await told(w)).slice(-2)).toMatchObject([
      ['DEPOSIT_HELD', account.accountId, { endToEndId }],
      ['DEPOSIT_RELEASED', account.accountId, { ...about, ...released }],
    ])
    expect(await codeOf(w, account)).toMatchObject(after)
  }
  expect(await told(w)).toHaveLength(2 * decisions.length)
  expect(await w.differences()).toEqual([])
})

test('what the bank gave back of held money by itself is told with the end', async () => {
  const { w, account, code } = await withCode()
  const [part, all] = [await pay(w, code, 60_00), await pay(w, code, 70_00)]
  for (const [{ endToEndId }, cents] of [
    [part, 10_00],
    [all, 70_00],
  ] as const) {
    await hearOf(w, endToEndId)
    await refundAtBank(w, endToEndId, cents)
    await hearOf(w, endToEndId)
  }
  const gone = await pay(w, code, 40_00)
  await w.ctx.settlements.add([{ ...gone, givenBack: 'part' }])
  expect(await codeOf(w, account)).toMatchObject({ heldValue: 90_00, keptValue: 0 })
  await decide(w, { how: 'credit', accountId: account.accountId }, part.endToEndId)
  const named = ([kind, , data]: Told) => [kind, data['endToEndId'], data['reason'] ?? data['outcome']]
  expect((await told(w)).map(named)).toEqual([
    ['DEPOSIT_HELD', part.endToEndId, 'code_limits'],
    ['DEPOSIT_HELD', all.endToEndId, 'code_limits'],
    ['DEPOSIT_RELEASED', all.endToEndId, 'refunded'],
    ['DEPOSIT_HELD', gone.endToEndId, 'refunded_payment'],
    ['DEPOSIT_RELEASED', part.endToEndId, 'credited'],
  ])
  expect((await told(w)).at(-1)![2]).toMatchObject({ creditedValue: 50_00, returnedValue: 10_00 })
  expect((await w.differences()).map(({ check }) => check)).not.toContain('held_event')
})

test('people are told which code it was, and are led to its page', () => {
  const { path } = noticeFacts('money_held')
  const data = { code: 'mesa/7', paymentLinkId: null, receivedValue: 20_00, reason: 'code_closed', outcome: 'refunded' }
  const say = (what: 'began' | 'ended', language: 'en' | 'pt-BR') =>
    noticeText({ kind: 'money_held', what, data }, language)
  expect(say('began', 'en')).toMatch(/^R\$\s?20\.?,?00 arrived for the code mesa\/7, which is closed\./)
  expect(say('began', 'pt-BR')).toContain('para o código mesa/7, que está encerrado.')
  expect(say('ended', 'en')).toContain('for the code mesa/7 was returned to the payer.')
  expect(say('ended', 'pt-BR')).toContain('do código mesa/7 foi devolvido ao pagador.')
  expect(path(data)).toBe('/codes/mesa%2F7')
  expect(path({ paymentLinkId: 'x', code: null })).toBe('/deposits/x')
})

// ---- Steps ----

async function withCode() {
  const w = await world()
  const account = await w.account()
  const wanted = { accountId: account.accountId, externalId: 'mesa/7', description: null, minValueCents: null }
  const { code } = await ensureCode(w.ctx, actorOf(account.caller), { ...wanted, maxValueCents: MAX_CENTS })
  return { w, account, code }
}

async function pay(w: World, { emv, txid }: Code, amountCents: number): Promise<ReceivedPayment> {
  const { pix } = await w.sandbox.pay({ emv, amountCents })
  const { endToEndId, horario } = pix[0]!
  return { provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }
}

async function decide(w: World, resolution: Resolution, endToEndId?: string) {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  const held = exceptions.filter((one) => one.kind !== 'foreign_refund')
  const { id } = held.find((one) => !endToEndId || one.endToEndId === endToEndId)!
  return resolveException(w.ctx, OPERATOR, id, resolution, 'because')
}

async function codeOf(w: World, account: Parameters<World['session']>[0]) {
  const session = await w.session(account)
  return (await session.ask('GET', '/dashboard/api/codes/mesa%2F7')).json().code
}

type Told = [kind: string, accountId: string, data: Record<string, unknown>]

async function told(w: World): Promise<Told[]> {
  const rows = await query<{ kind: string; accountId: string; body: string }>(
    w.pool,
    'select kind, account_id as "accountId", body from events order by id',
  )
  return rows.map(({ kind, accountId, body }) => [kind, accountId, JSON.parse(body).data])
}
