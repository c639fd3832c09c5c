import { expect, test } from 'vitest'
import { transact, type Tx } from '../src/db/tx.ts'
import { createKey, createOperatorKey, revokeKey } from '../src/domain/accounts/api-keys.ts'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import { cancelOpenCharges } from '../src/domain/deposits/cancel-open-charges.ts'
import { endCharge, markCanceled, markExpired } from '../src/domain/deposits/charge-states.ts'
import { cancelDeposit } from '../src/domain/deposits/query-deposit.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import type { Resolution } from '../src/domain/exceptions/exception-states.ts'
import { ProviderError, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { makeReason } from '../src/domain/ports/delivery-reasons.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { endRefund } from '../src/domain/refunds/refund-states.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { EVENT_KINDS, type EventKind } from '../src/domain/webhooks/event-kinds.ts'
import {
  createWebhook,
  deleteWebhook,
  disableFailingWebhook,
  enableWebhook,
  updateWebhook,
} from '../src/domain/webhooks/webhooks.ts'
import { EVENT_EXAMPLES } from '../src/http/api/event-examples.ts'
import { makeOperator } from './operators-client.ts'
import {
  bookDifferences,
  changeMind,
  changeProvider,
  completedCharge,
  followToEnd,
  hearOf,
  OPERATOR,
  refund,
  refundAtBank,
  settleAll,
  strayPayment,
} from './refund-steps.ts'
import { get } from './requests.ts'
import { world, type TestAccount, type World } from './world.ts'

// What account holders are told of each change: once, in its transaction, and only to the webhooks that asked for it.

type Told = { id: string; event: EventKind; createdAt: string; data: Record<string, unknown> }

/** An account with a webhook that wants all kinds, and one that wants what every webhook gets unless asked. */
async function listener(w: World, holder?: TestAccount) {
  const account = holder ?? (await w.account())
  const { accountId } = account
  const add = async (name: string, eventKinds: EventKind[]) => {
    const fields = { name, url: `https://shop.example.com/${name}`, eventKinds, authorization: null }
    return (await createWebhook(w.ctx, accountId, fields)).webhook.webhookId
  }
  const [all, paidOnly] = [await add('all', EVENT_KINDS), await add('paid-only', ['DEPOSIT_ASSET_SUCCESS'])]
  return {
    account,
    accountId,
    all,
    /** In the order of writing. Each has the shape that is documented, is in the list, and went where it should. */
    async told(): Promise<[EventKind, Record<string, unknown>][]> {
      const { rows } = await w.pool.query<{ body: string; webhooks: string[] }>(
        `select body, array(select webhook_id from deliveries d where d.event_id = e.id) as webhooks
         from events e where account_id = $1 order by id`,
        [accountId],
      )
      const events = rows.map(({ body }) => JSON.parse(body) as Told)
      for (const [index, { event, data }] of events.entries()) {
        expect([event, Object.keys(data)]).toEqual([event, Object.keys(EVENT_EXAMPLES[event]!.data)])
        const { webhooks } = rows[index]!
        const wanting = event === 'DEPOSIT_ASSET_SUCCESS' ? [all, paidOnly] : [all]
        if (event !== 'WEBHOOK_DISABLED') expect([event, webhooks.toSorted()]).toEqual([event, wanting.toSorted()])
      }
      const { events: listed } = (await w.app.inject(get(account.key, '/api/events?order=asc'))).json()
      expect(listed.map(({ id }: Told) => id)).toEqual(events.map(({ id }) => id))
      return events.map(({ event, data }) => [event, data])
    },
  }
}

/** Does the work twice: the second one begins while the first one's transaction is open. */
async function twice<Result>(w: World, work: (tx: Tx) => Promise<Result>): Promise<Result[]> {
  let second: Promise<Result> | undefined
  const first = await transact(w.pool, async (tx) => {
    const result = await work(tx)
    second = transact(w.pool, work)
    second.catch(() => {})
    await w.lockWait()
    return result
  })
  return [first, await second!]
}

function kindsOf(told: [EventKind, unknown][]): EventKind[] {
  return told.map(([kind]) => kind)
}

async function paidAtBank(
  w: World,
  charge: { emv: string; id: string },
  amountCents: number,
): Promise<ReceivedPayment> {
  const { pix } = await w.sandbox.pay({ txid: charge.id, amountCents, force: true })
  const { endToEndId, horario } = pix[0]!
  return { provider: 'sandbox', endToEndId, txid: charge.id, amountCents, occurredAt: new Date(horario) }
}

async function resolve(w: World, resolution: Resolution) {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  return resolveException(w.ctx, OPERATOR, exceptions[0]!.id, resolution, 'because')
}

// ---- Deposits that end unpaid ----

test('a charge that expires or is canceled is told once, also when two find out at once', async () => {
  const w = await world()
  const { account, accountId, told } = await listener(w)
  const charges = [await w.deposit(account, { externalId: 'order-1' }), await w.deposit(account)] as const
  w.clock.advance(2 * 3_600_000)
  for (const [index, end] of (['EXPIRED', 'CANCELED'] as const).entries()) {
    const [first, second] = await twice(w, (tx) => endCharge(tx, w.clock.now(), charges[index]!.id, end))
    expect([first?.status, second]).toEqual([end, undefined])
  }
  expect(await markExpired(w.ctx, charges[0].id)).toBeUndefined()
  expect(await markCanceled(w.ctx, charges[0].id)).toBeUndefined()
  await cancelDeposit(w.ctx, accountId, charges[1].paymentLinkId)
  const facts = (index: 0 | 1) => ({
    transactionId: charges[index].id,
    paymentLinkId: charges[index].paymentLinkId,
    externalId: index === 0 ? 'order-1' : null,
    value: 50_00,
    expiresAt: '2026-03-02T13:00:00.000Z',
    metadata: null,
  })
  expect(await told()).toEqual([
    ['DEPOSIT_EXPIRED', { ...facts(0), status: 'EXPIRED' }],
    ['DEPOSIT_CANCELED', { ...facts(1), status: 'CANCELED' }],
  ])
  // Its reference is free again.
  await w.deposit(account, { externalId: 'order-1' })
  expect(await bookDifferences(w)).toEqual([])
})

test('charges that an operator cancels are told to their account, and a payment after all is told as late', async () => {
  const w = await world()
  const { account, accountId, told } = await listener(w)
  const charge = await w.deposit(account)
  await suspendAccount(w.ctx, OPERATOR, accountId, 'has left')
  expect(await cancelOpenCharges(w.ctx, OPERATOR, accountId, 'has left')).toEqual({ canceled: 1, left: [] })
  await settleAll(w, [await paidAtBank(w, charge, 50_00)])
  expect(await told()).toMatchObject([
    ['DEPOSIT_CANCELED', { transactionId: charge.id }],
    ['DEPOSIT_ASSET_SUCCESS', { transactionId: charge.id, paidLate: true }],
  ])
})

// ---- Held payments ----

test('each payment that completes nothing is told as held once, with its reason, by settlements that race', async () => {
  const w = await world({ second: true })
  const { account, told } = await listener(w)
  const [underpaid, twicePaid, elsewhere, refunded] = [
    await w.deposit(account, { externalId: 'order-1' }),
    await w.deposit(account),
    await w.deposit(account),
    await w.deposit(account),
  ] as const
  const payments: ReceivedPayment[] = [
    await paidAtBank(w, underpaid, 40_00),
    await paidAtBank(w, twicePaid, 50_00),
    await paidAtBank(w, twicePaid, 50_00),
    { ...(await paidAtBank(w, elsewhere, 50_00)), provider: 'second' },
    { ...(await paidAtBank(w, refunded, 50_00)), givenBack: 'part' },
  ]
  await twice(w, (tx) => settle(tx, w.clock.now(), payments))
  await settleAll(w, payments)
  await strayPayment(w)
  const held = (await told()).filter(([kind]) => kind === 'DEPOSIT_HELD')
  expect(held[0]).toEqual([
    'DEPOSIT_HELD',
    {
      metadata: null,
      code: null,
      transactionId: underpaid.id,
      paymentLinkId: underpaid.paymentLinkId,
      externalId: 'order-1',
      value: 50_00,
      receivedValue: 40_00,
      reason: 'wrong_amount',
      endToEndId: payments[0]!.endToEndId,
      paidAt: payments[0]!.occurredAt.toISOString(),
    },
  ])
  expect(held.map(([, { transactionId, reason }]) => [transactionId, reason])).toEqual([
    [underpaid.id, 'wrong_amount'],
    [twicePaid.id, 'second_payment'],
    [elsewhere.id, 'wrong_provider'],
    [refunded.id, 'refunded_payment'],
  ])
  expect(await w.count('events', `kind = 'DEPOSIT_ASSET_SUCCESS'`)).toBe(1)
  expect(await w.count('events')).toBe(5)
  expect(await bookDifferences(w)).toEqual([])
})

test('a payment for a charge that nobody was shown is held, and told to nobody', async () => {
  const w = await world()
  const { account, told } = await listener(w)
  const charge = await w.deposit(account)
  await w.pool.query(`update charges set status = 'FAILED', closed_at = $1, emv = null`, [w.clock.now()])
  await settleAll(w, [await paidAtBank(w, charge, 40_00)])
  await resolve(w, { how: 'write_off' })
  expect(await told()).toEqual([])
})

// The transaction that is rolled back stands for what a restored backup lacks.
test('a held payment that is booked and decided again after a loss has the same event ids', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  const payment = await paidAtBank(w, charge, 40_00)
  const names: string[] = []
  const book = async (tx: Tx) => {
    await settle(tx, w.clock.now(), [payment])
    const [row] = await tx.rows<{ id: string }>(`select body::json ->> 'id' as id from events`)
    names.push(row!.id)
  }
  const lost = transact(w.pool, async (tx) => {
    await book(tx)
    throw new Error('lost')
  })
  await expect(lost).rejects.toThrow('lost')
  w.clock.advance(3_600_000)
  await transact(w.pool, book)
  expect(names[0]).toMatch(/^evt_DEPOSIT_HELD_[0-9a-f]{32}$/)
  expect(names[1]).toBe(names[0])
  await resolve(w, { how: 'write_off' })
  const { rows } = await w.pool.query(`select body::json ->> 'id' as id from events order by kind`)
  expect(rows.map(({ id }) => id)).toEqual([names[0], names[0]!.replace('HELD', 'RELEASED')])
})

test('the decision about a held payment is told once, when it has its effect, with what became of the money', async () => {
  const w = await world()
  const { account, accountId, told } = await listener(w)
  const stranger = await listener(w)
  const ways: [Resolution, object][] = [
    [
      { how: 'credit', accountId },
      { outcome: 'credited', creditedValue: 40_00, returnedValue: 0, stillPayable: true },
    ],
    [
      { how: 'credit', accountId: stranger.accountId, charge: 'close' },
      { outcome: 'credited_elsewhere', creditedValue: 0, returnedValue: 0, stillPayable: false },
    ],
    [{ how: 'write_off' }, { outcome: 'written_off', creditedValue: 0, returnedValue: 0, stillPayable: true }],
    [{ how: 'match' }, { outcome: 'completed', creditedValue: 39_50, returnedValue: 0, stillPayable: false }],
  ]
  const released: object[] = []
  for (const [way, wanted] of ways) {
    const charge = await w.deposit(account)
    const { endToEndId } = await paidAtBank(w, charge, 40_00)
    await hearOf(w, endToEndId)
    const { id } = await resolve(w, way)
    await expect(resolveException(w.ctx, OPERATOR, id, way, 'again')).rejects.toThrow('already resolved')
    const { id: transactionId, paymentLinkId } = charge
    const about = { transactionId, paymentLinkId, externalId: null, metadata: null, code: null }
    released.push({ ...about, endToEndId, receivedValue: 40_00, ...wanted })
  }
  const all = await told()
  expect(all.flatMap(([kind, data]) => (kind === 'DEPOSIT_RELEASED' ? [data] : []))).toEqual(released)
  // The last one is released, and then completes its charge.
  expect(kindsOf(all).join(' ').replaceAll('DEPOSIT_', '')).toBe(
    'HELD RELEASED HELD CANCELED RELEASED HELD RELEASED HELD RELEASED ASSET_SUCCESS',
  )
  expect(await stranger.told()).toEqual([])
  expect(await bookDifferences(w)).toEqual([])
})

test('a held payment that goes back to its payer is released when the provider made the refund, and not before', async () => {
  const w = await world()
  const { account, told } = await listener(w)
  const charge = await w.deposit(account)
  const { endToEndId } = await paidAtBank(w, charge, 40_00)
  await hearOf(w, endToEndId)
  const bank = w.ctx.providers[0]!
  changeProvider(w, { refund: () => Promise.reject(new ProviderError('refused', 'no')) })
  expect((await resolve(w, { how: 'refund' })).refund!.status).toBe('FAILED')
  changeProvider(w, bank)
  const made = (await resolve(w, { how: 'refund' })).refund!
  expect(kindsOf(await told())).toEqual(['DEPOSIT_HELD'])
  await followToEnd(w, { id: made.id, endToEndId })
  await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), made.id, { status: 'done' }))
  expect(await told()).toMatchObject([
    ['DEPOSIT_HELD', {}],
    ['DEPOSIT_RELEASED', { outcome: 'refunded', creditedValue: 0, returnedValue: 40_00, stillPayable: true }],
  ])
})

test('held money that the provider refunds by itself is released, and what it refunded of credited money is told', async () => {
  const w = await world()
  const { account, accountId, told } = await listener(w)
  for (const cents of [40_00, 10_00]) {
    const { endToEndId } = await paidAtBank(w, await w.deposit(account), 40_00)
    await hearOf(w, endToEndId)
    await refundAtBank(w, endToEndId, cents)
    await hearOf(w, endToEndId)
  }
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', kind: 'wrong_amount', limit: 1 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'credit', accountId }, 'because')
  expect((await told()).filter(([kind]) => kind === 'DEPOSIT_RELEASED')).toMatchObject([
    ['DEPOSIT_RELEASED', { outcome: 'refunded', creditedValue: 0, returnedValue: 40_00 }],
    ['DEPOSIT_RELEASED', { outcome: 'credited', creditedValue: 30_00, returnedValue: 10_00 }],
  ])
  expect(await bookDifferences(w)).toEqual([])
})

test('a payment that named no charge is told when it is credited, or completes a charge', async () => {
  const w = await world()
  const { account, accountId, told } = await listener(w)
  const stray = await strayPayment(w, 7_00)
  await resolve(w, { how: 'credit', accountId })
  const charge = await w.deposit(account)
  const payment = await paidAtBank(w, charge, 50_00)
  await settleAll(w, [{ ...payment, txid: null }])
  await twice(w, (tx) => settle(tx, w.clock.now(), [payment]))
  const unnamed = { transactionId: null, paymentLinkId: null, externalId: null, endToEndId: stray.endToEndId }
  expect(await told()).toMatchObject([
    ['DEPOSIT_RELEASED', { ...unnamed, outcome: 'credited', creditedValue: 7_00, stillPayable: false }],
    ['DEPOSIT_RELEASED', { transactionId: charge.id, outcome: 'completed', creditedValue: 49_50 }],
    ['DEPOSIT_ASSET_SUCCESS', { transactionId: charge.id }],
  ])
})

// ---- Refunds ----

test('a refund that was not made is told once, by reports that race', async () => {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const { account, told } = await listener(w)
  const { charge, payment } = await completedCharge(w, { account })
  const made = await refund(w, charge, { amountCents: 20_00 })
  const ended = await twice(w, (tx) =>
    endRefund(tx, w.clock.now(), made.id, { status: 'failed', failure: 'the bank’s own words' }),
  )
  expect(ended.map(({ move }) => move)).toEqual(['moved', 'known'])
  expect((await told()).slice(1)).toEqual([
    [
      'REFUND_FAILED',
      {
        transactionId: charge.id,
        paymentLinkId: charge.paymentLinkId,
        externalId: null,
        refundId: made.id,
        reason: 'not_made',
        refundValue: 20_00,
        totalRefundedValue: 0,
        value: 50_00,
        status: 'COMPLETED',
        endToEndId: payment.endToEndId,
        metadata: null,
      },
    ],
  ])
  expect(await bookDifferences(w)).toEqual([])
})

test('each time that the bank takes back a refund is told, with what is refunded then', async () => {
  const w = await world()
  const { account, told } = await listener(w)
  const { charge, payment } = await completedCharge(w, { account })
  for (const amountCents of [10_00, 20_00]) await followToEnd(w, await refund(w, charge, { amountCents }))
  for (const mind of ['take back', 'make again', 'take back'] as const) await changeMind(w, payment.endToEndId, mind)
  const all = await told()
  const failures = all.flatMap(([kind, data]) => (kind === 'REFUND_FAILED' ? [data] : []))
  expect(failures.map(({ reason }) => reason)).toEqual(['undone', 'undone', 'undone', 'undone'])
  expect(failures.map((data) => data['totalRefundedValue']).at(1)).toBe(0)
  expect(kindsOf(all).filter((kind) => kind === 'DEPOSIT_REFUNDED')).toHaveLength(4)
  expect(await bookDifferences(w)).toEqual([])
})

// ---- Webhooks and keys ----

test('a webhook that is disabled or deleted is told to the others once, and to itself never', async () => {
  const w = await world()
  const { accountId, all, told } = await listener(w)
  const add = async (name: string) => {
    const fields = { name, url: `https://shop.example.com/${name}`, authorization: null }
    return (await createWebhook(w.ctx, accountId, { ...fields, eventKinds: ['WEBHOOK_DISABLED'] })).webhook.webhookId
  }
  const [gone, off, deleted] = [await add('gone'), await add('off'), await add('deleted')]
  const disable = (tx: Tx) => disableFailingWebhook(tx, w.clock.now(), gone, makeReason('receiver_gone', 'gone'))
  await twice(w, disable)
  for (const actor of [OPERATOR, undefined]) await updateWebhook(w.ctx, accountId, off, { enabled: false }, actor)
  for (const id of [deleted, off]) await deleteWebhook(w.ctx, accountId, id)
  w.clock.advance(1_000)
  // Enabled and disabled again is another change.
  await transact(w.pool, (tx) => enableWebhook(tx, gone))
  await transact(w.pool, disable)
  await updateWebhook(w.ctx, accountId, all, { enabled: false })

  const at = (second: number) => `2026-03-02T12:00:0${second}.000Z`
  expect(await told()).toEqual([
    ['WEBHOOK_DISABLED', { webhookId: gone, reason: 'receiver_gone', disabledAt: at(0) }],
    ['WEBHOOK_DISABLED', { webhookId: off, reason: 'disabled_by_operator', disabledAt: at(0) }],
    ['WEBHOOK_DISABLED', { webhookId: deleted, reason: 'deleted', disabledAt: at(0) }],
    ['WEBHOOK_DISABLED', { webhookId: gone, reason: 'receiver_gone', disabledAt: at(1) }],
    ['WEBHOOK_DISABLED', { webhookId: all, reason: 'disabled_by_account', disabledAt: at(1) }],
  ])
  const sent = `select webhook_id from delivery_outcomes union all select webhook_id from deliveries`
  expect(await w.count(`(${sent}) d`, `webhook_id = '${all}'`)).toBe(4)
  expect(await w.count(`(${sent}) d`, `webhook_id = '${deleted}'`)).toBe(2)
  expect(await w.count('audit_log', `action = 'webhook.disabled'`)).toBe(2)
})

test('a key of an account is told when it is made and once when it is revoked, and never holds the key', async () => {
  const w = await world()
  const { accountId, told } = await listener(w)
  const now = w.clock.now()
  const wanted = { accountId, name: 'till', scopes: ['deposits:read' as const], expiresAt: null }
  const { keyId, text } = await transact(w.pool, (tx) => createKey(tx, now, 'test', wanted))
  await twice(w, (tx) => revokeKey(tx, now, keyId))
  await transact(w.pool, (tx) => revokeKey(tx, now, keyId))
  const { operatorId } = await makeOperator(w)
  const own = { operatorId, name: 'scraper', scope: 'metrics:read' as const, expiresAt: null }
  const operators = await transact(w.pool, (tx) => createOperatorKey(tx, now, 'test', own, OPERATOR))
  await transact(w.pool, (tx) => revokeKey(tx, now, operators.keyId))

  const facts = { keyId, prefix: text.slice(0, 14), scopes: ['deposits:read'] }
  const all = await told()
  expect(all).toEqual([
    ['KEY_CREATED', { ...facts, expiresAt: null }],
    ['KEY_REVOKED', facts],
  ])
  expect(JSON.stringify(all)).not.toContain(text)
  expect(await w.count('events')).toBe(2)
})
