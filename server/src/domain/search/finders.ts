import type { Cents } from '../../base/money.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import { LAST_UUID } from '../webhooks/event-search.ts'
import { SENT_KINDS } from '../webhooks/event-kinds.ts'
import { EXCEPTION_STATE, NAMED_CHARGE } from '../exceptions/exception-states.ts'
import { findChargesByAnyPart, paymentsSql } from './find-charges.ts'
import { statementValues, type StatementValues } from './statement-values.ts'
import type { TypedText } from './typed-text.ts'

export const FOUND_KINDS = ['account', 'deposit', 'payment', 'refund', 'exception', 'payout', 'event'] as const
export type FoundKind = (typeof FOUND_KINDS)[number]

export type Found = {
  kind: FoundKind
  /** As the API names it. */
  id: string
  title: string
  detail: string | null
  accountId: string | null
  accountName: string | null
  status: string | null
  valueCents: Cents | null
  at: Date
  paymentLinkId: string | null
  exceptionId: string | null
}

export type Scope = {
  /** Null: of all accounts. */
  accountId: string | null
  /** Only deposits that were made since. */
  since: Date | null
  limit: number
}

type Finder = (tx: Pick<Tx, 'rows'>, typed: TypedText, scope: Scope) => Promise<Found[]>

/** What has no index on what was typed is looked for among so many of the newest. */
export const MAX_NEWEST = 10_000

/** Each gives the newest first, and nothing of another account than that of the scope. */
export const FINDERS: Record<FoundKind, Finder> = {
  account: find('account', accountsSql),
  deposit: findDeposits,
  payment: find('payment', paymentsFoundSql),
  refund: find('refund', refundsSql),
  exception: find('exception', exceptionsSql),
  payout: find('payout', payoutsSql),
  event: find('event', eventsSql),
}

type Row = Omit<Found, 'kind'>
/** Undefined if the text can mean nothing of this kind. */
type MakeSql = (typed: TypedText, scope: Scope, values: StatementValues) => string | undefined

function find(kind: FoundKind, makeSql: MakeSql): Finder {
  return async (tx, typed, scope) => {
    const values = statementValues()
    const sql = makeSql(typed, scope, values)
    const rows = sql === undefined ? [] : await tx.rows<Row>(sql, values.all)
    return rows.map((row) => ({ kind, ...row }))
  }
}

// ---- Parts of statements ----

type Columns = Record<Exclude<keyof Row, 'accountName'>, string>

const NONE = 'null::text'
const NOTHING: Omit<Columns, 'id' | 'title' | 'at' | 'accountId'> = {
  detail: NONE,
  status: NONE,
  valueCents: 'null::bigint',
  paymentLinkId: NONE,
  exceptionId: NONE,
}

function select(columns: Columns): string {
  const named = { ...columns, accountName: `(select name from accounts where id = ${columns.accountId})` }
  return `select ${Object.entries(named)
    .map(([name, sql]) => `${sql} as "${name}"`)
    .join(', ')}`
}

/** In SQL, what a page shows of an id: its time, and what no other id has. */
function shortId(id: string): string {
  const hex = hexId(id)
  return `left(${hex}, 8) || '…' || right(${hex}, 8)`
}

function hasId(row: string, { id }: TypedText, { put }: StatementValues): string | undefined {
  return id && `${row}.id between ${put(id.first)} and ${put(id.last)}`
}

function hasIdPart(row: string, { idPart }: TypedText, { put }: StatementValues): string | undefined {
  return idPart && `${hexId(`${row}.id`)} like ${put(idPart.pattern)}`
}

function hasWords(texts: string[], { words }: TypedText, { put }: StatementValues): string | undefined {
  return words && `fold_text(concat_ws(' ', ${texts.join(', ')})) like fold_text(${put(words)})`
}

function hasCents(cents: string, typed: TypedText, { put }: StatementValues): string | undefined {
  return typed.cents === undefined ? undefined : `${cents} = ${put(typed.cents)}`
}

function hasPayment({ endToEndPart }: TypedText, { put }: StatementValues): string | undefined {
  return endToEndPart && `lower(p.end_to_end_id) like ${put(endToEndPart.pattern)}`
}

function anyOf(ways: (string | undefined)[]): string | undefined {
  const given = ways.flatMap((way) => way ?? [])
  return given.length === 0 ? undefined : `(${given.join(' or ')})`
}

/** In SQL, the ids that any of these queries gives. */
function idsOf(queries: (string | false | undefined)[]): string | undefined {
  const given = queries.flatMap((query) => (query ? `(${query})` : []))
  return given.length === 0 ? undefined : given.join(' union ')
}

// ---- The kinds ----

/** People make accounts one by one, so all of them are read. */
function accountsSql(typed: TypedText, { limit }: Scope, values: StatementValues): string | undefined {
  const { words } = typed
  const isMember =
    words &&
    `
    a.id in (select m.account_id from members m join users u on u.id = m.user_id
      where m.removed_at is null and ${hasWords(['u.email', 'u.name'], typed, values)})`
  const ways = [hasWords(['a.name', 'a.email'], typed, values), isMember, hasId('a', typed, values)]
  const condition = anyOf([...ways, hasIdPart('a', typed, values)])
  return (
    condition &&
    `${select({ ...NOTHING, id: 'a.id', title: 'a.name', detail: 'a.email', accountId: 'a.id', at: 'a.created_at' })}
     from accounts a where ${condition} order by a.id desc limit ${values.put(limit)}`
  )
}

const DEPOSITS = `${select({
  ...NOTHING,
  id: hexId('c.id'),
  title: `coalesce(c.external_id, nullif(c.description, ''), ${shortId('c.id')})`,
  detail: `case when c.external_id is not null and c.description <> '' then c.description else c.end_to_end_id end`,
  accountId: 'c.account_id',
  status: 'c.status',
  valueCents: 'c.value_cents',
  at: 'c.created_at',
  paymentLinkId: 'c.payment_link_id',
})} from charges c where c.id = any($1) order by c.id desc`

async function findDeposits(tx: Pick<Tx, 'rows'>, typed: TypedText, scope: Scope): Promise<Found[]> {
  const { accountId, limit } = scope
  const from = scope.since ?? undefined
  const wanted = { accountId, typed, from, before: LAST_UUID, limit }
  const ids = await findChargesByAnyPart(tx, wanted, MAX_NEWEST)
  if (ids.length === 0) return []
  return (await tx.rows<Row>(DEPOSITS, [ids])).map((row) => ({ kind: 'deposit', ...row }))
}

const EXCEPTION_OF_PAYMENT = `(
  select ${hexId('x.id')} from exceptions x where x.payment_id = p.id and x.refund_id is null limit 1
)`

function paymentsFoundSql(typed: TypedText, { limit }: Scope, values: StatementValues): string | undefined {
  const indexed = paymentsSql(typed, values)
  const matches = hasPayment(typed, values)
  const ids = idsOf([
    indexed && `select id from (${indexed}) i`,
    matches && `select id from (select * from payments order by id desc limit ${MAX_NEWEST}) p where ${matches}`,
  ])
  const columns = {
    id: 'p.end_to_end_id',
    title: 'p.end_to_end_id',
    detail: 'p.provider',
    accountId: 'p.account_id',
    status: NONE,
    valueCents: 'p.amount_cents',
    at: 'p.occurred_at',
    paymentLinkId: '(select payment_link_id from charges where id = p.charge_id and p.credited)',
    exceptionId: EXCEPTION_OF_PAYMENT,
  }
  return (
    ids && `${select(columns)} from payments p where p.id in (${ids}) order by p.id desc limit ${values.put(limit)}`
  )
}

/** In SQL, the refunds of the payments i, each by an index that it has. */
const REFUNDS_OF_PAYMENTS = `
  select r.id from refunds r join i on i.id = r.payment_id where r.status <> 'FAILED'
  union all
  select r.id from refunds r join i on i.charge_id = r.charge_id where r.payment_id = i.id
  union all
  select r.id from refunds r join exceptions x on x.id = r.exception_id join i on i.id = x.payment_id
  where x.refund_id is null`

const EXCEPTIONS_OF_PAYMENTS = `
  select x.id from exceptions x join i on i.id = x.payment_id where x.refund_id is null
  union all
  select x.id from exceptions x where x.refund_id in (${REFUNDS_OF_PAYMENTS})`

/** Before a statement that asks for what belongs to the payments i. */
function withPayments(payments: string | undefined): string {
  return payments === undefined ? '' : `with i as materialized (${payments}) `
}

function refundsSql(typed: TypedText, { accountId, limit }: Scope, values: StatementValues): string | undefined {
  const payments = paymentsSql(typed, values)
  const byId = hasId('r', typed, values)
  const condition = anyOf([
    hasIdPart('r', typed, values),
    hasWords(['r.provider_refund_id'], typed, values),
    hasCents('r.amount_cents', typed, values),
    hasPayment(typed, values),
  ])
  const newest = `(select * from refunds order by id desc limit ${MAX_NEWEST}) r join payments p on p.id = r.payment_id`
  const ids = idsOf([
    byId && `select r.id from refunds r where ${byId}`,
    payments && REFUNDS_OF_PAYMENTS,
    condition && `select r.id from ${newest} where ${condition}`,
  ])
  if (!ids) return undefined
  const columns = {
    ...NOTHING,
    id: hexId('r.id'),
    title: shortId('r.id'),
    detail: `coalesce(c.external_id, nullif(c.description, ''), p.end_to_end_id)`,
    accountId: 'coalesce(c.account_id, r.account_id)',
    status: 'r.status',
    valueCents: 'r.amount_cents',
    at: 'r.created_at',
    paymentLinkId: 'c.payment_link_id',
    exceptionId: hexId('r.exception_id'),
  }
  const own = accountId === null ? '' : `and c.account_id = ${values.put(accountId)}`
  return `${withPayments(payments)}${select(columns)} from refunds r join payments p on p.id = r.payment_id
    left join charges c on c.id = r.charge_id
    where r.id in (${ids}) ${own} order by r.id desc limit ${values.put(limit)}`
}

const EXCEPTION_JOINS = `left join payments p on p.id = x.payment_id
  left join charges c on c.id = coalesce(x.charge_id, ${NAMED_CHARGE}) left join refunds f on f.id = x.refund_id`
const EXCEPTION_CENTS = 'coalesce(f.amount_cents, p.amount_cents, c.value_cents)'

function exceptionsSql(typed: TypedText, { limit }: Scope, values: StatementValues): string | undefined {
  const payments = paymentsSql(typed, values)
  const byId = hasId('x', typed, values)
  const condition = anyOf([
    hasIdPart('x', typed, values),
    hasCents(EXCEPTION_CENTS, typed, values),
    hasPayment(typed, values),
  ])
  const among = (rows: string) =>
    condition &&
    `select x.id from (select * from exceptions ${rows} limit ${MAX_NEWEST}) x ${EXCEPTION_JOINS} where ${condition}`
  const ids = idsOf([
    byId && `select x.id from exceptions x where ${byId}`,
    payments && EXCEPTIONS_OF_PAYMENTS,
    among('order by id desc'),
    among('where resolved_at is null order by opened_at desc'),
  ])
  const columns = {
    id: hexId('x.id'),
    title: `coalesce(p.end_to_end_id, ${shortId('x.id')})`,
    detail: 'x.kind',
    accountId: 'coalesce(x.account_id, c.account_id)',
    status: EXCEPTION_STATE,
    valueCents: EXCEPTION_CENTS,
    at: 'x.opened_at',
    paymentLinkId: 'c.payment_link_id',
    exceptionId: hexId('x.id'),
  }
  return (
    ids &&
    `${withPayments(payments)}${select(columns)} from exceptions x ${EXCEPTION_JOINS}
     where x.id in (${ids}) order by x.id desc limit ${values.put(limit)}`
  )
}

function payoutsSql(typed: TypedText, { accountId, limit }: Scope, values: StatementValues): string | undefined {
  const own = accountId === null ? '' : `where account_id = ${values.put(accountId)}`
  const byId = hasId('o', typed, values)
  const condition = anyOf([
    hasIdPart('o', typed, values),
    hasWords(['o.note', 'o.reference'], typed, values),
    hasCents('o.value_cents', typed, values),
  ])
  const newest = `select * from payouts ${own} order by id desc limit ${MAX_NEWEST}`
  const ids = idsOf([
    byId && `select o.id from payouts o where ${byId}`,
    condition && `select o.id from (${newest}) o where ${condition}`,
  ])
  const columns = {
    ...NOTHING,
    id: hexId('o.id'),
    title: `coalesce(o.note, ${shortId('o.id')})`,
    detail: 'o.reference',
    accountId: 'o.account_id',
    status: 'o.status',
    valueCents: 'o.value_cents',
    at: 'o.requested_at',
  }
  return (
    ids &&
    `${select(columns)} from (select * from payouts ${own}) o where o.id in (${ids})
     order by o.id desc limit ${values.put(limit)}`
  )
}

/** In SQL, what an event v is about, as its receiver calls it. */
export const ABOUT_EVENT = `coalesce(v.body::jsonb -> 'data' ->> 'externalId', v.body::jsonb -> 'data' ->> 'paymentLinkId')`

const EVENTS = select({
  ...NOTHING,
  id: `'evt_' || v.kind || '_' || ${hexId('v.subject_id')}`,
  title: 'v.kind',
  detail: ABOUT_EVENT,
  accountId: 'v.account_id',
  at: 'v.created_at',
  paymentLinkId: `v.body::jsonb -> 'data' ->> 'paymentLinkId'`,
})

/** By its name, or by what it is about: the id of a charge, a payout, a webhook or a key, or a payment link. */
function eventsSql({ event, wholeId }: TypedText, { accountId, limit }: Scope, { put }: StatementValues) {
  const subject = wholeId && put(wholeId)
  const ways = event
    ? [`v.kind = ${put(event.kind)} and v.subject_id = ${put(event.subjectId)}`]
    : subject
      ? [subject, `(select id from charges where payment_link_id = ${subject})`].map(
          (id) => `v.kind = any(${put(SENT_KINDS)}) and v.subject_id = ${id}`,
        )
      : []
  const ids = idsOf(ways.map((way) => `select v.id from events v where ${way}`))
  if (!ids) return undefined
  const own = accountId === null ? '' : `and v.account_id = ${put(accountId)}`
  return `${EVENTS} from events v where v.id in (${ids}) ${own} order by v.id desc limit ${put(limit)}`
}
