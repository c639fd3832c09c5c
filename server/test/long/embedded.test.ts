import { execFileSync, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client, type QueryResultRow } from 'pg'
import { afterEach, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { openEmbedded, type Embedded } from '../../src/db/embedded/server.ts'
import { copyHome } from '../cluster.ts'
import { startChild } from '../process.ts'
import { patient } from '../world.ts'

// Most of these tests use one home, as an installation does. Each leaves it usable and stopped.

const isRoot = process.getuid?.() === 0
const server = fileURLToPath(new URL('../..', import.meta.url))
/** Longer than any start seen on a busy machine with two processors; a test that waits longer hangs. */
const WAIT_MS = 20_000

let home: string
const temporaries: string[] = []

beforeAll(() => {
  // Other processes run the compiled server; the command line compiles it if it is not up to date.
  execFileSync(process.execPath, [join(server, 'bin/guiche.mjs'), '--version'])
  home = makeTemporary()
  return () => {
    for (const path of temporaries) rmSync(path, { recursive: true, force: true })
  }
})

afterEach(() => {
  if (isRunning(home)) throw new Error('the test left the database running')
})

test('the first start makes a database that keeps what it is given and lets nobody else in', async () => {
  const embedded = await open(home)

  const [settings] = await query(
    embedded.databaseUrl,
    `select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
       current_setting('data_checksums') as checksums, current_setting('listen_addresses') as network,
       current_setting('password_encryption') as passwords, current_setting('timezone') as timezone,
       pg_encoding_to_char(encoding) as encoding, lower('Ã') as lower, pg_get_userbyid(datdba) as owner,
       rolsuper as superuser
     from pg_database join pg_roles on rolname = current_user where datname = current_database()`,
  )
  expect(settings).toEqual({
    fsync: 'on',
    pages: 'on',
    checksums: 'on',
    network: '',
    passwords: 'scram-sha-256',
    timezone: 'UTC',
    encoding: 'UTF8',
    lower: 'ã',
    owner: 'guiche',
    superuser: false,
  })
  expect(modeOf('data')).toBe('700')
  expect(modeOf('run')).toBe('700')
  expect(modeOf('database-password')).toBe('600')
  const wrong = embedded.databaseUrl.replace(/:[0-9a-f]{64}@/, ':wrong@')
  await expect(query(wrong, 'select 1')).rejects.toThrow('password authentication failed')

  await embedded.stop()
})

test('a second process on the same home adopts the running database and the last one out stops it', async () => {
  const first = await startProcess(home)
  const pid = postmasterOf(home)
  const second = await open(home)
  expect(postmasterOf(home)).toBe(pid)

  await first.end()
  expect(await query(second.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }])

  await second.stop()
  expect(isRunning(home)).toBe(false)
})

test('processes that come and go at once share one database and leave none behind', async () => {
  const names = ['a', 'b', 'c', 'd']
  await Promise.all(
    names.map(async (name) => {
      const one = await startProcess(home, { row: name })
      await one.end()
    }),
  )

  const embedded = await open(home)
  expect(await rowsOf(embedded)).toEqual(expect.arrayContaining(names))
  await embedded.stop()
})

test('after kill -9 of everything the next start recovers what was committed', async () => {
  const crashed = await startProcess(home, { row: 'committed before the crash' })
  const pid = postmasterOf(home)
  await crashed.kill()
  process.kill(pid, 'SIGKILL')

  const embedded = await open(home)
  expect(postmasterOf(home)).not.toBe(pid)
  expect(await rowsOf(embedded)).toContain('committed before the crash')
  await embedded.stop()
})

test('a process killed alone leaves its database to the next one, who stops it', async () => {
  const killed = await startProcess(home)
  const pid = postmasterOf(home)
  await killed.kill()

  const embedded = await open(home)
  expect(postmasterOf(home)).toBe(pid)
  await embedded.stop()
})

test('a database that is killed under a living process is started again', async () => {
  const lines: string[] = []
  const embedded = await open(home, lines)
  const pid = postmasterOf(home)
  process.kill(pid, 'SIGKILL')

  const answer = await until(() => query(embedded.databaseUrl, 'select 1 as one').catch(() => undefined))
  expect(answer).toEqual([{ one: 1 }])
  expect(postmasterOf(home)).not.toBe(pid)
  expect(lines).toContain('The database stopped unexpectedly; restarting it…')
  // This process is attached again: otherwise another one could stop the database under it.
  await until(async () => ((await presences(embedded)) === 1 ? true : undefined))
  await embedded.stop()
})

// After a reboot, the pid in a leftover file often belongs to another process. PostgreSQL then refuses to start.
test('a left pid file that names a living process of somebody else does not stop a start', async () => {
  const embedded = await open(home)
  const content = readFileSync(join(home, 'data/postmaster.pid'), 'utf8')
  const owner = statSync(join(home, 'data'))
  await embedded.stop()
  const foreign = startChild('sleep', ['60'], isRoot ? { uid: owner.uid, gid: owner.gid } : {})
  for (const path of ['data/postmaster.pid', 'run/.s.PGSQL.5432.lock'])
    writeFileSync(join(home, path), content.replace(/^\d+/, String(foreign.pid)))

  const again = await open(home)
  expect(postmasterOf(home)).not.toBe(foreign.pid)
  await again.stop()
})

test('a first start killed half-way is made good by the next one', async () => {
  const other = join(makeTemporary(), 'home')
  const killed = spawnProcess(other)
  await until(() => (readdirIn(other).some((name) => name.startsWith('data.new-')) ? true : undefined))
  await killProcess(killed)
  expect(existsSync(join(other, 'data'))).toBe(false)

  const embedded = await open(other)
  expect(await query(embedded.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }])
  await embedded.stop()
  expect(readdirIn(other).filter((name) => name.includes('.new-') || name.startsWith('lock-'))).toEqual([])
})

test('a home whose path is too long for a socket works all the same', async () => {
  const other = join(makeTemporary(), 'a, b '.repeat(20), 'home')
  mkdirSync(dirname(other))
  copyHome(inject('scratch'), other)
  const embedded = await open(other)
  const directory = new URL(embedded.databaseUrl.replace('@/', '@host/')).searchParams.get('host') ?? ''
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))

  expect(directory.startsWith(other)).toBe(false)
  expect((statSync(directory).mode & 0o777).toString(8)).toBe('700')
  expect(await query(embedded.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }])
  await embedded.stop()
})

test('a lost password file is replaced at the next start', async () => {
  rmSync(join(home, 'database-password'))
  const embedded = await open(home)
  expect(await query(embedded.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }])
  await embedded.stop()
})

test('data written by a version that is not here are refused, with what to do', async () => {
  const path = join(home, 'data/PG_VERSION')
  const version = readFileSync(path, 'utf8')
  writeFileSync(path, '9\n')
  onTestFinished(() => writeFileSync(path, version))
  await expect(open(home)).rejects.toThrow(/written by PostgreSQL 9, which is not here .*set DATABASE_URL/)
})

test('a start that fails tells the reason in one line', async () => {
  const path = join(home, 'data/postgresql.conf')
  const content = readFileSync(path, 'utf8')
  writeFileSync(path, `${content}\nshared_buffers = nonsense\n`)
  onTestFinished(() => writeFileSync(path, content))
  const refused: unknown = await open(home).catch((error: unknown) => error)
  expect(String(refused)).toMatch(/^OperatorError: .*does not start: .*invalid value for parameter "shared_buffers"/)
  expect(String(refused)).not.toContain('\n')
})

test.runIf(isRoot)(
  'a home that the database may not reach is refused by the name of the closed directory',
  async () => {
    const closed = join(makeTemporary(), 'closed')
    mkdirSync(join(closed, 'below'), { recursive: true })
    chmodSync(closed, 0o700)
    await expect(open(join(closed, 'below/home'))).rejects.toThrow(`cannot pass through ${closed}: set GUICHE_HOME`)
  },
)

test('the process that is left alone stops the database, also after its connection broke', async () => {
  const first = await open(home)
  const second = await open(home)
  // The connection may be back at once, so the test waits for sessions with other pids.
  const sessions = async () => (await query<{ pid: number }>(first.databaseUrl, ATTACHED)).map(({ pid }) => pid)
  const before = await sessions()
  await query(first.databaseUrl, ATTACHED.replace('pid', 'pg_terminate_backend(pid)'))
  await until(async () => {
    const now = await sessions()
    return (now.length === 2 && now.every((pid) => !before.includes(pid))) || undefined
  })
  await second.stop()
  expect(await sessions()).toHaveLength(1)
  await first.stop()
  await expect(sessions()).rejects.toThrow(/ENOENT|ECONNREFUSED/)
})

const ATTACHED = `select pid from pg_stat_activity where application_name like 'guiche-attached-%'`

async function open(at: string, lines: string[] = []): Promise<Embedded> {
  const embedded = await openEmbedded({ home: at, say: (line) => void lines.push(line) })
  // This is for a test that failed half-way. A second stop does nothing.
  onTestFinished(() => embedded.stop())
  return embedded
}

/** Opens the home, writes a row, and stays until it is told to end or its standard input closes. */
const PROCESS = `
  import { openEmbedded } from './dist/db/embedded/server.js'
  import { Client } from 'pg'
  const embedded = await openEmbedded({ home: process.env.TEST_HOME, say: () => {} })
  const client = new Client({ connectionString: embedded.databaseUrl })
  client.on('error', () => {})
  await client.connect()
  await client.query('select pg_advisory_lock(1)')
  await client.query('create table if not exists notes (note text)')
  await client.query('select pg_advisory_unlock(1)')
  await client.query('insert into notes values ($1)', [process.env.TEST_ROW])
  process.stdout.write('open')
  process.stdin.resume().once('end', async () => {
    await client.end()
    await embedded.stop()
    process.exit(0)
  })
`

function spawnProcess(at: string, row = ''): ChildProcess {
  return startChild(process.execPath, ['--input-type=module', '--eval', PROCESS], {
    cwd: server,
    env: { ...process.env, TEST_HOME: at, TEST_ROW: row },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

async function startProcess(at: string, { row = '' } = {}) {
  const child = spawnProcess(at, row)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await Promise.race([
    new Promise((resolve) => child.stdout?.once('data', resolve)),
    ended.then((code) => expect.fail(`the process ended with ${code}`)),
  ])
  return {
    kill: () => killProcess(child),
    async end() {
      child.stdin?.end()
      expect(await ended).toBe(0)
    },
  }
}

async function killProcess(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

async function query<Row extends QueryResultRow>(databaseUrl: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

async function rowsOf(embedded: Embedded): Promise<string[]> {
  const rows = await query<{ note: string }>(embedded.databaseUrl, 'select note from notes')
  return rows.map(({ note }) => note)
}

async function presences(embedded: Embedded): Promise<number> {
  return (await query(embedded.databaseUrl, ATTACHED)).length
}

async function until<T>(ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (const deadline = Date.now() + patient(WAIT_MS); Date.now() < deadline; await sleep(5)) {
    const answer = await ask()
    if (answer !== undefined) return answer
  }
  return expect.fail('what was waited for did not happen')
}

/** A folder that others may enter: if the tests run as root, the database runs as another user. */
function makeTemporary(): string {
  const path = mkdtempSync(join(inject('scratch'), 'embedded-'))
  chmodSync(path, 0o755)
  temporaries.push(path)
  return path
}

function readdirIn(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : []
}

function postmasterOf(at: string): number {
  return Number(readFileSync(join(at, 'data/postmaster.pid'), 'utf8').split('\n')[0])
}

function isRunning(at: string): boolean {
  return existsSync(join(at, 'data/postmaster.pid'))
}

function modeOf(name: string): string {
  return (statSync(join(home, name)).mode & 0o777).toString(8)
}
