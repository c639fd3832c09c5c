import { Fault } from '../../base/fault.ts'
import { newSecretUuid7, readCodeTxid } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { overridesColumn } from '../accounts/terms.ts'
import { byOwnField, type ChargeFacts } from '../core/charge-facts.ts'
import type { Settings } from '../core/settings.ts'
import { priceDeposit, termsFor, type TermsOverrides } from '../core/terms.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import type { SuspenseKind } from './book-payments.ts'
import type { LockedCharge } from './charge-reads.ts'
import type { NamedCode } from './held-events.ts'

// A payment that carries the txid of a code has no charge that waits for it. It makes one, which is COMPLETED from its
// first moment, in the statement that books the payment. From there on it is a deposit as any other.

export type Fit =
  | { charge: LockedCharge; code?: undefined; exception?: undefined }
  | { charge?: undefined; code?: NamedCode; exception: SuspenseKind }

/** Undefined for a payment that names no code. */
export type FitsOfCodes = (payment: ReceivedPayment) => Fit | undefined

export const NO_CODES: FitsOfCodes = () => undefined

type LockedCode = NamedCode & {
  id: string
  provider: string
  isOpen: boolean
  version: number
  description: string | null
  minValueCents: Cents | null
  maxValueCents: Cents | null
  overrides: TermsOverrides
}

const LOCK_CODES = `
  select k.id, k.account_id as "accountId", k.external_id as "externalId", k.provider, k.txid, k.version, k.description,
    k.emv is not null and k.closed_at is null as "isOpen", k.min_value_cents as "minValueCents",
    k.max_value_cents as "maxValueCents", ${overridesColumn('a')} as overrides
  from codes k join accounts a on a.id = k.account_id
  where k.txid = any($1) order by k.id for no key update of k`

type Pricing = Pick<Settings, 'terms' | 'chargeSeal'>

/**
 * The locks come before those of charges. Until they are released nobody closes or changes these codes, and no other
 * transaction books payments of them: so what settle() reads after them is what was recorded by codes.
 */
export async function lockCodes(
  tx: Tx,
  pricing: Pricing,
  now: Date,
  payments: ReceivedPayment[],
): Promise<FitsOfCodes> {
  const txids = payments.flatMap(({ txid }) => readCodeTxid(txid) ?? [])
  if (txids.length === 0) return NO_CODES
  const codes = await tx.rows<LockedCode>(LOCK_CODES, [txids])
  const byTxid = new Map(codes.map((code) => [`${code.provider} ${code.txid}`, code]))
  return (payment) => {
    const code = byTxid.get(`${payment.provider} ${readCodeTxid(payment.txid)}`)
    return code && fitOfCode(pricing, now, payment, code)
  }
}

function fitOfCode(pricing: Pricing, now: Date, payment: ReceivedPayment, code: LockedCode): Fit {
  const { amountCents } = payment
  if (!code.isOpen) return { code, exception: 'code_closed' }
  const isInside = amountCents >= (code.minValueCents ?? 0) && amountCents <= (code.maxValueCents ?? amountCents)
  const feeCents = isInside ? tryFee(pricing, code, amountCents) : undefined
  if (feeCents === undefined) return { code, exception: 'code_limits' }
  if (isGone(payment)) return { code, exception: 'refunded_payment' }
  return { charge: newCharge(pricing, now, payment, { code, feeCents }) }
}

/** Money that is gone is not credited: nobody would have it when the account asks for it. */
export function isGone({ givenBack }: ReceivedPayment): boolean {
  return givenBack === 'all' || givenBack === 'part'
}

/** The payer chose the amount, so the fee is not added to it, whoever bears it. Undefined if the terms refuse it. */
function tryFee({ terms }: Pricing, { overrides }: LockedCode, amountCents: Cents): Cents | undefined {
  try {
    return priceDeposit({ ...termsFor(terms, overrides), feeBearer: 'account' }, amountCents).feeCents
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

function newCharge(
  { chargeSeal }: Pricing,
  now: Date,
  { amountCents, occurredAt, endToEndId, provider }: ReceivedPayment,
  { code, feeCents }: { code: LockedCode; feeCents: Cents },
): LockedCharge {
  const { id: codeId, version: codeVersion, accountId, externalId, description } = code
  const facts: ChargeFacts = {
    paymentLinkId: newSecretUuid7(now),
    accountId,
    originalValueCents: amountCents,
    valueCents: amountCents,
    feeCents,
    // Its time is over when it is made. The clock of a bank may be ahead of ours, which makes no payment late.
    expiresAt: new Date(Math.max(now.getTime(), occurredAt.getTime())),
    ...byOwnField((name) => (name === 'description' ? description : null)),
    madeBy: { codeId, codeVersion, endToEndId },
  }
  return {
    ...facts,
    id: chargeSeal.newId(now, facts),
    provider,
    status: 'PENDING',
    externalId: null,
    metadata: null,
    payer: null,
    code: externalId,
    made: { codeId, codeVersion, description },
    orderPaid: false,
    takesFrom: [],
  }
}
