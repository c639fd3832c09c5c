import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { newUuid7 } from '../../src/base/ids.ts'
import { transact } from '../../src/db/tx.ts'
import { insertEvents } from '../../src/domain/webhooks/events.ts'
import { createWebhook, updateWebhook } from '../../src/domain/webhooks/webhooks.ts'
import { startDeliverWorker } from '../../src/workers/deliver.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { startReceiver } from '../receiver.ts'
import { bearer, deposit, get } from '../requests.ts'
import { deliver, KIND } from '../webhooks-client.ts'
import type { TestAccount, World } from '../world.ts'

// What a developer looks at when something does not arrive: a webhook, the events, the requests.

useChromium()

const URL_OF_NOBODY = 'http://127.0.0.1:8999/hook'

test('a receiver that was down is seen on its page, and is tried again at once when it is back', async () => {
  const { w, url, page, errors, account } = await signedIn('pt-BR')
  let status = 503
  const receiver = await startReceiver((_, response) => void response.writeHead(status).end())
  const webhookId = await addWebhook(w, account, receiver.url)
  await tell(w, account, 3)
  await deliver(w)
  await page.goto(`${url}/developers/webhooks`)
  await page.getByRole('main').getByRole('link', { name: 'Loja' }).click()
  await page.getByText('0 de 3 entregues').first().waitFor()
  await page.getByRole('img', { name: 'Tentativas por hora nas últimas 24 horas: 3, das quais 3 falharam.' }).waitFor()
  await page.getByText('Entregas aguardando').waitFor()
  expect(await page.getByRole('definition').filter({ hasText: /^503/ }).count()).toBe(1)

  status = 200
  await page.getByRole('button', { name: 'Tentar agora: Depósito pago' }).first().click()
  await page.getByText('1 entrega será tentada agora.').waitFor()
  const worker = startDeliverWorker(w.ctx)
  onTestFinished(() => worker.stop())
  await receiver.got(4)
  await page.getByRole('button', { name: 'Tentar todas agora' }).click()
  await page.getByText('2 entregas serão tentadas agora.').waitFor()
  await receiver.got(6)
  await page.getByText('Nada aguarda').waitFor()
  await page.getByText('3 de 6 entregues').first().waitFor()
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(3)
  expect(page.url()).toBe(`${url}/developers/webhooks/${webhookId}`)
  expect(errors).toEqual([])
})

test('the page of a disabled webhook says what to do, and does it', async () => {
  const { w, url, page, errors, account } = await signedIn('en-US')
  const webhookId = await addWebhook(w, account, URL_OF_NOBODY)
  await updateWebhook(w.ctx, account.accountId, webhookId, { enabled: false })
  await page.goto(`${url}/developers/webhooks/${webhookId}`)
  await page.getByRole('alert').getByText('This webhook is disabled').waitFor()
  await page.getByRole('alert').getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
  await page.getByText('Nothing waits').waitFor()
  expect(await w.count('webhooks', 'disabled_at is null')).toBe(1)
  await page.goto(`${url}/developers/webhooks/${webhookId.replace(/^./, 'f')}`)
  await page.getByText('This webhook no longer exists').waitFor()
  expect(errors).toEqual([])
})

test.each([
  {
    locale: 'pt-BR',
    kind: 'Pagamento em análise',
    send: 'Enviar este',
    done: 'Enviar',
    arrived: 'Evento de teste entregue',
  },
  {
    locale: 'en-US',
    kind: 'Payment under review',
    send: 'Send this one',
    done: 'Send',
    arrived: 'Test event delivered',
  },
])('an event is read in the catalogue and its example sent, on a phone ($locale)', async (t) => {
  const { w, url, page, errors, account } = await signedIn(t.locale)
  const receiver = await startReceiver((_, response) => void response.end('thanks'))
  await addWebhook(w, account, receiver.url)
  await page.setViewportSize({ width: 360, height: 780 })
  await page.goto(`${url}/developers/events`)
  await page.getByRole('heading', { name: t.kind }).click()
  const example = page.getByRole('region', { name: t.kind })
  expect(JSON.parse((await example.textContent())!)).toMatchObject({
    event: 'DEPOSIT_HELD',
    data: { receivedValue: 4900 },
  })
  await lookAt(page, 'the catalogue')
  await page.getByRole('button', { name: `${t.send}: ${t.kind}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: t.done, exact: true }).click()
  await page.getByText(t.arrived).waitFor()
  expect(await page.getByRole('dialog').locator('pre').textContent()).toBe('thanks')
  expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ event: 'TEST_DEPOSIT_HELD', test: true })
  expect(await w.count('events', `kind = 'DEPOSIT_HELD'`)).toBe(0)
  await lookAt(page, 'the answer to an example')
  expect(errors).toEqual([])
})

test('a refused request is found among others and by its id, and leads to its deposit', async () => {
  const { w, url, page, errors, account } = await signedIn('pt-BR')
  const charge = await w.deposit(account)
  await w.app.inject(get(account.key, '/api/balance'))
  await w.app.inject(deposit(account.key, '{"value":0}', { 'x-request-id': 'order-7' }))
  await w.app.inject({
    ...get(account.key, `/api/deposit/${charge.paymentLinkId}`),
    headers: { ...bearer(account.key), 'x-request-id': 'order-8' },
  })
  await w.ctx.requestLog.flush()
  await page.goto(`${url}/developers`)
  await page.getByRole('link', { name: 'Requisições' }).click()
  await page.getByRole('row', { name: /GET \/api\/balance 200/ }).waitFor()
  await page.getByLabel('Resposta').selectOption('4xx')
  await page.getByRole('row', { name: /GET \/api\/balance/ }).waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /POST \/api\/deposit 400 field_invalid/ }).click()
  await page.getByText('value must be a positive integer (cents)').waitFor()
  await page.getByText('order-7').waitFor()

  await page.goto(`${url}/developers/requests`)
  await page.getByRole('searchbox').fill('order-8')
  await page.getByRole('row', { name: new RegExp(charge.paymentLinkId) }).click()
  await page.getByRole('link', { name: 'Ver depósito' }).click()
  await page.waitForURL(`${url}/deposits/${charge.paymentLinkId}`)
  expect(errors).toEqual([])
})

// ---- The service, and a developer who is signed in ----

async function signedIn(locale: string) {
  const { w, url } = await serve()
  // The browser has the time of this machine, and says how far away the next attempt is.
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const account = await w.account()
  const { page, errors } = await visit({ locale, viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(account))
  return { w, url, page, errors, account }
}

async function addWebhook(w: World, { accountId }: TestAccount, url: string): Promise<string> {
  const fields = { name: 'Loja', url, eventKinds: [KIND] as (typeof KIND)[], authorization: null }
  return (await createWebhook(w.ctx, accountId, fields)).webhook.webhookId
}

/** Events that happened just now, without what made them happen. */
async function tell(w: World, { accountId }: TestAccount, count: number): Promise<void> {
  const createdAt = w.clock.now()
  const event = () => ({ kind: KIND, accountId, subjectId: newUuid7(createdAt), createdAt, data: {} }) as const
  await transact(w.pool, (tx) => insertEvents(tx, createdAt, Array.from({ length: count }, event)))
}

async function lookAt(page: Page, what: string): Promise<void> {
  expect([what, await overflowPx(page)]).toEqual([what, 0])
  await expectAccessible(page, what)
}
