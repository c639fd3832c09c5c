import type { Cents } from '../../base/money.ts'
import { query, queryOne } from '../../db/tx.ts'
import { CREDITS, readBalance, type Balance } from '../ledger/account-statement.ts'
import { readHolder } from '../accounts/time-zone.ts'
import { listDeposits, type Deposit } from './list-deposits.ts'
import { listClosings, type Closing } from '../reconciliation/closings.ts'
import { DAY_ZONE, dayOf, daysUntil, dayStart } from '../core/business-days.ts'
import { readReport } from './read-report.ts'
import { readDailyTotals, refreshDailyTotals, type Counts, type DayCounts } from './daily-totals.ts'
import { IS_HELD_OF_CODE } from '../deposits/held-events.ts'
import type { HeldMoney } from '../deposits/held-payments.ts'
import type { Core } from '../core/core.ts'
import { HAS_SECOND_FACTOR } from '../users/second-factor.ts'
import type { Context } from '../context.ts'

// The first page of the dashboard: how deposits go, and what needs attention.

export type Overview = Balance & {
  ageSeconds: number | null
  today: Counts
  /** What was paid yesterday until the present time of day, to compare today with. */
  yesterdaySoFarCents: Cents
  last30: Counts
  previous30: Counts
  days: DayCounts[]
  latest: Deposit[]
  held: Map<string, HeldMoney>
  attention: Attention[]
}

export type Attention = {
  kind: AttentionKind
  subjectId: string | null
  name: string | null
  at: Date | null
  valueCents: Cents | null
}

export const ATTENTION_KINDS = [
  'account_suspended',
  'payment_held',
  'code_payment_held',
  'webhook_disabled',
  'webhook_failing',
  'key_expiring',
  'no_key',
  'no_webhook',
  'no_second_factor',
] as const
export type AttentionKind = (typeof ATTENTION_KINDS)[number]

const SHOWN_DAYS = 30
const LATEST = 8
// Time enough to make another key and deploy it.
const KEY_EXPIRES_SOON_MS = 14 * 24 * 3_600_000
const MAX_ATTENTION = 50
// Held payments, oldest first. More of them must not push out the rest.
const MAX_HELD = 10

export async function readOverview(ctx: Context, accountId: string): Promise<Overview> {
  // One after another: a page open on many screens must not take the connections that settling needs.
  const balance = await readBalance(ctx, accountId)
  const { timeZone } = await readHolder(ctx, accountId)
  await refreshDailyTotals(ctx, accountId)
  const { result, ageSeconds } = await readReport(ctx, async (core) => ({
    ...(await readPeriods(core, accountId, timeZone)),
    yesterdaySoFarCents: await readYesterdaySoFar(core, accountId, timeZone),
  }))
  const { deposits: latest, held } = await listDeposits(ctx, accountId, { limit: LATEST })
  const attention = await readAttention(ctx, accountId)
  return { ...balance, ageSeconds, ...result, latest, held, attention }
}

/** Of today and of the last 30 days, in the time zone of the account. */
export async function readVolume(core: Core, accountId: string): Promise<{ today: Counts; last30: Counts }> {
  const { timeZone } = await readHolder(core, accountId)
  await refreshDailyTotals(core, accountId)
  const { today, last30 } = await readPeriods(core, accountId, timeZone)
  return { today, last30 }
}

export type OperatorOverview = {
  ageSeconds: number | null
  accounts: number
  suspenseCents: Cents
  missingCents: Cents
  today: Counts
  days: DayCounts[]
  lastClosing: Closing | null
}

export async function readOperatorOverview(ctx: Context): Promise<OperatorOverview> {
  await refreshDailyTotals(ctx, null)
  const { result, ageSeconds } = await readReport(ctx, readSums)
  return { ...result, ageSeconds }
}

async function readSums(core: Core): Promise<Omit<OperatorOverview, 'ageSeconds'>> {
  const { today, days } = await readPeriods(core, null, DAY_ZONE)
  const sums = await queryOne<Omit<OperatorOverview, 'ageSeconds' | 'today' | 'days' | 'lastClosing'>>(
    core.pool,
    `select (select count(*) from accounts) as accounts,
       coalesce(sum(b.credits_cents - b.debits_cents) filter (where l.kind = 'suspense'), 0)::bigint as "suspenseCents",
       coalesce(sum(b.debits_cents - b.credits_cents) filter (where l.kind = 'missing'), 0)::bigint as "missingCents"
     from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id where l.kind in ('suspense', 'missing')`,
  )
  const [lastClosing = null] = await listClosings(core, { limit: 1 })
  return { ...sums, today, days, lastClosing }
}

async function readPeriods(core: Core, accountId: string | null, zone: string) {
  const wanted = daysUntil(dayOf(core.now(), zone), 2 * SHOWN_DAYS)
  const totals = await readDailyTotals(core, accountId, wanted[0]!)
  const found = new Map(totals.map((counts) => [counts.day, counts]))
  const all = wanted.map((day) => found.get(day) ?? { day, ...NOTHING })
  const days = all.slice(SHOWN_DAYS)
  return {
    today: sum(days.slice(-1)),
    last30: sum(days),
    previous30: sum(all.slice(0, SHOWN_DAYS)),
    days,
  }
}

/** Reads the credits of two days, newest first, whatever the length of the history. */
async function readYesterdaySoFar(core: Core, accountId: string, zone: string): Promise<Cents> {
  const now = core.now()
  const [yesterday, today] = daysUntil(dayOf(now, zone), 2).map((day) => dayStart(day, zone)) as [Date, Date]
  // A day that begins an hour late is an hour shorter.
  const until = new Date(Math.min(yesterday.getTime() + now.getTime() - today.getTime(), today.getTime()))
  const { cents } = await queryOne<{ cents: Cents }>(
    core.pool,
    `with mine as (
       select id from ledger_accounts where kind = 'balance' and account_id = $1
     ), older as (
       select id from transfers where credit_id = (select id from mine) and ${CREDITS} and recorded_at < $2
       order by id desc limit 1
     )
     select coalesce(sum(t.amount_cents + c.fee_cents), 0)::bigint as cents
     from transfers t join charges c on c.id = t.charge_id
     where t.credit_id = (select id from mine) and t.${CREDITS} and t.id > coalesce((select id from older), 0)
       and t.kind in ('deposit', 'matched_deposit') and t.occurred_at >= $2 and t.occurred_at < $3`,
    [accountId, yesterday, until],
  )
  return cents
}

const NOTHING: Counts = { created: 0, paid: 0, paidCents: 0, feeCents: 0 }

function sum(days: Counts[]): Counts {
  const total = { ...NOTHING }
  for (const day of days) {
    total.created += day.created
    total.paid += day.paid
    total.paidCents += day.paidCents
    total.feeCents += day.feeCents
  }
  return total
}

async function readAttention(core: Core, accountId: string): Promise<Attention[]> {
  const now = core.now()
  const rows = await query<Attention>(
    core.pool,
    `with working as (
       select id, name, expires_at from api_keys
       where account_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)
     ), own_webhooks as (
       select id, name, failing_since, disabled_at from webhooks where account_id = $1 and deleted_at is null
     )
     select 'account_suspended' as kind, null as "subjectId", suspended_reason as name, suspended_at as at,
       null::bigint as "valueCents"
     from accounts where id = $1 and suspended_at is not null
     union all (
       select 'payment_held', c.payment_link_id::text, x.kind, x.opened_at, p.amount_cents
       from exceptions x join payments p on p.id = x.payment_id join charges c on c.id = p.charge_id
       where x.resolved_at is null and x.refund_id is null and c.account_id = $1 order by x.opened_at limit $4)
     union all (
       select 'code_payment_held', k.external_id, x.kind, x.opened_at, p.amount_cents
       from exceptions x join payments p on p.id = x.payment_id join codes k on ${IS_HELD_OF_CODE}
       where x.resolved_at is null and k.account_id = $1 order by x.opened_at limit $4)
     union all select 'webhook_disabled', id::text, name, disabled_at, null from own_webhooks where disabled_at is not null
     union all select 'webhook_failing', id::text, name, failing_since, null from own_webhooks
       where failing_since is not null and disabled_at is null
     union all select 'key_expiring', id::text, name, expires_at, null from working where expires_at <= $3
     union all select 'no_key', null, null, null, null where not exists (select from working)
     union all select 'no_webhook', null, null, null, null where not exists (select from own_webhooks)
     union all select 'no_second_factor', null, null, null, null
       from accounts a join users u on u.id = a.user_id where a.id = $1 and not ${HAS_SECOND_FACTOR}`,
    [accountId, now, new Date(now.getTime() + KEY_EXPIRES_SOON_MS), MAX_HELD],
  )
  const rank = ({ kind }: Attention) => ATTENTION_KINDS.indexOf(kind)
  return rows
    .toSorted((a, b) => rank(a) - rank(b) || (a.at?.getTime() ?? 0) - (b.at?.getTime() ?? 0))
    .slice(0, MAX_ATTENTION)
}
