import { expect, test } from 'vitest'
import { makeProgress } from '../src/commands/progress.ts'
import { transact } from '../src/db/tx.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { runCli, startServer, temporaryHome } from './process.ts'
import { until, world, type World } from './world.ts'

function envOf(w: World): Record<string, string> {
  return { DATABASE_URL: w.databaseUrl, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
}

test('reconcile settles what is missing, shows both sides, closes the day, and lists it', async () => {
  const w = await world()
  const env = envOf(w)
  const { account } = await w.paidCharge({ valueCents: 1_234_56 })
  const { code, stdout, stderr } = await runCli(['reconcile', '--from', '2026-03-02'], env)
  expect(stdout).toBe(
    [
      'DAY         PROVIDER  RECEIVED  TOTAL        IN LEDGER  TOTAL        BOOKED NOW  DIFFERENCES  CLOSING',
      '2026-03-02  sandbox   1         R$ 1.234,56  1          R$ 1.234,56  1           0            revision 1',
      '',
      'Both sides agree.',
      '',
    ].join('\n'),
  )
  expect(stderr).toMatch(/^100 % {2}sandbox: 1 page, 1 payment, \d+ s\n$/)
  expect(code).toBe(0)
  expect(await w.balanceCents(account.accountId)).toBe(1_222_21)
  expect(await w.count('audit_log', `action = 'reconcile.started' and actor_kind = 'console'`)).toBe(1)

  const list = await runCli(['reconcile', '--list'], env)
  expect(list.stdout).toMatch(
    /^DAY .*\n2026-03-02 {2}sandbox {3}1 {9}R\$ 1\.234,56 {2}1 {10}R\$ 1\.234,56 {2}0 {12}1 {9}20\d\d-\d\d-\d\d \d\d:\d\d\n$/,
  )
})

test('reconcile exits 1 and names each difference, for people and for programs', async () => {
  const w = await world()
  const env = envOf(w)
  const { payment } = await w.paidCharge()
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [{ ...payment, endToEndId: 'E-invented' }]))
  const hour = ['--from', '2026-03-02T08:30:00-03:00', '--to', '2026-03-02T09:30:00-03:00']
  const people = await runCli(['reconcile', ...hour], env)
  expect(people.stdout).toContain(
    '1 difference:\n  2026-03-02 not_at_provider: payment E-invented stands in our books with 5000 cents, but sandbox does not know it\n',
  )
  expect(people.code).toBe(1)
  const programs = await runCli(['reconcile', ...hour, '--provider', 'sandbox', '--json'], env)
  expect(JSON.parse(programs.stdout)).toMatchObject({
    from: '2026-03-02T11:30:00.000Z',
    to: '2026-03-02T12:30:00.000Z',
    differenceCount: 1,
    comparisons: [{ provider: 'sandbox', providerCount: 1, ledgerCount: 2, revision: null }],
  })
  expect(programs.code).toBe(1)
  expect((await runCli(['reconcile', '--list'], env)).stderr).toBe('No day has been closed yet.\n')
})

test.each([
  [[], /^guiche: Name the days: --from 2026-01-31/],
  [['--from', '2026-02-30'], /The calendar has no such day/],
  [['--from', 'yesterday'], /must be a date and time with its zone/],
  [['--from', '2026-03-02', '--to', '2026-03-01'], /^guiche: The end must be after the beginning\n$/],
  [['--from', '2222-03-02'], /^guiche: The beginning is in the future\n$/],
  [['--from', '2026-03-02', '--provider', 'efi'], /^guiche: Unknown provider efi: PROVIDERS names sandbox\n$/],
])('reconcile %s is refused in one line', async (args, text) => {
  const w = await world()
  const refused = await runCli(['reconcile', ...args], envOf(w))
  expect(refused.stderr).toMatch(text)
  expect(refused.stdout).toBe('')
  expect(refused.code).toBe(1)
})

test('the running service sweeps by itself, and credits what nobody told it', async () => {
  const w = await world()
  const { account } = await w.paidCharge()
  const server = await startServer({ ...envOf(w), RECONCILE_SECONDS: '1' })
  await until('the payment is credited', async () => (await w.balanceCents(account.accountId)) === 49_50)
  expect(await server.end('SIGTERM')).toBe(0)
})

// ---- The progress bar ----

test('on a terminal the bar is drawn over itself, and elsewhere a line tells now and then that it goes on', () => {
  for (const isTTY of [true, false]) {
    const clock = { ms: 0 }
    const written: string[] = []
    const screen = { isTTY, columns: 100, write: (text: string) => written.push(text) }
    const bar = makeProgress(screen, () => clock.ms)
    for (let step = 0; step <= 100; step++) {
      bar.show(step / 100, `bank: ${step} pages`)
      clock.ms += 90
    }
    bar.end()
    if (isTTY) {
      expect(written).toHaveLength(52)
      expect(written[25]).toBe(`\r\u{1b}[2K${'█'.repeat(12)}${'░'.repeat(12)}  50 %  bank: 50 pages, 4 s`)
      expect(written.at(-1)).toBe(`\r\u{1b}[2K${'█'.repeat(24)} 100 %  bank: 100 pages, 9 s\n`)
    } else expect(written).toEqual([' 56 %  bank: 56 pages, 5 s\n', '100 %  bank: 100 pages, 9 s\n'])
  }
})
