import type pg from 'pg'

/** Names and values, as `set` takes them. */
export type SessionSettings = Record<string, string | number>

/**
 * Sets them for the session of this connection, in one round trip. False, and nothing is set, behind a pooler: in
 * transaction mode the session changes with each transaction, and a setting would stay behind in a session of somebody
 * else. There only `set local` in a transaction works.
 *
 * By a statement, because PgBouncer refuses or drops them as connection parameters.
 */
export async function setForSession(client: pg.ClientBase, settings: SessionSettings): Promise<boolean> {
  // PostgreSQL sends its process id when a connection is made. A pooler sends an invented one instead.
  const { processID } = client as pg.ClientBase & { processID: number }
  const { rows } = await client.query<{ isDirect: boolean }>(
    `select pg_backend_pid() = $1 as "isDirect", (
       select count(set_config(name, value, false)) from unnest($2::text[], $3::text[]) as s (name, value)
       where pg_backend_pid() = $1
     )`,
    [processID, Object.keys(settings), Object.values(settings).map(String)],
  )
  return rows[0]!.isDirect
}

/** Sets them until the transaction ends, which works behind a pooler too. */
export function setLocal(settings: SessionSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `set local ${name} = ${value}`)
    .join('; ')
}
