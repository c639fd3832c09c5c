// The whole service in its own process, on a temporary home. It is started, killed and restarted on the same port, so
// that the bank's notifications reach it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/free-port.mjs'
import { setDatabaseClock } from './database-clock.mjs'

// A first start copies PostgreSQL and creates a cluster, which is slow on a busy machine.
const READY_WITHIN_MS = 90_000
const STOP_WITHIN_MS = 45_000
const LATER = new URL('later.mjs', import.meta.url).href

/**
 * `clock.laterMs` is read at each start, and sets the clocks of the service and of its database ahead. `ended(text)` is
 * called when the service exits unasked.
 */
export async function makeService({ dist, home, env, clock, ended }) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = {
    ...machineEnv(),
    GUICHE_HOME: home,
    PORT: String(port),
    PUBLIC_URL: url,
    LOG_LEVEL: 'warn',
    ...env,
  }
  const log = createWriteStream(join(home, 'service.log'), { flags: 'a' })
  let child
  let output = ''
  let databaseLaterMs = clock.laterMs

  const run = (args, { aheadMs = 0, env = {} } = {}) =>
    spawn(process.execPath, ['--import', LATER, join(dist, 'cli.js'), ...args], {
      env: { ...settings, PROVE_LATER_MS: String(clock.laterMs + aheadMs), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  /** `aheadMs` sets the service's clock ahead, but not its database's. */
  async function start(options) {
    if (databaseLaterMs !== clock.laterMs) await setDatabaseClock({ dist, home, laterMs: clock.laterMs })
    databaseLaterMs = clock.laterMs
    const started = run(['start'], options)
    child = started
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk) => {
        output += output.length < 100_000 ? chunk : ''
        log.write(chunk)
      })
    }
    started.once('exit', (code, signal) => {
      if (child === started) ended(`it exited unasked with ${code ?? signal}`)
    })
    const end = Date.now() + READY_WITHIN_MS
    while (!(await isReady(url))) {
      if (started.exitCode !== null) throw new Error(`the service did not start:\n${output.slice(-2000)}`)
      if (Date.now() > end)
        throw new Error(`the service was not ready within ${READY_WITHIN_MS} ms:\n${output.slice(-2000)}`)
      await sleep(50)
    }
  }

  async function end(signal) {
    const ending = child
    child = undefined
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return undefined
    const exited = once(ending, 'exit')
    ending.kill(signal)
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOP_WITHIN_MS)
    const [code, by] = await exited
    clearTimeout(timer)
    return code ?? by
  }

  return {
    url,
    start,
    output: () => output,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    /** Kills the postmaster; its sessions end with it. */
    killDatabase: () => process.kill(databasePid(home), 'SIGKILL'),
    /** Runs a command to its end. An object among the arguments adds environment variables. */
    async command(...given) {
      const args = given.filter((arg) => typeof arg === 'string')
      const running = run(args, { env: given.find((arg) => typeof arg === 'object') ?? {} })
      const result = { stdout: '', stderr: '' }
      for (const name of ['stdout', 'stderr']) running[name].on('data', (chunk) => (result[name] += chunk))
      const [code] = await once(running, 'close')
      return { code, ...result }
    },
    async close() {
      await end('SIGKILL')
      log.end()
    },
  }
}

function databasePid(home) {
  return Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0])
}

async function isReady(url) {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok
  } catch {
    return false
  }
}

/** The variables that every process needs, without the developer's settings. */
function machineEnv() {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }) }
}
