// What every check of the books is made of. A check is one statement that yields a row (subject, text) for each thing that is not as it must be.

/** What must hold of a row, in SQL, and what to say when it does not. Unknown counts as broken. After the last nothing more is said. */
export type Rule = { holds: string; says: string; isLast?: boolean }

/** By the check's name. */
export type Checks = Record<string, string>

// Two processes' clocks may differ by as much, and a transaction may wait for a lock after it read the clock.
export const SKEW = `interval '1 minute'`
// The clocks of two houses: a payment bears the time of the payer's bank.
export const BANK_SKEW = `interval '10 minutes'`

/** The column is what follows from other rows. */
export function equal(column: string, actual: string, wanted: string): Rule {
  return {
    holds: `(${actual}) is not distinct from (${wanted})`,
    says: `format('%s is %s and should be %s', '${column}', coalesce((${actual})::text, 'empty'), coalesce((${wanted})::text, 'empty'))`,
  }
}

/** `says` is plain text. */
export function must(holds: string, says: string): Rule {
  return { holds, says: `'${says.replaceAll("'", "''")}'` }
}

/** A row that must be there: of one that is not, there is nothing more to say. */
export function there(holds: string, says: string): Rule {
  return { ...must(holds, says), isLast: true }
}

/** The rules that a row breaks, as `text`; and whether it breaks any, as `where`. */
export function broken(rules: Rule[]): { text: string; where: string } {
  const isBroken = ({ holds }: Rule) => `(${holds}) is not true`
  const lasts = rules.filter((rule) => rule.isLast)
  const others = rules.filter((rule) => !rule.isLast)
  const said = `concat_ws('; ', ${others.map((rule) => `case when ${isBroken(rule)} then ${rule.says} end`).join(', ')})`
  return {
    text:
      lasts.length === 0
        ? said
        : `case ${lasts.map((rule) => `when ${isBroken(rule)} then ${rule.says}`).join(' ')} else ${said} end`,
    where: `(${rules.map(isBroken).join(' or ')})`,
  }
}

/** A UUID's 32 hexadecimal digits. */
export function hex(uuid: string): string {
  return `replace((${uuid})::text, '-', '')`
}

/** The moment that an id of newUuid7 was made at, in milliseconds. */
export function idMs(uuid: string): string {
  return `('x' || left(${hex(uuid)}, 12))::bit(48)::bigint`
}

export function timeMs(at: string): string {
  return `floor(extract(epoch from ${at}) * 1000)`
}

/** An id of newUuid7 bears the time of its row. */
export function bornAt(uuid: string, column: string): Rule {
  return must(
    `${idMs(uuid)} = ${timeMs(column)}`,
    `its id was made at another time than ${column.replace(/^\w+\./, '')}`,
  )
}

export function sqlTime(at: Date): string {
  return `timestamptz '${at.toISOString()}'`
}
