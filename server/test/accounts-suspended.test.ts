import { expect, test } from 'vitest'
import { resumeAccount, suspendAccount } from '../src/domain/accounts/accounts.ts'
import { buildApp } from '../src/http/app.ts'
import { checkDue } from '../src/workers/check.ts'
import { bearer, deposit, get } from './requests.ts'
import { apiRoutesOf, ask, CONSOLE, filledIn, makeOperator } from './operators-client.ts'
import { world } from './world.ts'

const SUSPENDED = { success: false, error: 'This account is suspended' }
const READS = ['deposits:read', 'balance:read', 'payouts:read', 'events:read']

test('within two seconds a suspended account’s keys may read deposits, balance and events, and nothing else', async () => {
  const w = await world()
  const { accountId, key } = await w.account()
  const { key: scopeless } = await w.account({ scopes: ['deposits:write'] })
  await suspendAccount(w.ctx, CONSOLE, accountId, 'under review')
  w.clock.advance(1_000)
  const read: string[] = []
  for (const { method, url } of apiRoutesOf(await buildApp(w.ctx)).filter(
    // A stream that is allowed goes on for ever.
    ({ url }) => !url.startsWith('/api/operator') && url !== '/api/events/stream',
  )) {
    const send = (by: string) => w.app.inject({ method, url: filledIn(url), headers: bearer(by) })
    // A key without the scope is told which scope a route needs. That shows which routes only read.
    const lacking = String((await send(scopeless)).json().error).split('lacks the scope ')[1] ?? 'none'
    const answer = await send(key)
    if (READS.includes(lacking)) {
      // Routes with an id get one that does not exist.
      expect([url, answer.statusCode]).toEqual([url, /:(?!externalId)|codes\/:/.test(url) ? 404 : 200])
      read.push(url)
    } else expect([method, url, answer.statusCode, answer.json()]).toEqual([method, url, 403, SUSPENDED])
  }
  const expected = [
    '/api/deposit/:paymentLinkId',
    '/api/deposits',
    '/api/balance',
    '/api/statement',
    '/api/events/head',
  ]
  expect(read).toEqual(expect.arrayContaining(expected))
  expect([await w.count('charges'), await w.count('webhooks')]).toEqual([0, 0])
})

test('another account is not touched, and resumed the account may do all again', async () => {
  const w = await world()
  const [ana, bia] = [await w.account(), await w.account()]
  await suspendAccount(w.ctx, CONSOLE, ana.accountId, 'under review')
  w.clock.advance(1_000)
  const statusOf = async (key: string) => (await w.app.inject(deposit(key, '{"value":5000}'))).statusCode
  expect([await statusOf(ana.key), await statusOf(bia.key)]).toEqual([403, 201])
  await resumeAccount(w.ctx, CONSOLE, ana.accountId, 'cleared')
  w.clock.advance(1_000)
  expect(await statusOf(ana.key)).toBe(201)
})

test('payments of a suspended account’s charges are credited, whether they are asked about or not', async () => {
  const w = await world()
  const { charge: asked, account } = await w.paidCharge({ valueCents: 100_00 })
  const { charge: unasked } = await w.paidCharge({ valueCents: 50_00, account })
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'under review')
  w.clock.advance(1_000)
  const answer = await w.app.inject(get(account.key, `/api/deposit/${asked.paymentLinkId}`))
  expect(answer.json().charge.status).toBe('COMPLETED')
  w.clock.advance(3_700_000)
  await checkDue(w.ctx)
  expect(await w.count('charges', `payment_link_id = '${unasked.paymentLinkId}' and status = 'COMPLETED'`)).toBe(1)
  expect(await w.balanceCents(account.accountId)).toBe(148_50)
  expect(await w.differences()).toEqual([])
})

test('a payer can still open the page of a charge that is out', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'under review')
  w.clock.advance(1_000)
  expect((await w.app.inject(`/payment-link/${charge.paymentLinkId}`)).statusCode).toBe(200)
})

test('by the API an account is suspended and resumed with a reason; a second time changes nothing', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { accountId } = await w.account()
  const at = w.clock.now().toISOString()
  const first = await ask(w, key, 'POST', `accounts/${accountId}/suspend`, { reason: 'under review' })
  expect(first).toMatchObject({ status: 200, body: { account: { suspendedAt: at, suspendedReason: 'under review' } } })
  w.clock.advance(60_000)
  const second = await ask(w, key, 'POST', `accounts/${accountId}/suspend`, { reason: 'again' })
  expect(second).toEqual(first)
  const resumed = { account: { suspendedAt: null, suspendedReason: null } }
  for (const reason of ['cleared', 'twice'])
    expect((await ask(w, key, 'POST', `accounts/${accountId}/resume`, { reason })).body).toMatchObject(resumed)
  expect(await w.count('audit_log', `action in ('account.suspended', 'account.resumed')`)).toBe(2)
  for (const verb of ['suspend', 'resume'])
    expect(await ask(w, key, 'POST', `accounts/${accountId}/${verb}`, {})).toEqual({
      status: 400,
      body: { success: false, error: 'reason must be 1 to 500 characters, without control or invisible characters' },
    })
})
