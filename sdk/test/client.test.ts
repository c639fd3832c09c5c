import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, expectTypeOf, inject, onTestFinished, test } from 'vitest'
import { GuicheError, makeGuiche, verify, verifyAsync } from '../src/client.ts'
import type { ErrorCode, Guiche, GuicheEvent, GuicheOptions, SentEvent } from '../src/client.ts'
import { catchError } from './errors.ts'
import { createAccount } from './guiche-process.ts'
import { serve, startProxy } from './sockets.ts'

// These tests call the real server, in a process of its own, over real sockets.

const { url, bankUrl } = inject('guiche')
const key = await createAccount(inject('guiche'), 'client@example.com')
const clientOf = (options: Partial<GuicheOptions> = {}): Guiche => makeGuiche({ url, key, ...options })
const guiche = clientOf()

async function pay(charge: { emv: string }): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ emv: charge.emv })
  const response = await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers, body })
  expect(response.status).toBe(201)
}

async function paidDeposit(value = 50_00) {
  const charge = await guiche.deposits.create({ value })
  await pay(charge)
  return guiche.deposits.waitUntilPaid(charge.paymentLinkId, { intervalMs: 20 })
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('a deposit', () => {
  test('is created, paid and seen in the balance', async () => {
    const before = await guiche.balance.get()
    const charge = await guiche.deposits.create({ value: 50_00, description: 'Order 1042' })
    expect(charge).toMatchObject({ value: 50_00, status: 'PENDING' })
    expect(await guiche.deposits.get(charge.paymentLinkId)).toMatchObject({ id: charge.id, status: 'PENDING' })

    const waiting = guiche.deposits.waitUntilPaid(charge.paymentLinkId, { intervalMs: 20 })
    await pay(charge)
    const paid = await waiting
    expect(paid).toMatchObject({ id: charge.id, status: 'COMPLETED', creditedValue: charge.value - charge.fee })
    expect(await guiche.deposits.retrieve(charge.paymentLinkId)).toEqual(paid)

    expect(await guiche.shop.get()).toMatchObject({ displayName: null, returnOrigins: [] })
    const { balance, currency } = await guiche.balance.get()
    expect([balance - before.balance, currency]).toEqual([charge.value - charge.fee, 'BRL'])
    const { items } = await guiche.statement.list({ limit: 1 }).page()
    expect(items).toMatchObject([{ kind: 'deposit', chargeId: charge.id, balance }])
    const { closingBalance, totals } = await guiche.statement.summary({})
    expect([closingBalance, totals?.map(({ kind }) => kind)]).toEqual([balance, ['deposit']])
    const { fileName, body } = await guiche.statement.export({ format: 'jsonl' })
    expect(fileName).toMatch(/^extrato-.+\.jsonl$/)
    const lines = (await new Response(body).text()).trim().split('\n')
    expect(JSON.parse(lines.at(-1)!)).toEqual(items[0])
    const refused = guiche.statement.export({ format: 'jsonl', from: '2026-02-30' })
    await expect(refused).rejects.toMatchObject({ code: 'field_invalid', status: 400 })
  })

  test('whose answer is lost is created once, and the retry returns it', async () => {
    const proxy = await startProxy(url)
    const externalId = randomUUID()
    proxy.loseAnswers(2)
    const charge = await clientOf({ url: proxy.url }).deposits.create({ value: 1_00, externalId })
    expect([proxy.answered(), charge.replayed]).toEqual([3, true])
    expect(await collect(guiche.deposits.list({ externalId }))).toMatchObject([{ id: charge.id }])
  })

  test('can be asked for again with the key of a first attempt, by another process', async () => {
    const proxy = await startProxy(url)
    const idempotencyKey = randomUUID()
    proxy.loseAnswers(1)
    const first = clientOf({ url: proxy.url, retryForMs: 0 }).deposits.create({ value: 1_00 }, { idempotencyKey })
    expect(await catchError(first)).toMatchObject({ code: 'network', status: undefined, attempts: 1 })
    const [one, other] = await Promise.all([
      guiche.deposits.create({ value: 1_00 }, { idempotencyKey }),
      guiche.deposits.create({ value: 1_00 }, { idempotencyKey }),
    ])
    expect(one.id).toBe(other.id)
    expect([one.replayed, other.replayed]).toEqual([true, true])
    const different = guiche.deposits.create({ value: 2_00 }, { idempotencyKey })
    expect(await catchError(different)).toMatchObject({ code: 'idempotency_mismatch', status: 422 })
  })

  test('of an order is created once, although the program restarts after an answer was lost', async () => {
    const proxy = await startProxy(url)
    const order = { value: 1_00, externalId: randomUUID() }
    proxy.loseAnswers(1)
    const lost = clientOf({ url: proxy.url, retryForMs: 0 }).deposits.create(order)
    const { idempotencyKey } = (await catchError(lost)) as GuicheError
    const charge = await guiche.deposits.create(order)
    expect(charge).toMatchObject({ status: 'PENDING', replayed: true })
    expect(await guiche.deposits.create(order, { idempotencyKey })).toEqual(charge)
    expect(await guiche.deposits.create({ value: 1_00 })).toMatchObject({ replayed: false })
  })

  test('is canceled, also if the first answer is lost', async () => {
    const proxy = await startProxy(url)
    const { paymentLinkId } = await guiche.deposits.create({ value: 1_00 })
    proxy.loseAnswers(1)
    expect(await clientOf({ url: proxy.url }).deposits.cancel(paymentLinkId)).toMatchObject({ status: 'CANCELED' })
    expect(await catchError(guiche.deposits.waitUntilPaid(paymentLinkId))).toMatchObject({ code: 'not_paid' })
  })
})

describe('the deposit of an order', () => {
  test('is made once, whatever answers are lost, and replaced when its value changes', async () => {
    const proxy = await startProxy(url)
    const externalId = `order ${randomUUID()}/ç`
    proxy.loseAnswers(1)
    const made = await clientOf({ url: proxy.url }).deposits.ensure({
      externalId,
      value: 1_00,
      metadata: { cart: '7' },
    })
    expect(made).toMatchObject({ externalId, value: 1_00, status: 'PENDING', metadata: { cart: '7' } })
    expect(await guiche.deposits.ensure({ externalId, value: 1_00 })).toEqual(made)
    const replaced = await guiche.deposits.ensure({ externalId, value: 2_00 })
    expect(replaced).toMatchObject({ value: 2_00, status: 'PENDING', metadata: null })
    const deposits = await collect(guiche.deposits.listByOrder(externalId, { limit: 1 }))
    expect(deposits.map(({ id, status }) => [id, status])).toEqual([
      [replaced.id, 'PENDING'],
      [made.id, 'CANCELED'],
    ])
    await pay(replaced)
    expect(await guiche.deposits.ensure({ externalId, value: 2_00 })).toMatchObject({ status: 'COMPLETED' })
    const refused = guiche.deposits.ensure({ externalId, value: 3_00 })
    expect(await catchError(refused)).toMatchObject({ code: 'order_paid', paymentLinkId: replaced.paymentLinkId })
  })

  test('is the same for all who ask at once', async () => {
    const order = { externalId: randomUUID(), value: 1_00 }
    const all = await Promise.all(Array.from({ length: 8 }, () => guiche.deposits.ensure(order)))
    expect(new Set(all.map(({ emv }) => emv)).size).toBe(1)
  })
})

test('every operation can be called by its name, and one of operators needs an operator’s key', async () => {
  expect(await guiche.call('getBalance', {})).toEqual(await guiche.balance.get())
  const refused = guiche.call('getException', { path: { exceptionId: '1' } })
  expect(await catchError(refused)).toMatchObject({ code: 'scope_missing', status: 403 })
})

test('a misspelt field of a deposit is warned of', async () => {
  const warnings: string[] = []
  const client = clientOf({ onWarning: (message) => warnings.push(message) })
  const misspelt = { value: 1_00, externalID: 'order-1' }
  await client.deposits.create(misspelt)
  expect(warnings).toEqual([expect.stringContaining('externalID')])
})

describe('waiting for a payment', () => {
  test('goes on over a network that fails', async () => {
    const proxy = await startProxy(url)
    const charge = await guiche.deposits.create({ value: 1_00 })
    const client = clientOf({ url: proxy.url, retryForMs: 0 })
    proxy.loseAnswers(3)
    const waiting = client.deposits.waitUntilPaid(charge.paymentLinkId, { intervalMs: 20 })
    await pay(charge)
    expect(await waiting).toMatchObject({ status: 'COMPLETED' })
    expect(proxy.answered()).toBeGreaterThan(3)
  })

  test('goes on while the bank is asked who paid, and ends when it has said so', async () => {
    const payer = { taxId: '123.456.789-09', policy: 'require' } as const
    const charge = await guiche.deposits.create({ value: 50_00, externalId: `payer-${Date.now()}`, payer })
    const waiting = guiche.deposits.waitUntilPaid(charge.paymentLinkId, { timeoutMs: 30_000 })
    const body = JSON.stringify({ emv: charge.emv, payer: '12345678909' })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers, body })).ok).toBe(true)
    expect(await waiting).toMatchObject({ status: 'COMPLETED', payerMatch: 'matched' })
  })

  test('ends with what was paid when another amount arrived, and not with its deadline', async () => {
    const charge = await guiche.deposits.create({ value: 50_00 })
    const body = JSON.stringify({ emv: charge.emv, amountCents: 40_00 })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers, body })).ok).toBe(true)
    const waiting = guiche.deposits.waitUntilPaid(charge.paymentLinkId, { timeoutMs: 30_000 })
    const error = (await catchError(waiting)) as GuicheError
    expect(error).toMatchObject({ code: 'payment_held', message: '4000 cents were paid and are held' })
    expect(error.deposit).toMatchObject({ id: charge.id, status: 'PENDING', heldValue: 40_00 })
    expect(error.isTransient).toBe(false)
  })

  test('hears of the payment from the payment page, and asks twice in all', async () => {
    const charge = await guiche.deposits.create({ value: 1_00 })
    const questions: string[] = []
    let isOpen = false
    const watching: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if ((input as string).endsWith('/events')) isOpen = true
      else questions.push(input as string)
      return response
    }
    // The second question by itself would come after the time limit of the test.
    const waiting = clientOf({ fetch: watching }).deposits.waitUntilPaid(charge.paymentLinkId, { intervalMs: 60_000 })
    // A payment before the first answer would leave nothing to ask.
    await expect.poll(() => [isOpen, questions.length]).toEqual([true, 1])
    await pay(charge)
    expect(await waiting).toMatchObject({ status: 'COMPLETED', heldPayments: [], refunds: [] })
    expect(questions).toHaveLength(2)
  })

  test.each([
    ['is refused', () => Promise.resolve(new Response('', { status: 429 }))],
    ['ends at once', () => Promise.resolve(new Response('data: {"status":"PENDING"}\n\n'))],
    ['is nonsense', () => Promise.resolve(new Response('data: <html>\n\n'))],
    ['fails', () => Promise.reject(new TypeError('fetch failed'))],
  ])('asks by itself where the stream of the payment page %s', async (_, stream) => {
    const charge = await guiche.deposits.create({ value: 1_00 })
    const without: typeof fetch = (input, init) =>
      (input as string).endsWith('/events') ? stream() : fetch(input, init)
    const waiting = clientOf({ fetch: without }).deposits.waitUntilPaid(charge.paymentLinkId, { intervalMs: 20 })
    await pay(charge)
    expect(await waiting).toMatchObject({ status: 'COMPLETED' })
  })

  test('ends with its deadline', async () => {
    const { paymentLinkId } = await guiche.deposits.create({ value: 1_00 })
    const waiting = guiche.deposits.waitUntilPaid(paymentLinkId, { timeoutMs: 50 })
    expect(await catchError(waiting)).toMatchObject({ code: 'timeout', message: expect.stringContaining('50 ms') })
  })

  test('ends at once when the caller aborts, with the reason of the caller', async () => {
    const { paymentLinkId } = await guiche.deposits.create({ value: 1_00 })
    const controller = new AbortController()
    const waiting = guiche.deposits.waitUntilPaid(paymentLinkId, { signal: controller.signal })
    const reason = new Error('the payer left')
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(guiche.deposits.waitUntilPaid(paymentLinkId, { signal: controller.signal })).rejects.toBe(reason)
  })

  test('takes a deadline beyond what a timer can hold for the longest one', async () => {
    const { paymentLinkId } = await paidDeposit(1_00)
    expect(await guiche.deposits.waitUntilPaid(paymentLinkId, { timeoutMs: Infinity })).toMatchObject({ paymentLinkId })
    const pending = await guiche.deposits.create({ value: 1_00 })
    const signal = AbortSignal.timeout(300)
    const waiting = guiche.deposits.waitUntilPaid(pending.paymentLinkId, { timeoutMs: Infinity, signal })
    expect(await catchError(waiting)).toMatchObject({ name: 'TimeoutError' })
  })

  test('ends for a charge that does not exist', async () => {
    expect(await catchError(guiche.deposits.waitUntilPaid(randomUUID()))).toMatchObject({ code: 'not_found' })
  })
})

test('a list goes through all pages, and gives one page to those who show one', async () => {
  const from = new Date().toISOString()
  const made: string[] = []
  for (let turn = 0; turn < 5; turn++) made.unshift((await guiche.deposits.create({ value: 1_00 + turn })).id)
  const list = guiche.deposits.list({ from, status: 'PENDING', limit: 2 })
  expect((await collect(list)).map(({ id }) => id)).toEqual(made)

  const { items, nextCursor } = await list.page()
  expect(items.map(({ id }) => id)).toEqual(made.slice(0, 2))
  const second = await guiche.deposits.list({ from, limit: 2, cursor: nextCursor! }).page()
  expect(second.items.map(({ id }) => id)).toEqual(made.slice(2, 4))
})

test('a refund whose answer is lost is made once', async () => {
  const { paymentLinkId } = await paidDeposit(50_00)
  const proxy = await startProxy(url)
  proxy.loseAnswers(1)
  const refund = await clientOf({ url: proxy.url }).refunds.create(paymentLinkId, { value: 20_00, reason: 'returned' })
  expect(refund).toMatchObject({ value: 20_00, madeBy: 'account' })
  expect(await collect(guiche.refunds.list(paymentLinkId))).toMatchObject([{ id: refund.id }])
  expect(await guiche.refunds.get(paymentLinkId, refund.id)).toMatchObject({ id: refund.id, reason: 'returned' })
  expect(await catchError(guiche.refunds.get(paymentLinkId, 'other'))).toMatchObject({ code: 'not_found' })

  const rest = await guiche.refunds.create(paymentLinkId)
  expect(rest.value).toBe(30_00)
  expect(await catchError(guiche.refunds.create(paymentLinkId))).toMatchObject({ code: 'already_refunded' })
})

test('a dispute is listed, and evidence in one that is not there is refused', async () => {
  expect(await collect(guiche.disputes.list({ status: 'OPEN' }))).toEqual([])
  const evidence = { fileName: 'x.pdf', content: new TextEncoder().encode('%PDF-1.4') }
  expect(await catchError(guiche.disputes.giveEvidence('other', evidence))).toMatchObject({ code: 'not_found' })
  expect(await catchError(guiche.disputes.get('other'))).toMatchObject({ code: 'not_found' })
})

test('a payout whose answer is lost is asked for once', async () => {
  await paidDeposit(50_00)
  const before = await guiche.balance.get()
  const proxy = await startProxy(url)
  proxy.loseAnswers(1)
  const payout = await clientOf({ url: proxy.url }).payouts.create({ value: 20_00, note: 'March' })
  expect(payout).toMatchObject({ value: 20_00, status: 'REQUESTED', replayed: true })
  expect(await guiche.payouts.get(payout.id)).toMatchObject({ id: payout.id, note: 'March' })
  expect(await collect(guiche.payouts.list({ status: 'REQUESTED' }))).toMatchObject([{ id: payout.id }])
  const { balance, available, reserved } = await guiche.balance.get()
  expect([balance, available, reserved]).toEqual([before.balance, before.available - 20_00, before.reserved + 20_00])
})

describe('webhooks', () => {
  async function createWebhook() {
    const received: { id: string; body: string; headers: IncomingHttpHeaders }[] = []
    const receiver = await serve((request, response) => {
      const { headers } = request
      void text(request).then((body) => {
        received.push({ id: String(headers['webhook-id']), body, headers })
        response.writeHead(204).end()
      })
    })
    const created = await guiche.webhooks.create({ url: `${receiver}/`, name: 'shop' })
    onTestFinished(() => guiche.webhooks.delete(created.webhook.id).catch(() => {}))
    return { ...created, received }
  }

  test('are created, tested, changed and deleted', async () => {
    const { webhook, secret, test: first, received } = await createWebhook()
    expect(secret).toMatch(/^whsec_/)
    expect(first).toMatchObject({ delivered: true, status: 204 })
    expect(await guiche.webhooks.test(webhook.id)).toMatchObject({ delivered: true })
    expect(received).toHaveLength(2)
    expect(await guiche.webhooks.list()).toContainEqual(expect.objectContaining({ id: webhook.id }))

    const changed = await guiche.webhooks.update(webhook.id, { name: 'till' })
    expect(changed).toMatchObject({ webhook: { name: 'till' }, test: null })
    const rotated = await guiche.webhooks.rotateSecret(webhook.id, { overlapSeconds: 60 })
    expect(rotated.secret).not.toBe(secret)
    expect((await guiche.webhooks.get(webhook.id)).previousSecretUntil).not.toBeNull()

    await guiche.webhooks.delete(webhook.id)
    expect(await catchError(guiche.webhooks.delete(webhook.id))).toMatchObject({ code: 'not_found' })
  })

  test('a lost answer does not rotate a secret twice, and a webhook that is deleted already counts as deleted', async () => {
    const { webhook } = await createWebhook()
    const proxy = await startProxy(url)
    const client = clientOf({ url: proxy.url })
    proxy.loseAnswers(1)
    expect(await catchError(client.webhooks.rotateSecret(webhook.id))).toMatchObject({ code: 'network', attempts: 1 })
    expect(proxy.answered()).toBe(1)
    proxy.loseAnswers(1)
    await client.webhooks.delete(webhook.id)
    expect(proxy.answered()).toBe(3)
  })

  test('their events are signed, listed, shown and sent again', async () => {
    const { webhook, secret, received } = await createWebhook()
    const charge = await paidDeposit(1_00)
    const events = await collect(guiche.events.list({ event: 'DEPOSIT_ASSET_SUCCESS', webhookId: webhook.id }))
    expect(events).toMatchObject([{ data: { transactionId: charge.id } }])
    const id = events[0]?.id ?? ''
    const deliveries = () => received.filter((delivery) => delivery.id === id)
    await expect.poll(deliveries).toHaveLength(1)
    for (const { body, headers } of deliveries()) {
      expect(verify(body, headers, secret)).toMatchObject({ id, data: { transactionId: charge.id } })
      expect(await verifyAsync(body, headers, secret)).toEqual(verify(body, headers, secret))
    }
    expect(await guiche.events.get(id)).toMatchObject({ event: { id } })
    expect(await guiche.events.resend(id, { webhookId: webhook.id })).toBe(1)
    await expect.poll(deliveries).toHaveLength(2)
    expect(await guiche.events.resendMany({ failed: true, webhookId: webhook.id })).toBe(0)
  })
})

test('what a webhook missed is read oldest first, by the handler of the webhook', async () => {
  const from = new Date().toISOString()
  const paid = [await paidDeposit(1_00), await paidDeposit(2_00), await paidDeposit(3_00)]
  const credited: string[] = []
  const onEvent = (event: GuicheEvent) => {
    if (event.event === 'DEPOSIT_ASSET_SUCCESS') credited.push(event.data.transactionId)
  }
  for await (const event of guiche.events.list({ from, order: 'asc', limit: 2 })) onEvent(event)
  expect(credited).toEqual(paid.map(({ id }) => id))
  expectTypeOf<SentEvent>().toExtend<GuicheEvent>()
  expectTypeOf<Extract<SentEvent, { event: 'WEBHOOK_TEST' }>['data']>().toEqualTypeOf<{ message: string }>()
})

describe('what the server refuses', () => {
  test.each<[string, () => Promise<unknown>, object]>([
    ['a value of nothing', () => guiche.deposits.create({ value: 0 }), { status: 400, code: 'field_invalid' }],
    ['a wrong key', () => clientOf({ key: 'gk_test_wrong' }).balance.get(), { status: 401, code: 'key_invalid' }],
    ['an unknown charge', () => guiche.deposits.get(randomUUID()), { status: 404, code: 'not_found' }],
    ['an id with a path in it', () => guiche.deposits.get('../balance'), { status: 404, code: 'not_found' }],
  ])('is a GuicheError with a code: %s', async (_, call, expected) => {
    const error = await catchError(call())
    expect(error).toBeInstanceOf(GuicheError)
    expect(error).toMatchObject({ ...expected, attempts: 1, requestId: expect.any(String), isTransient: false })
  })

  test('has the text of the server, and never the key', async () => {
    const error = await catchError(guiche.deposits.create({ value: 0 }))
    expect(error.message).toBe('value must be a positive integer (cents)')
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(key)
  })

  test('has codes that the editor completes, and takes those of a later server', () => {
    expectTypeOf<ErrorCode>().toExtend<GuicheError['code']>()
    expectTypeOf<'rate_limited'>().toExtend<ErrorCode>()
    expectTypeOf<'a later code'>().not.toExtend<ErrorCode>()
    expectTypeOf<'a later code'>().toExtend<GuicheError['code']>()
  })
})
