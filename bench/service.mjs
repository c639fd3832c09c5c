// The service as a user runs it: `guiche start` from the build, live mode, its log in a file. Only its limits for
// callers are off, and the bank is on this machine.
import { mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/free-port.mjs'
import { runChild, startChild } from './children.mjs'

export const SECRET_KEY = 'a key of the bench that guards no money'

const READY_WITHIN_MS = 90_000
const COMMAND_WITHIN_MS = 20 * 60_000
const EMAIL = 'bench@guiche.example'

/** `dist` is the build's directory. Resolves when the service is ready, with the API key of an account. */
export async function startService({ dist, home, bankUrl, databaseUrl, processes }) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const ownHome = join(home, 'service')
  mkdirSync(ownHome)
  const env = settingsOf({ home: ownHome, bankUrl, databaseUrl, url, port })
  const cli = join(dist, 'cli.js')
  const run = (args, options) =>
    runChild(`guiche ${args[0]}`, process.execPath, [cli, ...args], { env, withinMs: COMMAND_WITHIN_MS, ...options })

  const logFile = join(ownHome, 'service.log')
  const log = openSync(logFile, 'a')
  const args = [cli, 'start', '--processes', String(processes)]
  const child = startChild('The service', process.execPath, args, { env, stdio: ['ignore', log, log] })
  const deadline = performance.now() + READY_WITHIN_MS
  while (!(await isReady(url))) {
    if (performance.now() > deadline) throw new Error(`The service does not start: see ${logFile}`)
    await sleep(50)
  }
  await run(['account', 'create', '--email', EMAIL])
  const key = await run(['key', 'create', '--email', EMAIL, '--name', 'bench'])
  return {
    url,
    pid: child.pid,
    headers: { authorization: `Bearer ${key.stdout.trim()}` },
    /** Proves the books, and compares them with the bank. Resolves to the exit code and the report. */
    async audit() {
      const { code, stdout, stderr } = await run(['audit', '--json'], { allowedCodes: [0, 1, 3] })
      if (stdout.trim() === '') throw new Error(`guiche audit failed: ${stderr.slice(-2_000)}`)
      return { code, report: JSON.parse(stdout) }
    },
  }
}

function settingsOf({ home, bankUrl, databaseUrl, url, port }) {
  const { PATH = '', HOME = '', NODE_OPTIONS = '' } = process.env
  return {
    PATH,
    HOME,
    NODE_OPTIONS,
    NODE_ENV: 'production',
    GUICHE_HOME: home,
    DATABASE_URL: databaseUrl,
    SECRET_KEY,
    PORT: String(port),
    PUBLIC_URL: url,
    PROVIDERS: 'bank',
    PROVIDER_BANK_KIND: 'api-pix',
    PROVIDER_BANK_URL: bankUrl,
    PROVIDER_BANK_TOKEN_URL: `${bankUrl}/oauth/token`,
    PROVIDER_BANK_CLIENT_ID: 'bench',
    PROVIDER_BANK_CLIENT_SECRET: 'bench',
    PROVIDER_BANK_PIX_KEY: EMAIL,
    PROVIDER_BANK_CALLS_PER_SECOND: '0',
    RATE_LIMIT_PER_SECOND: '0',
    PUBLIC_RATE_LIMIT_PER_SECOND: '0',
    PENDING_MAX_PER_ACCOUNT: '0',
    WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    // A day, so that no charge expires during a long run.
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
