// Proves that a process whose clock is hours ahead makes no other process skip a payment. See prove/README.md.

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'

const CLAIMS = {
  future: 'a process whose clock is ahead leaves no future times in the database',
  skipped: 'what was paid meanwhile and afterwards is in the books soon after a process with the right clock starts',
  audit: 'guiche audit finds no difference',
}

const AHEAD_MS = 6 * 3_600_000
// Enough for several sweeps, which are due every second here.
const WRONG_FOR_MS = 5_000
const FOUND_WITHIN_MS = 60_000
const WHOLE_WITHIN_MS = 5 * 60_000

const { values: options } = parseArgs({ options: { dist: { type: 'string' } } })
let bank
let service
let books
let note
await proveClaims({
  name: 'clock',
  claims: CLAIMS,
  prove,
  env: { RECONCILE_SECONDS: '1' },
  withinMs: WHOLE_WITHIN_MS,
  dist: options.dist,
})

async function prove({ openBooks, ...parts }) {
  ;({ bank, service, note } = parts)
  await service.start()
  books = await openBooks()
  const emv = await openDeposit()
  // From here on, only the sweep can find a payment without a charge.
  await bank.faults({ dropNotifications: 1 })
  await service.stop()

  const hasStarted = await startAhead()
  console.log(`the clock ${AHEAD_MS / 3_600_000} h ahead: the service ${hasStarted ? 'started' : 'refused to start'}`)
  await bank.pay({ txid: 'paidwhiletheclockwasahead00', amountCents: 111 })
  if (hasStarted) await sleep(WRONG_FOR_MS)
  await service.stop()
  for (const row of await books.cursorsAhead()) note('future', `the cursor of a sweep: ${JSON.stringify(row)}`)

  await bank.pay({ emv })
  await bank.pay({ txid: 'paidaftertheclockwasahead00', amountCents: 222 })
  await service.start()
  for (const pix of await missingAfterSweep())
    note('skipped', `${pix.endToEndId}, ${pix.amountCents} cents for ${pix.txid}`)
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}

async function openDeposit() {
  const account = { key: /^API key: (.+)$/m.exec(service.output())?.[1] }
  const api = makeApi({ url: service.url, note: (_, text) => console.log(text), counts: new Map() })
  const { status, json } = await api(account, 'POST', '/api/deposit', { body: { value: 10_00 }, key: 'deposit' })
  if (status !== 201) throw new Error(`the request for a deposit was answered with ${status}: ${JSON.stringify(json)}`)
  return json.charge.emv
}

/** Returns whether the service became ready. */
async function startAhead() {
  try {
    await service.start({ aheadMs: AHEAD_MS })
    return true
  } catch (error) {
    console.log(String(error.message).trim().split('\n').at(-1))
    return false
  }
}

async function missingAfterSweep() {
  const until = Date.now() + FOUND_WITHIN_MS
  for (;;) {
    const recorded = await books.recorded()
    const missing = (await bank.payments()).filter((pix) => !recorded.has(pix.endToEndId))
    if (missing.length === 0 || Date.now() > until) return missing
    await sleep(200)
  }
}
