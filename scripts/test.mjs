// `npm test` checks in minutes what must hold before a change goes in. With arguments it runs only the tests that they
// name: `npm test -- settle` runs test/settle.test.ts. `npm run test:long` runs the tests that are slow by nature
// (test/long/), and the tests of SQL on Debian's PostgreSQL.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, ensureNode, fail, root, run, workspaces } from './bootstrap.mjs'

// The headless shell comes first: the same engine without windows opens a page with a quarter of the work.
const CHROMIUM_PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

// The tests whose subject is SQL: the schema, locks, and the statements of the domain. The other tests add only reads
// and writes of single rows, which every PostgreSQL does alike.
const SQL_TESTS = [
  'account-ids accounts admission audit audit-log audit-refunds checks clock dashboard-lists dashboard-overview',
  'deposits event-search exceptions failed-charges insert-rows intents keys ledger ledger-refunds lists',
  'matched-payments migrate migration-rules payment-events presence privacy purge received-list reconcile',
  'reconcile-closings reconcile-comparisons refund-end refund-undone refunds reports-standby round-trips',
  'delivery-queue large-tables schema seed settle shared-limits stock-postgres webhooks',
].flatMap((line) => line.split(' ').map((name) => `server/test/${name}.test.ts`))

const began = performance.now()
const isLong = process.argv[2] === '--long'
const named = process.argv.slice(isLong ? 3 : 2)
ensureNode()
const gone = SQL_TESTS.filter((path) => !existsSync(join(root, path)))
if (gone.length > 0) fail(`SQL_TESTS in scripts/test.mjs names ${gone.join(', ')}, which do not exist.`)
await ensureInstalled()
await ensureBuilt()
const chromium = findChromium()
const failed = isLong ? await testLong() : await testAll()
for (const { name, output } of failed) if (output) process.stderr.write(`\n--- ${name} ---\n${output.trim()}\n`)
const outcome = failed.length === 0 ? 'all passed' : `FAILED: ${failed.map(({ name }) => name).join(', ')}`
process.stderr.write(`\nnpm ${isLong ? 'run test:long' : 'test'}: ${outcome} in ${elapsed()}\n`)
process.exitCode = failed.length === 0 ? 0 : 1

async function testAll() {
  // The checks run beside the tests, which wait a lot. Their findings are printed at the end, where people read them.
  const checking = named.length === 0 ? checkStatically() : []
  const tests = await runTests('tests', named)
  return [tests, ...(await checking)].filter(({ code }) => code !== 0)
}

/** One after the other: browsers use the processors fully. */
async function testLong() {
  const runs = [await runTests('long tests', named, { GUICHE_TEST_LONG: '1' })]
  if (named.length === 0) runs.push(await testOnStock())
  return runs.filter(({ code }) => code !== 0)
}

async function testOnStock() {
  const name = 'tests on Debian’s PostgreSQL'
  // The module imports the build, which exists by now.
  const { hasStockPostgres } = await import('./stock-postgres.mjs')
  if (!hasStockPostgres()) {
    process.stderr.write('\nThe tests on Debian’s PostgreSQL are skipped: install it (apt-get install postgresql).\n')
    return { name, code: 0 }
  }
  const args = ['--project', 'server', ...SQL_TESTS]
  return runTests(name, args, { GUICHE_TEST_POSTGRES: 'stock' })
}

async function runTests(name, args, settings = {}) {
  const env = { ...process.env, ...settings, ...(chromium && { CHROMIUM_PATH: chromium }) }
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  return { name, ...(await run([process.execPath, vitest, 'run', ...args], { env, inherit: true })) }
}

/** Types, lint, format, and code that nothing uses. */
function checkStatically() {
  const bin = (name) => join(root, 'node_modules/.bin', name)
  // The compiler is called by its path, because the older compilers that the client is tested with have the same name.
  const tsc = [process.execPath, join(root, 'node_modules/typescript/bin/tsc')]
  const typed = workspaces().filter((name) => existsSync(join(root, name, 'tsconfig.json')))
  const checks = {
    ...Object.fromEntries(
      typed.map((name) => [`types of ${name}`, [...tsc, '-p', `${name}/tsconfig.json`, ...remembering(name)]]),
    ),
    lint: [bin('oxlint'), '--type-aware', '--deny-warnings'],
    format: [bin('oxfmt'), '--check'],
    unused: [bin('knip')],
  }
  return Promise.all(Object.entries(checks).map(async ([name, command]) => ({ name, ...(await run(command)) })))
}

/** Types that were checked are not checked again until they change. */
function remembering(name) {
  return ['--noEmit', '--incremental', '--tsBuildInfoFile', `node_modules/.cache/${name}.tsbuildinfo`]
}

/** A browser for the tests that need one. */
function findChromium() {
  const given = process.env.CHROMIUM_PATH
  if (given) return existsSync(given) ? given : fail(`CHROMIUM_PATH names ${given}, which does not exist.`)
  const found = CHROMIUM_PLACES.find((path) => existsSync(path))
  if (found || named.length > 0) return found
  const missing = 'No Chromium was found: install it (apt-get install chromium-headless-shell) or set CHROMIUM_PATH'
  if (process.env.CI) fail(`${missing}. In CI (CI is set) the browser tests must run.`)
  process.stderr.write(`${missing}. The browser tests are skipped.\n`)
}

function elapsed() {
  return `${((performance.now() - began) / 1000).toFixed(0)} s`
}
