import { hexId as hex } from '../../db/sql-values.ts'

export { hex }

/** In SQL, codes that can be paid, and what their versions allowed. */
export const CODES = 'select * from codes where emv is not null'
export const VERSIONS = `
  select l.subject, l.at, d.* from audit_log l
  cross join lateral jsonb_to_record(l.details)
    as d (version integer, "isOpen" boolean, "minValueCents" bigint, "maxValueCents" bigint)
  where l.subject like 'code %' and l.action in ('code.created', 'code.changed', 'code.closed')`

/** What is wrong. */
export type Found = { subject: string; text: string }

/** By name: a statement that yields a row (subject, text) for each thing that is wrong. */
export type Checks = Record<string, string>

/** By text: a condition that must hold. By column: its value, and the value that follows from other rows. */
export type Rules = Record<string, string | [actual: string, wanted: string]>

/** The time of the audit, in any check. atTime() replaces it. */
export const NOW = ':now:'

export function atTime(sql: string, now: Date): string {
  return sql.replaceAll(NOW, `timestamptz '${now.toISOString()}'`)
}

// Two processes' clocks may differ by this much, and a transaction may wait for a lock after it read the clock.
export const SKEW = `interval '1 minute'`

/** A statement of the rows that break a rule. `from` is what follows that word; `prefix` comes before each text. */
export function check({
  subject,
  prefix = `''`,
  from,
  exists = {},
  rules,
}: {
  subject: string
  prefix?: string
  from: string
  /** Rules about rows that must exist. A row that breaks one gets no other text. */
  exists?: Record<string, string>
  rules: Rules
}): string {
  const { text, where } = broken(rules)
  const missing = Object.entries(exists)
  const first = missing.map(([says, holds]) => ` when ${isBroken(holds)} then ${quote(says)}`).join('')
  const said = missing.length === 0 ? text : `case${first} else ${text} end`
  const any = [...missing.map(([, holds]) => isBroken(holds)), where].join(' or ')
  return `select ${subject} as subject, ${prefix} || ${said} as text from ${from} where ${any}`
}

export function broken(rules: Rules): { text: string; where: string } {
  const conditions = Object.entries(rules).map(([name, rule]) => {
    if (typeof rule === 'string') return { isBroken: isBroken(rule), says: quote(name) }
    const [actual, wanted] = rule.map((value) => `coalesce((${value})::text, 'empty')`)
    const says = `format('%s is %s and should be %s', ${quote(name)}, ${actual}, ${wanted})`
    return { isBroken: `(${rule[0]}) is distinct from (${rule[1]})`, says }
  })
  return {
    text: `concat_ws('; ', ${conditions.map((rule) => `case when ${rule.isBroken} then ${rule.says} end`).join(', ')})`,
    where: conditions.map((rule) => rule.isBroken).join(' or '),
  }
}

function isBroken(condition: string): string {
  return `(${condition}) is not true`
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** For what SQL cannot check: says what is wrong with a row, if anything is. Names up to about `limit`. */
export async function findWrong<Row extends { id: string; name?: string }>(
  batches: AsyncGenerator<Row[]>,
  limit: number,
  whatIsWrong: (row: Row) => string | undefined,
): Promise<Found[]> {
  const found: Found[] = []
  for await (const batch of batches) {
    for (const row of batch) {
      const text = whatIsWrong(row)
      if (text !== undefined) found.push({ subject: row.name ?? row.id, text })
    }
    if (found.length >= limit) break
  }
  return found
}

/** When newUuid7() made the id, in milliseconds. */
export function idMs(uuid: string): string {
  return `('x' || left(${hex(uuid)}, 12))::bit(48)::bigint`
}

/** As hashRequest() hashes this request, whose fields are in SQL. */
export function isHashOf(column: string, request: Record<string, string>): string {
  const fields = Object.entries(request).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const texts = fields.map(([name, sql]) => `'["${name}",' || to_json(${sql})::text || ']'`)
  return `${column} = sha256(convert_to('[' || concat_ws(',', ${texts.join(', ')}) || ']', 'UTF8'))`
}

export function timeMs(at: string): string {
  return `floor(extract(epoch from ${at}) * 1000)`
}

export function isMadeAt(uuid: string, at: string): string {
  return `${idMs(uuid)} = ${timeMs(at)}`
}
