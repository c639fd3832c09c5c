import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { runCli, runProcess, startServer, temporaryHome } from '../process.ts'
import { until, world } from '../world.ts'

// Runs the built service, and its commands, on a machine whose clock is wrong.

const SHIFTED = fileURLToPath(new URL('../shifted-clock.mjs', import.meta.url))
const shifted = (ms: number) => ({ NODE_OPTIONS: `--import ${SHIFTED}`, SHIFT_MS: String(ms) })

test('a process whose clock is more than two seconds away from the database’s refuses to start', async () => {
  const w = await world()
  for (const [ms, side] of [
    [3_600_000, 'ahead of'],
    [-3_600_000, 'behind'],
  ] as const) {
    const env = { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome(), PORT: String(await freePort()) }
    const refused = await runProcess(['start'], { ...env, LOG_LEVEL: 'silent', ...shifted(ms) })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(
      new RegExp(`^guiche: The clock of this machine is [\\d,.]+ s ${side} the database's`, 'm'),
    )
  }
})

test('a running process whose clock is set wrong stops its workers and says so, and goes on when the clock is right', async () => {
  const w = await world()
  const env = { DATABASE_URL: w.databaseUrl, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
  const server = await startServer({ ...env, SHIFT_LATER: 'yes', ...shifted(3 * 24 * 3_600_000) })
  server.signal('SIGWINCH')
  await until('it is not ready', async () => (await fetch(`${server.url}/readyz`)).status === 503, 120_000)
  expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'not ready', reason: 'clock' })
  // Its log may reach us later than its answers.
  const says = (text: string) => until(text, async () => server.output().includes(text))
  await says('workers stopped: The clock of this machine is')
  server.signal('SIGWINCH')
  await until('it is ready again', async () => (await fetch(`${server.url}/readyz`)).ok, 120_000)
  await says('the clock agrees with the database again')
  expect(await server.end('SIGTERM')).toBe(0)
})

test('a command writes the database’s time, however wrong the clock of the terminal is', async () => {
  const w = await world()
  const env = { DATABASE_URL: w.databaseUrl, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
  const right = shiftClock(3 * 24 * 3_600_000)
  const ana = ['--email', 'ana@loja.example']
  const why = ['--reason', 'a test']
  for (const args of [
    ['account', 'create', ...ana],
    ['account', 'confirm', ...ana, ...why],
    ['account', 'terms', ...ana, '--fee-bps', '80', ...why],
    ['account', 'suspend', ...ana, ...why],
    ['account', 'password', ...ana, ...why],
    ['account', 'sign-out', ...ana, ...why],
    ['key', 'create', ...ana, '--name', 'a key', '--expires-in-days', '2'],
    ['invite'],
    ['operator', 'create', '--email', 'ops@example.com'],
    ['operator', 'disable', '--email', 'ops@example.com', ...why],
  ]) {
    const { code, stderr } = await runCli(args, env)
    expect(stderr).not.toContain('guiche:')
    expect(code).toBe(0)
  }
  // By the terminal's clock, the key would have expired a day ago.
  expect((await runCli(['key', 'list', ...ana], env)).stdout).toContain('until ')
  right()
  const listed = await runCli(['audit-log', '--json'], env)
  const changes = JSON.parse(listed.stdout) as { at: string; action: string }[]
  expect(changes.length).toBeGreaterThanOrEqual(8)
  const soon = new Date(Date.now() + 60_000).toISOString()
  expect(changes.filter(({ at }) => at > soon)).toEqual([])
})

/** Sets the wall clock of this process ahead, as shifted-clock.mjs does in another. Returns what sets it right. */
function shiftClock(aheadMs: number): () => void {
  const RealDate = Date
  const Shifted = class extends RealDate {
    constructor(given?: number | string | Date) {
      super(given ?? RealDate.now() + aheadMs)
    }
    static override now() {
      return RealDate.now() + aheadMs
    }
  }
  const right = () => void vi.unstubAllGlobals()
  vi.stubGlobal('Date', Shifted)
  onTestFinished(right)
  return right
}
