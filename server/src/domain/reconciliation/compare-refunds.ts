import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import { ProviderError, type Provider, type ProviderRefund, type ReceivedPayment } from '../ports/provider.ts'
import type { Booked, ImportedPage, ImportMode } from './import-received.ts'
import type { ComparisonDifference, DifferenceKind } from './differences.ts'
import type { Core } from '../core/core.ts'

/** A refund in our books that did not fail. */
type OurRefund = {
  paymentId: string
  refundId: string
  amountCents: Cents
  /** It was done before the comparison began, so the provider must have it. */
  isSettled: boolean
  /** Made without us, and no operator has decided yet who bears it. */
  isForeign: boolean
  /** The provider took it back after it was done, and our books say so. */
  isUndone: boolean
}

export type RefundComparison = {
  differences: ComparisonDifference[]
  /** Payments for which nobody can say whether both sides refunded the same. */
  notCompared: number
}

/** How many more refunds may be asked about by id. */
export type Allowance = { left: number }

/**
 * Compares the refunds of payments that both sides have, in both directions. If the provider lists the refunds of a
 * payment, they are compared by id. If not, it is asked about each of ours, and its word on the total is compared.
 */
export async function compareRefunds(
  core: Core,
  provider: Provider,
  { page, booked, startedAt, mode }: Pick<ImportedPage, 'page' | 'booked'> & { mode: ImportMode; startedAt: Date },
  allowance: Allowance,
): Promise<RefundComparison> {
  const ours = await readRefunds(core, [...booked.values()], startedAt)
  const compared: RefundComparison = { differences: [], notCompared: 0 }
  for (const payment of page) {
    const row = booked.get(payment.endToEndId)
    // A payment that only one side has is a difference of its own.
    if (!row || row.provider !== provider.name) continue
    const refunds = ours.get(row.paymentId) ?? []
    if (payment.refunds) {
      compared.differences.push(...compareListed(payment, payment.refunds, refunds, mode))
      continue
    }
    compared.differences.push(...compareSums(payment, refunds))
    const answered = await askAboutRefunds(core, provider, payment, refunds, allowance)
    compared.differences.push(...answered.differences)
    if (!answered.isComplete || payment.givenBack === undefined) compared.notCompared++
  }
  return compared
}

/**
 * Pure. A refund that is done at the provider and still in progress with us is no difference: we will hear of it. A
 * refund made without us is named until an operator has decided who bears it; in mode 'read' the two sides agree.
 */
function compareListed(
  payment: ReceivedPayment,
  listed: ProviderRefund[],
  ours: OurRefund[],
  mode: ImportMode,
): ComparisonDifference[] {
  const { provider } = payment
  const made = listed.filter((refund) => refund.status !== 'failed')
  const theirs = made.flatMap(({ refundId, amountCents }) => {
    const row = ours.find((refund) => refund.refundId === refundId)
    if (!row) {
      const text = `${provider} gave back ${amountCents} cents (refund ${refundId}), but our books do not say so`
      return [differ(payment, 'refund_not_in_books', text)]
    }
    if (row.amountCents !== amountCents) return [otherAmount(payment, row, amountCents)]
    if (!row.isForeign || mode === 'read') return []
    const text = `${provider} gave back ${amountCents} cents of it (refund ${refundId}), which we did not ask for`
    return [differ(payment, 'foreign_refund', text)]
  })
  const missing = ours.filter((row) => isFinal(row) && !made.some(({ refundId }) => refundId === row.refundId))
  return [...theirs, ...missing.map((row) => notAtProvider(payment, row))]
}

/** Pure. For a provider that tells how much it refunded, and not by which refunds. */
function compareSums(payment: ReceivedPayment, ours: OurRefund[]): ComparisonDifference[] {
  const { provider, givenBack, amountCents } = payment
  if (givenBack === undefined || givenBack === 'nothing') return []
  const sumCents = ours.reduce((sum, row) => (row.isUndone ? sum : sum + row.amountCents), 0)
  const agrees = givenBack === 'all' ? sumCents === amountCents : sumCents > 0
  if (agrees) return []
  const share = givenBack === 'all' ? `all ${amountCents} cents` : `a part of ${amountCents} cents`
  const text = `${provider} gave back ${share}, our books ${sumCents} cents`
  return [differ(payment, 'refund_not_in_books', text)]
}

async function askAboutRefunds(
  core: Core,
  provider: Provider,
  payment: ReceivedPayment,
  ours: OurRefund[],
  allowance: Allowance,
): Promise<{ differences: ComparisonDifference[]; isComplete: boolean }> {
  const differences: ComparisonDifference[] = []
  let isComplete = true
  for (const row of ours.filter(isFinal)) {
    const answer = allowance.left-- > 0 ? await askAbout(core, provider, payment.endToEndId, row.refundId) : 'unknown'
    if (answer === 'unknown') isComplete = false
    else if (answer === 'absent' || answer.status === 'failed') differences.push(notAtProvider(payment, row))
    else if (answer.amountCents !== row.amountCents) differences.push(otherAmount(payment, row, answer.amountCents))
  }
  return { differences, isComplete }
}

// A refund that the provider cannot tell of must not block the others. An unreachable provider ends the comparison.
async function askAbout(core: Core, provider: Provider, endToEndId: string, refundId: string) {
  try {
    return await provider.checkRefund({ endToEndId, refundId })
  } catch (err) {
    if (!(err instanceof ProviderError) || err.outcome === 'unreachable') throw err
    core.log.warn({ err, provider: provider.name, endToEndId, refundId }, 'comparing a refund failed')
    return 'unknown'
  }
}

function isFinal({ isSettled, isUndone }: OurRefund): boolean {
  return isSettled && !isUndone
}

function differ({ endToEndId }: ReceivedPayment, kind: DifferenceKind, text: string): ComparisonDifference {
  return { kind, endToEndId, text }
}

function notAtProvider(payment: ReceivedPayment, { amountCents, refundId }: OurRefund): ComparisonDifference {
  const ours = `our books say that ${amountCents} cents were given back (refund ${refundId})`
  return differ(payment, 'refund_not_at_provider', `${ours}, but ${payment.provider} does not`)
}

function otherAmount(payment: ReceivedPayment, row: OurRefund, amountCents: Cents): ComparisonDifference {
  const theirs = `${payment.provider} says that refund ${row.refundId} is of ${amountCents} cents`
  return differ(payment, 'refund_other_amount', `${theirs}, our books ${row.amountCents}`)
}

/** By payment. */
async function readRefunds(core: Core, booked: Booked[], startedAt: Date): Promise<Map<string, OurRefund[]>> {
  const isException = (kind: string) =>
    `exists (select from exceptions x where x.refund_id = r.id and x.kind = '${kind}'`
  const rows = await query<OurRefund>(
    core.pool,
    `select r.payment_id as "paymentId", r.provider_refund_id as "refundId", r.amount_cents as "amountCents",
       r.status = 'DONE' and r.ended_at <= $2 as "isSettled",
       ${isException('foreign_refund')} and x.resolved_at is null) as "isForeign",
       ${isException('undone_refund')}) as "isUndone"
     from refunds r where r.payment_id = any($1::uuid[]) and r.status <> 'FAILED' order by r.id`,
    [booked.map((row) => row.paymentId), startedAt],
  )
  const byPayment = new Map<string, OurRefund[]>()
  for (const row of rows) byPayment.set(row.paymentId, [...(byPayment.get(row.paymentId) ?? []), row])
  return byPayment
}
