import { hexFromUuid } from '../../base/ids.ts'
import type { Sealer } from '../../base/sealer.ts'
import { hexId, jsonText } from '../../db/sql-values.ts'

// What the seal of each kind of row covers, as this process writes the row, and as SQL reads it back. The text is a
// JSON array that begins with the kind, so the text of one row is never that of another.

type Value = string | number | boolean | Date | null

/** Each field: its value in SQL, and for an item that is written. `json` is for a JSON text, which stays as it is. */
type Fields<Item> = readonly (readonly [sql: string, valueOf: (item: Item) => Value, form?: 'json'])[]

export type Sealed<Item> = { textOf(item: Item): string; sql: string }

function sealed<Item>(kind: string, fields: Fields<Item>): Sealed<Item> {
  const texts = fields.map(([sql, , form]) => (form === 'json' ? `${sql}::text` : jsonText(`(${sql})::text`)))
  return {
    textOf(item) {
      let text = `["${kind}"`
      for (const [, valueOf, form] of fields) {
        const value = textOf(valueOf(item))
        text += `,${form === 'json' ? value : JSON.stringify(value)}`
      }
      return `${text}]`
    },
    sql: `'["${kind}",' || ${texts.join(` || ',' || `)} || ']'`,
  }
}

function textOf(value: Value): string | null {
  if (value === null) return null
  return value instanceof Date ? String(value.getTime()) : String(value)
}

/** Whole milliseconds without a fraction, as Date.getTime() gives them. */
function time(at: string): string {
  return `trim_scale(extract(epoch from ${at}) * 1000)`
}

type SealedEvent = { id: string; accountId: string; kind: string; subjectId: string; createdAt: Date; body: string }

/** Of `events e`. */
export const EVENT = sealed<SealedEvent>('event', [
  [hexId('e.id'), ({ id }) => hexFromUuid(id)],
  [hexId('e.account_id'), ({ accountId }) => hexFromUuid(accountId)],
  ['e.kind', ({ kind }) => kind],
  [hexId('e.subject_id'), ({ subjectId }) => hexFromUuid(subjectId)],
  [time('e.created_at'), ({ createdAt }) => createdAt],
  ['e.body', ({ body }) => body, 'json'],
])

export type SealedCode = { chargeId: string; provider: string; emv: string; hasKey: boolean }

/** Of `charges c`. `hasKey`: it was made with an idempotency key, whose row is deleted after a day. */
export function codeSeal(hasKey: string): Sealed<SealedCode> {
  return sealed<SealedCode>('code', [
    [hexId('c.id'), ({ chargeId }) => chargeId],
    ['c.provider', ({ provider }) => provider],
    ['c.emv', ({ emv }) => emv],
    [hasKey, (code) => code.hasKey],
  ])
}

export const CODE = codeSeal('true')

type SealedEnd = { chargeId: string; status: string; closedAt: Date }

/** Of `charges c`: the end of a charge that nobody had paid. */
export function endSeal(status: string): Sealed<SealedEnd> {
  return sealed<SealedEnd>('end', [
    [hexId('c.id'), ({ chargeId }) => chargeId],
    [status, (end) => end.status],
    [time('c.closed_at'), ({ closedAt }) => closedAt],
  ])
}

export const END = endSeal('c.status')

type SealedAnswer = { endToEndId: string; chargeId: string; answer: string; answeredAt: Date }

/** Of `payer_answers a`. */
export const PAYER_ANSWER = sealed<SealedAnswer>('payer', [
  ['a.end_to_end_id', ({ endToEndId }) => endToEndId],
  [hexId('a.charge_id'), ({ chargeId }) => chargeId],
  ['a.answer', ({ answer }) => answer],
  [time('a.answered_at'), ({ answeredAt }) => answeredAt],
])

type SealedOutcome = { eventId: string; webhookId: string; outcome: string; attempts: number; endedAt: Date }

/** Of `delivery_outcomes o`. */
export const OUTCOME = sealed<SealedOutcome>('outcome', [
  [hexId('o.event_id'), ({ eventId }) => hexFromUuid(eventId)],
  [hexId('o.webhook_id'), ({ webhookId }) => hexFromUuid(webhookId)],
  ['o.outcome', ({ outcome }) => outcome],
  ['o.attempts', ({ attempts }) => attempts],
  [time('o.ended_at'), ({ endedAt }) => endedAt],
])

export type SealedLine = {
  id: string
  at: Date
  actorKind: string
  actor: string
  keyId: string | null
  action: string
  subject: string
  accountId: string | null
  reason: string | null
  /** As the column gives it back. */
  details: string
  rows: string | null
}

/** Of `audit_log l`. The seal covers this and the number of the newest mark, see underMark(). */
export const LINE = sealed<SealedLine>('line', [
  ['l.id', ({ id }) => id],
  [time('l.at'), ({ at }) => at],
  ['l.actor_kind', ({ actorKind }) => actorKind],
  ['l.actor', ({ actor }) => actor],
  [hexId('l.key_id'), ({ keyId }) => keyId && hexFromUuid(keyId)],
  ['l.action', ({ action }) => action],
  ['l.subject', ({ subject }) => subject],
  [hexId('l.account_id'), ({ accountId }) => accountId && hexFromUuid(accountId)],
  ['l.reason', ({ reason }) => reason],
  ['l.details', ({ details }) => details],
  ['l.rows', ({ rows }) => rows],
])

/** `mark` is the id of the newest line of seal_marks when this line was written, or 0. */
export function underMark(line: string, mark: string): string {
  return `${line} ${mark}`
}

/** As ALL_ROWS gives a row. */
export function rowSealText(name: string, text: string): string {
  return JSON.stringify(['row', name, text])
}

// ---- Reading them ----

/** `texts` are what the seal may cover, one a line. `name` is for people, if the id is not. */
export type SealedRow = { id: string; name?: string; seal: Buffer | null; texts: string }

export const EVENTS = `select ${hexId('e.id')} as id, 'event evt_' || e.kind || '_' || ${hexId('e.subject_id')} as name, e.seal, ${EVENT.sql} as texts from events e order by e.id`

/** The seal names the newest mark, or the one before if that was made in the same moment. */
export const LINES = `
  select 'line ' || l.id as id, l.id as place, l.seal, (
    select string_agg(t.text || ' ' || m.id, E'\\n') from (
      select line_id as id from seal_marks where line_id < l.id union all select 0 order by id desc limit 2
    ) m) as texts
  from audit_log l cross join lateral (select ${LINE.sql} as text offset 0) t order by l.id`

export function fits({ sealer }: { sealer: Sealer }, { seal, texts }: SealedRow): boolean {
  return seal !== null && texts.split('\n').some((text) => sealer.fits(seal, text))
}

/** Every text of a line has a mark at its end; a line that is sealed as found names none. */
export function withoutMark(texts: string): string {
  const [text = ''] = texts.split('\n')
  return text.slice(0, text.lastIndexOf(' '))
}

// ---- Rows that people change ----

// Each change of such a row writes a line into the audit log, which has the seal of the row as it is then. So the
// newest line that tells of a row fits the row, or somebody changed the row without the service.

type SealedTable = {
  table: string
  /** In SQL, the key of a row r, if it is not its id. Such a table is small. */
  key?: string
  /** Of the id, which is a UUID if this is not said. */
  idType?: 'uuid' | 'bigint'
  /** In SQL, what of a row r is sealed. New columns stay out of it while they are null. */
  content: string
  /** In SQL, the rows r that need a line; the others may have one. */
  where?: string
}

function except(...columns: string[]): string {
  return `to_jsonb(r) - array[${columns.map((column) => `'${column}'`).join(', ')}]::text[]`
}

function only(...columns: string[]): string {
  return `jsonb_build_object(${columns.map((column) => `'${column}', r.${column}`).join(', ')})`
}

/**
 * What changes by itself is left out. An exception or a refund that nobody has decided or asked for follows from the
 * provider's list; of one that somebody did, the rest follows from the books.
 */
const TABLES = {
  account: { table: 'accounts', content: except() },
  brand: { table: 'brands', content: except() },
  member: { table: 'members', content: except('used_at') },
  user: { table: 'users', content: except('updated_at') },
  operator: { table: 'operators', content: except() },
  key: { table: 'api_keys', content: except('last_used_at') },
  webhook: { table: 'webhooks', content: except('failing_since') },
  terms: { table: 'account_terms', idType: 'bigint', content: except() },
  exception: {
    table: 'exceptions',
    // A refund ends later than it is decided on, at the time at which the refund does.
    content: `to_jsonb(r) - case when r.resolution = 'refund' then 'resolved_at' else '' end`,
    where: `r.resolution is not null or r.kind in ('foreign_refund', 'undone_refund')`,
  },
  note: { table: 'exception_notes', content: except() },
  refund: {
    table: 'refunds',
    content: except(
      'status',
      'failure',
      'sent_at',
      'doubted_at',
      'absent_since',
      'attention',
      'ended_at',
      'due_at',
      'attempts',
    ),
    where: `r.source = 'balance' or r.ended_by is not null`,
  },
  payout: { table: 'payouts', content: except() },
  dispute: { table: 'disputes', content: except() },
  // Sealed as it was given. Its status changes with the answers of the provider.
  evidence: {
    table: 'dispute_evidence',
    content: except('content', 'access', 'status', 'failure', 'ended_at', 'due_at', 'attempts'),
  },
  // One that its provider has not made yet can be paid by nobody.
  code: { table: 'codes', content: except(), where: 'r.emv is not null' },
  closing: { table: 'closings', key: `concat_ws(' ', r.provider, r.day, r.revision)`, content: except() },
  sweep: { table: 'sweeps', key: 'r.provider', content: only('provider', 'began_at') },
} satisfies Record<string, SealedTable>

export const ROW_TABLES = Object.values(TABLES).map(({ table }) => table)

export type RowKind = keyof typeof TABLES
export type RowName = readonly [kind: RowKind, key: string]

/** Gives `name`, `text` and `isNeeded` of rows. */
function rowsSql(kind: RowKind, condition: (key: string, type: string) => string): string {
  const { table, key, idType = 'uuid', content, where = 'true' }: SealedTable = TABLES[kind]
  return `select '${kind} ' || ${key ?? hexId('r.id')} as name, jsonb_strip_nulls(${content})::text as text,
    (${where}) as "isNeeded" from ${table} r where ${condition(key ?? 'r.id', key === undefined ? idType : 'text')}`
}

export const ALL_ROWS = (Object.keys(TABLES) as RowKind[])
  .map((kind) => rowsSql(kind, () => 'true'))
  .join(' union all ')

export function namedRows(names: readonly RowName[]): { sql: string; params: string[][] } {
  const kinds = [...new Set(names.map(([kind]) => kind))]
  const params = kinds.map((kind) => names.filter(([one]) => one === kind).map(([, key]) => key))
  const sql = kinds.map((kind, index) => rowsSql(kind, (key, type) => `${key} = any($${index + 1}::${type}[])`))
  return { sql: sql.join(' union all '), params }
}
