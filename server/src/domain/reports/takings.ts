import type { Cents } from '../../base/money.ts'
import { inTurn, query } from '../../db/tx.ts'
import { readHolder } from '../accounts/time-zone.ts'
import { dayOf, dayStart } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'
import { idsOfPeriod, newestFirst } from '../search/find-charges.ts'
import type { HeldMoney } from '../deposits/held-payments.ts'
import { readDepositsById, type Deposit } from './list-deposits.ts'

// What the counter of an account took. Its pages write till and shift into the metadata of a deposit.

export const TILL = 'counter.till'
export const SHIFT = 'counter.shift'

/** By status, what was asked for or paid; and of what was paid, what was given back. */
export type Totals = {
  paid: number
  paidCents: Cents
  refunded: number
  refundedCents: Cents
  pending: number
  pendingCents: Cents
  expired: number
  canceled: number
}

export type Takings = {
  day: string
  today: Totals
  shift: Totals | null
  deposits: Deposit[]
  held: Map<string, HeldMoney>
  /** False: the account had more deposits than are read at once, and the newest were counted. */
  isComplete: boolean
}

// A shift may pass midnight, and nobody works longer.
const SHIFT_MS = 24 * 3_600_000
// Of all deposits of the account, those by API included: 20,000 are read in 30 ms, and a counter makes a few hundred.
const MAX_READ = 20_000
// A day of one till. The totals count those that are not listed too.
const LISTED = 100

/** Of the account's day, and of one shift. */
export function readTakings(core: Core, accountId: string, shift: string | null): Promise<Takings> {
  return inTurn(core.pool, async () => {
    const { timeZone } = await readHolder(core, accountId)
    const now = core.now()
    const day = dayOf(now, timeZone)
    const today = dayStart(day, timeZone)
    const from = shift === null ? today : new Date(Math.min(today.getTime(), now.getTime() - SHIFT_MS))
    const { firstId } = idsOfPeriod({ from })
    const [row] = await query<Counted>(core.pool, COUNT, [[accountId], firstId, MAX_READ, from, today, shift, LISTED])
    const counted = row!
    const { deposits, held } = await readDepositsById(core, counted.ids)
    return {
      day,
      today: counted.today,
      shift: shift === null ? null : counted.shift,
      deposits,
      held,
      isComplete: counted.read < MAX_READ,
    }
  })
}

type Counted = { today: Totals; shift: Totals; ids: string[]; read: number }

// Read as text: a row that somebody altered may hold something that is no JSON, and must not take the counter away.
const textOf = (name: string) => `substring(c.metadata from '"${name.replace('.', '\\.')}":"([A-Za-z0-9]+)"')`

const totalsOf = (scope: string) => `json_build_object(
    'paid', count(*) filter (where ${scope} and status = 'COMPLETED'),
    'paidCents', coalesce(sum(cents) filter (where ${scope} and status = 'COMPLETED'), 0),
    'refunded', count(*) filter (where ${scope} and refunded_cents > 0),
    'refundedCents', coalesce(sum(refunded_cents) filter (where ${scope}), 0),
    'pending', count(*) filter (where ${scope} and status = 'PENDING'),
    'pendingCents', coalesce(sum(cents) filter (where ${scope} and status = 'PENDING'), 0),
    'expired', count(*) filter (where ${scope} and status = 'EXPIRED'),
    'canceled', count(*) filter (where ${scope} and status = 'CANCELED'))`

// The newest ids of the account, which its index gives in this order, and then those of the counter among them.
const COUNT = `
  with newest as materialized (
    select c.id, c.status, c.created_at, coalesce(c.received_cents, c.value_cents) as cents, c.refunded_cents,
      ${textOf(TILL)} as till, ${textOf(SHIFT)} as shift
    from charges c where c.account_id = any($1) and c.id >= $2 ${newestFirst(true)} limit $3
  ), counter as (
    select *, created_at >= $5 as is_today, coalesce(shift = $6, false) as is_shift from newest
    where till is not null and status not in ('OPENING', 'FAILED') and created_at >= $4
  )
  select ${totalsOf('is_today')} as today, ${totalsOf('is_shift')} as shift, (select count(*) from newest) as read,
    array(select id from counter where is_today or is_shift order by id desc limit $7) as ids
  from counter`
