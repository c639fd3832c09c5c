import { hexFromUuid, uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import type { Resolution } from './exception-states.ts'
import type { Core } from '../core/core.ts'

// Money that was received for a charge and did not complete it: a wrong amount, a second payment. What went back to the payer does not count.

export type HeldMoney = {
  /** It waits for the operator's decision. */
  heldCents: Cents
  /** The operator decided: an account was credited with it, or it was written off. */
  keptCents: Cents
}

export const NOTHING_HELD: HeldMoney = { heldCents: 0, keptCents: 0 }

/** The exception of a payment itself, and not that of one of its refunds. */
const OWN_EXCEPTION = `x.payment_id = p.id and x.refund_id is null and x.kind not in ('foreign_refund', 'undone_refund')`

/** By the charge's id, for those that have any. */
export const SELECT_HELD = `
  select p.charge_id as id,
    coalesce(sum(p.amount_cents - r.returned) filter (where x.resolved_at is null), 0)::bigint as held_cents,
    coalesce(sum(p.amount_cents - r.returned) filter (where x.resolved_at is not null), 0)::bigint as kept_cents
  from payments p
  join exceptions x on ${OWN_EXCEPTION}
  cross join lateral (
    select coalesce(sum(amount_cents), 0) as returned from refunds where payment_id = p.id and status = 'DONE'
  ) r
  where p.charge_id = any($1) and not p.credited
  group by p.charge_id`

export type HeldRow = { id: string; held_cents: number; kept_cents: number }

/** Charges without such money are not in the map. */
export async function readHeld(core: Core, chargeIds: string[]): Promise<Map<string, HeldMoney>> {
  if (chargeIds.length === 0) return new Map()
  const rows = await query<HeldRow>(core.pool, SELECT_HELD, [chargeIds.map(uuidFromHex)])
  return new Map(rows.map((row) => [hexFromUuid(row.id), heldFromRow(row)]))
}

export function heldFromRow(row: HeldRow | undefined): HeldMoney {
  return row ? { heldCents: row.held_cents, keptCents: row.kept_cents } : NOTHING_HELD
}

export type HeldPayment = {
  endToEndId: string
  amountCents: Cents
  kind: string
  heldAt: Date
  resolution: Resolution['how'] | null
  /** Whether it went to the account of the charge. */
  isOwn: boolean
  resolvedAt: Date | null
}

/** All that ever stood aside for one charge, oldest first, those that completed it in the end included. */
export const SELECT_HELD_PAYMENTS = `
  select p.end_to_end_id as "endToEndId", p.amount_cents as "amountCents", x.kind, x.opened_at as "heldAt", x.resolution,
    coalesce(x.account_id = c.account_id, false) as "isOwn", x.resolved_at as "resolvedAt"
  from charges c
  cross join lateral (
    select * from payments where charge_id = c.id and credited
    union all
    select * from payments where charge_id = c.id and not credited
  ) p
  join exceptions x on ${OWN_EXCEPTION}
  where c.id = $1 order by x.id limit $2`
