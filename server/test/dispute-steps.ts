import { query, transact } from '../src/db/tx.ts'
import { openDispute, type Dispute } from '../src/domain/disputes/dispute-states.ts'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import type { TestAccount, World } from './world.ts'

/** A dispute about a credited payment, as if its provider had told of it. */
export async function contest(
  w: World,
  { account, charge, payment }: { account: TestAccount; charge: Charge; payment: ReceivedPayment },
): Promise<Dispute> {
  const { endToEndId, provider, amountCents } = payment
  const sql = 'select id from payments where end_to_end_id = $1'
  const rows = await query<{ id: string }>(w.pool, sql, [endToEndId])
  const of = { paymentId: rows[0]!.id, provider, amountCents, chargeId: charge.id, accountId: account.accountId }
  const status = 'open' as const
  const found = { id: endToEndId, endToEndId, status, amountCents: null, reason: 'Golpe', openedAt: null }
  return (await transact(w.pool, (tx) => openDispute(tx, w.clock.now(), of, found)))!
}
