import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import { query, type Tx } from '../../db/tx.ts'
import { isDay } from '../core/business-days.ts'
import type { ComparisonDifference } from './differences.ts'
import type { Statement } from './compare.ts'
import type { Core } from '../core/core.ts'

/** What a day came to at one provider, as it was found when the day was closed. Of a day that was closed again, the newest. */
export type Closing = {
  provider: string
  day: string
  revision: number
  startsAt: Date
  endsAt: Date
  providerCount: number
  providerTotalCents: Cents
  ledgerCount: number
  ledgerTotalCents: Cents
  differenceCount: number
  differences: ComparisonDifference[]
  closedAt: Date
}

export type ClosingFilter = {
  provider?: string | undefined
  /** Days such as 2026-01-31, both included. */
  from?: string | undefined
  to?: string | undefined
  limit: number
}

/** A row is never changed: a day that is closed again gets the next revision, which this returns. */
export async function insertClosing(tx: Tx, now: Date, day: string, statement: Statement): Promise<number> {
  // Two who close the same day at once take turns; it happens once a day.
  await tx.run('lock table closings in share row exclusive mode')
  const [row] = await tx.rows<{ revision: number }>(
    `insert into closings (provider, day, revision, starts_at, ends_at, provider_count, provider_total_cents, ledger_count, ledger_total_cents,
       difference_count, differences, closed_at)
     select $1, $2, coalesce(max(revision), 0) + 1, $3, $4, $5, $6, $7, $8, $9, $10, $11
     from closings where provider = $1 and day = $2
     returning revision`,
    [
      statement.provider,
      day,
      statement.from,
      statement.to,
      statement.providerCount,
      statement.providerTotalCents,
      statement.ledgerCount,
      statement.ledgerTotalCents,
      statement.differenceCount,
      JSON.stringify(statement.differences),
      now,
    ],
  )
  return row!.revision
}

/** The newest days first. */
export async function listClosings(core: Core, filter: ClosingFilter): Promise<Closing[]> {
  for (const day of [filter.from, filter.to]) {
    if (day !== undefined && !isDay(day))
      throw new Fault('window_invalid', 'from and to must be days such as 2026-01-31')
  }
  return query<Closing>(
    core.pool,
    `select distinct on (closings.day, provider) provider, day::text as day, revision, starts_at as "startsAt", ends_at as "endsAt",
       provider_count as "providerCount", provider_total_cents as "providerTotalCents", ledger_count as "ledgerCount",
       ledger_total_cents as "ledgerTotalCents", difference_count as "differenceCount", differences, closed_at as "closedAt"
     from closings
     where ($1::text is null or provider = $1) and ($2::date is null or day >= $2) and ($3::date is null or day <= $3)
     order by closings.day desc, provider, revision desc
     limit $4`,
    [filter.provider ?? null, filter.from ?? null, filter.to ?? null, filter.limit],
  )
}
