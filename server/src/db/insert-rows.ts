import type { Tx } from './tx.ts'

/**
 * By column name: its type, and its value for an item. `json` is text that holds JSON. A column of arrays does not fit:
 * unnest flattens it.
 */
export type Columns<Item> = Record<string, readonly [type: string, valueOf: (item: Item) => unknown]>

/** Items as rows of these columns, and `place` in the list. */
export function unnestOf<Item>(columns: Columns<Item>): string {
  const types = Object.values(columns).map(([type]) => (type === 'json' ? 'text' : type))
  return `${unnest(types)} with ordinality as n (${Object.keys(columns).join(', ')}, place)`
}

/** In SQL, the rows of parameters that are arrays of these types. */
export function unnest(types: readonly string[], firstParam = 1): string {
  return `unnest(${types.map((type, index) => `$${firstParam + index}::${type}[]`).join(', ')})`
}

export function valuesOf<Item>(columns: Columns<Item>, items: readonly Item[]): unknown[] {
  return Object.values(columns).map(([type, valueOf]) => arrayOf(type, items, valueOf))
}

// How an array contains a value of each type. pg writes arrays too, but takes 25 µs more for a row of 20 columns.
const WRITERS: Record<string, (value: unknown) => string> = {
  uuid: String,
  bigint: String,
  int: String,
  boolean: String,
  bytea: (value) => `"\\\\x${(value as Buffer).toString('hex')}"`,
  timestamptz: (value) => (value as Date).toISOString(),
  text: (value) => quoted(String(value)),
  // JSON.stringify() escapes quotes and backslashes as an array literal needs it. JSON has no control characters.
  json: (value) => JSON.stringify(value),
}

function arrayOf<Item>(type: string, items: readonly Item[], valueOf: (item: Item) => unknown): unknown {
  const write = WRITERS[type]
  if (!write) return items.map(valueOf)
  let texts = ''
  for (const item of items) {
    const value = valueOf(item)
    if (texts !== '') texts += ','
    texts += value === null || value === undefined ? 'NULL' : write(value)
  }
  return `{${texts}}`
}

function quoted(text: string): string {
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`
}

/** `tail` follows the row, as in insertRows(). */
export function insertRow<Row>(
  tx: Pick<Tx, 'rows'>,
  table: string,
  row: Record<string, unknown>,
  tail = '',
): Promise<Row[]> {
  const names = Object.keys(row)
  const values = names.map((_, index) => `$${index + 1}`)
  return tx.rows<Row>(
    `insert into ${table} (${names.join(', ')}) values (${values.join(', ')}) ${tail}`,
    Object.values(row),
  )
}

/**
 * Inserts any number of rows in one statement. Rows that others may insert at the same time need `orderBy`, so that two
 * statements lock them in the same order. `tail` follows: `on conflict …`, `returning …`.
 */
export async function insertRows<Row, Item = unknown>(
  tx: Pick<Tx, 'rows'>,
  table: string,
  items: readonly Item[],
  columns: Columns<Item>,
  { orderBy, tail = '' }: { orderBy?: string; tail?: string } = {},
): Promise<Row[]> {
  if (items.length === 0) return []
  const names = Object.keys(columns).join(', ')
  return tx.rows<Row>(
    `insert into ${table} (${names})
     select ${names} from ${unnestOf(columns)}${orderBy ? ` order by ${orderBy}` : ''} ${tail}`,
    valuesOf(columns, items),
  )
}

/** By column, the values of these fields, for unnest(). */
export function columnsOf<Row>(rows: readonly Row[], ...fields: (keyof Row)[]): unknown[][] {
  return fields.map((field) => rows.map((row) => row[field]))
}
