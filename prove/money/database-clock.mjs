// Sets the database's clock ahead. The service reads it with clock_timestamp(), so a function of that name, found
// before PostgreSQL's own, returns a later time.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Applies to new connections, even after the database was killed. The schema must exist, and the service must not run.
 */
export async function setDatabaseClock({ dist, home, laterMs }) {
  const { openEmbedded } = await import(pathToFileURL(join(dist, 'db/embedded/server.js')).href)
  const pg = createRequire(join(dist, 'cli.js'))('pg')
  const embedded = await openEmbedded({ home, say: () => undefined })
  const client = new pg.Client({ connectionString: embedded.databaseUrl })
  // The database may stop before this connection is closed.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(`
      create schema if not exists later;
      create or replace function later.clock_timestamp() returns timestamptz language sql volatile
        as $$ select pg_catalog.clock_timestamp() + interval '${Number(laterMs)} milliseconds' $$`)
    // public stays first: it holds the service's tables.
    const { name } = (await client.query('select quote_ident(current_database()) as name')).rows[0]
    await client.query(`alter database ${name} set search_path = public, later, pg_catalog`)
  } finally {
    await client.end().catch(() => undefined)
    await embedded.stop()
  }
}
