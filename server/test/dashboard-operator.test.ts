import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { makeReason } from '../src/domain/ports/delivery-reasons.ts'
import { createWebhook, disableWebhook } from '../src/domain/webhooks/webhooks.ts'
import { makeOperator } from './operators-client.ts'
import { startReceiver } from './receiver.ts'
import { completedCharge, strayPayment } from './refund-steps.ts'
import { deliver } from './webhooks-client.ts'
import { world } from './world.ts'

const API = '/dashboard/api/operator'

test("an operator's overview adds up all accounts", async () => {
  const w = await world()
  const session = await w.session(await makeOperator(w))
  await completedCharge(w, { valueCents: 10_00 })
  await completedCharge(w, { valueCents: 20_00 })
  await strayPayment(w, 7_00)
  const { days, ...overview } = (await session.ask('GET', `${API}/overview`)).json()
  expect(overview).toEqual({
    success: true,
    accounts: 2,
    suspenseCents: 7_00,
    missingCents: 0,
    today: { created: 2, paid: 2, paidValue: 30_00, creditedValue: 29_70, fees: 30 },
    providers: [expect.objectContaining({ name: 'sandbox', breaker: 'closed' })],
    lastClosing: null,
  })
  expect(days).toHaveLength(30)
  expect(days.at(-1)).toEqual({ day: '2026-03-02', created: 2, paid: 2, paidValue: 30_00, creditedValue: 29_70 })
})

test('an account that an operator makes gets a password, which is shown this once', async () => {
  const w = await world()
  const session = await w.session(await makeOperator(w))
  const made = await session.ask('POST', `${API}/accounts`, { email: 'Ana@Loja.example', name: 'Loja da Ana' })
  expect(made.statusCode).toBe(201)
  expect(made.json()).toMatchObject({
    success: true,
    account: { email: 'ana@loja.example', name: 'Loja da Ana', balance: 0, suspendedAt: null },
    password: expect.stringMatching(/^\S{20}$/),
  })
  const { rows } = await w.pool.query(`select l::text as row from audit_log l where action = 'account.created'`)
  expect(rows.map(({ row }) => row).join()).toContain('ops@example.com')
  expect(rows.map(({ row }) => row).join()).not.toContain(made.json().password)

  const twice = await session.ask('POST', `${API}/accounts`, { email: 'ana@loja.example', name: 'Again' })
  expect(twice.statusCode).toBe(409)
  for (const body of [{ email: 'nobody', name: 'x' }, { email: 'a@b.example', name: '' }, {}])
    expect((await session.ask('POST', `${API}/accounts`, body)).statusCode).toBe(400)
  w.clock.advance(16 * 60_000)
  const stale = await session.ask('POST', `${API}/accounts`, { email: 'b@loja.example', name: 'Late' })
  expect(stale.json()).toMatchObject({ code: 'reauthentication_required' })
})

test('webhooks that fail or are disabled are counted and listed of all accounts, with why, and by host alone', async () => {
  const w = await world()
  const session = await w.session(await makeOperator(w))
  const receiver = await startReceiver((_, response) => void response.writeHead(503).end())
  const account = await w.account()
  const add = async (name: string, url: string) =>
    (
      await createWebhook(w.ctx, account.accountId, {
        name,
        url,
        eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
        authorization: null,
      })
    ).webhook.webhookId
  await add('good', (await startReceiver()).url)
  const failing = await add('failing', `${receiver.url}?token=secret`)
  await completedCharge(w, { account })
  await deliver(w)
  const disabled = await add('disabled', receiver.url)
  await transact(w.pool, (tx) => disableWebhook(tx, w.clock.now(), disabled, makeReason('receiver_gone', 'gone')))
  const { counts, items } = (await session.ask('GET', `${API}/open`)).json()
  expect(counts).toMatchObject({ webhooks: 2 })
  expect(items.map(({ kind, id, what, email }: Record<string, string>) => [kind, id, what, email])).toEqual(
    expect.arrayContaining([
      ['webhook_failing', failing, 'failing', account.email],
      ['webhook_disabled', disabled, 'disabled', account.email],
    ]),
  )
  const answer = await session.ask('GET', `${API}/webhook-failures`)
  expect(answer.json()).toMatchObject({
    nextCursor: null,
    webhooks: [
      { webhookId: disabled, disabledReason: 'gone', lastError: null, pending: 0 },
      {
        webhookId: failing,
        accountId: account.accountId,
        accountEmail: account.email,
        name: 'failing',
        url: new URL(receiver.url).host,
        failingSince: '2026-03-02T12:00:00.000Z',
        disabledAt: null,
        lastStatus: 503,
        lastError: null,
        pending: 1,
      },
    ],
  })
  expect(answer.body).not.toContain('secret')
  const first = (await session.ask('GET', `${API}/webhook-failures?limit=1`)).json()
  const second = (await session.ask('GET', `${API}/webhook-failures?limit=1&cursor=${first.nextCursor}`)).json()
  expect([first.webhooks[0].webhookId, second.webhooks[0].webhookId]).toEqual([disabled, failing])

  // A webhook that its owner disabled needs no attention.
  await w.pool.query(`update webhooks set disabled_code = 'disabled_by_account' where id = $1`, [disabled])
  expect((await session.ask('GET', `${API}/open`)).json()).toMatchObject({ counts: { webhooks: 1 } })
})

test('an account holder may see none of it, and an operator none of an account', async () => {
  const w = await world()
  const holder = await w.session(await w.account())
  const operator = await w.session(await makeOperator(w))
  for (const path of ['overview', 'open', 'health', 'webhook-failures'])
    expect((await holder.ask('GET', `${API}/${path}`)).statusCode).toBe(403)
  const made = await holder.ask('POST', `${API}/accounts`, { email: 'x@example.com', name: 'x' })
  expect(made.statusCode).toBe(403)
  for (const path of ['keys', 'overview', 'deposits.csv', 'statement/export', 'deliveries'])
    expect((await operator.ask('GET', `/dashboard/api/${path}`)).statusCode).toBe(403)
})
