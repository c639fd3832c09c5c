import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, type Tx } from '../../db/tx.ts'
import { SYSTEM, writeAudit } from '../core/audit-log.ts'
import { isDay } from '../core/business-days.ts'
import type { ComparisonDifference } from './differences.ts'
import type { Comparison } from './compare.ts'
import type { Core } from '../core/core.ts'

/** The comparison of a day at one provider when the day was closed. A day closed again has a newer revision. */
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
  /** The signed head of the history then; null of a day that an older release closed. */
  head: string | null
}

export type ClosingFilter = {
  provider?: string | undefined
  from?: string | undefined
  to?: string | undefined
  limit: number
}

/** Rows never change: a day that is closed again gets the next revision, which this returns. */
export async function insertClosing(
  tx: Tx,
  now: Date,
  { day, comparison, head }: { day: string; comparison: Comparison; head: string },
): Promise<number> {
  // Concurrent closings take turns; there are few a day.
  await tx.run('lock table closings in share row exclusive mode')
  const { revision } = await tx.one<{ revision: number }>(
    'select coalesce(max(revision), 0) + 1 as revision from closings where provider = $1 and day = $2',
    [comparison.provider, day],
  )
  const { provider, providerCount, ledgerCount, differenceCount } = comparison
  await insertRow(tx, 'closings', {
    provider,
    day,
    revision,
    starts_at: comparison.from,
    ends_at: comparison.to,
    provider_count: providerCount,
    provider_total_cents: comparison.providerTotalCents,
    ledger_count: ledgerCount,
    ledger_total_cents: comparison.ledgerTotalCents,
    difference_count: differenceCount,
    differences: JSON.stringify(comparison.differences),
    closed_at: now,
    head,
  })
  await writeAudit(tx, now, SYSTEM, {
    action: 'day.closed',
    subject: `provider ${provider}`,
    details: { day, revision, providerCount, ledgerCount, differenceCount },
    rows: [['closing', `${provider} ${day} ${revision}`]],
  })
  return revision
}

export async function listClosings(core: Core, filter: ClosingFilter): Promise<Closing[]> {
  for (const day of [filter.from, filter.to]) {
    if (day !== undefined && !isDay(day))
      throw new Fault('window_invalid', 'from and to must be days such as 2026-01-31')
  }
  return query<Closing>(
    core.pool,
    `select distinct on (closings.day, provider) provider, day::text as day, revision,
       starts_at as "startsAt", ends_at as "endsAt",
       provider_count as "providerCount", provider_total_cents as "providerTotalCents",
       ledger_count as "ledgerCount", ledger_total_cents as "ledgerTotalCents",
       difference_count as "differenceCount", differences, closed_at as "closedAt", head
     from closings
     where ($1::text is null or provider = $1) and ($2::date is null or day >= $2) and ($3::date is null or day <= $3)
     order by closings.day desc, provider, revision desc
     limit $4`,
    [filter.provider ?? null, filter.from ?? null, filter.to ?? null, filter.limit],
  )
}
