import { uuidOfTime } from '../../base/ids.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import type { Provider } from '../ports/provider.ts'
import { lockCharges } from './charge-reads.ts'
import { hexId } from '../../db/sql-values.ts'

// For a day the idempotency key of such a charge may be repeated, and a provider that made it after all would take a
// payment. For 90 days a Pix can be returned, and the provider may tell of it.
const KEPT_MS = 90 * 24 * 3_600_000
// Some milliseconds of reading, and locks for as long.
const BATCH = 1_000

/** Reads charges once, in the order of their ids: an index on their state would cost every deposit more. */
export function purgeFailedCharges(core: Core & { providers: Provider[] }): Promise<'more' | 'idle'> {
  const before = uuidOfTime(new Date(core.now().getTime() - KEPT_MS))
  const providers = core.providers.map(({ name }) => name)
  return transact(core.pool, async (tx) => {
    // Another process that is at it has locked the row.
    const [cursor] = await tx.rows<{ readUntil: string }>(
      `select read_until as "readUntil" from purge_cursors where name = 'failed_charges' for update skip locked`,
    )
    if (!cursor) return 'idle'
    const charges = await tx.rows<{ id: string; status: string }>(
      `select id, status from charges where id > $1 and id < $2 order by id limit $3`,
      [cursor.readUntil, before, BATCH],
    )
    const last = charges.at(-1)
    if (!last) return 'idle'
    const failed = charges.flatMap(({ id, status }) => (status === 'FAILED' ? [id] : []))
    if (failed.length > 0) {
      // Locked before the references are read: a payment that settles at this moment is seen.
      await lockCharges(tx, failed)
      await deleteUnreferenced(tx, failed, providers)
    }
    await tx.run(`update purge_cursors set read_until = $1 where name = 'failed_charges'`, [last.id])
    return charges.length === BATCH ? 'more' : 'idle'
  })
}

/** Keeps what received a payment that did not fit, and what is still to be withdrawn somewhere. */
async function deleteUnreferenced(tx: Tx, ids: string[], providers: string[]): Promise<void> {
  await tx.run(
    `delete from charges c
     where c.id = any($1) and c.status = 'FAILED'
       and not exists (select from payments p where p.charge_id = c.id and p.credited)
       and not exists (select from payments p where p.charge_id = c.id and not p.credited)
       and not exists (
         select from checks k
         where k.provider = any($2 || array(select provider from sweeps) || c.provider) and k.subject = ${hexId('c.id')}
       )`,
    [ids, providers],
  )
}
