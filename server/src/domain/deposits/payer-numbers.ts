import { readTaxId, type TaxId } from '../../base/tax-id.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

// The number of the person who is to pay a charge, encrypted. It is there as long as the provider may be asked by it.

/** Undefined when it is erased. */
export async function readPayerNumber(core: Core, chargeId: string): Promise<TaxId | undefined> {
  const sql = 'select number from payer_numbers where charge_id = $1'
  const [row] = await query<{ number: string }>(core.pool, sql, [chargeId])
  return row && readTaxId(core.settings.secretBox.open(row.number, chargeId))
}

/** In SQL, of charge n.charge_id: the provider is still asked who made a payment of it. */
const ASKED = `
  select p.end_to_end_id from payments p
  join checks k on k.provider = p.provider and k.subject = 'payer ' || p.end_to_end_id
  where p.charge_id = n.charge_id`

/** The question about this payment is over. The number stays while another payment of the charge needs it. */
export async function erasePayerNumber(tx: Tx, chargeId: string, endToEndId: string): Promise<void> {
  await tx.run(
    `delete from payer_numbers n
     where n.charge_id = $1 and not exists (select from (${ASKED}) k where k.end_to_end_id <> $2)`,
    [chargeId, endToEndId],
  )
}

// A payment that was confirmed in the last second may be reported a day later. After that, nobody can say who paid it.
const KEPT_MS = 24 * 3_600_000
// Keeps the locks of a purge to milliseconds.
const BATCH = 1_000

/** Of charges that have ended, and that nobody can pay any more. */
export async function purgePayerNumbers(core: Core): Promise<'more' | 'idle'> {
  const deleted = await transact(core.pool, (tx) =>
    tx.run(
      `delete from payer_numbers where charge_id in (
         select n.charge_id from payer_numbers n left join charges c on c.id = n.charge_id
         where (c.id is null or c.closed_at < $1) and not exists (${ASKED})
         limit $2 for update of n skip locked
       )`,
      [new Date(core.now().getTime() - KEPT_MS), BATCH],
    ),
  )
  return deleted === BATCH ? 'more' : 'idle'
}
