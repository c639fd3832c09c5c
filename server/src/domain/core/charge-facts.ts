import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { newSealedId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { columnOf } from '../../db/sql-values.ts'

/** How long a charge can be paid, in seconds. In less time a payer cannot pay. */
export const EXPIRES_SECONDS = { min: 300, max: 30 * 86_400 }

/** A text that the account holder may give a deposit. Lengths are in characters. */
type OwnField = { minLength: number; maxLength: number; asked: string; answered: string; example: string }

/**
 * The texts that an account holder gives a deposit. Insert, select, request hash, seal and API follow from it. A field
 * that is not given is left out of hash and seal, so a new one changes neither for what is stored.
 */
export const OWN_FIELDS = {
  externalId: {
    minLength: 1,
    maxLength: 64,
    asked:
      'Your own reference. It must be unique among your PENDING and COMPLETED charges: a second deposit for the same order gets 409.',
    answered: 'Your own reference.',
    example: 'order-1042',
  },
  description: {
    minLength: 0,
    maxLength: 140,
    asked: 'Shown to the payer on the payment page and in the banking app.',
    answered: 'The description shown to the payer.',
    example: 'Order 1042',
  },
  returnUrl: {
    minLength: 1,
    maxLength: 2_048,
    asked:
      'Where the payment page leads back to once the charge is paid, on an origin that your account lists under My shop. It gets `paymentLinkId` and `status` as parameters. Anybody can write such a link, so it proves no payment.',
    answered: 'Where the payment page leads back to.',
    example: 'https://shop.example.com/orders/1042',
  },
} as const satisfies Record<string, OwnField>

export type OwnTextName = keyof typeof OWN_FIELDS
/**
 * `metadata` is the JSON text of an object, with its keys in the caller's order, `payer` that of core/payers.ts. So
 * they are stored as any other text.
 */
export type OwnName = OwnTextName | 'metadata' | 'payer'
export type OwnFields = { [Name in OwnName]?: string | null }

const OWN_TEXT_NAMES = Object.keys(OWN_FIELDS) as OwnTextName[]
export const OWN_NAMES: readonly OwnName[] = [...OWN_TEXT_NAMES, 'metadata', 'payer']

export function byOwnField<Value>(valueOf: (name: OwnName) => Value): Record<OwnName, Value> {
  return byName(OWN_NAMES, valueOf)
}

export function byOwnText<Value>(valueOf: (name: OwnTextName) => Value): Record<OwnTextName, Value> {
  return byName(OWN_TEXT_NAMES, valueOf)
}

function byName<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>
}

/** What an account holder's own program wants to know of a deposit later. It means nothing to guiche. */
export type Metadata = Record<string, string>

/** Enough for references to a few other systems. The whole is bounded because every settlement reads it. */
export const METADATA = { maxKeys: 20, maxKeyLength: 40, maxValueLength: 500, maxBytes: 4_096 }

export function readMetadata(text: string | null): Metadata | null {
  return text === null ? null : (JSON.parse(text) as Metadata)
}

/** The fields of a charge that never change. */
export type ChargeFacts = OwnFields & {
  paymentLinkId: string
  accountId: string
  originalValueCents: Cents
  valueCents: Cents
  feeCents: Cents
  expiresAt: Date
  /** Of a charge that its payment made by a code. */
  madeBy?: { codeId: string; codeVersion: number; endToEndId: string }
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
  const { madeBy } = facts
  return madeBy ? `${text} code=${madeBy.codeId} ${madeBy.codeVersion} ${madeBy.endToEndId}` : text
}

export const FACTS_SQL = `concat_ws(' ', c.payment_link_id, c.account_id, c.original_value_cents, c.value_cents,
  c.fee_cents, (extract(epoch from c.expires_at) * 1000)::bigint,
  ${OWN_NAMES.map((name) => `'${name}=' || to_json(c.${columnOf(name)})::text`).join(', ')},
  'code=' || c.code_id || ' ' || c.code_version || ' ' || c.end_to_end_id)`

/** 16 hexadecimal digits, of which the first has the bits of a UUID's variant. */
function codeOf(key: Buffer, head: string, facts: string): string {
  // A hex string: allocating a Buffer for the digest would cost as much as computing it.
  const digits = createHmac('sha256', key).update(`${head} ${facts}`).digest('hex')
  return '89ab'[parseInt(digits[0]!, 16) % 4]! + digits.slice(1, 16)
}
