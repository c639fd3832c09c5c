import { readFileSync } from 'node:fs'
import type { Checks } from './rules.ts'

// What READ_GUARDS finds in a database as the migrations make it. test/schema.test.ts writes the file.
const GUARDS_FILE = new URL('../../../data/schema-guards.txt', import.meta.url)

/** The tables that money or the proof of it stands in. */
const GUARDED = [
  'account_terms',
  'accounts',
  'audit_log',
  'charges',
  'checks',
  'closings',
  'deliveries',
  'delivery_outcomes',
  'daily_total_marks',
  'daily_totals',
  'events',
  'exceptions',
  'external_ids',
  'idempotency_keys',
  'ledger_accounts',
  'ledger_balances',
  'payments',
  'refund_checks',
  'refunds',
  'sweeps',
  'transfers',
  'webhooks',
]

/**
 * What guards those tables, a line each: constraints, unique indexes, triggers, and functions. It also lists what
 * would hide or change rows without our knowledge: rules, row security, tables that inherit.
 */
export const READ_GUARDS = `
  with guarded as (
    select c.oid, c.relname as name, c.relkind, c.relrowsecurity
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relname in (${GUARDED.map((name) => `'${name}'`).join(', ')})
  )
  select format('constraint %s.%s %s%s', g.name, k.conname, k.contype, case when k.convalidated then '' else ' not validated' end) as line
  from guarded g join pg_constraint k on k.conrelid = g.oid where k.contype in ('c', 'f', 'p', 'u')
  union all
  select format('unique %s%s', pg_get_indexdef(i.indexrelid), case when i.indisvalid and i.indisready then '' else ' not valid' end)
  from guarded g join pg_index i on i.indrelid = g.oid where i.indisunique
  union all
  select format('trigger %s.%s %s %s%s%s', g.name, t.tgname, p.proname, t.tgtype, case when t.tgqual is null then '' else ' when' end,
    case when t.tgenabled = 'O' then '' else ' not enabled' end)
  from guarded g join pg_trigger t on t.tgrelid = g.oid join pg_proc p on p.oid = t.tgfoid where not t.tgisinternal
  union all
  select format('function %s %s', p.proname, md5(p.prosrc))
  from pg_proc p
  where p.oid in (select t.tgfoid from guarded g join pg_trigger t on t.tgrelid = g.oid where not t.tgisinternal)
    or (p.pronamespace = current_schema()::regnamespace and p.proname = 'move_balance')
  union all
  select format('foreign keys of %s are not enforced', g.name)
  from guarded g where exists (select from pg_trigger t where t.tgrelid = g.oid and t.tgisinternal and t.tgenabled <> 'O')
  union all
  select format('rule %s.%s', g.name, r.rulename) from guarded g join pg_rewrite r on r.ev_class = g.oid
  union all
  select format('%s is not a table, or hides rows, or has tables beneath it', g.name)
  from guarded g where g.relkind <> 'r' or g.relrowsecurity or exists (select from pg_inherits i where i.inhparent = g.oid or i.inhrelid = g.oid)`

// Without a trigger or a constraint, the rows that are there and those to come have lost a guard.
export function schemaChecks(): Checks {
  const guards = readFileSync(GUARDS_FILE, 'utf8').split('\n').filter(Boolean)
  const schema = `
    select 'database' as subject,
      case when a.line is null then 'lacks ' || w.line else 'has, and should not have, ' || a.line end as text
    from (${READ_GUARDS}) a
    full join unnest(array[${guards.map((line) => `'${line.replaceAll("'", "''")}'`).join(', ')}]::text[]) as w (line)
      on w.line = a.line
    where a.line is null or w.line is null`
  return { schema }
}
