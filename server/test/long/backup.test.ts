import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, inject, test } from 'vitest'
import type { Manifest } from '../../src/db/embedded/backup-files.ts'
import { withClient } from '../../src/db/connect.ts'
import { openEmbedded, superuserUrl } from '../../src/db/embedded/server.ts'
import { CLI, preparedHome, runCli, runProcess, startChild, startServer, temporaryHome } from '../process.ts'
import { until } from '../world.ts'

// Homes and backups lie in one temporary directory per test, which the end of the test removes.

const PAYERS = 4
/** Enough for the load to be under way before and after the backup. */
const PAID_BEFORE = 8

const manifestOf = (backup: string): Manifest => JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'))
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

test('a backup under load, restored elsewhere, holds all that was acknowledged, and the audit agrees', async () => {
  const [home, place] = [preparedHome(), temporaryHome()]
  const [backup, restoredHome] = [join(place, 'backup'), join(place, 'home')]
  const service = await startServer({ GUICHE_HOME: home, RATE_LIMIT_PER_SECOND: '0' })
  const load = startLoad(service)
  await until('payments are under way', async () => load.paid.length >= PAID_BEFORE)
  const made = await runProcess(['backup', backup], { GUICHE_HOME: home })
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`backup     ${backup}`) })
  const paidAtEnd = load.paid.length
  await until('payments go on', async () => load.paid.length >= paidAtEnd + PAID_BEFORE)
  await load.stop()

  const restored = await runProcess(['restore', backup, '--home', restoredHome], {})
  expect(restored.stdout).toContain('Everything agrees')
  expect(restored.code).toBe(0)
  for (const name of ['secret-key', 'database-password'])
    expect([readFileSync(join(restoredHome, name), 'utf8'), modeOf(join(restoredHome, name))]).toEqual([
      readFileSync(join(home, name), 'utf8'),
      '600',
    ])

  const { at: endAt } = manifestOf(backup).end
  const beforeEnd = (all: Acknowledged[]) => all.filter(({ atMs }) => atMs < Date.parse(endAt)).map(({ id }) => id)
  const [created, paid] = [beforeEnd(load.created), beforeEnd(load.paid)]
  expect(paid.length).toBeGreaterThanOrEqual(PAID_BEFORE)
  const again = await startServer({ GUICHE_HOME: restoredHome, RATE_LIMIT_PER_SECOND: '0' })
  expect(await creditedBy(restoredHome, endAt)).toEqual(expect.arrayContaining(paid))
  for (const id of created)
    expect({ id, isThere: (await load.read(again.url, id)) !== undefined }).toEqual({ id, isThere: true })
  expect(await again.end('SIGTERM')).toBe(0)
  expect(await service.end('SIGTERM')).toBe(0)
})

test('the end of a backup is a time before which every commit is in it', async () => {
  const [home, place] = [preparedHome(), temporaryHome()]
  const { databaseUrl, stop } = await openEmbedded({ home, say: () => {}, mayCreate: false })
  const client = new Client({ connectionString: superuserUrl(databaseUrl) })
  await client.connect()
  // Replaces PostgreSQL's own function for the superuser: it records when the stop begins, and returns late.
  await client.query(`create schema slow; create table slow.stops (at timestamptz not null);
    create function slow.pg_backup_stop(wait boolean) returns table (lsn pg_lsn, labelfile text, spcmapfile text) as $$
    begin
      insert into slow.stops values (clock_timestamp());
      return query select * from pg_catalog.pg_backup_stop(wait);
      perform pg_sleep(0.1);
    end $$ language plpgsql;
    alter role postgres set search_path = slow, pg_catalog, public`)
  const backup = join(place, 'backup')
  expect(await runCli(['backup', backup], { GUICHE_HOME: home })).toMatchObject({ code: 0 })
  const { rows } = await client.query<{ at: Date }>('select at from slow.stops')
  expect(rows).toHaveLength(1)
  expect(Date.parse(manifestOf(backup).end.at)).toBeLessThanOrEqual(rows[0]!.at.getTime())
  await client.end()
  await stop()
})

test('a backup in which a byte was changed, or a file added or removed, is refused by name', async () => {
  const { backup, place } = await stoppedBackup()
  const target = join(place, 'home')
  const restore = () => runCli(['restore', backup, '--home', target], {})
  const secret = join(backup, 'home/secret-key')
  writeFileSync(
    secret,
    readFileSync(secret, 'utf8').replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
  )
  expect(await restore()).toMatchObject({ code: 1, stderr: expect.stringContaining('home/secret-key was changed') })
  rmSync(secret)
  expect(await restore()).toMatchObject({ code: 1, stderr: expect.stringContaining('home/secret-key is missing') })
  writeFileSync(join(backup, 'home/data/base/1/99999'), '')
  expect(await restore()).toMatchObject({ stderr: expect.stringContaining('home/data/base/1/99999 is not a part') })
  appendFileSync(join(backup, 'manifest.json'), ' ')
  expect(await restore()).toMatchObject({ stderr: expect.stringContaining('manifest.json was changed') })
  expect(existsSync(target)).toBe(false)
})

test('a backup that was cut off is refused, and the next one removes what it left', async () => {
  const { home, place, backup, parts } = await cutOffBackup('SIGKILL')
  expect(existsSync(backup)).toBe(false)
  const cut = join(place, parts()[0]!)
  const refused = await runCli(['restore', cut, '--home', join(place, 'home')], {})
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a whole backup') })

  expect(await runCli(['backup', backup], { GUICHE_HOME: home })).toMatchObject({ code: 0 })
  expect(readdirSync(place)).toEqual(['backup'])
  expect((await runCli(['restore', backup, '--dry-run'], { GUICHE_HOME: home })).stderr).toContain(
    'The backup is whole.',
  )
})

test('Ctrl-C removes what a backup has written, and stops the database', async () => {
  const { home, place } = await cutOffBackup('SIGINT')
  expect(readdirSync(place)).toEqual([])
  expect(existsSync(join(home, 'data/postmaster.pid'))).toBe(false)
})

test('a backup goes into a new or empty directory outside of the home', async () => {
  const [home, place] = [preparedHome(), temporaryHome()]
  const run = (target: string) => runCli(['backup', target], { GUICHE_HOME: home })
  mkdirSync(join(place, 'full/file'), { recursive: true })
  expect(await run(join(place, 'full'))).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty') })
  expect(await run(join(home, 'backup'))).toMatchObject({ code: 1, stderr: expect.stringContaining('lies in') })
  mkdirSync(join(place, 'empty'))
  expect(await run(join(place, 'empty'))).toMatchObject({ code: 0 })
  expect(modeOf(join(place, 'empty'))).toBe('700')
})

test('a restore refuses a home with a database, and leaves it alone', async () => {
  const { backup } = await stoppedBackup()
  const home = preparedHome()
  const before = readFileSync(join(home, 'data/global/pg_control'))
  const refused = await runCli(['restore', backup], { GUICHE_HOME: home })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('it holds data') })
  expect(readFileSync(join(home, 'data/global/pg_control')).equals(before)).toBe(true)
})

test('a restore that cannot recover leaves nothing in the home', async () => {
  const { backup, place } = await stoppedBackup()
  const manifest = manifestOf(backup)
  const isWal = (path: string) => path.startsWith('data/pg_wal/')
  for (const { path } of manifest.files.filter((file) => isWal(file.path))) rmSync(join(backup, 'home', path))
  const content = JSON.stringify({ ...manifest, files: manifest.files.filter((file) => !isWal(file.path)) })
  writeFileSync(join(backup, 'manifest.json'), content)
  const sum = createHash('sha256').update(content).digest('hex')
  writeFileSync(join(backup, 'manifest.json.sha256'), `${sum}  manifest.json\n`)
  const failed = await runCli(['restore', backup, '--home', join(place, 'home')], {})
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('does not start') })
  expect(existsSync(join(place, 'home'))).toBe(false)
})

test('a restore without the SECRET_KEY of the backup leaves nothing in the home, and works with it', async () => {
  const [home, place] = [preparedHome(), temporaryHome()]
  const [first, other] = ['a'.repeat(32), 'b'.repeat(32)]
  const server = await startServer({ GUICHE_HOME: home, SECRET_KEY: first })
  await server.end('SIGTERM')
  const [backup, target] = [join(place, 'backup'), join(place, 'home')]
  expect(await runCli(['backup', backup], { GUICHE_HOME: home, SECRET_KEY: first })).toMatchObject({ code: 0 })
  for (const env of [{ SECRET_KEY: other }, {}]) {
    const refused = await runCli(['restore', backup, '--home', target], env)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/SECRET_KEY \(id .* lacks: .* Nothing was restored\n$/),
    ])
    expect(readdirSync(place)).toEqual(['backup'])
  }
  const restored = await runCli(['restore', backup, '--home', target], { SECRET_KEY: first })
  expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('Everything agrees')])
})

test('with --keep, each backup is named after its time, and all but the newest are deleted', async () => {
  const [home, place] = [preparedHome(), temporaryHome()]
  const left = `guiche-20260103T030000Z.part-${2 ** 22}`
  for (const name of ['guiche-20260101T030000Z', 'guiche-20260102T030000Z', left, 'other']) mkdirSync(join(place, name))
  const made = await runCli(['backup', '--keep', '2', place], { GUICHE_HOME: home })
  expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('Deleted guiche-20260101T030000Z.\n')])
  const names = readdirSync(place).toSorted()
  expect(names).toEqual(['guiche-20260102T030000Z', expect.stringMatching(/^guiche-\d{8}T\d{6}Z$/), 'other'])
  const { end } = manifestOf(join(place, names[1]!))
  const { databaseUrl, stop } = await openEmbedded({ home, say: () => {}, mayCreate: false })
  const recorded = await withClient(databaseUrl, { name: 'test', queryTimeoutMs: 10_000 }, (client) =>
    client.query('select ended_at, place from backups'),
  )
  await stop()
  expect(recorded.rows).toEqual([{ ended_at: new Date(end.at), place: join(place, names[1]!) }])
})

test('with DATABASE_URL, backup and restore refuse and name the page that helps', async () => {
  const place = temporaryHome()
  const env = { DATABASE_URL: inject('clusterUrl'), GUICHE_HOME: join(place, 'home') }
  const refused = await runCli(['backup', join(place, 'other')], env)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('docs/operations.md') })
  expect(await runCli(['restore', place], env)).toMatchObject({ code: 1, stderr: expect.stringContaining('unset it') })
})

let kept: Promise<string> | undefined

/** A backup of a service that does not run. It is made once, and copied for each test. */
async function stoppedBackup() {
  const place = temporaryHome()
  const backup = join(place, 'backup')
  execFileSync('cp', ['-a', await (kept ??= keepBackup()), backup])
  return { place, backup }
}

async function keepBackup(): Promise<string> {
  const [home, backup] = [preparedHome(), join(inject('scratch'), 'kept-backup')]
  writeFileSync(join(home, 'secret-key'), `${'a'.repeat(64)}\n`, { mode: 0o600 })
  expect(await runCli(['backup', backup], { GUICHE_HOME: home })).toMatchObject({ code: 0 })
  return backup
}

/** Starts a backup that gets the signal in the middle of its copy. */
async function cutOffBackup(signal: NodeJS.Signals) {
  const [home, place] = [preparedHome(), temporaryHome()]
  const backup = join(place, 'backup')
  const parts = () => readdirSync(place).filter((name) => name.startsWith('backup.part-'))
  const child = startChild(process.execPath, [CLI, 'backup', backup], {
    env: { PATH: process.env['PATH'], GUICHE_HOME: home },
    stdio: 'ignore',
  })
  await until('the copy is under way', async () => parts().some((part) => existsSync(join(place, part, 'home/data'))))
  child.kill(signal)
  await until('the process is gone', async () => child.signalCode !== null || child.exitCode !== null)
  return { home, place, backup, parts }
}

type Acknowledged = { id: string; atMs: number }

/**
 * The charges that were credited before this time. A restore books what the backup lacks from the bank's list, so a
 * lost payment would have a later time.
 */
async function creditedBy(home: string, time: string): Promise<string[]> {
  const { databaseUrl, stop } = await openEmbedded({ home, say: () => {}, mayCreate: false })
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ id: string }>(
    `select c.payment_link_id as id from payments p join charges c on c.id = p.charge_id
     where p.credited and p.recorded_at < $1`,
    [time],
  )
  await client.end()
  await stop()
  return rows.map(({ id }) => id)
}

/** Payers that create a deposit, pay it, see it completed, and begin again. */
function startLoad({ url, output }: { url: string; output(): string }) {
  const key = /API key: (\S+)/.exec(output())![1]!
  const bankUrl = /Sandbox bank +(\S+)/.exec(output())![1]!
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const [created, paid]: [Acknowledged[], Acknowledged[]] = [[], []]
  const stopping = new AbortController()
  const read = async (from: string, id: string): Promise<string | undefined> => {
    const answer = await fetch(`${from}/api/deposit/${id}`, { headers })
    return ((await answer.json()) as { charge?: { status: string } }).charge?.status
  }
  const depositAndPay = async () => {
    const answer = await fetch(`${url}/api/deposit`, { method: 'POST', headers, body: '{"value":5000}' })
    const { charge } = (await answer.json()) as { charge: { id: string; paymentLinkId: string } }
    const id = charge.paymentLinkId
    created.push({ id, atMs: Date.now() })
    const body = JSON.stringify({ txid: charge.id })
    await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    await until('the payment is credited', async () => (await read(url, id)) === 'COMPLETED')
    paid.push({ id, atMs: Date.now() })
  }
  const payers = Array.from({ length: PAYERS }, async () => {
    while (!stopping.signal.aborted) await depositAndPay()
  })
  const stop = async () => {
    stopping.abort()
    await Promise.all(payers)
  }
  return { created, paid, read, stop }
}
