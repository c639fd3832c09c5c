// Names and values in SQL as the code writes them.

/** `feeFixedCents` is `fee_fixed_cents` in the database. */
export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** A time as toISOString() writes it. For lists that only show times: it costs less than to parse and write a Date. */
export function isoTime(at: string): string {
  return `to_char((${at}) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** A UUID as 32 hexadecimal digits. */
export function hexId(uuid: string): string {
  return `replace((${uuid})::text, '-', '')`
}

/** Any value as JSON.stringify() writes it. */
export function jsonText(value: string): string {
  return `coalesce(to_json(${value})::text, 'null')`
}
