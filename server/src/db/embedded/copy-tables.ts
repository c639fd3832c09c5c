import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { OperatorError } from '../../base/operator-error.ts'
import { withClient } from '../connect.ts'

type Copying = {
  from: string
  to: string
  /** Both servers may read and write here. */
  folder: string
  onTable: (done: number, name: string) => void
}

type Table = { name: string; columns: string; bytes: number }

/** A large table takes an hour on a slow disk. */
const COPY_TIMEOUT_MS = 12 * 3_600_000
// A partition comes with its parent.
const OURS = `n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`

/** One snapshot, and one transaction in `to`. */
export async function copyTables({ from, to, folder, onTable }: Copying): Promise<void> {
  const options = { name: 'guiche-upgrade', queryTimeoutMs: COPY_TIMEOUT_MS }
  await withClient(from, options, (source) =>
    withClient(to, options, async (target) => {
      await source.query('begin isolation level repeatable read read only')
      await refuseOtherDatabases(source)
      await target.query('begin')
      await addPartitions(source, target)
      // Rows of a snapshot agree with each other. Triggers would refuse old rows, and count them twice.
      await target.query('set local session_replication_role = replica')
      const tables = await listTables(source)
      await target.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
      const all = tables.reduce((sum, { bytes }) => sum + bytes, 1)
      let done = 0
      for (const table of tables) {
        onTable(done / all, table.name)
        await copyTable(source, target, table, join(folder, 'table'))
        done += table.bytes
      }
      await copySequences(source, target)
      await target.query('commit')
      await target.query('analyze')
    }),
  )
}

/** Through a file that the servers write and read themselves. */
async function copyTable(source: pg.Client, target: pg.Client, { name, columns }: Table, path: string): Promise<void> {
  const file = `'${path.replaceAll("'", "''")}'`
  try {
    // Only a query can be copied from a partitioned table.
    const { rowCount: read } = await source.query(`copy (select ${columns} from ${name}) to ${file}`)
    const { rowCount: written } = await target.query(`copy ${name} (${columns}) from ${file}`)
    if (read !== written) throw new Error(`${name} has ${read} rows, and ${written} were copied`)
  } finally {
    await rm(path, { force: true })
  }
}

async function listTables(source: pg.Client): Promise<Table[]> {
  const { rows } = await source.query<Table>(
    `select format('%I.%I', n.nspname, c.relname) as name,
       (select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
       coalesce((select sum(pg_relation_size(relid)) from pg_partition_tree(c.oid)), pg_relation_size(c.oid))::float8
         as bytes
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition and ${OURS} order by 1`,
  )
  return rows
}

/** The service adds partitions as time goes by. */
async function addPartitions(source: pg.Client, target: pg.Client): Promise<void> {
  const { rows } = await source.query<{ sql: string }>(
    `select format('create table if not exists %I.%I partition of %s %s', n.nspname, c.relname,
       i.inhparent::regclass, pg_get_expr(c.relpartbound, c.oid)) as sql
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_inherits i on i.inhrelid = c.oid
     where c.relkind in ('r', 'p') and c.relispartition and ${OURS} order by c.oid`,
  )
  await target.query('set local role guiche')
  for (const { sql } of rows) await target.query(sql)
  await target.query('reset role')
}

async function copySequences(source: pg.Client, target: pg.Client): Promise<void> {
  const { rows: sequences } = await source.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S' and ${OURS}`,
  )
  for (const { name } of sequences) {
    const { rows } = await source.query<{ last: string; isCalled: boolean }>(
      `select last_value::text as last, is_called as "isCalled" from ${name}`,
    )
    await target.query('select setval($1::regclass, $2::bigint, $3)', [name, rows[0]!.last, rows[0]!.isCalled])
  }
}

async function refuseOtherDatabases(source: pg.Client): Promise<void> {
  const { rows } = await source.query<{ name: string }>(
    `select datname as name from pg_database
     where not datistemplate and datname not in ('postgres', current_database()) order by 1`,
  )
  if (rows.length === 0) return
  const names = rows.map(({ name }) => name).join(', ')
  throw new OperatorError(`The server has databases that are not of guiche (${names}): move or drop them first`)
}
