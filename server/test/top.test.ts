import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../src/commands/program.ts'
import { describeView } from '../src/commands/top-screen.ts'
import { joinPresence } from '../src/db/presence.ts'
import { makeProcessStatus, readProcessStatus } from '../src/process-status.ts'
import { makeLiveView, type LiveView } from '../src/commands/live-view.ts'
import { sweepAll } from './reconcile-bank.ts'
import { strayPayment } from './refund-steps.ts'
import { runCli, temporaryHome } from './process.ts'
import { startReceiver } from './receiver.ts'
import { add, deliver } from './webhooks-client.ts'
import { until, world, type World } from './world.ts'

const ENTER = '\u{1b}[?1049h\u{1b}[?25l'
const LEAVE = '\u{1b}[?25h\u{1b}[?1049l'

function envOf(w: World): Record<string, string> {
  return { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome() }
}

/** The command's "today" is the day of the database, so the world begins at the real time. */
const worldOfToday = () => world({ at: new Date() })

/** Makes two deposits, one of them paid and with an event for a webhook, and a payment that fits no charge. */
async function makeActivity(w: World) {
  const account = await w.account()
  const receiver = await startReceiver()
  await add(w, account, receiver.url)
  await w.deposit(account)
  const { payment } = await w.paidCharge({ account, valueCents: 12_34 })
  await w.ctx.settlements.add([payment])
  await strayPayment(w, 7_00)
  return { account, receiver }
}

// ---- What it shows ----

test('--json says what the books say', async () => {
  const w = await worldOfToday()
  await makeActivity(w)
  const waiting = JSON.parse((await runCli(['top', '--json'], envOf(w))).stdout) as LiveView
  expect(waiting.queues.deliveries).toEqual({ due: 1, oldestSeconds: expect.any(Number) })
  await deliver(w)
  await sweepAll(w)

  const ran = await runCli(['top', '--json'], envOf(w))
  expect([ran.code, ran.stderr]).toEqual([0, ''])
  const view = JSON.parse(ran.stdout) as LiveView & { database: string }
  expect(view).toMatchObject({
    mode: 'test',
    today: { deposits: 2, payments: 1, paidCents: 12_34, delivered: 2 },
    queues: { deliveries: { due: 0, oldestSeconds: null }, refunds: { due: 0, oldestSeconds: null } },
    exceptionsOpen: 1,
    refundsInDoubt: 0,
    suspenseCents: 7_00,
    webhooksFailing: 0,
    providers: [{ name: 'sandbox', listReadSecondsAgo: expect.any(Number) }],
  })
  // Distributions add a version of their own in parentheses.
  expect(view.database).toMatch(/^PostgreSQL \d+\.\d+( \(.+\))? at /)
  expect(view.database).not.toContain('@')
  expect(view.today!.deposits).toBe(await w.count('charges'))
  expect(view.today!.payments).toBe(await w.count('payments', 'credited'))
  expect(view.today!.delivered).toBe(await w.count('delivery_outcomes', `outcome = 'delivered'`))
})

test('rates are those of the last ten seconds', async () => {
  const w = await world()
  const account = await w.account()
  const read = makeLiveView(w.ctx, ['sandbox'])
  for (let count = 0; count < 5; count++) await w.deposit(account)
  expect((await read()).perSecond).toEqual({ deposits: 0.5, payments: 0, delivered: null })
  w.clock.advance(10_001)
  expect((await read()).perSecond.deposits).toBe(0)
  expect((await read()).today!.deposits).toBe(5)
})

test('processes say how they do when they renew their lease, and those of another version are still listed', async () => {
  const w = await world()
  await w.deposit(await w.account())
  const presence = await joinPresence(w.databaseUrl, { role: 'all', renewEveryMs: 20 })
  onTestFinished(presence.leave)
  presence.describe(makeProcessStatus(w.ctx))
  const other = await joinPresence(w.databaseUrl, { role: 'worker', renewEveryMs: 20 })
  onTestFinished(other.leave)
  other.describe(async () => ({ mode: 'unheard of' }))
  const read = makeLiveView(w.ctx, [])
  const view = await until('both are there', async () => {
    const seen = await read()
    return seen.processes.some(({ status }) => status) && seen
  })
  const serving = view.processes.filter(({ role }) => role !== 'command')
  expect(serving).toMatchObject([
    {
      role: 'all',
      version: expect.stringMatching(/^\d/),
      status: { mode: 'test', pool: { max: 20, waiting: 0 }, providers: [{ name: 'sandbox', breaker: 'closed' }] },
    },
    { role: 'worker', status: null },
  ])
  expect(serving[0]!.status!.memoryBytes).toBeGreaterThan(1_000_000)
  expect(view.providers).toMatchObject([{ name: 'sandbox', breakers: 1, breakersOpen: 0 }])
  expect(view.mode).toBe('test')
  expect(readProcessStatus({ mode: 'live' })).toBeUndefined()
})

test('a provider whose breaker is half-open is not shown as up: during an outage it is so again and again', async () => {
  const w = await world()
  const presence = await joinPresence(w.databaseUrl, { role: 'all', renewEveryMs: 20 })
  onTestFinished(presence.leave)
  const status = await makeProcessStatus(w.ctx)()
  const providers = status.providers.map((provider) => ({ ...provider, breaker: 'half-open' }))
  presence.describe(async () => ({ ...status, providers }))
  const read = makeLiveView(w.ctx, [])
  const view = await until('it is told', async () => {
    const seen = await read()
    return seen.processes.some((process) => process.status) && seen
  })
  expect(view.providers).toMatchObject([{ name: 'sandbox', breakers: 1, breakersOpen: 1 }])
})

test('a status that cannot be read does not cost a process its lease', async () => {
  const w = await world()
  const presence = await joinPresence(w.databaseUrl, { role: 'all', renewEveryMs: 20, leaseMs: 60_000 })
  onTestFinished(presence.leave)
  presence.describe(() => Promise.reject(new Error('no status')))
  const leased = async () => {
    const rows = await w.pool.query('select leased_until from processes where instance = $1', [presence.instance])
    return (rows.rows[0] as { leased_until: Date }).leased_until.getTime()
  }
  const before = await leased()
  expect(await until('it is renewed', async () => (await leased()) > before)).toBe(true)
})

// ---- How it looks ----

const STATUS = {
  mode: 'live' as const,
  eventLoop: 0.126,
  memoryBytes: 152_043_520,
  pool: { max: 20, inUse: 20, idle: 0, waiting: 3 },
  deliveredPerSecond: 8.04,
  providers: [],
  forwardedIgnored: 0,
  purgeFailing: [],
  workers: [],
}
const VIEW: LiveView = {
  at: new Date('2026-03-02T14:03:22Z'),
  mode: 'live',
  perSecond: { deposits: 12.34, payments: 8, delivered: 8.04 },
  today: { deposits: 120_433, payments: 99_012, paidCents: 1_234_567_89, delivered: 98_990 },
  queues: {
    checks: { due: 0, oldestSeconds: null },
    deliveries: { due: 10_000, oldestSeconds: 75 },
    refunds: { due: 1, oldestSeconds: 301 },
  },
  refundsInDoubt: 2,
  exceptionsOpen: 1,
  suspenseCents: 7_00,
  webhooksFailing: 0,
  providers: [
    { name: 'efi', breakers: 3, breakersOpen: 1, callsPerSecond: 3.25, notifiedSecondsAgo: 4, listReadSecondsAgo: 61 },
    { name: 'woovi', breakers: 3, breakersOpen: 0, callsPerSecond: 0, notifiedSecondsAgo: null, listReadSecondsAgo: 8 },
  ],
  processes: [
    { role: 'api', host: 'guiche-7d9c5b6f4-x2x7q-of-a-cluster', version: '0.1.0', upSeconds: 7_400, status: STATUS },
    { role: 'worker', host: 'b', version: '0.2.0', upSeconds: 200_000, status: null },
  ],
}

test('it fits 80 columns, and colours what needs attention', () => {
  const lines = describeView(VIEW, { database: 'PostgreSQL 18.4 at db.example:5432/guiche', mode: 'live' })
  expect(`\n${lines.map(({ text }) => text).join('\n')}\n`).toBe(`
guiche, live mode   PostgreSQL 18.4 at db.example:5432/guiche   14:03:22 UTC

          PER SECOND   TODAY
deposits        12.3  120433  created
payments         8.0   99012  credited, R$ 1.234.567,89
webhooks         8.0   98990  delivered

QUEUE         DUE  OLDEST
checks          0       –
deliveries  10000   1 min
refunds         1   5 min

1 exception open, 2 refunds in doubt, R$ 7,00 in suspense

PROVIDER  STATE           CALLS/S     NOTIFIED  LIST READ
efi       down in 1 of 3      3.3  < 1 min ago  1 min ago
woovi     up                  0.0        never    8 s ago

ROLE    HOST                      VERSION   UP  LOOP  CONNECTIONS   MEMORY
api     …b6f4-x2x7q-of-a-cluster  0.1.0    2 h  13 %  20 of 20 +3  145 MiB
worker  b                         0.2.0    2 d     –            –        –
`)
  expect(lines.every(({ text }) => text.length <= 80)).toBe(true)
  const styled = lines.filter(({ style }) => style === 'red' || style === 'yellow')
  expect(styled.map(({ text, style }) => `${style} ${text.split(' ')[0]}`)).toEqual([
    'yellow deliveries',
    'red refunds',
    'yellow 1',
    'red efi',
  ])
})

test('a service without workers, and one that does not run, are told', () => {
  const about = { database: 'PostgreSQL 18.4', mode: 'live' } as const
  const texts = (view: Partial<LiveView>) => describeView({ ...VIEW, ...view }, about).map(({ text }) => text)
  expect(texts({ processes: VIEW.processes.slice(0, 1) })).toContain('no process runs workers: payments wait')
  expect(texts({ processes: [] }).at(-1)).toBe('no process of the service runs')
  expect(texts({ today: null }).slice(3, 6)).toEqual([
    expect.stringMatching(/^deposits +12\.3 +–/),
    expect.stringMatching(/^payments +8\.0 +–/),
    expect.stringMatching(/^webhooks +8\.0 +–/),
  ])
})

// ---- The terminal ----

/** A terminal that keeps what is written to it. */
function startOnTerminal(w: World, { columns = 80, rows = 24, hasColors = false, args = ['top'] } = {}) {
  let written = ''
  const modes: boolean[] = []
  const keyboard = Object.assign(new PassThrough(), { setRawMode: (isRaw: boolean) => void modes.push(isRaw) })
  const stdout = { isTTY: true, columns, rows, hasColors: () => hasColors, write: (text: string) => (written += text) }
  const ended = runCommand(args, {
    stdout,
    stderr: { write: (text) => (written += text) },
    readInput: async () => '',
    keyboard,
    env: envOf(w),
    start: () => Promise.reject(new Error('nothing is started here')),
  })
  return { written: () => written, modes, keyboard, ended }
}

const drawn = (screen: { written(): string }, times = 1) =>
  until(`it is drawn ${times} times`, async () => screen.written().split('\u{1b}[H').length > times)

test.each(['q', '\u{3}'])(
  'on a terminal it is redrawn every second, and %j leaves the terminal as it was',
  async (key) => {
    const w = await worldOfToday()
    const screen = startOnTerminal(w)
    await drawn(screen, 2)
    expect(screen.modes).toEqual([true])
    screen.keyboard.emit('data', Buffer.from('x'))
    screen.keyboard.emit('data', Buffer.from(key))
    expect(await screen.ended).toBe(0)
    expect(screen.written().startsWith(ENTER)).toBe(true)
    expect(screen.written().endsWith(LEAVE)).toBe(true)
    expect(screen.modes).toEqual([true, false])
    expect(screen.keyboard.isPaused()).toBe(true)
    expect(screen.keyboard.listenerCount('data')).toBe(0)
  },
)

test('a stop signal leaves the terminal as it was too', async () => {
  const screen = startOnTerminal(await worldOfToday())
  await drawn(screen)
  process.emit('SIGTERM')
  expect(await screen.ended).toBe(0)
  expect(screen.written().endsWith(LEAVE)).toBe(true)
})

test('it draws within the terminal, and in colours only where there are some', async () => {
  const w = await worldOfToday()
  const plain = startOnTerminal(w, { columns: 30, rows: 8 })
  const coloured = startOnTerminal(w, { hasColors: true })
  await Promise.all([drawn(plain), drawn(coloured)])
  for (const screen of [plain, coloured]) screen.keyboard.emit('data', Buffer.from('q'))
  await Promise.all([plain.ended, coloured.ended])
  expect(coloured.written()).toContain('\u{1b}[1mguiche, sandbox mode')
  expect(plain.written()).not.toContain('\u{1b}[1m')
  const frame = plain.written().split('\u{1b}[H')[1]!.split('\u{1b}[J')[0]!
  const lines = frame.split('\u{1b}[K\r\n').slice(0, -1)
  expect(lines).toHaveLength(7)
  expect(lines.at(-1)).toMatch(/^and \d+ lines more: enlarge/)
  expect(lines.every((line) => line.length <= 30)).toBe(true)
})

test('while the database is away it says so, keeps what it last saw, and goes on when it is back', async () => {
  const w = await worldOfToday()
  const screen = startOnTerminal(w)
  await drawn(screen)
  const locker = await w.pool.connect()
  await locker.query('begin')
  await locker.query('lock table exceptions')
  await until('it says so', async () => screen.written().includes('the database cannot be read: '))
  expect(screen.written().split('\u{1b}[H').at(-1)).toContain('PER SECOND')
  await locker.query('rollback')
  locker.release()
  const said = screen.written().length
  await until('it goes on', async () => screen.written().slice(said).includes('guiche, sandbox mode'))
  screen.keyboard.emit('data', Buffer.from('q'))
  expect(await screen.ended).toBe(0)
})

test('--once prints once without escapes, on a terminal too; so does plain top where there is none', async () => {
  const w = await worldOfToday()
  const screen = startOnTerminal(w, { args: ['top', '--once'], hasColors: true })
  expect(await screen.ended).toBe(0)
  expect(screen.modes).toEqual([])
  const piped = await runCli(['top'], envOf(w))
  for (const text of [screen.written(), piped.stdout]) {
    expect(text).toMatch(/^guiche, sandbox mode {3}PostgreSQL .* UTC\n\n {10}PER SECOND/)
    expect(text).not.toContain('\u{1b}')
  }
})
