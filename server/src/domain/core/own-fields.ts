/** A text that the account holder may give a deposit. Lengths are in characters. */
type OwnField = { minLength: number; maxLength: number; asked: string; answered: string; example: string }

/**
 * What an account holder says about a deposit. Insert, select, request hash, seal and API follow from it. A field that
 * is not given is left out of hash and seal, so a new one changes neither for what is stored.
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
} as const satisfies Record<string, OwnField>

export type OwnName = keyof typeof OWN_FIELDS
export type OwnFields = { [Name in OwnName]?: string | null }

export const OWN_NAMES = Object.keys(OWN_FIELDS) as OwnName[]

export function byOwnField<Value>(valueOf: (name: OwnName) => Value): Record<OwnName, Value> {
  return Object.fromEntries(OWN_NAMES.map((name) => [name, valueOf(name)])) as Record<OwnName, Value>
}
