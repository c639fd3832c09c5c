// The service as a user runs it: `guiche start` from the build, live mode, its embedded PostgreSQL, its log in a file.
// Only its limits for callers are off, and the bank is on this machine.
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../server/dist/config.js'
import { root } from '../../scripts/bootstrap.mjs'
import { freePort } from '../../scripts/free-port.mjs'
import { endChild, runChild, startChild } from './children.mjs'

const READY_WITHIN_MS = 90_000
const AUDIT_WITHIN_MS = 20 * 60_000
const CLI = join(root, 'server/dist/cli.js')

export const PROVIDER = 'bank'

export async function makeService({ home, bankUrl, databaseUrl, processes = 1 }) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = { ...settingsOf({ home, bankUrl, url, port }), ...(databaseUrl && { DATABASE_URL: databaseUrl }) }
  let child
  let allowed

  /** Without `callsPerSecond` the bank may be asked as often as the service likes; 'default' is the default budget. */
  async function start({ callsPerSecond = 0 } = {}) {
    allowed = callsPerSecond
    const log = openSync(join(home, 'service.log'), 'a')
    const budget = callsPerSecond === 'default' ? {} : { PROVIDER_BANK_CALLS_PER_SECOND: String(callsPerSecond) }
    child = startChild('the service', process.execPath, [CLI, 'start', '--processes', String(processes)], {
      env: { ...settings, ...budget },
      stdio: ['ignore', log, log],
    })
    const deadline = performance.now() + READY_WITHIN_MS
    while (!(await isReady(url))) {
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error(`the service does not start: see ${join(home, 'service.log')}`)
      await sleep(50)
    }
  }

  return {
    url,
    config: loadConfig(settings),
    pid: () => child.pid,
    callsPerSecond: () => allowed,
    start,
    stop: () => endChild(child),
    async restart(options) {
      await endChild(child)
      await start(options)
    },
    /** Proves the books, and compares them with the bank from `since` on. Resolves to the report. */
    async audit(since) {
      const env = { ...settings, PROVIDER_BANK_CALLS_PER_SECOND: '0' }
      const args = [CLI, 'audit', '--json', ...(since ? ['--since', since] : [])]
      const run = { env, withinMs: AUDIT_WITHIN_MS, allowedCodes: [0, 1, 3] }
      const { code, stdout, stderr } = await runChild('guiche audit', process.execPath, args, run)
      if (stdout.trim() === '') throw new Error(`guiche audit failed: ${stderr.slice(-2_000)}`)
      return { code, report: JSON.parse(stdout) }
    },
  }
}

function settingsOf({ home, bankUrl, url, port }) {
  const { PATH = '', HOME = '', NODE_OPTIONS = '', GUICHE_BENCH_WITHOUT = '' } = process.env
  return {
    PATH,
    HOME,
    // See techniques.mjs.
    NODE_OPTIONS,
    GUICHE_BENCH_WITHOUT,
    NODE_ENV: 'production',
    GUICHE_HOME: home,
    SECRET_KEY: 'a key of the bench that guards no money',
    PORT: String(port),
    PUBLIC_URL: url,
    PROVIDERS: PROVIDER,
    PROVIDER_BANK_KIND: 'api-pix',
    PROVIDER_BANK_URL: bankUrl,
    PROVIDER_BANK_TOKEN_URL: `${bankUrl}/oauth/token`,
    PROVIDER_BANK_CLIENT_ID: 'bench',
    PROVIDER_BANK_CLIENT_SECRET: 'bench',
    PROVIDER_BANK_PIX_KEY: 'bench@guiche.example',
    RATE_LIMIT_PER_SECOND: '0',
    PUBLIC_RATE_LIMIT_PER_SECOND: '0',
    PENDING_MAX_PER_ACCOUNT: '0',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    // So that no charge of a long run expires during it.
    CHARGE_EXPIRES_SECONDS: '86400',
  }
}

async function isReady(url) {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok
  } catch {
    return false
  }
}
