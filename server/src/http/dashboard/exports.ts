import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { decimalFromCents, type Cents } from '../../base/money.ts'
import { DAY_ZONE } from '../../domain/core/business-days.ts'

// Lists as files for spreadsheets.

/** Text cells are what people typed and are made harmless; the others are ours. */
export type Cell =
  | { text: string | null }
  | { cents: Cents | null }
  | { time: Date | null }
  | { plain: string | number | boolean | null }
  /** A word of ours, and what people in Brazil call it. */
  | { word: string; inBrazil: string }
/** By name, with the title that people in Brazil read. */
export type Columns<Row> = Record<string, { title: string; cell: (row: Row) => Cell }>

/**
 * csv: for programs, with names as in the API, decimal points and UTC. excel-br: for spreadsheets in Brazil, which split lines at semicolons, write decimals
 * with a comma, and know no time zones.
 */
export const CSV_FORMATS = ['csv', 'excel-br'] as const
export type CsvFormat = (typeof CSV_FORMATS)[number]
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
  { fileName, format }: { fileName: string; format: CsvFormat },
  columns: Columns<Row>,
  readPage: ReadPage<Row>,
): Promise<FastifyReply> {
  // Before anything is sent, so that a refusal is one and not the end of a file.
  const first = await readPage(undefined)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .send(Readable.from(csvOf({ columns, format }, first, readPage), { objectMode: false, highWaterMark: 1 }))
}

async function* csvOf<Row>(
  { columns, format }: { columns: Columns<Row>; format: CsvFormat },
  first: Page<Row>,
  readPage: ReadPage<Row>,
): AsyncGenerator<string> {
  const isBrazilian = format === 'excel-br'
  const separator = isBrazilian ? ';' : ','
  const cellText = isBrazilian ? brazilianText : plainText
  const cells = Object.values(columns)
  const line = (row: Row) => cells.map(({ cell }) => cellText(cell(row))).join(separator)
  const head = isBrazilian ? cells.map(({ title }) => quoted(title)) : Object.keys(columns)
  yield `${BYTE_ORDER_MARK}${head.join(separator)}\r\n`
  let page: Page<Row> | undefined = first
  while (page) {
    yield page.rows.map((row) => `${line(row)}\r\n`).join('')
    page = page.nextCursor === null ? undefined : await readPage(page.nextCursor)
  }
}

function plainText(cell: Cell): string {
  if ('text' in cell) return quoted(defused(cell.text ?? ''))
  if ('cents' in cell) return cell.cents === null ? '' : amount(cell.cents)
  if ('time' in cell) return cell.time?.toISOString() ?? ''
  if ('word' in cell) return cell.word
  return quoted(String(cell.plain ?? ''))
}

const brazilianTime = new Intl.DateTimeFormat('pt-BR', {
  timeZone: DAY_ZONE,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

function brazilianText(cell: Cell): string {
  if ('cents' in cell) return plainText(cell).replace('.', ',')
  // 15/11/2026 14:03:59, which spreadsheets take for a time: with the comma that stands between in running text they do not.
  if ('time' in cell) return cell.time ? brazilianTime.format(cell.time).replace(', ', ' ') : ''
  if ('word' in cell) return quoted(cell.inBrazil)
  if ('plain' in cell && typeof cell.plain === 'boolean') return cell.plain ? 'sim' : 'não'
  return plainText(cell)
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
