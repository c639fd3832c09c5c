import type { Cents } from '../../base/money.ts'
import { inTurn, query } from '../../db/tx.ts'
import { readHolder } from '../accounts/time-zone.ts'
import { dayOf, dayStart } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid } from '../core/cursor.ts'
import type { ChargeStatus } from '../deposits/charge-reads.ts'
import { idsOfPeriod, newestFirst, seenBefore } from '../search/find-charges.ts'
import type { HeldMoney } from '../deposits/held-payments.ts'
import { readDepositsById, type Deposit } from './list-deposits.ts'

// What the counter of an account took. Its pages write till and shift into the metadata of a deposit.

export const TILL = 'counter.till'
const SHIFT = 'counter.shift'

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
// Of all deposits of the account, those by API included. A counter's day is one page. With larger ones, the planner
// takes another index, and reads the deposits of all accounts.
const PAGE = 1_000
const MAX_PAGES = 20
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
    const { taken, isComplete } = await readTaken(core, accountId, from)
    const ofToday = taken.filter(({ createdAt }) => createdAt >= today)
    const ofShift = shift === null ? [] : taken.filter((one) => one.shift === shift)
    const listed = taken.filter((one) => one.createdAt >= today || (shift !== null && one.shift === shift))
    const deposits = await readDepositsById(
      core,
      listed.slice(0, LISTED).map(({ id }) => id),
    )
    return { day, today: addUp(ofToday), shift: shift === null ? null : addUp(ofShift), ...deposits, isComplete }
  })
}

type Taken = {
  id: string
  status: ChargeStatus
  createdAt: Date
  cents: Cents
  refundedCents: Cents
  shift: string | null
}

function addUp(taken: Taken[]): Totals {
  const sum = (some: Taken[], centsOf: (one: Taken) => Cents) => some.reduce((total, one) => total + centsOf(one), 0)
  const by = (status: ChargeStatus) => taken.filter((one) => one.status === status)
  const refunded = taken.filter(({ refundedCents }) => refundedCents > 0)
  return {
    paid: by('COMPLETED').length,
    paidCents: sum(by('COMPLETED'), ({ cents }) => cents),
    refunded: refunded.length,
    refundedCents: sum(refunded, ({ refundedCents }) => refundedCents),
    pending: by('PENDING').length,
    pendingCents: sum(by('PENDING'), ({ cents }) => cents),
    expired: by('EXPIRED').length,
    canceled: by('CANCELED').length,
  }
}

/** Newest first. */
async function readTaken(core: Core, accountId: string, from: Date): Promise<{ taken: Taken[]; isComplete: boolean }> {
  const { firstId } = idsOfPeriod({ from })
  const taken: Taken[] = []
  let before = cursorUuid(undefined)
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = await query<Row>(core.pool, SELECT_PAGE, [[accountId], before, firstId, PAGE, from])
    taken.push(...rows.filter((row): row is Row & Taken => row.id !== null))
    const { read, last } = rows[0]!
    if (read < PAGE || last === null) return { taken, isComplete: true }
    before = last
  }
  return { taken, isComplete: false }
}

/** Each has what its page read. In the only row of a page without any of the counter, the rest is null. */
type Row = { read: number; last: string | null } & (Taken | { [Name in keyof Taken]: null })

// Read as text: a row that somebody altered may hold something that is no JSON, and must not take the counter away.
const textOf = (name: string) => `substring(c.metadata from '"${name.replace('.', '\\.')}":"([A-Za-z0-9]+)"')`

const SELECT_PAGE = `
  with newest as materialized (
    select c.id, c.status, c.created_at, coalesce(c.received_cents, c.value_cents) as cents, c.refunded_cents,
      ${textOf(TILL)} as till, ${textOf(SHIFT)} as shift
    from charges c where ${seenBefore(true, { accounts: '$1', before: '$2' })} and c.id >= $3 ${newestFirst(true)} limit $4
  )
  select p.read, p.last, n.id, n.status, n.created_at as "createdAt", n.cents, n.refunded_cents as "refundedCents", n.shift
  from (select count(*) as read, (array_agg(id order by id))[1] as last from newest) p
  left join newest n on n.till is not null and n.created_at >= $5
  order by n.id desc`
