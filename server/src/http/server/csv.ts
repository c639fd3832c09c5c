import { decimalFromCents, type Cents } from '../../base/money.ts'
import { wallTime } from '../../domain/core/business-days.ts'

/**
 * csv: for programs, with the names of the API, decimal points and UTC. csv-br: for Brazilian spreadsheets, with
 * semicolons, decimal commas, local time and Portuguese titles.
 */
export const CSV_FORMATS = ['csv', 'csv-br'] as const
export type CsvFormat = (typeof CSV_FORMATS)[number]

/** Users typed the text cells, so those are escaped; the others are ours. */
type Cell =
  | { text: string | null }
  | { cents: Cents | null }
  | { time: string | null }
  | { plain: string | number | boolean | null }
  | { word: string; translation: string }

/** By their name in the API, with their Brazilian title. */
export type Columns<Row> = Record<string, { title: string; cell: (row: Row) => Cell }>

export const plain = (value: string | boolean | null): Cell => ({ plain: value })
export const text = (value: string | null): Cell => ({ text: value })
export const cents = (value: Cents | null): Cell => ({ cents: value })
export const time = (value: string | null): Cell => ({ time: value })
export const word = (value: string, translation: string): Cell => ({ word: value, translation })

// Tells spreadsheets that the file is UTF-8. Programs would take it for a part of the first name.
const BYTE_ORDER_MARK = '\u{feff}'

/** How a table is written, piece by piece. */
export function csvWriter<Row>(columns: Columns<Row>, { format, timeZone }: { format: CsvFormat; timeZone: string }) {
  const isBrazilian = format === 'csv-br'
  const separator = isBrazilian ? ';' : ','
  const cellText = isBrazilian ? (cell: Cell) => brazilianText(cell, timeZone) : plainText
  const cells = Object.values(columns)
  const titles = isBrazilian ? cells.map(({ title }) => quoted(title)) : Object.keys(columns)
  return {
    head: `${isBrazilian ? BYTE_ORDER_MARK : ''}${titles.join(separator)}\r\n`,
    line: (row: Row) => `${cells.map(({ cell }) => cellText(cell(row))).join(separator)}\r\n`,
  }
}

function plainText(cell: Cell): string {
  if ('text' in cell) return quoted(escapeFormula(cell.text ?? ''))
  if ('cents' in cell) return cell.cents === null ? '' : signedDecimal(cell.cents)
  if ('time' in cell) return cell.time ?? ''
  if ('word' in cell) return cell.word
  return quoted(String(cell.plain ?? ''))
}

function brazilianText(cell: Cell, timeZone: string): string {
  if ('cents' in cell) return plainText(cell).replace('.', ',')
  if ('time' in cell) return cell.time ? brazilianTime(new Date(cell.time), timeZone) : ''
  if ('word' in cell) return quoted(cell.translation)
  if ('plain' in cell && typeof cell.plain === 'boolean') return cell.plain ? 'sim' : 'não'
  return plainText(cell)
}

/** "15/11/2026 14:03:59", which spreadsheets recognize as a time. */
function brazilianTime(at: Date, timeZone: string): string {
  const [day = '', clock = ''] = wallTime(at, timeZone).split('T')
  return `${day.split('-').toReversed().join('/')} ${clock}`
}

/** -5000 → "-50.00" */
export function signedDecimal(amount: Cents): string {
  return `${amount < 0 ? '-' : ''}${decimalFromCents(Math.abs(amount))}`
}

// A spreadsheet runs a cell that begins like a formula, and these texts come from other people's systems.
function escapeFormula(value: string): string {
  return /^[\s=+\-@\uff0b\uff0d\uff1d\uff20]/u.test(value) ? `'${value}` : value
}

function quoted(value: string): string {
  return /[",;\r\n\t']/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
