import { uuidOfTime } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { queryOne, transact, type Tx } from '../../db/tx.ts'
import { NEWEST_BACKUP } from '../core/backups.ts'
import { dayOf, dayStart } from '../core/business-days.ts'
import type { ExceptionKind } from '../refunds/exceptions.ts'
import { notificationHealth, type NotificationHealth } from '../deposits/notifications.ts'
import type { Core } from '../core/core.ts'

export type Gauges = {
  exceptionsOpen: { kind: ExceptionKind; count: number; oldest: Date }[]
  ledger: { kind: (typeof WATCHED)[number]; cents: Cents }[]
  /** Of the configured providers; closedUntil is null until the first day is closed. */
  sweeps: { provider: string; sweptUntil: Date; closedUntil: Date | null; differenceCount: number | null }[]
  notifications: NotificationHealth[]
  /** Deliveries to webhooks that do not fail: a late one is our fault, and means that workers do not keep up. */
  queues: Record<DueTable | 'deliveries' | 'positions', Queue>
  /** Due deliveries to webhooks that fail. They wait for their receivers, so their age tells nothing about us. */
  failingDeliveries: number
  refundsInDoubt: Queue
  webhooks: { working: number; failing: number; disabled: number }
  lastBackupAt: Date | null
  database: {
    /** False on a standby, and where a setting makes it read-only. */
    isWritable: boolean
    bytes: number
    /** Of the standby that is furthest behind; null if there is none, or this role may not see it. */
    replicationLagSeconds: number | null
    /** How long the oldest transaction has run, of those that this role may see; 0 without one. */
    oldestTransactionSeconds: number
  }
}

type DueTable = 'checks' | 'refunds' | 'refund_checks' | 'notice_emails'

/** Due and not begun: how many, up to MAX_COUNTED, and since when. */
export type Queue = { due: number; oldest: Date | null }

// Money without an owner, missing, or on its way.
export const WATCHED = ['suspense', 'missing', 'refunding', 'owed'] as const

// A longer queue is just as bad, and counting it would cost most when the database is busiest.
const MAX_COUNTED = 10_000
// The statements read small tables or the ends of indexes. One that takes this long means a database in trouble.
const STATEMENT_TIMEOUT_MS = 2_000

export function readGauges(core: Core, providers: string[]): Promise<Gauges> {
  const now = core.now()
  return transact(core.pool, async (tx) => {
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    return {
      notifications: await notificationHealth(tx, now, providers),
      exceptionsOpen: await tx.rows(
        'select kind, count(*), min(opened_at) as oldest from exceptions where resolved_at is null group by kind',
      ),
      ledger: await tx.rows(
        `select l.kind, sum(b.credits_cents - b.debits_cents)::bigint as cents
         from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id where l.kind = any($1) group by 1`,
        [WATCHED],
      ),
      sweeps: await readSweeps(tx, providers),
      queues: {
        checks: await readQueue(tx, now, 'checks'),
        refunds: await readQueue(tx, now, 'refunds'),
        refund_checks: await readQueue(tx, now, 'refund_checks'),
        notice_emails: await readQueue(tx, now, 'notice_emails'),
        deliveries: await readDeliveries(tx, now, 'failing_since is null'),
        positions: await readUnnumbered(tx),
      },
      failingDeliveries: (await readDeliveries(tx, now, 'failing_since is not null')).due,
      refundsInDoubt: await tx.one(
        `select count(*) as due, min(doubted_at) as oldest from refunds
         where status = 'PROCESSING' and doubted_at is not null`,
      ),
      webhooks: await readWebhooks(tx),
      ...(await tx.one<{ lastBackupAt: Date | null }>(`select ${NEWEST_BACKUP} as "lastBackupAt"`)),
      database: await readDatabase(tx),
    }
  })
}

function readSweeps(tx: Tx, providers: string[]): Promise<Gauges['sweeps']> {
  return tx.rows(
    `select s.provider, s.swept_until as "sweptUntil", c.ends_at as "closedUntil", c.difference_count as "differenceCount"
     from sweeps s left join lateral (
       select ends_at, difference_count from closings where provider = s.provider order by day desc, revision desc limit 1
     ) c on true
     where s.provider = any($1)`,
    [providers],
  )
}

function readQueue(tx: Tx, now: Date, table: DueTable): Promise<Queue> {
  return tx.one(
    `select (select count(*) from (select from ${table} where due_at <= $1 limit $2) due) as due,
       (select min(due_at) from ${table} where due_at <= $1) as oldest`,
    [now, MAX_COUNTED],
  )
}

/** What is committed and has no position in a history yet. */
function readUnnumbered(tx: Tx): Promise<Queue> {
  return tx.one(
    `select (select count(*) from (select from unnumbered limit $1) waiting) as due, (
       select coalesce(
         (select created_at from events where id = u.event_ids[1]), (select at from audit_log where id = u.line_id)
       ) from (select * from unnumbered order by place limit 1) u
     ) as oldest`,
    [MAX_COUNTED],
  )
}

function readDeliveries(
  tx: Tx,
  now: Date,
  which: 'failing_since is null' | 'failing_since is not null',
): Promise<Queue> {
  const dueOf = (limit: 'limit $2' | 'order by due_at limit 1') =>
    `(select id from webhooks where ${which}) e cross join lateral (
       select due_at from deliveries where webhook_id = e.id and due_at <= $1 ${limit}
     ) due`
  return tx.one(
    `select (select count(*) from (select from ${dueOf('limit $2')} limit $2) due) as due,
       (select min(due.due_at) from ${dueOf('order by due_at limit 1')}) as oldest`,
    [now, MAX_COUNTED],
  )
}

function readWebhooks(tx: Tx): Promise<Gauges['webhooks']> {
  return tx.one(
    `select count(*) filter (where disabled_at is null and failing_since is null) as working,
       count(*) filter (where disabled_at is null and failing_since is not null) as failing,
       count(*) filter (where disabled_at is not null) as disabled
     from webhooks where deleted_at is null`,
  )
}

// A standby that has replayed everything has no lag, and without the role pg_monitor its state is null.
function readDatabase(tx: Tx): Promise<Gauges['database']> {
  return tx.one(
    `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as "isWritable",
       pg_database_size(current_database()) as bytes,
       (select max(extract(epoch from coalesce(replay_lag, '0')))::float8 from pg_stat_replication
        where state is not null) as "replicationLagSeconds",
       (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend') as "oldestTransactionSeconds"`,
  )
}

// Long enough for a steady figure, and short enough to count at each refresh of `guiche top`.
const RECENT_MS = 10_000

/** Per second. Ids begin with their time, so this reads the ends of indexes. */
export async function readRecent(core: Core): Promise<{ deposits: number; payments: number }> {
  const since = uuidOfTime(new Date(core.now().getTime() - RECENT_MS))
  const counted = await queryOne<{ deposits: number; payments: number }>(
    core.pool,
    `select
       (select count(*) from charges where id > $1 and status not in ('OPENING', 'FAILED')) as deposits,
       (select count(*) from payments where id > $1 and credited) as payments`,
    [since],
  )
  const perSecond = (count: number) => (count * 1_000) / RECENT_MS
  return { deposits: perSecond(counted.deposits), payments: perSecond(counted.payments) }
}

/** Since midnight in Brazil. `delivered` counts deliveries of events since then. */
export type Today = { deposits: number; payments: number; paidCents: Cents; delivered: number }

// Some million rows.
const COUNT_TODAY_WITHIN_MS = 5_000

export function readToday(core: Core): Promise<Today> {
  const since = uuidOfTime(dayStart(dayOf(core.now())))
  return transact(core.pool, async (tx) => {
    await tx.setStatementTimeout(COUNT_TODAY_WITHIN_MS)
    return tx.one<Today>(
      `select
         (select count(*) from charges where id > $1 and status not in ('OPENING', 'FAILED')) as deposits,
         paid.count as payments,
         paid.cents as "paidCents",
         (select count(*) from delivery_outcomes where event_id > $1 and outcome = 'delivered') as delivered
       from (
         select count(*), coalesce(sum(amount_cents), 0)::bigint as cents from payments where id > $1 and credited
       ) paid`,
      [since],
    )
  })
}
