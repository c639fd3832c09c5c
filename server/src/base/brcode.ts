import { centsFromDecimal, decimalFromCents } from './money.ts'

// The BR Code is the text behind a Pix QR code: fields of a two-digit id, a two-digit length and a value, and a
// checksum. Lengths count characters and banking apps count bytes, so everything is folded to ASCII.

/** A dynamic code points to a location. A static one carries the receiver's key, and can be paid again and again. */
export type BrCodeInput = ({ location: string } | { pixKey: string }) & {
  merchantName: string
  merchantCity: string
  amountCents?: number
  label?: string
}

export type BrCode = {
  singleUse: boolean
  // A dynamic code points to a location, a static one carries the receiver's key; a code has one of the two.
  location?: string
  pixKey?: string
  amountCents?: number
  merchantName: string
  merchantCity: string
  label?: string
}

export class BrCodeError extends Error {
  override name = 'BrCodeError'
}

const PIX_DOMAIN = 'br.gov.bcb.pix'
const NAME_MAX = 25
const CITY_MAX = 15
const LABEL_MAX = 25
// Field 26 holds the domain (18 characters with its header) and the location or the key (4 of header).
const LOCATION_MAX = 77
const NO_LABEL = '***'
const CRC_HEADER = '6304'

export function encodeBrCode(input: BrCodeInput): string {
  const isStatic = 'pixKey' in input
  const account = isStatic ? input.pixKey : input.location
  const what = isStatic ? 'Pix key' : 'Location'
  if (!/^[\x21-\x7e]+$/.test(account)) throw new BrCodeError(`${what} must be printable ASCII without spaces`)
  if (account.includes('://')) throw new BrCodeError(`${what} must not carry a scheme`)
  if (account.length > LOCATION_MAX) throw new BrCodeError(`${what} is longer than ${LOCATION_MAX} characters`)

  const label = input.label ?? NO_LABEL
  if (label !== NO_LABEL && !/^[A-Za-z0-9]+$/.test(label)) throw new BrCodeError('Label must be letters and digits')
  if (label.length > LABEL_MAX) throw new BrCodeError(`Label is longer than ${LABEL_MAX} characters`)

  const body =
    field('00', '01') +
    (isStatic ? '' : field('01', '12')) +
    field('26', field('00', PIX_DOMAIN) + field(isStatic ? '01' : '25', account)) +
    field('52', '0000') +
    field('53', '986') +
    (input.amountCents === undefined ? '' : field('54', decimalFromCents(input.amountCents))) +
    field('58', 'BR') +
    field('59', foldToAscii(input.merchantName, NAME_MAX, 'merchantName')) +
    field('60', foldToAscii(input.merchantCity, CITY_MAX, 'merchantCity')) +
    field('62', field('05', label)) +
    CRC_HEADER
  return body + crc16(body)
}

export function decodeBrCode(text: string): BrCode {
  if (!/^[\x20-\x7e]+$/.test(text)) throw new BrCodeError('A BR Code is printable ASCII')
  const body = text.slice(0, -4)
  if (!body.endsWith(CRC_HEADER)) throw new BrCodeError('The checksum field 63 is missing at the end')
  const expected = crc16(body)
  if (text.slice(-4) !== expected) throw new BrCodeError(`Wrong checksum: ${text.slice(-4)}, expected ${expected}`)

  const fields = readFields(text, 'BR Code')
  if (fields.get('00') !== '01') throw new BrCodeError('Field 00 must be 01')
  const account = readFields(required(fields, '26', 'the Pix account'), 'field 26')
  if (account.get('00')?.toLowerCase() !== PIX_DOMAIN) throw new BrCodeError(`Field 26 is not of ${PIX_DOMAIN}`)

  const location = account.get('25')
  const pixKey = account.get('01')
  if (location === undefined && pixKey === undefined) throw new BrCodeError('Field 26 has neither a location nor a key')
  const amount = fields.get('54')
  const additional = fields.get('62')
  const label = additional === undefined ? undefined : readFields(additional, 'field 62').get('05')
  return {
    singleUse: fields.get('01') === '12',
    ...(location === undefined ? {} : { location }),
    ...(pixKey === undefined ? {} : { pixKey }),
    ...(amount === undefined ? {} : { amountCents: readAmount(amount) }),
    merchantName: required(fields, '59', 'the name'),
    merchantCity: required(fields, '60', 'the city'),
    ...(label === undefined || label === NO_LABEL ? {} : { label }),
  }
}

// CRC-16/CCITT-FALSE, with a table of what each byte does.
const CRC_OF_BYTE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** Always four digits: a lost leading zero breaks one code in sixteen. */
export function crc16(text: string): string {
  let crc = 0xffff
  for (let at = 0; at < text.length; at++) {
    crc = ((crc << 8) & 0xffff) ^ CRC_OF_BYTE[(crc >> 8) ^ text.charCodeAt(at)]!
  }
  return crc.toString(16).toUpperCase().padStart(4, '0')
}

function field(id: string, value: string): string {
  if (value.length > 99) throw new BrCodeError(`Field ${id} is longer than 99 characters`)
  return id + String(value.length).padStart(2, '0') + value
}

function foldToAscii(text: string, maxLength: number, what: string): string {
  const folded = text
    .normalize('NFKD')
    .replaceAll(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, maxLength)
    .trimEnd()
  if (folded === '') throw new BrCodeError(`${what} has no character that a BR Code can carry`)
  return folded
}

function readFields(text: string, where: string): Map<string, string> {
  const fields = new Map<string, string>()
  let at = 0
  while (at < text.length) {
    const length = twoDigits(text, at + 2)
    if (Number.isNaN(twoDigits(text, at) + length)) {
      throw new BrCodeError(`${where}: no field header at position ${at}`)
    }
    const id = text.slice(at, at + 2)
    const end = at + 4 + length
    if (end > text.length) throw new BrCodeError(`${where}: field ${id} runs past the end`)
    if (fields.has(id)) throw new BrCodeError(`${where}: field ${id} appears twice`)
    fields.set(id, text.slice(at + 4, end))
    at = end
  }
  return fields
}

/** NaN for anything but two digits. */
function twoDigits(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at) - 48, text.charCodeAt(at + 1) - 48]
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN
}

function required(fields: Map<string, string>, id: string, what: string): string {
  const value = fields.get(id)
  if (value === undefined) throw new BrCodeError(`Field ${id}, ${what}, is missing`)
  return value
}

// The standard lets the cents be left off: 50, 50.5.
function readAmount(text: string): number {
  if (!/^\d{1,10}(\.\d{0,2})?$/.test(text)) throw new BrCodeError(`Field 54 is not an amount: ${text}`)
  const [units = '', cents = ''] = text.split('.')
  return centsFromDecimal(`${units}.${cents.padEnd(2, '0')}`)
}
