import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { transferAccount } from '../ledger/ledger.ts'

// Payments and transfers of earlier versions have no account id. A worker fills it in, a batch at a time, and remembers
// in `backfills` how far it is. Rows that are inserted meanwhile have it, whichever version inserts them: triggers see
// to that. So one pass over each table is enough.

// Some tens of milliseconds: nobody waits for longer for a row that is being filled.
const BATCH = 1_000

/** In SQL, for each table: the account of a row r, and the type of its id. */
const TABLES = {
  payments: { account: '(select account_id from charges where id = r.charge_id)', idType: 'uuid' },
  transfers: { account: transferAccount('r'), idType: 'bigint' },
}

type Table = keyof typeof TABLES

/** Fills in a batch. 'idle': nothing is left, or another process is at it. */
export async function backfillAccounts(core: Core): Promise<'more' | 'idle'> {
  const batch = await transact(core.pool, async (tx) => {
    const [next] = await tx.rows<{ name: Table; until: string }>(
      `select table_name as name, filled_until as until from backfills order by table_name limit 1
       for update skip locked`,
    )
    return next && { table: next.name, isLast: await fillBatch(tx, next.name, next.until) }
  })
  if (batch?.isLast) core.log.info({ table: batch.table }, 'the account ids of all older rows are filled in')
  return batch ? 'more' : 'idle'
}

/** Resolves to whether it was the last. */
async function fillBatch(tx: Tx, table: Table, until: string): Promise<boolean> {
  const { account, idType } = TABLES[table]
  const { last } = await tx.one<{ last: string | null }>(
    `with batch as materialized (
       select r.id, case when r.account_id is null then ${account} end as account_id
       from ${table} r where r.id > $1::${idType} order by r.id limit $2
     ), filled as (
       update ${table} t set account_id = b.account_id
       from batch b where t.id = b.id and t.account_id is null and b.account_id is not null
     )
     select (select b.id::text from batch b order by b.id desc limit 1) as last`,
    [until, BATCH],
  )
  if (last === null) await tx.run('delete from backfills where table_name = $1', [table])
  else await tx.run('update backfills set filled_until = $2 where table_name = $1', [table, last])
  return last === null
}
