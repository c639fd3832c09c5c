import { uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

// Of each way in which a text may match, the newest; a list of more is no answer to a search.
const MAX_FOUND = 1_000
// Shorter ones match by chance, and the index on texts holds pieces of three characters.
const MIN_TEXT = 3
const MIN_ID_DIGITS = 4
// Links of all accounts share one index. Their first twelve digits are the millisecond in which they were made.
const MIN_LINK_DIGITS = 12
const ID_DIGITS = 32

/**
 * Charges of the account that have the text in their external id or description, whatever its case, or that begin with it by their id or payment link, or whose
 * value it is, or whose payment. Each by an index.
 */
export async function searchCharges(core: Core, accountId: string, text: string): Promise<string[]> {
  const id = idRange(text, MIN_ID_DIGITS)
  const link = idRange(text, MIN_LINK_DIGITS)
  const rows = await query<{ id: string }>(
    core.pool,
    `(select id from charges where account_id = $1 and id between $2 and $3 order by id desc limit $9)
     union (select id from charges where payment_link_id between $4 and $5 and account_id = $1 limit $9)
     union (select id from charges where account_id = $1 and value_cents = $6 order by id desc limit $9)
     union (
       select id from charges
       where account_id = $1 and (external_id is not null or description is not null)
         and lower(coalesce(external_id, '') || ' ' || coalesce(description, '')) like $7
       order by id desc limit $9
     )
     union select charge_id from payments where end_to_end_id = $8 and credited`,
    [
      accountId,
      id?.first ?? null,
      id?.last ?? null,
      link?.first ?? null,
      link?.last ?? null,
      centsIn(text),
      text.length >= MIN_TEXT ? `%${escapeLike(text.toLowerCase())}%` : null,
      text,
      MAX_FOUND,
    ],
  )
  return rows.map((row) => row.id)
}

/** The ids that begin with these hexadecimal digits, dashes or not. */
function idRange(text: string, minDigits: number): { first: string; last: string } | undefined {
  const digits = text.toLowerCase().replaceAll('-', '').replace(/…$/, '')
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < minDigits || digits.length > ID_DIGITS) return undefined
  return { first: uuidFromHex(digits.padEnd(ID_DIGITS, '0')), last: uuidFromHex(digits.padEnd(ID_DIGITS, 'f')) }
}

/** An amount as people write it, in Brazil or elsewhere: 199,90 or R$ 1.234,56 or 1,234.56. A whole number is reais. Null for anything else. */
export function centsIn(text: string): Cents | null {
  const bare = text.replace(/^R\$\s*/i, '').trim()
  const match =
    /^(\d{1,3}(?:\.\d{3})+|\d+),(\d{2})$/.exec(bare) ??
    /^(\d{1,3}(?:,\d{3})+|\d+)\.(\d{2})$/.exec(bare) ??
    /^(\d{1,3}(?:\.\d{3})+|\d{1,3}(?:,\d{3})+|\d+)()$/.exec(bare)
  if (!match) return null
  const cents = Number(match[1]!.replaceAll(/\D/g, '') + (match[2] || '00'))
  return Number.isSafeInteger(cents) ? cents : null
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}
