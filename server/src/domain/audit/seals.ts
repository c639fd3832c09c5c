import { batchesOf } from '../../db/batches.ts'
import type { Tx } from '../../db/tx.ts'
import { fitsRow } from '../core/audit-log.ts'
import { makeTally, readAsFound } from '../core/as-found.ts'
import {
  ALL_ROWS,
  CODE,
  codeSeal,
  END,
  endSeal,
  EVENTS,
  fits,
  LINES,
  OUTCOME,
  PAYER_ANSWER,
  withoutMark,
  type SealedRow,
} from '../core/seals.ts'
import { IDEMPOTENCY_MS } from '../deposits/intents.ts'
import { atTime, findWrong, hex, NOW, SKEW, type Found } from './rules.ts'

// Rows of which nothing else tells are compared with their seals, in this process: the key is not in the database.

/** An idempotency key is deleted after a day. Until then only the charge that was made with it has it. */
const CODES = `
  select 'charge ' || ${hex('c.id')} as id, c.code_seal as seal, concat_ws(E'\\n', ${codeSeal('k.charge_id is not null').sql},
    case when c.created_at < ${NOW} - ${IDEMPOTENCY_MS} * interval '1 millisecond' + ${SKEW} then ${CODE.sql} end) as texts
  from charges c left join (select distinct charge_id from idempotency_keys) k on k.charge_id = c.id
  where c.emv is not null or c.code_seal is not null`

// A charge that is paid after its end keeps the end.
const KEPT_ENDS = ['EXPIRED', 'CANCELED', 'FAILED'].map((status) => endSeal(`'${status}'`).sql).join(', ')

const ENDS = `
  select 'charge ' || ${hex('c.id')} as id, c.end_seal as seal,
    case when c.status = 'COMPLETED' then concat_ws(E'\\n', ${KEPT_ENDS}) else ${END.sql} end as texts
  from charges c where c.end_seal is not null or c.status in ('EXPIRED', 'CANCELED', 'FAILED')`

const OUTCOMES = `
  select 'event ' || ${hex('o.event_id')} as id, o.seal, ${OUTCOME.sql} as texts from delivery_outcomes o`

const PAYERS = `select 'payment ' || a.end_to_end_id as id, a.seal, ${PAYER_ANSWER.sql} as texts from payer_answers a`

type Check = (tx: Tx, now: Date, limit: number) => Promise<Found[]>

const CHECKS: Record<string, Check> = {
  code_seal: sealed(CODES, 'has another code, provider or idempotency key than guiche stored'),
  end_seal: sealed(ENDS, 'was not ended by guiche, or not then'),
  delivery_seal: sealed(OUTCOMES, 'has an outcome of a delivery that guiche did not store'),
  payer_seal: sealed(PAYERS, 'has an answer about its payer that guiche did not store'),
  event_seal: checkEvents,
  line_seal: checkLines,
  row: checkRows,
}

/** The checks of seals. With another key than the service has, each row would be named. */
export async function sealChecks(tx: Tx): Promise<Record<string, Check>> {
  const newest = await tx.rows<SealedRow>(`${NEWEST_LINES} limit ${LINES_OF_KEY}`)
  if (newest.length < 2 || newest.some((line) => fits(tx, line))) return CHECKS
  const text = `no seal of the newest ${newest.length} lines fits: is SECRET_KEY the service's own, with those that it replaced?`
  return { key: async () => [{ subject: 'the audit log', text }] }
}

export const SEAL_CHECKS = Object.keys(CHECKS)

const LINES_OF_KEY = 100
const NEWEST_LINES = `select * from (${LINES}) l where seal is not null order by place desc`

/** `isKnown`: it was sealed as it was found. */
function sealed(sql: string, says: string, isKnown: (row: SealedRow) => boolean = () => false): Check {
  return (tx, now, limit) =>
    findWrong(batchesOf<SealedRow>(tx, atTime(sql, now)), limit, (row) => {
      if (fits(tx, row) || isKnown(row)) return undefined
      return `${says}: ${row.seal ? 'its seal does not fit' : 'it has no seal'}`
    })
}

async function checkEvents(tx: Tx, now: Date, limit: number): Promise<Found[]> {
  const { ranges } = await readAsFound(tx)
  const tally = makeTally(ranges)
  const differences = await sealed(EVENTS, 'is not as guiche wrote it', tally.add)(tx, now, limit)
  // Not all of them were read.
  if (differences.length >= limit) return differences
  const text = 'were altered, inserted or removed since they were sealed as found'
  const altered = ranges.filter(({ name, seal }, index) => !fitsRow(tx, name, tally.textOf(index), seal))
  return [...differences, ...altered.map(({ name }) => ({ subject: name, text }))]
}

async function checkLines(tx: Tx, now: Date, limit: number): Promise<Found[]> {
  const { lines } = await readAsFound(tx)
  const isKnown = ({ id, texts }: SealedRow) => {
    const seal = lines.get(id)
    return seal !== undefined && fitsRow(tx, id, withoutMark(texts), seal)
  }
  const says = 'is a line of the audit log that guiche did not write so, or after a mark that is gone'
  return sealed(LINES, says, isKnown)(tx, now, limit)
}

// ---- Rows that people change ----

const ROWS = `
  with told as (
    select distinct on (r.key) r.key as name, r.value as seal, l.id
    from audit_log l cross join json_each_text(l.rows) r where r.key !~ '^(line|events) ' order by r.key, l.id desc
  )
  select coalesce(a.name, t.name) as id, a.text, t.seal, t.id as line
  from (${ALL_ROWS}) a full join told t on t.name = a.name where a."isNeeded" or t.name is not null`

type ToldRow = { id: string; text: string | null; seal: string | null; line: number }

/** The newest line of the log that tells of a row has the seal of the row as it is. */
function checkRows(tx: Tx, _: Date, limit: number): Promise<Found[]> {
  return findWrong(batchesOf<ToldRow>(tx, ROWS), limit, ({ id, text, seal, line }) => {
    if (seal === null) return 'is there, and no line of the audit log tells of it'
    if (text === null) return `is gone, and line ${line} of the audit log tells of it`
    return fitsRow(tx, id, text, seal) ? undefined : `is other than after line ${line} of the audit log`
  })
}
