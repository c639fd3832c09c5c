/**
 * In SQL, a time as toISOString() writes it. For lists that show times and do not compute with them: PostgreSQL writes
 * this text in less time than it takes to parse a Date from another.
 */
export function isoTime(column: string): string {
  return `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}
