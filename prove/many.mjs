// Proves that ten thousand payments of which no notification arrived are credited by one sweep. See prove/README.md.

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'

const CLAIMS = {
  credited: 'each of the payments is in the books once, and the account has their sum less the fees',
  cheap: 'the bank was asked for its list page by page, and not for each payment',
  audit: 'guiche audit finds no difference',
}

const VALUE_CENTS = 50_00
const FEE_CENTS = 50
const AT_ONCE = 32
const FOUND_WITHIN_MS = 5 * 60_000
const WHOLE_WITHIN_MS = 20 * 60_000

const { values: options } = parseArgs({
  options: { dist: { type: 'string' }, payments: { type: 'string', default: '10000' } },
})
const PAYMENTS = Number(options.payments)
// The bank lists at most a thousand on a page. One page more, for payments at the edge of a time window.
const MAX_QUESTIONS = Math.ceil(PAYMENTS / 1_000) + 1
let bank
let service
let books
let note
await proveClaims({
  name: 'many',
  claims: CLAIMS,
  prove,
  env: { PENDING_MAX_PER_ACCOUNT: '0' },
  withinMs: WHOLE_WITHIN_MS,
  dist: options.dist,
})

async function prove({ openBooks, ...parts }) {
  ;({ bank, service, note } = parts)
  await bank.faults({ dropNotifications: true })
  await service.start({ env: { RECONCILE_SECONDS: '0' } })
  books = await openBooks()
  const codes = await openDeposits()
  await service.stop()
  await inParallel(codes, (emv) => bank.pay({ emv }))
  console.log(`${codes.length} deposits are paid, and no notification was sent`)

  const before = (await bank.stats()).calls
  // The service sweeps once when it starts, and not again until this is over.
  await service.start({ env: { RECONCILE_SECONDS: '3600' } })
  await untilRecorded()
  const after = (await bank.stats()).calls
  const asked = (operation) => after[operation] - before[operation]
  if (asked('GET /pix') > MAX_QUESTIONS) note('cheap', `${asked('GET /pix')} pages of the list were asked for`)
  if (asked('GET /pix/:e2eid') > 0) note('cheap', `${asked('GET /pix/:e2eid')} payments were asked for one by one`)
  await service.stop()
  await judgeBooks()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}

async function openDeposits() {
  const account = { key: /^API key: (.+)$/m.exec(service.output())?.[1] }
  const api = makeApi({ url: service.url, note: (_, text) => console.log(text), counts: new Map() })
  const codes = []
  await inParallel(Array.from({ length: PAYMENTS }), async () => {
    const { status, json } = await api(account, 'POST', '/api/deposit', { body: { value: VALUE_CENTS } })
    if (status !== 201) throw new Error(`a deposit was answered with ${status}: ${JSON.stringify(json)}`)
    codes.push(json.charge.emv)
  })
  return codes
}

async function untilRecorded() {
  const until = Date.now() + FOUND_WITHIN_MS
  while ((await books.recorded()).size < PAYMENTS && Date.now() < until) await sleep(500)
}

async function judgeBooks() {
  const { charges, payments, balances, events } = await books.read()
  const counts = {
    payments: payments.length,
    'payments credited': payments.filter(({ credited, exceptions }) => credited && exceptions === 0n).length,
    'completed deposits': charges.filter(({ status }) => status === 'COMPLETED').length,
    events: events.length,
  }
  for (const [what, count] of Object.entries(counts))
    if (count !== PAYMENTS) note('credited', `${what}: ${count} and not ${PAYMENTS}`)
  const [{ balance_cents: balance }] = balances.filter(({ kind }) => kind === 'balance')
  if (balance !== BigInt(PAYMENTS * (VALUE_CENTS - FEE_CENTS))) note('credited', `the balance is ${balance} cents`)
}

/** Works on a few items at a time, until none is left. */
async function inParallel(items, work) {
  const left = [...items]
  const worker = async () => {
    while (left.length > 0) await work(left.pop())
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
