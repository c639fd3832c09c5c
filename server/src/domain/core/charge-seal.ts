import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { hexFromUuid, newSealedUuid } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'

/** What a charge is, from its first moment to its last: whose, how much, for what, until when. */
export type ChargeFacts = {
  paymentLinkId: string
  accountId: string
  originalValueCents: Cents
  valueCents: Cents
  feeCents: Cents
  externalId: string | null
  description: string | null
  expiresAt: Date
}

/**
 * Makes ids of charges that prove what the charge is: half of the id is a code over its facts, by a key that is not in the database. The id is the provider's
 * txid too. So who can write to the database, and to nothing else, cannot give a charge another owner, value or fee: its id would not fit, and another id
 * is not the one that was paid.
 */
export type ChargeSeal = {
  newId(now: Date, facts: ChargeFacts): string // 32 hexadecimal digits
  /** `facts` as FACTS_SQL tells them. */
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
      return hexFromUuid(newSealedUuid(now, (head) => codeOf(loaded()[0]!, head, text)))
    },
    fits(id, facts) {
      const head = id.slice(0, 16)
      const tail = Buffer.from(id.slice(16), 'hex')
      return loaded().some((key) => {
        const code = codeOf(key, head, facts)
        // Where a UUID says of which kind it is.
        code[0] = 0x80 | (code[0]! & 0x3f)
        return timingSafeEqual(code, tail)
      })
    },
  }
}

// Both must be the same text.
function factsText(facts: ChargeFacts): string {
  const { paymentLinkId, accountId, originalValueCents, valueCents, feeCents, externalId, description, expiresAt } =
    facts
  const numbers = [originalValueCents, valueCents, feeCents, expiresAt.getTime()]
  return [paymentLinkId, accountId, ...numbers, JSON.stringify(externalId), JSON.stringify(description)].join(' ')
}

/** The same, of the row called c. */
export const FACTS_SQL = `concat_ws(' ', c.payment_link_id, c.account_id, c.original_value_cents, c.value_cents, c.fee_cents,
  (extract(epoch from c.expires_at) * 1000)::bigint, coalesce(to_json(c.external_id)::text, 'null'), coalesce(to_json(c.description)::text, 'null'))`

/** The id's eighth byte says that it is sealed; ids from before that are not. */
export const IS_SEALED_SQL = `substr(c.id::text, 15, 1) = '8'`

function codeOf(key: Buffer, head: string, facts: string): Buffer {
  return createHmac('sha256', key).update(head).update(' ').update(facts).digest().subarray(0, 8)
}
