import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Pool } from 'pg'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { makeGuiche } from '../src/client.ts'
import { createAccount } from './guiche-process.ts'
import { startProxy } from './sockets.ts'

// People start from what the examples show. So they run here, over a network that loses the first answer.

type Run = { output(): string; ended: Promise<unknown> }
type Env = { GUICHE_URL: string; GUICHE_KEY: string }

const example = (name: string) => fileURLToPath(new URL(`../examples/${name}`, import.meta.url))
const EMBEDDED = new URL('../../server/dist/db/embedded/server.js', import.meta.url).href
const runs = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const lacks = (program: string) => program !== '' && !runs(program, '--version')
// Debian has the driver in a package of its own.
const lacksDriver = (program: string) =>
  program === 'php' && !runs('php', '-r', 'exit(extension_loaded("pdo_sqlite") ? 0 : 1);')

const EXAMPLES = [
  { name: 'deposit.ts', program: '', start: importExample },
  { name: 'deposit.py', program: 'python3', start: spawnExample },
  { name: 'deposit.php', program: 'php', start: spawnExample },
]

const { url, key, bankUrl } = inject('guiche')

describe.each(EXAMPLES)('$name', ({ name, program, start }) => {
  test('creates one deposit although the first answer is lost, and sees it paid', async ({ skip }) => {
    // A machine without Python or PHP can still develop guiche.
    skip(lacks(program), `${program} is not installed`)
    const proxy = await startProxy(url)
    proxy.loseAnswers(1)
    const order = randomUUID()
    const run = start({ program, name, order, env: { GUICHE_URL: proxy.url, GUICHE_KEY: key } })
    await expect.poll(run.output).toMatch(/Pay with this code: .+\n/)

    const emv = /code: (.+)/.exec(run.output())?.[1]
    const headers = { 'content-type': 'application/json' }
    await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers, body: JSON.stringify({ emv }) })
    await run.ended
    expect(run.output()).toMatch(/\n4950 cents credited\n$/)
    const { items } = await makeGuiche({ url, key }).deposits.list({ externalId: order }).page()
    expect(items).toMatchObject([{ emv, status: 'COMPLETED' }])
  })

  test('says which code it was refused with', async ({ skip }) => {
    // A machine without Python or PHP can still develop guiche.
    skip(lacks(program), `${program} is not installed`)
    const run = start({ program, name, order: 'order-1', env: { GUICHE_URL: url, GUICHE_KEY: 'gk_test_wrong' } })
    await run.ended
    expect(run.output()).toMatch(/^key_invalid: .*Invalid API key/)
  })
})

// What a follower did outlives it, in a database of its own.
const FOLLOWERS = [
  { name: 'follow.ts', program: '', start: importFollower },
  { name: 'follow.py', program: 'python3', start: spawnFollower },
  { name: 'follow.php', program: 'php', start: spawnFollower },
]

describe.each(FOLLOWERS)('$name', ({ name, program, start }) => {
  test('credits each deposit once, over a network that fails, and goes on after it was stopped', async ({ skip }) => {
    // A machine without Python or PHP can still develop guiche.
    skip(lacks(program) || lacksDriver(program), `${program} is not installed, or lacks pdo_sqlite`)
    const own = await createAccount(inject('guiche'), `${name}@example.com`)
    const guiche = makeGuiche({ url, key: own })
    const proxy = await startProxy(url)
    const env = { GUICHE_URL: proxy.url, GUICHE_KEY: own }
    const place = await makePlace(name)
    const pay = async (value: number) => {
      const { emv } = await guiche.deposits.create({ value })
      const headers = { 'content-type': 'application/json' }
      await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers, body: JSON.stringify({ emv }) })
    }
    await pay(10_00)
    const first = start({ program, name, place, env })
    await expect.poll(first.output).toMatch(/990 cents credited\n$/)
    await first.stop()
    await pay(20_00)
    proxy.loseAnswers(1)
    const [second, third] = [start({ program, name, place, env }), program && start({ program, name, place, env })]
    const both = () => second.output() + (third ? third.output() : '')
    await expect.poll(both).toContain('1980 cents credited\n')
    await pay(30_00)
    await expect.poll(both).toContain('2970 cents credited\n')
    await second.stop()
    if (third) await third.stop()
    expect(both().match(/\d+ cents credited/g)).toEqual(['1980 cents credited', '2970 cents credited'])
  })
})

test('the guide to following shows the examples as they are', () => {
  const guide = readFileSync(new URL('../../docs/following.md', import.meta.url), 'utf8')
  for (const { name } of FOLLOWERS) expect(guide).toContain(`\n${readFileSync(example(name), 'utf8')}\`\`\`\n`)
})

type Follow = { program: string; name: string; place: string; env: Env }

/** A file for SQLite, or a new database beside that of the service. */
async function makePlace(name: string): Promise<string> {
  const { home } = inject('guiche')
  if (!name.endsWith('.ts')) {
    const folder = mkdtempSync(join(tmpdir(), 'guiche-follower-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return join(folder, 'shop.db')
  }
  const { openEmbedded } = (await import(EMBEDDED)) as {
    openEmbedded: (at: { home: string; say: () => void }) => Promise<{ databaseUrl: string; stop(): Promise<void> }>
  }
  const embedded = await openEmbedded({ home, say: () => {} })
  onTestFinished(() => embedded.stop())
  const pool = new Pool({ connectionString: embedded.databaseUrl })
  await pool.query('create database shop')
  await pool.end()
  return embedded.databaseUrl.replace(/\/\w+(?=\?|$)/, '/shop')
}

function spawnFollower({ program, name, place, env }: Follow) {
  const child = spawn(program, [example(name), place], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const stop = async () => {
    child.kill('SIGKILL')
    await closed
  }
  return { output: () => output, stop }
}

/** Runs the example in this process, and stops it by the listener that it adds for Ctrl-C. */
function importFollower({ place, env }: Follow) {
  for (const [variable, value] of Object.entries({ ...env, DATABASE_URL: place })) vi.stubEnv(variable, value)
  const once = vi.spyOn(process, 'once')
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  vi.spyOn(console, 'error').mockReturnValue()
  const ended = import('../examples/follow.ts')
  const stop = async () => {
    const [, interrupt] = once.mock.calls.findLast(([signal]) => signal === 'SIGINT')!
    process.off('SIGINT', interrupt as () => void)
    ;(interrupt as () => void)()
    await ended
    vi.unstubAllEnvs().restoreAllMocks().resetModules()
  }
  const printed = () => write.mock.calls.map(([text]) => String(text)).join('')
  let last = ''
  return { output: () => (last = printed() || last), stop }
}

type Start = { program: string; name: string; order: string; env: Env }

/** Runs the example in this process: the oldest Node that we support cannot run TypeScript. */
function importExample({ name, order, env }: Start): Run {
  for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value)
  const { argv, exitCode } = process
  process.argv = [process.execPath, name, order]
  const spies = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')]
  for (const spy of spies) spy.mockReturnValue(true)
  onTestFinished(() => {
    Object.assign(process, { argv, exitCode })
    vi.unstubAllEnvs().restoreAllMocks().resetModules()
  })
  return {
    ended: import('../examples/deposit.ts'),
    output: () => spies.flatMap((spy) => spy.mock.calls.map(([text]) => String(text))).join(''),
  }
}

function spawnExample({ program, name, order, env }: Start): Run {
  const child = spawn(program, [example(name), order], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { ended: once(child, 'close'), output: () => output }
}
