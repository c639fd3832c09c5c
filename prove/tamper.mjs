// Proves that no row of the books can be forged unnoticed. It makes a history with the real service and forges it in
// some three hundred ways, each in a copy of the database. The audit must name each. See prove/README.md.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { makeApi } from './money/api.mjs'
import { openBank } from './money/bank.mjs'
import { makeService } from './money/service.mjs'
import { openDatabase } from './tamper/database.mjs'
import { forgeries } from './tamper/forgeries.mjs'
import { makeHistory } from './tamper/history.mjs'

// The first forgeries are also given to the real command, which takes seconds for each.
const BY_COMMAND = 4
const TEXT_MAX = 150

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string' }, // accepted because other proofs take it; nothing here is random
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(
    'node prove/tamper.mjs [--only text] [--dist DIR]\n\nExit 0: every forgery was named. 1: one was missed. 2: the proof could not run.',
  )
  process.exit(0)
}
if (!options.dist) await ensureBuilt()
const dist = resolve(options.dist ?? join(root, 'server/dist'))
const home = mkdtempSync(join(tmpdir(), 'guiche-prove-tamper-'))
// If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
chmodSync(home, 0o755)
const clock = { laterMs: 0, now: () => new Date() }
const breaches = []
const began = performance.now()
let [bank, service, db] = []
try {
  await prove()
  report()
  process.exitCode = breaches.length > 0 ? 1 : 0
} catch (error) {
  console.error(`The proof could not run: ${error.stack ?? error}`)
  if (service) console.error(service.output().slice(-2000))
  process.exitCode = 2
} finally {
  await service?.close()
  await db?.close().catch(() => undefined)
  await bank?.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

async function prove() {
  const { openSandbox } = await import(pathToFileURL(join(dist, 'sandbox/server.js')).href)
  bank = await openBank({ openSandbox, home, clock })
  const env = {
    PROVIDER_SANDBOX_URL: bank.url,
    FEE_BPS: '100',
    REFUND_RETURNS_FEE: 'true',
    RATE_LIMIT_PER_SECOND: '0',
    RECONCILE_SECONDS: '3600',
  }
  service = await makeService({ dist, home, clock, env, ended: (text) => breaches.push({ claim: 'process', text }) })
  await service.start()
  db = await openDatabase({ dist, home })
  const note = (claim, text) => breaches.push({ claim, text })
  const api = makeApi({ url: service.url, note, counts: new Map() })
  const accounts = await makeHistory({ service, bank, api, db })
  await db.countDays()
  await service.stop()
  await db.leave()
  await demandAgreement()
  await forgeAll(forgeries(accounts))
}

async function demandAgreement() {
  const { code, stdout, stderr } = await service.command('audit')
  if (code !== 0) breaches.push({ claim: 'agrees', text: `guiche audit exited with ${code}: ${stdout}${stderr}` })
  else console.log(`agrees      ${stdout.trim().split('\n').at(-1)}\n`)
}

async function forgeAll(all) {
  // Here all refunds have ended, and the bank tells of no dispute; server/test/long/audit-tamper.test.ts has both.
  const chosen = all.filter(
    ({ name, order }) =>
      order !== 'under way' && order !== 'disputes' && (!options.only || name.includes(options.only)),
  )
  for (const [index, forgery] of chosen.entries()) {
    const found = await db.forged(forgery, async (url) => {
      if (forgery.isBanks) return auditByCommand(url)
      return [...(await db.audit(url)), ...(index < BY_COMMAND ? await demandCommand(forgery, url) : [])]
    })
    const named = found.find(({ check }) => forgery.by.includes(check)) ?? (forgery.isBanks ? found[0] : undefined)
    if (named) console.log(`named       ${forgery.name}\n            ${said(named)}`)
    else {
      const instead = found.length > 0 ? `only ${found.map(said).join(' | ')}` : 'everything agrees'
      breaches.push({ claim: 'named', text: `${forgery.name}: ${instead}` })
    }
  }
  console.log(`\n${chosen.length} forgeries in ${Math.round((performance.now() - began) / 1000)} s`)
}

/** Runs guiche audit on the copy, as an operator would. */
async function auditByCommand(url) {
  const { code, stdout, stderr } = await service.command('audit', '--json', {
    DATABASE_URL: url,
    SECRET_KEY: db.secretKey,
  })
  if (stdout === '') throw new Error(`guiche audit exited with ${code}: ${stderr}`)
  const { differences } = JSON.parse(stdout)
  return code === 1 ? differences : []
}

async function demandCommand({ name, by }, url) {
  const found = await auditByCommand(url)
  if (!found.some(({ check }) => by.includes(check)))
    breaches.push({ claim: 'command', text: `${name}: guiche audit did not name it, or did not exit with 1` })
  return []
}

function said({ check, subject, text }) {
  return `${check}: ${subject} ${text}`.slice(0, TEXT_MAX)
}

function report() {
  const claims = {
    agrees: 'guiche audit finds no difference in a history without forgeries',
    named: 'the audit names every forgery, by the check that exists for it',
    command: 'guiche audit says so too, and exits with 1',
    process: 'the service never exited unasked',
  }
  for (const [claim, says] of Object.entries(claims)) {
    const texts = breaches.filter((breach) => breach.claim === claim).map(({ text }) => text)
    console.log(`${texts.length === 0 ? 'held    ' : 'NOT HELD'} ${claim}: ${says}`)
    for (const text of texts) console.log(`           ${text}`)
  }
}
