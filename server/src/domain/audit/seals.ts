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
  withoutMark,
  type SealedRow,
} from '../core/seals.ts'
import { IDEMPOTENCY_MS } from '../deposits/intents.ts'
import { atTime, hex, NOW, SKEW, type Found } from './rules.ts'

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

type Check = (tx: Tx, now: Date, limit: number) => Promise<Found[]>

const CHECKS: Record<string, Check> = {
  code_seal: sealed(CODES, 'has another code, provider or idempotency key than guiche stored'),
  end_seal: sealed(ENDS, 'was not ended by guiche, or not then'),
  delivery_seal: sealed(OUTCOMES, 'has an outcome of a delivery that guiche did not store'),
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
async function findUnsealed(
  tx: Tx,
  sql: string,
  says: string,
  limit: number,
  isKnown: (row: SealedRow) => boolean = () => false,
): Promise<Found[]> {
  const differences: Found[] = []
  const see = (row: SealedRow) => {
    if (fits(tx, row) || isKnown(row)) return
    differences.push({
      subject: row.name ?? row.id,
      text: `${says}: ${row.seal ? 'its seal does not fit' : 'it has no seal'}`,
    })
  }
  for await (const batch of batchesOf<SealedRow>(tx, sql)) {
    batch.forEach(see)
    if (differences.length >= limit) break
  }
  return differences
}

function sealed(sql: string, says: string): Check {
  return (tx, now, limit) => findUnsealed(tx, atTime(sql, now), says, limit)
}

async function checkEvents(tx: Tx, _: Date, limit: number): Promise<Found[]> {
  const { ranges } = await readAsFound(tx)
  const tally = makeTally(ranges)
  const says = 'is not as guiche wrote it'
  const differences = await findUnsealed(tx, EVENTS, says, limit, tally.add)
  if (differences.length >= limit) return differences
  for (const [index, { name, seal }] of ranges.entries())
    if (!fitsRow(tx, name, tally.textOf(index), seal))
      differences.push({ subject: name, text: 'were altered, inserted or removed since they were sealed as found' })
  return differences
}

async function checkLines(tx: Tx, _: Date, limit: number): Promise<Found[]> {
  const { lines } = await readAsFound(tx)
  const isKnown = ({ id, texts }: SealedRow) => {
    const seal = lines.get(id)
    return seal !== undefined && fitsRow(tx, id, withoutMark(texts), seal)
  }
  const says = 'is a line of the audit log that guiche did not write so, or after a mark that is gone'
  const gone = await tx.rows<Found>(
    `select 'line ' || m.line_id as subject, 'sealed the rows as they were found, and is gone' as text
     from seal_marks m left join audit_log l on l.id = m.line_id and l.action = 'history.sealed' where l.id is null`,
  )
  return [...gone, ...(await findUnsealed(tx, LINES, says, limit, isKnown))]
}

// ---- Rows that people change ----

const ROWS = `
  with told as (
    select distinct on (r.key) r.key as name, r.value as seal, l.id
    from audit_log l cross join json_each_text(l.rows) r where r.key !~ '^(line|events) ' order by r.key, l.id desc
  )
  select coalesce(a.name, t.name) as name, a.text, t.seal, t.id as line
  from (${ALL_ROWS}) a full join told t on t.name = a.name where a."isNeeded" or t.name is not null`

type ToldRow = { name: string; text: string | null; seal: string | null; line: number }

/** The newest line of the log that tells of a row has the seal of the row as it is. */
async function checkRows(tx: Tx, _: Date, limit: number): Promise<Found[]> {
  const differences: Found[] = []
  const see = (row: ToldRow) => {
    const text = whatIsWrong(tx, row)
    if (text !== undefined) differences.push({ subject: row.name, text })
  }
  for await (const batch of batchesOf<ToldRow>(tx, ROWS)) {
    batch.forEach(see)
    if (differences.length >= limit) break
  }
  return differences
}

function whatIsWrong(tx: Tx, { name, text, seal, line }: ToldRow): string | undefined {
  if (seal === null) return 'is there, and no line of the audit log tells of it'
  if (text === null) return `is gone, and line ${line} of the audit log tells of it`
  return fitsRow(tx, name, text, seal) ? undefined : `is other than after line ${line} of the audit log`
}
