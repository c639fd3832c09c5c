export type Cell = string | number
export type Columns<Item> = Record<string, (item: Item) => Cell>

export function tableOf<Item>(items: Item[], columns: Columns<Item>): string {
  const rows = items.map((item) => Object.values(columns).map((cell) => cell(item)))
  return table(Object.keys(columns), rows)
}

/** Replaces control characters, because they would control the terminal. */
export function table(head: string[], rows: Cell[][]): string {
  const all = [head, ...rows.map((row) => row.map((cell) => oneLine(String(cell))))]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return all.map((row) => line(row).trimEnd()).join('\n')
}

/** Only lists of the database name the account. An API key belongs to one account. */
export function accountColumn<Item extends { account?: string }>(items: Item[]): Columns<Item> {
  return items.some(({ account }) => account !== undefined) ? { ACCOUNT: ({ account }) => account ?? '' } : {}
}

/** Leaves out fields without a value. */
export function labelled(fields: Record<string, Cell | null | undefined>): string {
  const rows = Object.entries(fields).flatMap(([label, value]) =>
    value === null || value === undefined || value === '' ? [] : [[label, value]],
  )
  return table(['', ''], rows).trimStart()
}

export function cut(text: string, length: number): string {
  const line = oneLine(text)
  return line.length > length ? `${line.slice(0, length)}…` : line
}

/** Writes a bigint as text, because JSON numbers are not exact beyond 2^53. */
export function json(value: object): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part), 2)
}

export function moment(at: Date | string): string {
  return timeText(at).slice(0, 16).replace('T', ' ')
}

/** To the second, because retries follow within seconds. */
export function second(at: Date | string): string {
  return timeText(at).slice(0, 19).replace('T', ' ')
}

function timeText(at: Date | string): string {
  return typeof at === 'string' ? at : at.toISOString()
}

export function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().replaceAll(/\p{C}/gu, '\u{fffd}')
}

/** "1 page", "2 pages". */
export function count(many: number, noun: string, plural = `${noun}s`): string {
  return `${many} ${many === 1 ? noun : plural}`
}
