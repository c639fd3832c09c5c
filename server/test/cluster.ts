import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openEmbedded } from '../src/db/embedded/server.ts'
import { migrate } from '../src/db/migrate.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    clusterUrl: string
  }
}

// One PostgreSQL for the whole run, the same embedded one that users get, and one migrated database from which each test's own is
// cloned.
export default async function setup(project: TestProject) {
  const home = mkdtempSync(join(tmpdir(), 'guiche-test-'))
  chmodSync(home, 0o755)
  const embedded = await openEmbedded({ home, say: () => {} })
  hurry(join(home, 'data'))
  const client = new pg.Client({ connectionString: embedded.databaseUrl })
  await client.connect()
  await client.query('create database guiche_template')
  await client.end()
  await migrate(databaseNamed(embedded.databaseUrl, 'guiche_template'))
  project.provide('clusterUrl', embedded.databaseUrl)
  return async () => {
    await embedded.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

// No test cuts the power, and what a killed process leaves behind is the same without waiting for the disk: only databases are made in a
// quarter of the time.
function hurry(data: string): void {
  appendFileSync(join(data, 'postgresql.conf'), '\nfsync = off\nfull_page_writes = off\n')
  process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGHUP')
}

export function databaseNamed(url: string, name: string): string {
  return url.replace(/\/guiche(\?|$)/, `/${name}$1`)
}
