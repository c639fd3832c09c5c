import { expect, test } from 'vitest'
import { CODE } from '../src/domain/core/seals.ts'
import { loadConfig } from '../src/config/config.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { openPage, pageOf } from './pages.ts'
import { startServer, temporaryHome } from './process.ts'
import { appWith, bearer, UNKNOWN_ID } from './requests.ts'
import { patient, world, type World } from './world.ts'

// "Simulate payment": the button on the page of a charge that is paid with play money.

const FORM = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }

test('the button pays the charge at the sandbox bank and leads back to the page, in the same language', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const page = await openPage(w, charge.paymentLinkId, {}, '?lang=es')
  expect(page.text).toContain('Simular el pago')
  const action = /<form[^>]*\saction="([^"]*)"/.exec(page.body)![1]!
  const target = new URL(action, `http://x/payment-link/${charge.paymentLinkId}?lang=es`)

  const paid = await w.app.inject({ method: 'POST', url: target.pathname + target.search, headers: FORM, payload: '' })
  expect(paid.statusCode).toBe(303)
  const back = new URL(paid.headers.location!, target)
  expect(back.pathname + back.search).toBe(`/payment-link/${charge.paymentLinkId}?lang=es`)
  const { charge: after } = await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  expect(after.status).toBe('COMPLETED')

  // Pressing the button again, by a second tap or after going back, pays nothing more.
  expect((await press(w, charge.paymentLinkId)).statusCode).toBe(303)
  expect(await w.count('payments')).toBe(1)
  expect((await w.sandbox.stats()).calls['POST /bank/pay']).toBe(1)
  const final = pageOf(await w.app.inject(back.pathname))
  expect([final.state, final.body.includes('<form')]).toEqual(['COMPLETED', false])
})

test('what the bank refuses leads back to the page, and a bank that is away is a page that says so', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  // The charge is paid at the bank, and we do not know it yet.
  await w.sandbox.pay({ emv: charge.emv })
  expect((await press(w, charge.paymentLinkId)).statusCode).toBe(303)

  const other = await w.deposit(account)
  await w.sandbox.goDown()
  const answer = await press(w, other.paymentLinkId, { accept: 'text/html', 'accept-language': 'en' })
  expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '1'])
  expect(pageOf(answer).text).toContain('Back in a moment')
  await w.sandbox.comeBack()
})

test('another site cannot press it, and it needs a charge', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  for (const site of ['cross-site', 'same-site', 'none']) {
    const answer = await press(w, charge.paymentLinkId, { 'sec-fetch-site': site })
    expect([site, answer.statusCode]).toEqual([site, 400])
  }
  expect((await w.sandbox.stats()).calls['POST /bank/pay']).toBe(0)
  for (const id of [UNKNOWN_ID, 'x']) expect((await press(w, id)).statusCode).toBe(404)
  const huge = await w.app.inject({
    method: 'POST',
    url: pathOf(charge.paymentLinkId),
    headers: FORM,
    payload: 'x'.repeat(2000),
  })
  expect(huge.statusCode).toBe(413)
})

test('there is no button, and nothing behind it, where money is real or the bank is another', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const live = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, mode: 'live', sandboxBankUrl: null } })
  const page = pageOf(await live.inject(`/payment-link/${charge.paymentLinkId}`))
  expect([page.state, page.body.includes('<form')]).toEqual(['PENDING', false])
  expect((await live.inject({ method: 'POST', url: pathOf(charge.paymentLinkId), headers: FORM })).statusCode).toBe(404)

  const sealed = CODE.textOf({ chargeId: charge.id, provider: 'bank', emv: charge.emv, hasKey: false })
  const seal = w.ctx.settings.sealer.seal(sealed)
  await w.pool.query(`update charges set provider = 'bank', code_seal = $1`, [seal])
  const elsewhere = await openPage(w, charge.paymentLinkId, {})
  expect([elsewhere.state, elsewhere.body.includes('<form')]).toEqual(['PENDING', false])
  expect((await press(w, charge.paymentLinkId)).statusCode).toBe(404)
  expect((await w.sandbox.stats()).calls['POST /bank/pay']).toBe(0)
})

test('the bank of a sandbox elsewhere is known from its URL', () => {
  expect(loadConfig({}).settings.sandboxBankUrl).toBeNull()
  const elsewhere = loadConfig({ PROVIDER_SANDBOX_URL: 'http://127.0.0.1:4000' })
  expect(elsewhere.settings.sandboxBankUrl).toBe('http://127.0.0.1:4000/bank')
})

test('the service as it starts pays its own demo, turns the page, and stops at once although a page is open', async () => {
  const w = await world()
  const server = await startServer({ DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome() })
  const key = /API key: (\S+)/.exec(server.output())![1]!
  const deposit = async () => {
    const headers = { ...bearer(key), 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/api/deposit`, { method: 'POST', headers, body: '{"value":5000}' })
    return ((await answer.json()) as { charge: { paymentLinkId: string } }).charge.paymentLinkId
  }
  const paidId = await deposit()
  const events = fetch(`${server.url}/payment-link/${paidId}/events`).then((answer) => answer.text())
  const pressed = await fetch(server.url + pathOf(paidId), { method: 'POST' })
  expect([pressed.status, new URL(pressed.url).pathname]).toEqual([200, `/payment-link/${paidId}`])
  expect(await events).toContain('"COMPLETED"')

  const open = await fetch(`${server.url}/payment-link/${await deposit()}/events`)
  expect(open.status).toBe(200)
  const began = performance.now()
  expect(await server.end('SIGTERM')).toBe(0)
  expect(performance.now() - began).toBeLessThan(patient(5_000))
  expect(await open.text()).toContain('PENDING')
})

function pathOf(paymentLinkId: string): string {
  return `/payment-link/${paymentLinkId}/sandbox-payment`
}

function press(w: World, paymentLinkId: string, headers: Record<string, string> = {}) {
  return w.app.inject({ method: 'POST', url: pathOf(paymentLinkId), headers: { ...FORM, ...headers }, payload: '' })
}
