import { wallTime, DAY_ZONE } from '../../domain/core/business-days.ts'
import { LINE_KINDS } from '../../domain/ledger/line-kinds.ts'
import type { Period, StatementLine } from '../../domain/ledger/account-statement.ts'
import { signedDecimal } from '../server/csv.ts'

// A statement as accounting programs import it: OFX 1.02, which is SGML without end tags of values and what most of
// them in Brazil read, and OFX 2.1.1, which is XML.

export const OFX_VERSIONS = ['1.02', '2.1.1'] as const
export type OfxVersion = (typeof OFX_VERSIONS)[number]

export type OfxStatement = Pick<Period, 'closingCents'> & {
  accountId: string
  timeZone: string
  now: Date
  from: Date
  /** The moment after the last. */
  to: Date
}

const HEADERS: Record<OfxVersion, string[]> = {
  '1.02': [
    'OFXHEADER:100',
    'DATA:OFXSGML',
    'VERSION:102',
    'SECURITY:NONE',
    'ENCODING:USASCII',
    'CHARSET:1252',
    'COMPRESSION:NONE',
    'OLDFILEUID:NONE',
    'NEWFILEUID:NONE',
    '',
  ],
  '2.1.1': [
    '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
    '<?OFX OFXHEADER="200" VERSION="211" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>',
  ],
}

// Importers want a bank with three digits, and this account is at none.
const NO_BANK = '000'
// The limits of the format.
const MAX_ACCOUNT = 22
const MAX_NAME = 32
const MAX_MEMO = 255

export function ofxWriter(version: OfxVersion, statement: OfxStatement) {
  const { accountId, timeZone, now, from, to, closingCents } = statement
  const value = (name: string, text: string) => `<${name}>${escaped(text)}${version === '1.02' ? '' : `</${name}>`}\r\n`
  const at = (time: Date) => ofxTime(time, timeZone)
  const status = `<STATUS>\r\n${value('CODE', '0')}${value('SEVERITY', 'INFO')}</STATUS>\r\n`
  const lastMoment = new Date(Math.min(to.getTime() - 1000, now.getTime()))
  return {
    encode: version === '1.02' ? windows1252 : undefined,
    head: [
      ...HEADERS[version].map((line) => `${line}\r\n`),
      '<OFX>\r\n<SIGNONMSGSRSV1>\r\n<SONRS>\r\n',
      status,
      value('DTSERVER', at(now)),
      value('LANGUAGE', 'POR'),
      '</SONRS>\r\n</SIGNONMSGSRSV1>\r\n<BANKMSGSRSV1>\r\n<STMTTRNRS>\r\n',
      value('TRNUID', '0'),
      status,
      '<STMTRS>\r\n',
      value('CURDEF', 'BRL'),
      '<BANKACCTFROM>\r\n',
      value('BANKID', NO_BANK),
      // The end of the id: its beginning is a time, which accounts of the same minute share.
      value('ACCTID', accountId.replaceAll('-', '').slice(-MAX_ACCOUNT)),
      value('ACCTTYPE', 'CHECKING'),
      '</BANKACCTFROM>\r\n<BANKTRANLIST>\r\n',
      value('DTSTART', at(from)),
      value('DTEND', at(lastMoment)),
    ].join(''),
    line: (line: StatementLine) =>
      [
        '<STMTTRN>\r\n',
        value('TRNTYPE', line.netCents < 0 ? 'DEBIT' : 'CREDIT'),
        value('DTPOSTED', at(new Date(line.recordedAt))),
        value('TRNAMT', signedDecimal(line.netCents)),
        value('FITID', fitId(line)),
        value('NAME', cut(nameOf(line), MAX_NAME)),
        value('MEMO', cut(memoOf(line), MAX_MEMO)),
        '</STMTTRN>\r\n',
      ].join(''),
    tail: [
      '</BANKTRANLIST>\r\n<LEDGERBAL>\r\n',
      value('BALAMT', signedDecimal(closingCents)),
      value('DTASOF', at(lastMoment)),
      '</LEDGERBAL>\r\n</STMTRS>\r\n</STMTTRNRS>\r\n</BANKMSGSRSV1>\r\n</OFX>\r\n',
    ].join(''),
  }
}

/** By this, programs know a line that they have imported already. It outlasts a restored backup, as ids do not. */
function fitId({ payoutId, disputeId, refundId, endToEndId, id, kind }: StatementLine): string {
  return `${payoutId ?? disputeId ?? refundId ?? endToEndId ?? id}${LINE_KINDS[kind].mark}`
}

function nameOf({ kind, externalId }: StatementLine): string {
  const [title] = LINE_KINDS[kind].titles
  return externalId === null ? title : `${title} ${externalId}`
}

function memoOf(line: StatementLine): string {
  const { kind, externalId, description, endToEndId, payout, grossCents, feeCents } = line
  const parts = [
    LINE_KINDS[kind].titles[0],
    `bruto ${decimalComma(grossCents)}, tarifa ${decimalComma(feeCents)}`,
    endToEndId,
    externalId,
    description,
    payout?.reference ?? null,
  ]
  return parts.filter((part) => part !== null).join(' | ')
}

function decimalComma(cents: number): string {
  return signedDecimal(cents).replace('.', ',')
}

/** "20261031233000[-3:BRT]" */
function ofxTime(at: Date, timeZone: string): string {
  const wall = wallTime(at, timeZone)
  const offsetHours = (Date.parse(`${wall}Z`) - Math.floor(at.getTime() / 1000) * 1000) / 3_600_000
  return `${wall.replaceAll(/\D/g, '')}[${offsetHours}${timeZone === DAY_ZONE ? ':BRT' : ''}]`
}

/** Counts characters, so that none is cut in two. */
function cut(text: string, length: number): string {
  return Array.from(text).slice(0, length).join('')
}

function escaped(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

// Where Windows-1252 differs from Latin-1, from 0x80 on. Node's own table lacks them in some versions.
const UPPER = '€\0‚ƒ„…†‡ˆ‰Š‹Œ\0Ž\0\0‘’“”•–—˜™š›œ\0žŸ'

/** Other letters lose what the set lacks, such as an accent, or become a question mark. */
function windows1252(text: string): Buffer {
  const bytes = Array.from(
    text.normalize('NFC'),
    (letter) => byteOf(letter) ?? byteOf(letter.normalize('NFKD')) ?? 0x3f,
  )
  return Buffer.from(bytes)
}

function byteOf(text: string): number | undefined {
  const code = text.charCodeAt(0)
  if (code < 0x80 || (code >= 0xa0 && code <= 0xff)) return code
  const upper = UPPER.indexOf(text.charAt(0))
  return upper === -1 || code === 0 ? undefined : 0x80 + upper
}
