import { maskedTaxId, type TaxId } from '../../base/tax-id.ts'
import type { SecretBox } from './secret-box.ts'

// Who is to pay a deposit. The number of that person is personal, and guessed in no time from a hash without a key. So
// the charge keeps a keyed hash of it and its last two digits. See docs/decisions/0053-who-paid.md.

/** verify: the deposit is credited, and it is told who paid. require: nothing is credited before it is known. */
export const PAYER_POLICIES = ['verify', 'require'] as const
export type PayerPolicy = (typeof PAYER_POLICIES)[number]

/** matched: that person paid. mismatched: another one did. unknown: the provider has not said. */
export const PAYER_MATCHES = ['matched', 'mismatched', 'unknown'] as const
export type PayerMatch = (typeof PAYER_MATCHES)[number]

/** As the account holder names the person. */
export type Payer = TaxId & { policy: PayerPolicy }

/** The column `payer` of a charge is its JSON text. */
type StoredPayer = { policy: PayerPolicy; kind: TaxId['kind']; ending: string; hash: string }

export type ShownPayer = { taxId: string; policy: PayerPolicy }

/** With the account, so that nobody can tell by the hashes that two accounts know the same person. */
function hashesOf(box: SecretBox, accountId: string, { number }: TaxId): string[] {
  return box.hashes(`payer ${accountId} ${number}`)
}

export function payerText(box: SecretBox, accountId: string, payer: Payer): string {
  const { policy, kind, number } = payer
  const hash = hashesOf(box, accountId, payer)[0]!
  return JSON.stringify({ policy, kind, ending: number.slice(-2), hash } satisfies StoredPayer)
}

function readPayer(text: string): StoredPayer {
  return JSON.parse(text) as StoredPayer
}

export function policyOf({ payer }: { payer: string | null }): PayerPolicy | null {
  return payer === null ? null : readPayer(payer).policy
}

/** Whether the charge names this person, by whichever key it was hashed. */
export function isSamePayer(
  box: SecretBox,
  { accountId, payer: text }: { accountId: string; payer: string | null },
  payer: Payer | null,
): boolean {
  if (text === null || payer === null) return text === payer
  const { policy, hash } = readPayer(text)
  return policy === payer.policy && hashesOf(box, accountId, payer).includes(hash)
}

export function showPayer(text: string | null): ShownPayer | null {
  if (text === null) return null
  const { policy, kind, ending } = readPayer(text)
  return { taxId: maskedTaxId(kind, ending), policy }
}

/** As a page says it: "CPF ***.***.***-12". */
export function payerLabel(text: string): string {
  const { kind, ending } = readPayer(text)
  return `${kind} ${maskedTaxId(kind, ending)}`
}

/** In SQL, what was found out about the payer of charge c; null when nobody asked. */
export const PAYER_MATCH = `
  case
    when c.payer is null then null
    when c.status = 'COMPLETED'
      then coalesce((select a.answer from payer_answers a where a.end_to_end_id = c.end_to_end_id), 'unknown')
    else coalesce(
      (select a.answer from payer_answers a where a.charge_id = c.id order by a.answered_at desc, a.end_to_end_id limit 1),
      (
        select 'unknown' from payments p join exceptions x on x.payment_id = p.id and x.kind = 'payer_unconfirmed'
        where p.charge_id = c.id and not p.credited limit 1
      )
    )
  end`
