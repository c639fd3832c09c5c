import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { joinPresence, type Presence } from '../src/db/presence.ts'
import { databaseNamed } from './cluster.ts'

// Databases for tests, made while other tests run: to clone the template takes longer than most tests do.

/** `directUrl` is the same, unless the run goes through a pooler. */
type Database = { databaseUrl: string; directUrl: string; presence: Presence }
type Prepared = Database & { name: string }

/** The one in use is replaced while its test runs; the second is for a test that is shorter than a clone. */
const READY = 2
/** The last few are dropped later: a drop waits for sessions that are still ending, and clones queue behind it. */
const KEPT = 5

const ready: Promise<Prepared>[] = []
const done: string[] = []
let connecting: Promise<pg.Client> | undefined
let queue: Promise<unknown> = Promise.resolve()

/**
 * A migrated database of the test's own, in which a first process is present. It is dropped some time after the test.
 */
export async function takeDatabase(): Promise<Database> {
  const taken = ready.shift() ?? prepare()
  while (ready.length < READY) ready.push(prepare())
  // Made while the machine was busy with another test, it may have run out of time.
  const { name, ...database } = await taken.catch(prepare)
  onTestFinished(() => {
    done.push(name)
    if (done.length > KEPT) inTurn(`drop database ${done.shift()} with (force)`).catch(() => {})
  })
  return database
}

function prepare(): Promise<Prepared> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const databaseUrl = databaseNamed(inject('worldsUrl'), name)
  const directUrl = databaseNamed(inject('clusterUrl'), name)
  const prepared = inTurn(`create database ${name} template guiche_template strategy file_copy`).then(async () => ({
    name,
    databaseUrl,
    directUrl,
    presence: await joinPresence(databaseUrl),
  }))
  // Whoever takes it meets the failure, and perhaps nobody does.
  prepared.catch(() => {})
  return prepared
}

/** On one connection, which each worker keeps. */
function inTurn(sql: string): Promise<unknown> {
  const asked = queue.then(async () => (await (connecting ??= connect())).query(sql))
  queue = asked.catch(() => {})
  return asked
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: inject('clusterUrl') })
  // The cluster is stopped at the end of the run, maybe before this worker.
  client.on('error', () => {})
  await client.connect()
  return client
}
