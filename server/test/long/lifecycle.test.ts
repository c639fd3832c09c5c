import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { openSandbox } from '../../src/sandbox/server.ts'
import {
  CLI,
  preparedHome,
  runCli,
  runProcess,
  startChild,
  startServer,
  temporaryHome,
  type ServerProcess,
} from '../process.ts'
import { until } from '../world.ts'

// The whole service as a user runs it, with the embedded database and the sandbox: how it starts, is killed, and ends.

const root = fileURLToPath(new URL('../../..', import.meta.url))

test('npm start serves, and ends itself and its database in order after a SIGTERM to npm', async () => {
  const home = preparedHome()
  const port = await freePort()
  const env = { ...process.env, GUICHE_HOME: home, PORT: String(port) }
  const npm = startChild('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  npm.stderr.resume()
  const ended = once(npm, 'exit')
  await until('the service is ready', () => isReady(`http://127.0.0.1:${port}`), 120_000)
  expect(isDatabaseRunning(home)).toBe(true)

  let said = ''
  npm.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  npm.kill('SIGTERM')
  await ended
  await until('the database has ended', async () => !isDatabaseRunning(home))
  expect(await isReady(`http://127.0.0.1:${port}`)).toBe(false)
  // If the service's own timer had ended it, this line would be missing.
  expect(said).toContain('Stopped.')
})

test('after kill -9 of the service, with or without its database, the next start has all that was answered', async () => {
  const home = preparedHome()
  const first = await startServer({ GUICHE_HOME: home })
  const key = /API key: (\S+)/.exec(first.output())?.[1] ?? ''
  const before = await deposit(first, key)
  await first.end('SIGKILL')

  const second = await startServer({ GUICHE_HOME: home })
  expect(await read(second, key, before)).toBe(200)
  const later = await deposit(second, key)
  await second.end('SIGKILL')
  process.kill(databasePid(home), 'SIGKILL')

  const third = await startServer({ GUICHE_HOME: home })
  expect(await read(third, key, before)).toBe(200)
  expect(await read(third, key, later)).toBe(200)
  expect(await third.end('SIGTERM')).toBe(0)
  expect(isDatabaseRunning(home)).toBe(false)
})

test('after a stop, the head outside the database has what was told just before', async () => {
  const home = preparedHome()
  const anchor = join(home, 'anchor.txt')
  const newestSize = () => Number(readFileSync(anchor, 'utf8').match(/^\d+$/gm)?.at(-1))
  const server = await startServer({ GUICHE_HOME: home, ANCHOR_FILE: anchor })
  const key = /API key: (\S+)/.exec(server.output())?.[1] ?? ''
  const location = await deposit(server, key)
  const before = newestSize()
  const cancel = new URL(`${location}/cancel`, server.url)
  const canceled = await fetch(cancel, { method: 'POST', headers: { authorization: `Bearer ${key}` } })
  expect(canceled.status).toBe(200)
  expect(await server.end('SIGTERM')).toBe(0)
  expect(newestSize()).toBeGreaterThan(before)
})

test('a database killed under the service comes back, and the service with it', async () => {
  const home = preparedHome()
  const server = await startServer({ GUICHE_HOME: home })
  const pid = databasePid(home)
  process.kill(pid, 'SIGKILL')

  await until('another database runs', async () => isDatabaseRunning(home) && databasePid(home) !== pid)
  await until('the service is ready again', () => isReady(server.url))
  expect(await server.end('SIGTERM')).toBe(0)
  expect(isDatabaseRunning(home)).toBe(false)
})

test('a command beside a running service shares its database, and alone starts and stops it', async () => {
  const home = preparedHome()
  const server = await startServer({ GUICHE_HOME: home })
  const pid = databasePid(home)
  const beside = await runProcess(['key', 'list', '--json'], { GUICHE_HOME: home })
  expect(JSON.parse(beside.stdout)).toHaveLength(1)
  expect(databasePid(home)).toBe(pid)
  expect(await isReady(server.url)).toBe(true)
  expect(await server.end('SIGTERM')).toBe(0)

  const alone = await runProcess(['key', 'list', '--json'], { GUICHE_HOME: home })
  expect(alone.stdout).toBe(beside.stdout)
  expect(isDatabaseRunning(home)).toBe(false)
})

test('the port and the host are looked at before anything is made, and named', async () => {
  const home = temporaryHome()
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const refused = await runProcess(['start'], { GUICHE_HOME: home, PORT: String(port) })
  expect([refused.code, refused.stderr]).toEqual([
    1,
    `guiche: The port is taken: something listens on 127.0.0.1:${port} already; stop it, or set PORT to another\n`,
  ])
  const elsewhere = { GUICHE_HOME: home, PORT: String(await freePort()), HOST: '192.0.2.1' }
  const unknown = 'HOST 192.0.2.1 is not an address of this machine: use 127.0.0.1, or 0.0.0.0 for all of them'
  expect((await runProcess(['start'], elsewhere)).stderr).toBe(`guiche: ${unknown}\n`)
  expect((await runCli(['doctor'], elsewhere)).stdout).toContain(`✗ configuration        ${unknown}\n`)
  expect(readdirSync(home)).toEqual([])
})

// At a terminal the signal reaches every process of the group, and npm passes it on to us once more.
test.each([
  ['the programs are copied', 'postgres-'],
  ['the database is made', 'data.new-'],
])('Ctrl-C while %s ends in order, and leaves nothing half made', async (_, file) => {
  const home = temporaryHome()
  const env = { ...process.env, GUICHE_HOME: home, PORT: String(await freePort()) }
  const child = startChild(process.execPath, [CLI, 'start'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close')
  await until('it is under way', async () => readdirSync(home).some((name) => name.startsWith(file)), 120_000)
  process.kill(-child.pid!, 'SIGINT')
  await until('the signal was heard', async () => output.includes('SIGINT: finishing'))
  child.kill('SIGINT')
  expect(await ended).toEqual([0, null])
  expect(output).toMatch(/Stopped\.\n$/)
  expect(readdirSync(home).filter((name) => name.includes('.new-') || name.startsWith('lock-'))).toEqual([])
  expect(isDatabaseRunning(home)).toBe(false)
})

test('SIGTERM in the middle of a first start leaves nothing running, and the next start is whole', async () => {
  const home = temporaryHome()
  const env = { ...process.env, GUICHE_HOME: home, PORT: String(await freePort()) }
  const child = startChild(process.execPath, [CLI, 'start'], { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  await until('the database is being made', async () => readdirSync(home).some((name) => name.startsWith('data.new-')))
  child.kill('SIGTERM')
  await ended
  expect(isDatabaseRunning(home)).toBe(false)

  const server = await startServer({ GUICHE_HOME: home })
  expect(await server.end('SIGTERM')).toBe(0)
  expect(isDatabaseRunning(home)).toBe(false)
})

// The bank runs in this process: within the service it would share the limit.
test('with 400 idle connections and 256 file descriptors the service answers', async () => {
  const bank = await openSandbox({ home: join(temporaryHome(), 'bank'), port: 0 })
  onTestFinished(() => bank.stop())
  const [home, port] = [preparedHome(), await freePort()]
  const env = { ...process.env, GUICHE_HOME: home, PORT: String(port), PROVIDER_SANDBOX_URL: bank.url }
  const limited = ['-c', 'ulimit -n 256 && exec "$@"', 'sh', process.execPath, CLI, 'start']
  startChild('sh', limited, { env, stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await until('the service is ready', () => isReady(url), 120_000)
  const sockets = await Promise.all(
    Array.from({ length: 400 }, async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      onTestFinished(() => void socket.destroy())
      await once(socket, 'connect')
      return socket.resume()
    }),
  )
  expect(await isReady(url)).toBe(true)
  expect((await fetch(`${url}/api/balance`, ALONE)).status).toBe(401)
  await until('the oldest are closed', async () => sockets.filter((socket) => socket.closed).length > 256)
})

async function deposit(server: ServerProcess, key: string): Promise<string> {
  const answer = await fetch(`${server.url}/api/deposit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"value":5000}',
  })
  expect(answer.status).toBe(201)
  return answer.headers.get('location') ?? ''
}

async function read(server: ServerProcess, key: string, location: string): Promise<number> {
  const answer = await fetch(new URL(location, server.url), { headers: { authorization: `Bearer ${key}` } })
  return answer.status
}

// A connection that fetch() keeps for the next request may be the oldest idle one, which the service is closing.
const ALONE = { headers: { connection: 'close' } }

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`, ALONE).then(
    (answer) => answer.ok,
    () => false,
  )
}

function isDatabaseRunning(home: string): boolean {
  return existsSync(join(home, 'data/postmaster.pid'))
}

function databasePid(home: string): number {
  return Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0])
}
