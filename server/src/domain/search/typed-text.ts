import { hexFromUuid } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { readEventName } from '../webhooks/events.ts'

// What a text in a search box can mean. A text may mean several things, and each is looked for.

/** The first and the last value that begin with the text. */
type Range = { first: string; last: string }

/**
 * What `like` compares with, in lower case, and the pieces that an id with this part has: those of one of these lists.
 * Without a list, no index has the part.
 */
export type Part = { pattern: string; pieces: string[][] }

export type TypedText = {
  /** For `like`: words or an e-mail, in any case, with or without accents. */
  words: string | undefined
  id: Range | undefined
  /** All 32 digits of an id. */
  wholeId: string | undefined
  idPart: Part | undefined
  /** Links of all accounts share one index, so it takes more digits of them. */
  link: Range | undefined
  cents: Cents | undefined
  endToEndId: Range | undefined
  endToEndPart: Part | undefined
  event: { kind: string; subjectId: string } | undefined
}

// Shorter texts match by chance, and the trigram index needs three characters.
const MIN_WORDS = 3
const MIN_ID_DIGITS = 4
// Their first twelve digits are the millisecond of creation.
const MIN_LINK_DIGITS = 12
/** Of our ids in digits, and of an endToEndId in characters. */
const ID_LENGTH = 32
// Shorter parts of an endToEndId are in too many of them.
const MIN_PAYMENT_PART = 5
// An endToEndId is E, the bank's number (8 digits, or letters since 2026), the minute (12 digits) and 11 characters.
const PAYMENT_MINUTE = /^E[\dA-Z]{8}\d{12}/i
const BEFORE_LAST_CHARACTERS = '_'.repeat(21)

/** The last characters of an id, which are random, and where in them the pieces of its index begin. */
type Tail = { length: number; starts: number[] }
const PAYMENT_TAIL: Tail = { length: 11, starts: [0, 4, 7] }
const CHARGE_TAIL: Tail = { length: 12, starts: [0, 4, 8] }
const PIECE = 4
/** So many characters of a tail contain a whole piece, wherever in it they begin. */
const MIN_INDEXED_PART = 2 * PIECE - 1

/** In SQL, the pieces of payment p. The index payments_by_pieces has the same expression. */
export const PIECES_OF_PAYMENT = piecesOf(
  `lower(right(p.end_to_end_id, ${PAYMENT_TAIL.length}) collate "C")`,
  PAYMENT_TAIL,
)
/** In SQL, the pieces of charge c. The index charges_by_pieces has the same expression. */
export const PIECES_OF_CHARGE = piecesOf(`right(c.id::text, ${CHARGE_TAIL.length}) collate "C"`, CHARGE_TAIL)

function piecesOf(tail: string, { starts }: Tail): string {
  return `array[${starts.map((start) => `substr(${tail}, ${start + 1}, ${PIECE})`).join(', ')}]`
}

export function readTyped(given: string): TypedText {
  const text = bareText(given)
  const digits = hexFromUuid(text.toLowerCase())
  const isHex = /^[0-9a-f]+$/.test(digits) && digits.length <= ID_LENGTH
  return {
    words: text.length >= MIN_WORDS ? `%${escapeLike(text)}%` : undefined,
    id: isHex && digits.length >= MIN_ID_DIGITS ? idsFrom(digits) : undefined,
    wholeId: isHex && digits.length === ID_LENGTH ? digits : undefined,
    idPart: isHex ? idPart(digits) : undefined,
    link: isHex && digits.length >= MIN_LINK_DIGITS ? idsFrom(digits) : undefined,
    cents: centsIn(text) ?? undefined,
    endToEndId: endToEndIdsFrom(text),
    endToEndPart: endToEndPart(text),
    event: readEventName(text),
  }
}

const UUID_IN_URL = /\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/i

/** A payment link stands for its id. Of a shortened id, the end tells more than the beginning, which is its time. */
function bareText(given: string): string {
  const text = given.trim()
  const [start = '', ...rest] = text.split('…')
  const end = rest.at(-1) ?? ''
  return UUID_IN_URL.exec(text)?.[1] ?? (end.length >= MIN_INDEXED_PART ? end : start)
}

/** The ids that begin with these digits. */
function idsFrom(digits: string): Range {
  return { first: digits.padEnd(ID_LENGTH, '0'), last: digits.padEnd(ID_LENGTH, 'f') }
}

function idPart(digits: string): Part | undefined {
  if (digits.length < MIN_INDEXED_PART) return undefined
  return { pattern: `%${digits}%`, pieces: piecesIn(digits, CHARGE_TAIL) }
}

function endToEndIdsFrom(text: string): Range | undefined {
  if (!/^e[a-z\d]+$/i.test(text)) return undefined
  const first = `E${text.slice(1)}`
  // Behind all that it can continue with, in any collation.
  return { first, last: PAYMENT_MINUTE.test(first) ? first + 'z'.repeat(PAYMENT_TAIL.length + 1) : first }
}

function endToEndPart(text: string): Part | undefined {
  if (text.length < MIN_PAYMENT_PART || !/^[a-z\d]+$/i.test(text)) return undefined
  // A few digits could be of its bank or time, and do not count there.
  const isNumber = /^\d+$/.test(text) && text.length <= PAYMENT_TAIL.length
  const part = text.toLowerCase()
  return { pattern: `${isNumber ? BEFORE_LAST_CHARACTERS : ''}%${part}%`, pieces: piecesIn(part, PAYMENT_TAIL) }
}

/**
 * A part may end at the end of an id, or a few characters before: for each of these places, the pieces that it then
 * contains. The more pieces, the fewer ids have them all.
 */
function piecesIn(part: string, { length, starts }: Tail): string[][] {
  if (part.length < MIN_INDEXED_PART) return []
  const places = Math.min(length - MIN_INDEXED_PART, ID_LENGTH - part.length) + 1
  return Array.from({ length: places }, (_, behind) =>
    starts
      // Where the piece begins in the part: the tail ends `behind` characters after it.
      .map((start) => start - length + behind + part.length)
      .filter((at) => at >= 0 && at + PIECE <= part.length)
      .map((at) => part.slice(at, at + PIECE)),
  ).filter((pieces) => pieces.length > 0)
}

/** An amount as people write it: 199,90 or R$ 1.234,56 or 1,234.56. A whole number is reais. Null for anything else. */
export function centsIn(text: string): Cents | null {
  const bare = text.replace(/^R\$\s*/i, '').trim()
  const [, reais, cents] =
    /^(\d{1,3}(?:\.\d{3})+|\d+),(\d{2})$/.exec(bare) ??
    /^(\d{1,3}(?:,\d{3})+|\d+)\.(\d{2})$/.exec(bare) ??
    /^(\d{1,3}(?:\.\d{3})+|\d{1,3}(?:,\d{3})+|\d+)()$/.exec(bare) ??
    []
  if (reais === undefined) return null
  const total = Number(reais.replaceAll(/\D/g, '') + (cents || '00'))
  return Number.isSafeInteger(total) ? total : null
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}
