import { readFileSync } from 'node:fs'
import { quote, type Checks } from './rules.ts'

// What READ_GUARDS finds in a database as the migrations make it. test/schema.test.ts writes the file.
const GUARDS_FILE = new URL('../../../data/schema-guards.txt', import.meta.url)

const OURS = 'current_schema()::regnamespace'

/**
 * What guards these tables, a line each, with its whole definition: columns, constraints, unique indexes, triggers, and
 * functions; of a view, what it reads. It also lists what would hide or change rows without our knowledge: rules, row
 * security, tables that inherit. Both arguments are subqueries of names. Partitions come and go, so only what is added
 * to them counts.
 */
function guardsSql({ tables, functions }: { tables: string; functions: string }): string {
  return `
  with guarded as (
    select c.* from pg_class c where c.relnamespace = ${OURS} and c.relname in (${tables}) and not c.relispartition
  ), watched as (
    select c.* from guarded c
    union all
    select c.* from guarded g join pg_partition_tree(g.oid) p on g.relkind = 'p' join pg_class c on c.oid = p.relid
    where c.relkind = 'r'
  ), lines (line) as (
    select format('table %s %s%s', c.relname, case c.relpersistence when 'u' then 'unlogged' else 'logged' end,
      case c.relkind when 'r' then '' when 'p' then ' partitioned' when 'v' then ' view' else ' no table' end)
    from guarded c
    union all
    select format('column %s.%s %s', c.relname, a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
      'default ' || pg_get_expr(d.adbin, d.adrelid, true), case when a.attidentity <> '' then 'identity ' || a.attidentity::text end,
      case when a.attgenerated <> '' then 'generated ' || a.attgenerated::text end, case when a.attnotnull then 'not null' end))
    from guarded c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    union all
    -- PostgreSQL 18 has a constraint for each column that is not null.
    select format('constraint %s.%s %s', c.relname, k.conname, pg_get_constraintdef(k.oid, true))
    from guarded c join pg_constraint k on k.conrelid = c.oid where k.contype in ('c', 'f', 'p', 'u', 'x')
    union all
    select format('unique %s%s', pg_get_indexdef(i.indexrelid, 0, true), case when i.indisvalid and i.indisready then '' else ' not valid' end)
    from guarded c join pg_index i on i.indrelid = c.oid where i.indisunique
    union all
    select format('trigger %s%s', pg_get_triggerdef(t.oid, true), case when t.tgenabled = 'O' then '' else ' not enabled' end)
    from watched c join pg_trigger t on t.tgrelid = c.oid where not t.tgisinternal
    union all
    select format('function %s(%s) %s', p.proname, pg_get_function_identity_arguments(p.oid), sha256(convert_to(replace(pg_get_functiondef(p.oid), n.nspname || '.', ''), 'UTF8')))
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where (p.pronamespace = ${OURS} and p.proname in (${functions}))
      or p.oid in (select t.tgfoid from watched c join pg_trigger t on t.tgrelid = c.oid where not t.tgisinternal)
    union all
    select format('foreign keys of %s are not enforced', c.relname)
    from watched c where exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgisinternal and t.tgenabled <> 'O')
    union all
    select format('rule %s.%s %s', c.relname, r.rulename, sha256(convert_to(replace(pg_get_ruledef(r.oid, true), ${OURS}::text || '.', ''), 'UTF8')))
    from guarded c join pg_rewrite r on r.ev_class = c.oid
    union all
    select format('%s hides rows, or has tables beneath it', c.relname)
    from watched c where c.relrowsecurity
      or (c.relkind = 'r' and exists (select from pg_inherits i where i.inhparent = c.oid or (i.inhrelid = c.oid and not c.relispartition)))
  )
  select regexp_replace(line, '\\s+', ' ', 'g') as line from lines`
}

export const READ_GUARDS = guardsSql({
  tables: `select relname from pg_class where relnamespace = ${OURS} and relkind in ('r', 'p', 'v')`,
  functions: `select proname from pg_proc p where p.pronamespace = ${OURS}
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`,
})

/** Finds guards that are missing. Only our own tables and functions count: an operator may have others. */
export function schemaChecks(): Checks {
  const guards = readFileSync(GUARDS_FILE, 'utf8').split('\n').filter(Boolean)
  const namesOf = (kind: string) =>
    guards.flatMap((line) => new RegExp(`^${kind} (\\w+)`).exec(line)?.[1] ?? []).map(quote)
  const names = { tables: namesOf('table').join(', '), functions: namesOf('function').join(', ') }
  const schema = `
    select 'database' as subject,
      case when a.line is null then 'lacks ' || w.line else 'has, and should not have, ' || a.line end as text
    from (${guardsSql(names)}) a
    full join unnest(array[${guards.map(quote).join(', ')}]::text[]) as w (line) on w.line = a.line
    where a.line is null or w.line is null`
  return { schema }
}
