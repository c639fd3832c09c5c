// The database of a service that runs, for proofs that write events and accounts themselves.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** `secretKey` is that of the service: it seals what it writes. */
export async function openDatabase({ dist, home, secretKey }) {
  const load = loader(dist)
  const modules = [
    'db/embedded/server.js',
    'db/pool.js',
    'db/tx.js',
    'domain/webhooks/events.js',
    'base/ids.js',
    'base/sealer.js',
  ]
  const loaded = await Promise.all(modules.map(load))
  const { openEmbedded, makePool, transact, insertEvents, eventBody, newUuid7, makeSealer } = Object.assign(
    {},
    ...loaded,
  )
  const pg = createRequire(join(dist, 'cli.js'))('pg')
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const embedded = await openEmbedded({ home, say: () => undefined })
  const sealer = makeSealer(() => [secretKey])
  const pool = makePool(embedded.databaseUrl, silent, { sealer })
  const makeEvents = (ids) => {
    const createdAt = new Date()
    return ids.map((accountId) => {
      const event = { kind: 'WEBHOOK_TEST', accountId, subjectId: newUuid7(createdAt), createdAt }
      return { ...event, data: { message: 'guiche can reach this address. Nothing was paid.' } }
    })
  }
  return {
    rows: async (sql, params) => (await pool.query(sql, params)).rows,
    transact: (work) => transact(pool, work),
    /** Writes one event for each of the accounts, in one transaction. Returns their bodies. */
    async tell(ids) {
      const events = makeEvents(ids)
      await transact(pool, (tx) => insertEvents(tx, events[0].createdAt, events))
      return events.map(eventBody)
    },
    /** Writes an event, and commits it later. */
    async hold(id) {
      const client = new pg.Client({ connectionString: embedded.databaseUrl })
      await client.connect()
      await client.query('begin')
      const events = makeEvents([id])
      await insertEvents({ sealer, run: (sql, values) => client.query(sql, values) }, events[0].createdAt, events)
      const commit = async () => {
        await client.query('commit')
        await client.end()
      }
      return { body: eventBody(events[0]), commit }
    },
    async close() {
      await pool.end()
      await embedded.stop()
    },
  }
}

export async function makeAccounts(database, { dist, count }) {
  const load = loader(dist)
  const [{ makeAccount }, { createKey }] = await Promise.all(
    ['domain/accounts/accounts.js', 'domain/accounts/api-keys.js'].map(load),
  )
  const actor = { kind: 'console', name: 'prove' }
  const made = []
  for (let number = 0; number < count; number++) {
    const holder = { email: `${number}@loja.example`, name: `Loja ${number}`, passwordHash: 'none' }
    made.push(
      await database.transact(async (tx) => {
        const id = await makeAccount(tx, new Date(), holder, actor)
        const key = { accountId: id, name: 'prove', scopes: ['deposits:write', 'events:read'], expiresAt: null }
        return { number, id, key: (await createKey(tx, new Date(), 'test', key, actor)).text }
      }),
    )
  }
  return made
}

function loader(dist) {
  return (path) => import(pathToFileURL(join(dist, path)).href)
}
