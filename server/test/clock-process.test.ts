import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort, runCli, startServer, temporaryHome } from './process.ts'
import { until } from './world.ts'

// The built service on a machine whose clock is wrong.

const SHIFTED = fileURLToPath(new URL('shifted-clock.mjs', import.meta.url))
const shifted = (ms: number) => ({ NODE_OPTIONS: `--import ${SHIFTED}`, SHIFT_MS: String(ms) })

test('a process whose clock is more than two seconds away from the database’s refuses to start', async () => {
  const home = temporaryHome()
  for (const [ms, side] of [
    [3_600_000, 'ahead of'],
    [-3_600_000, 'behind'],
  ] as const) {
    const env = { GUICHE_HOME: home, PORT: String(await freePort()), LOG_LEVEL: 'silent', ...shifted(ms) }
    const refused = await runCli(['start'], env)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(
      new RegExp(`^guiche: the clock of this machine is [\\d,.]+ s ${side} the database's`, 'm'),
    )
  }
})

test('a running process whose clock is set wrong stops its workers and says so, and goes on when the clock is right', async () => {
  const server = await startServer({ GUICHE_HOME: temporaryHome(), SHIFT_LATER: 'yes', ...shifted(3 * 24 * 3_600_000) })
  server.signal('SIGWINCH')
  await until('it is not ready', async () => (await fetch(`${server.url}/readyz`)).status === 503, 120_000)
  expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'not ready', reason: 'clock' })
  expect(server.output()).toContain('workers stopped: the clock of this machine is')
  server.signal('SIGWINCH')
  await until('it is ready again', async () => (await fetch(`${server.url}/readyz`)).ok, 120_000)
  expect(server.output()).toContain('the clock agrees with the database again')
  expect(await server.end('SIGTERM')).toBe(0)
})

test('a command writes the database’s time, however wrong the clock of the terminal is', async () => {
  const env = { GUICHE_HOME: temporaryHome() }
  const server = await startServer(env)
  const wrong = { ...env, ...shifted(3 * 24 * 3_600_000) }
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
    const { code, stderr } = await runCli(args, wrong)
    expect(stderr).not.toContain('guiche:')
    expect(code).toBe(0)
  }
  const listed = await runCli(['audit-log', '--json'], env)
  const changes = JSON.parse(listed.stdout) as { at: string; action: string }[]
  expect(changes.length).toBeGreaterThanOrEqual(8)
  const soon = new Date(Date.now() + 60_000).toISOString()
  expect(changes.filter(({ at }) => at > soon)).toEqual([])
  // By the terminal's clock, the key would have expired a day ago.
  expect((await runCli(['key', 'list', ...ana], wrong)).stdout).toContain('until ')
  expect(await server.end('SIGTERM')).toBe(0)
})
