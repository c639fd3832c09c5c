// Proves that a thousand notified payments cost a few calls and survive a kill, and that queries of many charges at
// once are fresh. See prove/README.md.

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'

const CLAIMS = {
  credited: 'each payment that was notified is in the books once, without a sweep, although the service was killed',
  cheap: 'the bank was asked for its list, and for a few payments alone',
  fresh: 'while many charges are polled, a fresh query after a payment says COMPLETED',
  refunds: 'a refund made at the bank is known, although its payment is in the books',
  audit: 'guiche audit finds no difference',
}

const VALUE_CENTS = 50_00
const PAYMENTS = 1_000
const POLLED = 40
const AT_ONCE = 32
// The lease of a killed process ends after half a minute, and a bank repeats notifications that were not answered.
const CREDITED_WITHIN_MS = 120_000
const KNOWN_WITHIN_MS = 30_000
const WHOLE_WITHIN_MS = 10 * 60_000

const { values: options } = parseArgs({ options: { dist: { type: 'string' } } })
let bank
let service
let books
let note
let ask
await proveClaims({
  name: 'hints',
  claims: CLAIMS,
  prove,
  env: { PENDING_MAX_PER_ACCOUNT: '0', RECONCILE_SECONDS: '0' },
  withinMs: WHOLE_WITHIN_MS,
  dist: options.dist,
})

async function prove({ openBooks, ...parts }) {
  ;({ bank, service, note } = parts)
  await service.start()
  books = await openBooks()
  const account = { key: /^API key: (.+)$/m.exec(service.output())?.[1] }
  const api = makeApi({ url: service.url, note: (_, text) => console.log(text), counts: new Map() })
  ask = (...args) => api(account, ...args)
  await until(() => bank.notificationUrl(), KNOWN_WITHIN_MS)
  await killWhileSettling()
  await creditNotified()
  await learnOfRefund()
  await pollMany()
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}

/** Kills the service while it credits payments, and starts it again. */
async function creditNotified() {
  const charges = await openDeposits(PAYMENTS)
  const before = (await bank.stats()).calls
  const known = (await books.recorded()).size
  const recorded = async () => (await books.recorded()).size - known
  const paying = inParallel(charges, ({ emv }) => bank.pay({ emv }))
  await until(async () => (await recorded()) > PAYMENTS / 10, CREDITED_WITHIN_MS)
  await service.kill()
  await service.start()
  await paying
  await until(async () => (await recorded()) >= PAYMENTS, CREDITED_WITHIN_MS)
  const count = await recorded()
  if (count !== PAYMENTS) note('credited', `${count} payments of ${PAYMENTS} are in the books`)
  const after = (await bank.stats()).calls
  const alone = ['GET /cob/:txid', 'GET /pix/:e2eid'].reduce((sum, name) => sum + after[name] - before[name], 0)
  if (alone > PAYMENTS / 2) note('cheap', `${alone} of ${PAYMENTS} payments were asked for one by one`)
}

/**
 * Kills the service while it waits for a locked charge to settle its payment. This runs first, so that no list that is
 * read for another payment shows this one later.
 */
async function killWhileSettling() {
  const [{ id, emv }] = await openDeposits(1)
  const release = await books.holdCharge(id)
  const [{ endToEndId }] = await bank.pay({ emv })
  if (!(await until(books.isWaitedFor, KNOWN_WITHIN_MS))) throw new Error('the service does not settle')
  await service.kill()
  await release()
  await service.start()
  if (!(await until(async () => (await books.recorded()).has(endToEndId), CREDITED_WITHIN_MS)))
    note('credited', `${endToEndId} was being settled when the service was killed, and is not in the books`)
}

async function learnOfRefund() {
  const [{ endToEndId }] = await bank.payments()
  await bank.giveBack(endToEndId, VALUE_CENTS)
  // The bank completes the refund, and notifies of it, only when it is called again.
  const isKnown = async () => (await bank.stats()) && (await books.refunds()).length > 0
  if (!(await until(isKnown, KNOWN_WITHIN_MS))) note('refunds', `the refund of ${endToEndId} is not in the books`)
}

/** Polls each charge all the time, and pays it at some moment. No notification arrives. */
async function pollMany() {
  await bank.faults({ dropNotifications: true })
  const charges = await openDeposits(POLLED)
  const paid = new Set()
  const over = new AbortController()
  const poll = async ({ paymentLinkId }) => {
    const wasPaid = paid.has(paymentLinkId)
    const { headers, json } = await ask('GET', `/api/deposit/${paymentLinkId}`)
    const isFresh = headers.get('guiche-provider-check') === 'fresh'
    if (wasPaid && isFresh && json.charge.status !== 'COMPLETED')
      note('fresh', `${paymentLinkId} was paid before a fresh query that answered ${json.charge.status}`)
    return json.charge?.status
  }
  const polling = Promise.all(
    charges.map(async (charge) => {
      while (!over.signal.aborted) if ((await poll(charge)) === 'COMPLETED') return
    }),
  )
  for (const charge of charges) {
    await bank.pay({ emv: charge.emv })
    paid.add(charge.paymentLinkId)
    await sleep(50)
  }
  await Promise.race([polling, sleep(KNOWN_WITHIN_MS)])
  over.abort()
  await polling
}

async function openDeposits(count) {
  const charges = []
  await inParallel(Array.from({ length: count }), async () => {
    const { status, json } = await ask('POST', '/api/deposit', { body: { value: VALUE_CENTS } })
    if (status !== 201) throw new Error(`a deposit was answered with ${status}: ${JSON.stringify(json)}`)
    charges.push(json.charge)
  })
  return charges
}

async function until(isSo, withinMs) {
  const end = Date.now() + withinMs
  for (;;) {
    const result = await isSo()
    if (result || Date.now() > end) return result
    await sleep(20)
  }
}

/** Works on a few items at a time, until none is left. */
async function inParallel(items, work) {
  const left = [...items]
  const worker = async () => {
    while (left.length > 0) await work(left.pop())
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
