import { OperatorError } from '../base/operator-error.ts'
import { requireVersion, withClient } from './connect.ts'
import { DatabaseUnavailable } from './failure.ts'
import { isDiskFull, outageLogOf, setDiskFull, type Pool } from './pool.ts'
import { query, transact, unavailable } from './tx.ts'

const READY_WITHIN_MS = 2_000

export type DatabaseTrouble = 'database' | 'database in recovery' | 'database read-only' | 'database disk full'

/** Undefined if deposits can be created. */
export async function databaseTrouble(pool: Pool): Promise<DatabaseTrouble | undefined> {
  return (await serverTrouble(pool)) ?? (isDiskFull(pool) ? diskTrouble(pool) : undefined)
}

async function serverTrouble(pool: Pool): Promise<DatabaseTrouble | undefined> {
  try {
    const client = await pool.connect()
    let trouble: DatabaseTrouble | undefined = 'database'
    try {
      const { rows } = await client.query<{ recovering: boolean; readOnly: boolean }>({
        text: `select pg_is_in_recovery() as recovering, current_setting('transaction_read_only') = 'on' as "readOnly"`,
        query_timeout: READY_WITHIN_MS,
      } as { text: string })
      const [row] = rows
      trouble = row!.recovering ? 'database in recovery' : row!.readOnly ? 'database read-only' : undefined
    } finally {
      // A new connection may reach the primary.
      client.release(trouble !== undefined)
    }
    if (trouble) outageLogOf(pool)?.failed(new Error(trouble))
    return trouble
  } catch (error) {
    unavailable(pool, error)
    return 'database'
  }
}

const ROOM = `create temporary table room on commit drop as select repeat('0', 1000) from generate_series(1, 2000)`

/** Writes, because reads say nothing about a full disk. */
async function diskTrouble(pool: Pool): Promise<DatabaseTrouble | undefined> {
  try {
    await transact(pool, (tx) => tx.run(ROOM))
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return 'database disk full'
    // The role may make no temporary tables. The next deposit tells.
  }
  setDiskFull(pool, false)
  return undefined
}

export async function describeDatabase(pool: Pool): Promise<{ version: string; migrations: number }> {
  const [row] = await query<{ version: string; migrations: number }>(
    pool,
    `select current_setting('server_version') as version, (select count(*) from migrations) as migrations`,
  )
  return row!
}

/** Resolves to the version, or throws what keeps guiche from using it. */
export function tryDatabase(databaseUrl: string): Promise<string> {
  return withClient(databaseUrl, { name: 'guiche-init', queryTimeoutMs: READY_WITHIN_MS }, async (client) => {
    const version = await requireVersion(client)
    const { rows } = await client.query<{ writes: boolean; creates: boolean }>(
      `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writes,
         coalesce(has_schema_privilege(current_schema(), 'create'), false) as creates`,
    )
    const { writes, creates } = rows[0]!
    if (!writes) throw new OperatorError('The database at DATABASE_URL is read-only: name the primary')
    if (!creates) throw new OperatorError(MAY_NOT_CREATE)
    return version
  })
}

const MAY_NOT_CREATE =
  'The role of DATABASE_URL may not create tables: make it the owner of the database ("alter database … owner to …")'

const SHOWN_TABLES = 3

/** Undefined if nothing is missing. Migrations and partitions need the owner. */
export async function missingRights(pool: Pool): Promise<string | undefined> {
  const [row] = await query<{ creates: boolean; owner: string; tables: string[] }>(
    pool,
    `select has_schema_privilege(current_schema(), 'create') as creates, pg_get_userbyid(relowner) as owner,
       array(
         select each.relname::text from pg_class each
         where each.relnamespace = known.relnamespace and each.relowner = known.relowner and each.relkind in ('r', 'p')
           and not (
             pg_has_role(each.relowner, 'usage') and has_table_privilege(each.oid, 'select')
             and has_table_privilege(each.oid, 'insert') and has_table_privilege(each.oid, 'update')
             and has_table_privilege(each.oid, 'delete'))
         order by each.relname
       ) as tables
     from pg_class known where oid = 'migrations'::regclass`,
  )
  const { creates, owner, tables } = row!
  if (!creates) return MAY_NOT_CREATE
  if (tables.length === 0) return undefined
  const shown = `${tables.slice(0, SHOWN_TABLES).join(', ')}${tables.length > SHOWN_TABLES ? ' …' : ''}`
  const count = tables.length === 1 ? '1 table' : `${tables.length} tables`
  const remedy = `make it their owner or a member of ${owner}, and grant it all rights on them`
  return `The role of DATABASE_URL may not do all it must with ${count} (${shown}): ${remedy}`
}
