// A small history in which everything happened once, made by the real service, its commands and the sandbox bank.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const VICTIM = 'ana@loja.example'
const EVE = 'eve@loja.example'
const IDLE = 'ivo@loja.example'
const DEBTOR = 'rui@loja.example'
const PATIENCE_MS = 30_000
const MINUTE_MS = 60_000

export async function makeHistory({ service, bank, api, db }) {
  const receivers = [await startReceiver(200), await startReceiver(410)]
  try {
    const [victim, eve] = await openAccounts({ service, receivers })
    const call = makeCall(api)
    await sleep(1_100) // so that the webhooks exist before the next event
    await makeDeposits({ call, bank, db, service, victim, eve })
    await makeRefunds({ call, bank, db, service, victim })
    await makePayouts({ call, service, victim })
    await makeDebt({ call, bank, db, service })
    await makeExceptions({ call, bank, db, service, victim })
    await makeCodes({ call, bank, db, service, victim, eve })
    await makePayers({ call, bank, db, victim })
    const open = { value: 5000, description: 'order' }
    await call(victim, 'POST', '/api/deposit', { body: { ...open, externalId: 'open-1' }, key: 'key-open-1' })
    await call(eve, 'POST', '/api/deposit', { body: { ...open, externalId: 'open-2' }, key: 'key-open-2' })
    await until('events are delivered', async () => (await db.count('deliveries')) === 0)
    return { victim: await db.accountId(VICTIM), eve: await db.accountId(EVE), debtor: await db.accountId(DEBTOR) }
  } finally {
    for (const receiver of receivers) receiver.stop()
  }
}

async function openAccounts({ service, receivers }) {
  const accounts = []
  for (const email of [VICTIM, EVE, IDLE]) {
    await run(service, 'account', 'create', '--email', email)
    const key = (await run(service, 'key', 'create', '--email', email, '--name', 'prove')).trim()
    accounts.push({ email, key })
  }
  await run(
    service,
    'account',
    'terms',
    '--email',
    VICTIM,
    '--fee-bps',
    '150',
    '--fee-fixed',
    '7',
    '--reversal-policy',
    'operator',
    '--reason',
    'as agreed',
  )
  await run(service, 'operator', 'create', '--email', 'olga@ops.example')
  await run(service, 'account', 'suspend', '--email', IDLE, '--reason', 'has left')
  const events = ['--events', 'DEPOSIT_ASSET_SUCCESS,DEPOSIT_REFUNDED']
  await run(service, 'webhooks', 'add', '--email', VICTIM, '--url', receivers[0].url, ...events)
  await service.command('webhooks', 'add', '--email', EVE, '--url', receivers[1].url, ...events)
  return accounts
}

async function makeDeposits({ call, bank, db, service, victim, eve }) {
  const open = async (account, externalId, value, key = externalId) =>
    (
      await call(account, 'POST', '/api/deposit', {
        body: { value, externalId, description: 'order' },
        key: `key-${key}`,
      })
    ).charge
  for (const [account, shop] of [
    [victim, 'order'],
    [eve, 'sale'],
  ]) {
    for (const number of [1, 2]) {
      const charge = await open(account, `${shop}-${number}`, 5000)
      await bank.pay({ emv: charge.emv })
      await call(account, 'GET', `/api/deposit/${charge.paymentLinkId}`)
    }
  }
  const late = await open(victim, 'order-3', 7000)
  for (const charge of [late, await open(victim, 'order-4', 7100)])
    await call(victim, 'POST', `/api/deposit/${charge.paymentLinkId}/cancel`)
  // The late payment takes the order from this one, which is withdrawn.
  await open(victim, 'order-3', 7400, 'order-3 again')
  await bank.pay({ txid: late.id, force: true })
  await settled({ service, db, bank })
}

async function makeRefunds({ call, bank, db, service, victim }) {
  const charge = await paid({ call, bank, account: victim, value: 9000 })
  const endToEndId = await db.endToEndId(charge.id)
  const refund = (amount, ...more) =>
    service.command('refund', charge.paymentLinkId, '--amount', String(amount), ...more)
  await refund(1000, '--reason', 'returned', '--idempotency-key', 'refund-1')
  await refund(2000, '--reason', 'returned too')
  await until('refunds are done', async () => (await db.count(`refunds where status = 'PROCESSING'`)) === 0, 90_000)
  for (const cents of [100, 200, 300]) await bank.giveBack(endToEndId, cents)
  await settled({ service, db, bank })
  await until(
    'refunds of the bank are booked',
    async () => (await db.count(`refunds where source = 'provider'`)) === 3,
    PATIENCE_MS,
    () => settled({ service, db, bank }),
  )
  const [first, second] = await db.exceptions('foreign_refund')
  await resolve(service, first, '--charge-account')
  await resolve(service, second, '--write-off')
}

async function makePayouts({ call, service, victim }) {
  const ask = async (value) =>
    (await call(victim, 'POST', '/api/payouts', { body: { value, note: 'March' }, key: `payout-${value}` })).payout.id
  await run(service, 'payouts', 'pay', await ask(300), '--reference', 'E1')
  await run(service, 'payouts', 'reject', await ask(200), '--reason', 'no')
  await ask(100)
}

/** A deposit was paid out, and the bank returned it. Another one paid a part of the debt. */
async function makeDebt({ call, bank, db, service }) {
  await run(service, 'account', 'create', '--email', DEBTOR)
  const debtor = { key: (await run(service, 'key', 'create', '--email', DEBTOR, '--name', 'prove')).trim() }
  const charge = await paid({ call, bank, account: debtor, value: 5000 })
  const { payout } = await call(debtor, 'POST', '/api/payouts', { body: { value: 3000 }, key: 'payout-rui' })
  await run(service, 'payouts', 'pay', payout.id, '--reference', 'E3')
  await bank.reverse({ endToEndId: await db.endToEndId(charge.id) })
  const isBooked = async () => (await db.count(`refunds where nature = 'fraud'`)) === 1
  await until('a reversal is booked', isBooked, PATIENCE_MS, () => settled({ service, db, bank }))
  await paid({ call, bank, account: debtor, value: 1000 })
}

async function makeExceptions({ call, bank, db, service, victim }) {
  const charge = await paid({ call, bank, account: victim, value: 6000 })
  await bank.pay({ txid: charge.id, force: true })
  await settled({ service, db, bank })
  await resolve(service, (await db.exceptions('second_payment'))[0], '--credit', VICTIM)
  // This payment is of a day that is closed.
  const yesterday = new Date(Date.now() - 86_400_000).toISOString()
  await bank.pay({ txid: 'e'.repeat(32), amountCents: 650, at: yesterday })
  for (const cents of [700, 800, 900]) await bank.pay({ txid: 'f'.repeat(32), amountCents: cents })
  await settled({ service, db, bank })
  const [, first, second] = await db.exceptions('unknown_charge')
  for (const text of ['the payer called', 'and called again']) await run(service, 'exceptions', 'note', first, text)
  await resolve(service, first, '--write-off')
  await resolve(service, second, '--refund')
  for (const how of ['--match', undefined]) {
    const { charge: other } = await call(victim, 'POST', '/api/deposit', { body: { value: 6100 } })
    await bank.pay({ txid: other.id, amountCents: 6200 })
    await settled({ service, db, bank })
    if (how) await resolve(service, (await db.exceptions('wrong_amount'))[0], how)
  }
}

async function makeCodes({ call, bank, db, service, victim, eve }) {
  const ensure = async (account, name, body) => (await call(account, 'PUT', `/api/codes/${name}`, { body })).code
  const pay = async ({ emv }, amountCents) => {
    await bank.pay({ emv, amountCents })
    await settled({ service, db, bank })
  }
  const code = await ensure(victim, 'customer-1', { description: 'customer', maxValue: 50_000 })
  await pay(code, 4300)
  await ensure(victim, 'customer-1', { description: 'customer', maxValue: 40_000 })
  for (const cents of [4400, 45_000]) await pay(code, cents)
  await resolve(service, (await db.exceptions('code_limits'))[0], '--credit', VICTIM)
  await pay(await ensure(eve, 'customer-1', {}), 4500)
  const closed = await ensure(victim, 'customer-2', {})
  await call(victim, 'DELETE', '/api/codes/customer-2')
  await pay(closed, 4600)
}

/** The bank says after a minute that another person paid. Of the last one it says nothing. */
async function makePayers({ call, bank, db, victim }) {
  const pay = async (value, policy, payer) => {
    const body = { value, payer: { taxId: '123.456.789-09', policy } }
    const { charge } = await call(victim, 'POST', '/api/deposit', { body })
    await bank.pay({ emv: charge.emv, payer })
    await call(victim, 'GET', `/api/deposit/${charge.paymentLinkId}`)
  }
  await pay(5600, 'require', '12345678909')
  await pay(5700, 'verify', '98765432100')
  await pay(5800, 'require', '98765432100')
  await until('the bank has said who paid', async () => (await db.count('payer_answers')) === 3, 2 * MINUTE_MS)
  await until('money went back', async () => (await db.count(`refunds where status = 'PROCESSING'`)) === 0, MINUTE_MS)
  await bank.faults({ payerErrorRate: 1 })
  await pay(5900, 'require', '12345678909')
}

async function paid({ call, bank, account, value }) {
  const { charge } = await call(account, 'POST', '/api/deposit', { body: { value } })
  await bank.pay({ emv: charge.emv })
  await call(account, 'GET', `/api/deposit/${charge.paymentLinkId}`)
  return charge
}

/** Books what only the bank has, and closes the previous day. */
async function settled({ service, db, bank }) {
  const from = new Date(Date.now() - 2 * 86_400_000).toISOString()
  await service.command('reconcile', '--from', from, '--to', new Date(Date.now() + 1_000).toISOString())
  await until('all payments are booked', async () => (await db.count('payments')) === (await bank.payments()).length)
}

async function resolve(service, id, ...how) {
  await run(service, 'exceptions', 'resolve', id, ...how, '--reason', 'because')
}

async function run(service, ...args) {
  const { code, stdout, stderr } = await service.command(...args)
  if (code !== 0) throw new Error(`guiche ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

function makeCall(api) {
  return async (account, method, path, options) => {
    const { status, json } = await api(account, method, path, options)
    if (status >= 300 || status === 0)
      throw new Error(`${method} ${path} was answered with ${status}: ${JSON.stringify(json)}`)
    return json
  }
}

async function startReceiver(status) {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(status).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/events`,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

export async function until(what, ask, boundMs = PATIENCE_MS, between = () => sleep(100)) {
  const end = Date.now() + boundMs
  while (!(await ask())) {
    if (Date.now() > end) throw new Error(`waited ${boundMs} ms in vain: ${what}`)
    await between()
  }
}
