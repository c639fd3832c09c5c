import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { decimalFromCents, type Cents } from '../base/money.ts'

// Lists as files for spreadsheets.

/** Text cells are what people typed and are made harmless; the others are ours. */
export type Cell = { text: string | null } | { cents: Cents | null } | { plain: string | number | boolean | null }
export type Columns<Row> = Record<string, (row: Row) => Cell>
type Page<Row> = { rows: Row[]; nextCursor: string | null }
type ReadPage<Row> = (cursor: string | undefined) => Promise<Page<Row>>

/** Rows at a time: one short read, and some hundred kB in memory. */
export const CSV_PAGE = 500

// Tells spreadsheets that what follows is UTF-8.
const BYTE_ORDER_MARK = '\u{feff}'

/**
 * Sends all pages, each read when the one before has left: a slow reader slows the reading, and one who goes away ends it. What is added meanwhile is
 * newer than the first page and does not shift the others, since pages go on from the last row and not from a number of rows.
 */
export async function sendCsv<Row>(
  reply: FastifyReply,
  fileName: string,
  columns: Columns<Row>,
  readPage: ReadPage<Row>,
): Promise<FastifyReply> {
  // Before anything is sent, so that a refusal is one and not the end of a file.
  const first = await readPage(undefined)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .send(Readable.from(csvOf(columns, first, readPage), { objectMode: false, highWaterMark: 1 }))
}

async function* csvOf<Row>(columns: Columns<Row>, first: Page<Row>, readPage: ReadPage<Row>): AsyncGenerator<string> {
  const cells = Object.values(columns)
  const line = (row: Row) => cells.map((cell) => cellText(cell(row))).join(',')
  yield `${BYTE_ORDER_MARK}${Object.keys(columns).join(',')}\r\n`
  let page: Page<Row> | undefined = first
  while (page) {
    yield page.rows.map((row) => `${line(row)}\r\n`).join('')
    page = page.nextCursor === null ? undefined : await readPage(page.nextCursor)
  }
}

function cellText(cell: Cell): string {
  if ('text' in cell) return quoted(defused(cell.text ?? ''))
  if ('cents' in cell) return cell.cents === null ? '' : amount(cell.cents)
  return quoted(String(cell.plain ?? ''))
}

function amount(cents: Cents): string {
  return `${cents < 0 ? '-' : ''}${decimalFromCents(Math.abs(cents))}`
}

// A cell that begins like a formula is run as one when the file is opened, and account holders open what their customers' systems wrote.
function defused(text: string): string {
  return /^[\s=+\-@\uff0b\uff0d\uff1d\uff20]/u.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",;\r\n\t']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
