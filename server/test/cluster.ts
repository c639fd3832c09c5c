import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { copyPreparedHome } from '../../scripts/prepared-home.mjs'
import { openEmbedded } from '../src/db/embedded/server.ts'
import { migrate } from '../src/db/migrate.ts'
import { launchPgBouncer } from './pgbouncer.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    clusterUrl: string
    /** The address that tests use: `clusterUrl`, or a pooler's if GUICHE_TEST_POOLER is set. */
    worldsUrl: string
    /** A directory for all that the run writes; it is removed at the end. */
    scratch: string
    /** The factor for time limits: see scripts/patience.ts. */
    patience: number
  }
}

// A database that is told to end at once needs less, even on a busy machine.
const END_WITHIN_MS = 30_000

// The whole run uses one PostgreSQL: the embedded one that users get, or Debian's. Each test's database is cloned from
// one that is migrated. Tests that need a home of their own copy one that is prepared here.
export default async function setup(project: TestProject) {
  const scratch = mkdtempSync(join(tmpdir(), 'guiche-test-'))
  chmodSync(scratch, 0o755)
  mkdirSync(join(scratch, CHILDREN))
  await copyPreparedHome(join(scratch, 'prepared'))
  const home = join(scratch, 'cluster')
  copyHome(scratch, home)
  appendFileSync(join(home, 'data/postgresql.conf'), HURRY)
  // Without passwords: deriving the key of a password takes longer than connecting, and each test connects several
  // times.
  writeFileSync(join(home, 'data/pg_hba.conf'), 'local all all trust\n')
  const { databaseUrl } = await openEmbedded({ home, say: () => {} })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('create database guiche_template')
  await client.end()
  await migrate(databaseNamed(databaseUrl, 'guiche_template'))
  project.provide('clusterUrl', databaseUrl)
  const pooler = process.env['GUICHE_TEST_POOLER']
    ? await launchPgBouncer(databaseUrl, { directory: join(scratch, 'pgbouncer'), mode: 'transaction' })
    : undefined
  project.provide('worldsUrl', pooler?.url ?? databaseUrl)
  project.provide('scratch', scratch)
  return async () => {
    pooler?.child.kill('SIGKILL')
    endChildren(scratch)
    // This also ends the cluster: workers are still connected to it, so it does not stop by itself.
    for (const name of readdirSync(scratch)) await endDatabase(join(scratch, name))
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
  }
}

// No test cuts the power, and a killed process leaves the same data without waiting for the disk. So databases are made
// in a quarter of the time. They live for seconds and need no vacuum, and looking for work in hundreds of them takes
// longer than the tests.
const HURRY = '\nfsync = off\nfull_page_writes = off\nsynchronous_commit = off\nautovacuum = off\n'

/** The folder where tests note the process groups that they start: one file for each, named by its number. */
export const CHILDREN = 'children'

/** A home as it is after a first start, with a migrated and stopped database. */
export function copyHome(scratch: string, to: string): void {
  // cp keeps the owner: the database's files belong to another user.
  execFileSync('cp', ['-a', join(scratch, 'prepared'), to])
}

/** Ends a database that a test left running in this home, without a clean stop: nobody reads it again. */
export async function endDatabase(home: string): Promise<void> {
  const file = join(home, 'data/postmaster.pid')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
  for (const until = Date.now() + END_WITHIN_MS; end(pid, 'SIGQUIT') && Date.now() < until;) await sleep(10)
}

/** Ends the process groups whose test did not: it ran out of time, or its worker is gone. */
function endChildren(scratch: string): void {
  for (const group of readdirSync(join(scratch, CHILDREN))) end(-Number(group), 'SIGKILL')
}

/** Signals a process, or a whole group by its negative number. Returns false if it is gone. */
export function end(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

export function databaseNamed(url: string, name: string): string {
  return url.replace(/\/guiche(\?|$)/, `/${name}$1`)
}
