import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { newSealedId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { columnOf } from '../../db/sql-values.ts'
import { OWN_NAMES, type OwnFields } from './own-fields.ts'

/** The fields of a charge that never change. */
export type ChargeFacts = OwnFields & {
  paymentLinkId: string
  accountId: string
  originalValueCents: Cents
  valueCents: Cents
  feeCents: Cents
  expiresAt: Date
}

/**
 * Makes charge ids that prove the charge's facts: half of the id is a code over them, by a key that is not in the
 * database. The id is also the provider's txid. So somebody who can only write to the database cannot give a charge
 * another owner, value or fee: its id would not fit, and a new id is not the one that was paid.
 */
export type ChargeSeal = {
  newId(now: Date, facts: ChargeFacts): string
  /** `facts` as FACTS_SQL gives them. */
  fits(id: string, facts: string): boolean
}

/** The first key seals; all of them are tried, so that a key can be replaced. */
export function makeChargeSeal(readKeys: () => string[]): ChargeSeal {
  let keys: Buffer[] | undefined
  const loaded = () =>
    (keys ??= readKeys().map((key) => Buffer.from(hkdfSync('sha256', key, '', 'guiche charge id', 32))))
  return {
    newId(now, facts) {
      const text = factsText(facts)
      return newSealedId(now, (head) => codeOf(loaded()[0]!, head, text))
    },
    fits(id, facts) {
      const tail = Buffer.from(id.slice(16))
      return loaded().some((key) => timingSafeEqual(Buffer.from(codeOf(key, id.slice(0, 16), facts)), tail))
    },
  }
}

/** Must give the same text as FACTS_SQL. */
function factsText(facts: ChargeFacts): string {
  const { paymentLinkId, accountId, originalValueCents, valueCents, feeCents, expiresAt } = facts
  let text = `${paymentLinkId} ${accountId} ${originalValueCents} ${valueCents} ${feeCents} ${expiresAt.getTime()}`
  for (const name of OWN_NAMES) {
    const value = facts[name] ?? null
    if (value !== null) text += ` ${name}=${JSON.stringify(value)}`
  }
  return text
}

export const FACTS_SQL = `concat_ws(' ', c.payment_link_id, c.account_id, c.original_value_cents, c.value_cents,
  c.fee_cents, (extract(epoch from c.expires_at) * 1000)::bigint,
  ${OWN_NAMES.map((name) => `'${name}=' || to_json(c.${columnOf(name)})::text`).join(', ')})`

/** 16 hexadecimal digits, of which the first has the bits of a UUID's variant. */
function codeOf(key: Buffer, head: string, facts: string): string {
  // A hex string: allocating a Buffer for the digest would cost as much as computing it.
  const digits = createHmac('sha256', key).update(`${head} ${facts}`).digest('hex')
  return '89ab'[parseInt(digits[0]!, 16) % 4]! + digits.slice(1, 16)
}
