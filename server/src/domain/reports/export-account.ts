import { query, queryOne } from '../../db/tx.ts'
import { CREDITS, DEBITS, heldFor } from '../ledger/account-statement.ts'
import type { Core } from '../core/core.ts'

// Everything that is stored about an account and the person behind it, with the names of the schema. Left out are
// secrets, hashes, and the names of operators, who are other people. See docs/privacy.md.

// Rows in memory at a time, with the longest of them some kilobytes each.
const PAGE_ROWS = 500

type List = {
  first: string
  sql: string
}

const LISTS: Record<string, List> = {
  terms_history: byNumber(
    `select id, to_jsonb(t) - '{account_id,set_by}'::text[] as row from account_terms t where account_id = $1`,
  ),
  api_keys: byUuid(
    `select id, to_jsonb(t) - '{account_id,operator_id,hash}'::text[] as row from api_keys t where account_id = $1`,
  ),
  api_requests: byUuid(
    `select id, to_jsonb(t) - '{account_id}'::text[] as row from api_requests t where account_id = $1`,
  ),
  webhooks: byUuid(
    `select id, to_jsonb(t) - '{account_id,authorization_box,secret_box,previous_secret_box}'::text[] as row
     from webhooks t where account_id = $1`,
  ),
  // The logo is on every payment page, and its bytes are left out.
  brand: byUuid(`select id, to_jsonb(t) - '{id}'::text[] as row from brands t where id = $1`),
  members: byUuid(
    `select m.id, to_jsonb(m) - '{account_id,user_id}'::text[] || jsonb_build_object('email', u.email, 'name', u.name) as row
     from members m join users u on u.id = m.user_id where m.account_id = $1`,
  ),
  member_invitations: byUuid(
    `select id, to_jsonb(t) - '{account_id,token_hash,seal}'::text[] as row
     from member_invitations t where account_id = $1`,
  ),
  sessions: byUuid(
    `select s.id, to_jsonb(s) - '{user_id,token}'::text[] as row
     from sessions s join accounts a on a.user_id = s.user_id where a.id = $1`,
  ),
  passkeys: byUuid(
    `select p.id, jsonb_build_object('name', p.name, 'created_at', p.created_at, 'last_used_at', p.last_used_at) as row
     from passkeys p join accounts a on a.user_id = p.user_id where a.id = $1`,
  ),
  invitations: byUuid(
    `select i.id, to_jsonb(i) - '{token_hash,made_by,used_by}'::text[] as row
     from invitations i join accounts a on a.id = i.used_by or a.email = i.email where a.id = $1`,
  ),
  charges: byUuid(
    `select c.id, to_jsonb(c) - '{account_id,opening_instance,code_seal,end_seal}'::text[] || jsonb_build_object(
       'metadata', c.metadata::jsonb, 'payer', c.payer::jsonb - 'hash', 'payments', (
       select coalesce(jsonb_agg(to_jsonb(p) - '{account_id,charge_id}'::text[]), '[]') from (
         select * from payments where charge_id = c.id and credited
         union all select * from payments where charge_id = c.id and not credited) p
     ), 'refunds', (
       select coalesce(jsonb_agg(
         to_jsonb(r) - '{account_id,charge_id,request_hash,requested_by,ended_by}'::text[] order by r.id), '[]')
       from refunds r where r.charge_id = c.id)) as row
     from charges c where account_id = $1`,
  ),
  exceptions: byUuid(
    `select x.id, to_jsonb(x) - '{account_id,resolved_by}'::text[] as row
     from exceptions x
     left join payments p on p.id = x.payment_id
     left join charges c on c.id = x.charge_id
     where coalesce(x.account_id, p.account_id, c.account_id) = $1`,
  ),
  payouts: byUuid(
    `select id, to_jsonb(t) - '{account_id,request_hash,requested_by,ended_by}'::text[] as row from payouts t
     where account_id = $1`,
  ),
  disputes: byUuid(
    `select d.id, to_jsonb(d) - 'account_id' || jsonb_build_object('evidence', (
       select coalesce(jsonb_agg(to_jsonb(e) - '{dispute_id,content,access,due_at,given_by}'::text[] order by e.id), '[]')
       from dispute_evidence e where e.dispute_id = d.id)) as row
     from disputes d where account_id = $1`,
  ),
  transfers: byNumber(`${side('credit', CREDITS)} union all ${side('debit', DEBITS)}`),
  events: byUuid(`select id, to_jsonb(t) - '{account_id,seal}'::text[] as row from events t where account_id = $1`),
  audit_log: byNumber(
    `select id, to_jsonb(t) - '{account_id,actor,rows,seal}'::text[] as row from audit_log t where account_id = $1`,
  ),
}

/** One JSON document, in pieces, so that an account with millions of charges fits in memory. */
export async function* exportAccount(core: Core, accountId: string): AsyncGenerator<string> {
  const { head } = await queryOne<{ head: string }>(
    core.pool,
    `select jsonb_build_object('exported_at', $2::timestamptz,
       'account', to_jsonb(a) - '{user_id,user_kind}'::text[], 'user', to_jsonb(u) - 'kind',
        'balance_cents', ${heldFor('a.id', 'balance', 'reserved', 'held')}, 'reserved_cents', ${heldFor('a.id', 'reserved')},
        'held_cents', ${heldFor('a.id', 'held')}, 'owed_cents', -${heldFor('a.id', 'owed')}
     )::text as head from accounts a join users u on u.id = a.user_id where a.id = $1`,
    [accountId, core.now()],
  )
  yield head.slice(0, -1)
  for (const [name, list] of Object.entries(LISTS)) {
    yield `,\n"${name}": [`
    yield* rowsOf(core, list, accountId)
    yield ']'
  }
  yield '}\n'
}

async function* rowsOf(core: Core, { first, sql }: List, accountId: string): AsyncGenerator<string> {
  let cursor = first
  for (let separator = '\n'; ; separator = ',\n') {
    const rows = await query<{ cursor: string; row: string }>(core.pool, sql, [accountId, cursor, PAGE_ROWS])
    const last = rows.at(-1)
    if (last) yield separator + rows.map(({ row }) => row).join(',\n')
    if (!last || rows.length < PAGE_ROWS) return
    cursor = last.cursor
  }
}

/** In SQL, the transfers that debit or credit the balance: a page of each, so that its index serves it. */
function side(name: 'credit' | 'debit', kinds: string): string {
  return `(
    select t.id, to_jsonb(t) - 'account_id' as row from transfers t
    where t.${name}_id = (select id from ledger_accounts where kind = 'balance' and account_id = $1)
      and t.${kinds} and t.id > $2::bigint
    order by t.id limit $3::int
  )`
}

function byNumber(rows: string): List {
  return { first: '0', sql: paged(rows, 'bigint') }
}

function byUuid(rows: string): List {
  return { first: '00000000-0000-0000-0000-000000000000', sql: paged(rows, 'uuid') }
}

/** After cursor $2, at most $3. PostgreSQL moves condition and order inward, where an index serves them. */
function paged(rows: string, idType: 'bigint' | 'uuid'): string {
  return `select id::text as cursor, row::text from (${rows}) l where id > $2::${idType} order by id limit $3::int`
}
