import type { Cents } from '../../base/money.ts'
import { query, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Resolution } from '../exceptions/exception-states.ts'
import type { CodeRefusal, SuspenseKind } from './book-payments.ts'

// Money that was received for a charge without completing it, because of a wrong amount or as a second payment, or for
// a code that did not take it. Money that was refunded is neither held nor kept.

export type HeldMoney = {
  heldCents: Cents
  /** The operator decided: it was credited to an account or written off. */
  keptCents: Cents
  returnedCents: Cents
}

export const NOTHING_HELD: HeldMoney = { heldCents: 0, keptCents: 0, returnedCents: 0 }

/** The exception of the payment itself, not of one of its refunds. */
const OWN_EXCEPTION = `
  x.payment_id = p.id and x.refund_id is null and x.kind not in ('foreign_refund', 'undone_refund')`

const sumsOf = (id: string, payments: string, where: string) => `
  select
    ${id} as id,
    coalesce(sum(p.amount_cents - r.returned) filter (where x.resolved_at is null), 0)::bigint as "heldCents",
    coalesce(sum(p.amount_cents - r.returned) filter (where x.resolved_at is not null), 0)::bigint as "keptCents",
    sum(r.returned - r.undone)::bigint as "returnedCents"
  from ${payments}
  join exceptions x on ${OWN_EXCEPTION}
  cross join lateral (
    select
      coalesce(sum(amount_cents), 0) as returned,
      -- The provider took these refunds back.
      coalesce(sum(amount_cents) filter (where exists (
        select from exceptions u where u.refund_id = refunds.id and u.kind = 'undone_refund')), 0) as undone
    from refunds where payment_id = p.id and status = 'DONE'
  ) r
  where ${where} and not p.credited
  group by 1`

export const SELECT_HELD = sumsOf(hexId('p.charge_id'), 'payments p', 'p.charge_id = any($1)')

const SELECT_HELD_OF_CODES = sumsOf(
  'k.txid',
  'codes k join payments p on p.charge_id is null and lower(p.txid) = k.txid and p.provider = k.provider',
  `k.txid = any($1) and x.kind <> 'unknown_charge'`,
)

/** By txid. Codes without such money are not in the map. */
export function readHeldOfCodes(core: Core, txids: string[]): Promise<Map<string, HeldMoney>> {
  return readSums(core, SELECT_HELD_OF_CODES, txids)
}

/** Charges without such money are not in the map. */
export function readHeld(core: Core, chargeIds: string[]): Promise<Map<string, HeldMoney>> {
  return readSums(core, SELECT_HELD, chargeIds)
}

async function readSums(core: Core, sql: string, ids: string[]): Promise<Map<string, HeldMoney>> {
  if (ids.length === 0) return new Map()
  const rows = await query<HeldMoney & { id: string }>(core.pool, sql, [ids])
  return new Map(rows.map(({ id, ...held }) => [id, held]))
}

export async function readHeldIn(tx: Tx, chargeId: string): Promise<HeldMoney> {
  const [row] = await tx.rows<HeldMoney>(SELECT_HELD, [[chargeId]])
  if (!row) return NOTHING_HELD
  return { heldCents: row.heldCents, keptCents: row.keptCents, returnedCents: row.returnedCents }
}

export type HeldPayment = HeldFacts & (Released | { resolvedAt: null })
export type ReleasedPayment = HeldFacts & Released

type HeldFacts = {
  endToEndId: string
  amountCents: Cents
  paidAt: Date
  kind: Exclude<SuspenseKind, CodeRefusal>
  heldAt: Date
  isOwn: boolean
}
type Released = { resolvedAt: Date; resolution: Exclude<Resolution['how'], 'charge_account'> }

/** All payments that were ever held for charge $1, oldest first, also those that completed it in the end. */
export const SELECT_HELD_PAYMENTS = `
  select
    p.end_to_end_id as "endToEndId",
    p.amount_cents as "amountCents",
    p.occurred_at as "paidAt",
    x.kind,
    x.opened_at as "heldAt",
    x.resolution,
    coalesce(x.account_id = c.account_id, false) as "isOwn",
    x.resolved_at as "resolvedAt"
  from charges c
  cross join lateral (
    select * from payments where charge_id = c.id and credited
    union all
    select * from payments where charge_id = c.id and not credited
  ) p
  join exceptions x on ${OWN_EXCEPTION}
  where c.id = $1 order by x.id limit $2`
