// Proves that what is answered from memory, or by a statement that many share, is what the books say. See
// prove/README.md.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'

const CLAIMS = {
  own: 'a completed deposit is answered to its account, and to no other',
  final: 'a canceled deposit that is paid late is answered as COMPLETED, although it was asked for before',
  fresh: 'a balance that is asked for after a deposit was answered as COMPLETED includes it',
  asked: 'a query after the payment says COMPLETED, although the same was asked a moment before it',
}

const VALUE_CENTS = 50_00
const CREDITED_CENTS = 49_50
// Far longer than a statement takes, so a read that did not join the held one is answered meanwhile.
const HELD_MS = 1_000
const COMPLETED_WITHIN_MS = 30_000
const WHOLE_WITHIN_MS = 5 * 60_000

const { values: options } = parseArgs({ options: { dist: { type: 'string' } } })
let bank
let service
let note
let api
await proveClaims({
  name: 'answers',
  claims: CLAIMS,
  prove,
  env: { RECONCILE_SECONDS: '0' },
  withinMs: WHOLE_WITHIN_MS,
  dist: options.dist,
})

async function prove({ openBooks, home, ...parts }) {
  ;({ bank, service, note } = parts)
  await service.start()
  // Keeps the database running when the service stops.
  await openBooks()
  const [ana, bob] = [await account('ana@loja.example'), await account('bob@loja.example')]
  await service.stop()
  const database = await startHoldingProxy(home)
  await service.start({ env: { DATABASE_URL: database.url } })
  api = makeApi({ url: service.url, note: (_, text) => console.log(text), counts: new Map() })

  await proveFresh(database, ana)
  await proveAsked(ana)
  await proveOwn(ana, bob)
  await proveFinal(ana)
  await service.stop()
}

/** Holds back the answer to a read that began before the payment was booked. A later read must not get that answer. */
async function proveFresh(database, { accountId, ...ana }) {
  await bank.faults({ dropNotifications: true })
  const charge = await deposit(ana)
  await pay({ emv: charge.emv })
  const answer = database.holdNextAbout(accountId)
  const early = balance(ana)
  await answer.isHeld
  const status = await statusOf(ana, charge)
  const late = balance(ana)
  await sleep(HELD_MS)
  answer.release()
  if (status !== 'COMPLETED') throw new Error(`a paid deposit was answered as ${status}`)
  if ((await early) !== 0) throw new Error('the read that was to begin before the payment was booked did not')
  if ((await late) !== CREDITED_CENTS) note('fresh', `the balance was ${await late} cents and not ${CREDITED_CENTS}`)
  await bank.faults({ dropNotifications: false })
}

async function proveAsked(ana) {
  await bank.faults({ dropNotifications: true })
  const charge = await deposit(ana)
  const before = await statusOf(ana, charge)
  if (before !== 'PENDING') throw new Error(`an unpaid deposit was answered as ${before}`)
  await pay({ emv: charge.emv })
  const after = await statusOf(ana, charge)
  if (after !== 'COMPLETED') note('asked', `a paid deposit was answered as ${after}`)
  await bank.faults({ dropNotifications: false })
}

async function proveOwn(ana, bob) {
  const charge = await deposit(ana)
  await pay({ emv: charge.emv })
  await untilCompleted(ana, charge)
  for (const round of [1, 2]) {
    const { status } = await query(bob, charge)
    if (status !== 404) note('own', `round ${round}: another account was answered with ${status}`)
    if ((await statusOf(ana, charge)) !== 'COMPLETED') note('own', `round ${round}: its own account was not answered`)
  }
}

async function proveFinal(ana) {
  const charge = await deposit(ana)
  const { status } = await api(ana, 'POST', `/api/deposit/${charge.paymentLinkId}/cancel`)
  if (status !== 200) throw new Error(`canceling was answered with ${status}`)
  for (const _ of [1, 2]) {
    const before = await statusOf(ana, charge)
    if (before !== 'CANCELED') throw new Error(`a canceled deposit was answered as ${before}`)
  }
  await pay({ txid: charge.id, amountCents: VALUE_CENTS, force: true })
  const last = await untilCompleted(ana, charge)
  if (last !== 'COMPLETED') note('final', `a deposit that was paid late was answered as ${last}`)
}

async function untilCompleted(ana, charge) {
  for (const until = Date.now() + COMPLETED_WITHIN_MS; ; await sleep(100)) {
    const status = await statusOf(ana, charge)
    if (status === 'COMPLETED' || Date.now() > until) return status
  }
}

async function account(email) {
  const made = JSON.parse((await command('account', 'create', '--email', email, '--name', 'Loja')).stdout)
  const { stdout } = await command('key', 'create', '--email', email, '--name', 'proof')
  return { accountId: made.accountId, key: stdout.trim() }
}

async function command(...args) {
  const done = await service.command(...args)
  if (done.code !== 0) throw new Error(`guiche ${args.join(' ')} failed: ${done.stderr}`)
  return done
}

async function deposit(ana) {
  const { status, json } = await api(ana, 'POST', '/api/deposit', { body: { value: VALUE_CENTS } })
  if (status !== 201) throw new Error(`a deposit was answered with ${status}: ${JSON.stringify(json)}`)
  return json.charge
}

async function pay(order) {
  if (!(await bank.pay(order))) throw new Error(`the bank refused ${JSON.stringify(order)}`)
}

function query(who, charge) {
  return api(who, 'GET', `/api/deposit/${charge.paymentLinkId}`)
}

async function statusOf(who, charge) {
  return (await query(who, charge)).json.charge?.status
}

async function balance(who) {
  return (await api(who, 'GET', '/api/balance')).json.balance
}

/** Stands between the service and its database, and can hold back the answer to a statement. */
async function startHoldingProxy(home) {
  const password = readFileSync(join(home, 'database-password'), 'utf8').trim()
  const directory = readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[4]
  let wanted
  const proxy = createServer((client) => {
    const server = connect(`${directory}/.s.PGSQL.5432`)
    let held
    for (const [one, other] of [
      [client, server],
      [server, client],
    ]) {
      one.on('error', () => undefined)
      one.on('close', () => other.destroy())
    }
    client.on('data', (chunk) => {
      if (wanted && chunk.includes(wanted.text)) {
        held = wanted
        wanted = undefined
      }
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!held) return client.write(chunk)
      held.answered()
      held.released.then(() => client.write(chunk))
    })
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  proxy.unref()
  return {
    url: `postgresql://guiche:${password}@127.0.0.1:${proxy.address().port}/guiche`,
    /** Holds the answer to the next statement that has this text among its values. */
    holdNextAbout(text) {
      const [isHeld, answered] = signal()
      const [released, release] = signal()
      wanted = { text, answered, released }
      return { isHeld, release }
    },
  }
}

function signal() {
  let give
  return [new Promise((resolve) => (give = resolve)), () => give()]
}
