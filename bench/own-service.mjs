// A service of its own for what people wait for: its home and the bank of the sandbox with it, an account, an operator.
import { chmodSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/free-port.mjs'
import { endAll, onUnexpectedEnd, runChild, startChild } from './children.mjs'

const SEED_WITHIN_MS = 90 * 60_000
const READY_WITHIN_MS = 90_000

let failure
onUnexpectedEnd((text) => {
  failure = text
})

/** Runs `measure` with the service, which is ended and deleted afterwards. It resolves to whether all is well. */
export async function withService({ name, dist, data }, measure) {
  const home = mkdtempSync(join(data, `guiche-${name}-`))
  const close = async (code) => {
    await endAll()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    process.exit(code)
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void close(1))
  try {
    process.exitCode = (await measure(await start({ home, dist }))) ? 0 : 1
  } catch (error) {
    console.error(failure ?? error)
    process.exitCode = 1
  } finally {
    await close(process.exitCode)
  }
}

async function start({ home, dist }) {
  // If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
  chmodSync(home, 0o755)
  const [port, bankPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const { PATH = '', HOME = '' } = process.env
  const env = {
    PATH,
    HOME,
    GUICHE_HOME: home,
    PORT: String(port),
    SANDBOX_PORT: String(bankPort),
    PUBLIC_URL: url,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_SECOND: '0',
    PUBLIC_RATE_LIMIT_PER_SECOND: '0',
  }
  const cli = join(resolve(dist), 'cli.js')
  const log = openSync(join(home, 'service.log'), 'a')
  const child = startChild('The service', process.execPath, [cli, 'start'], { env, stdio: ['ignore', log, log] })
  const deadline = performance.now() + READY_WITHIN_MS
  while (!(await isReady(url))) {
    if (failure || performance.now() > deadline) throw new Error(failure ?? `The service does not start: see ${home}`)
    await sleep(100)
  }
  const command = (...args) =>
    runChild(`guiche ${args[0]}`, process.execPath, [cli, ...args], { env, withinMs: SEED_WITHIN_MS })

  /** Makes an account or an operator, and resolves to its password. */
  async function create(kind, email) {
    const named = kind === 'account' ? ['--name', 'Loja da Ana'] : []
    return JSON.parse((await command(kind, 'create', '--email', email, ...named)).stdout).password
  }

  /** Resolves to what the browser would send as cookies. */
  async function signIn(email, password) {
    const answer = await fetch(`${url}/dashboard/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { origin: url, 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    if (!answer.ok) throw new Error(`${email} cannot sign in: ${answer.status} ${await answer.text()}`)
    return answer.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ')
  }

  async function seed(email, deposits, days) {
    const began = performance.now()
    await command('seed', '--deposits', String(deposits), '--days', String(days), '--email', email)
    console.log(`${deposits} deposits in ${((performance.now() - began) / 1000).toFixed(0)} s`)
  }
  return { url, bankUrl: `http://127.0.0.1:${bankPort}`, pid: child.pid, command, create, signIn, seed }
}

async function isReady(url) {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok
  } catch {
    return false
  }
}
