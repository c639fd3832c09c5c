import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import { ProviderError, type Provider, type ReceivedPayment } from '../ports/provider.ts'
import type { Booked, ImportedPage, Taking } from './import-received.ts'
import type { DifferenceKind, ComparisonDifference } from './differences.ts'
import type { Core } from '../core/core.ts'

/** A refund of ours that did not fail. */
type OurRefund = {
  paymentId: string
  refundId: string
  amountCents: Cents
  /** It was done before the comparison began, so the provider must have it. */
  isSettled: boolean
  /** Made without us, and nobody has decided yet who bears it. */
  isForeign: boolean
  /** The provider took it back after it was done, and the books say so. */
  isUndone: boolean
}

export type RefundComparison = {
  differences: ComparisonDifference[]
  /** Payments of which nobody can say whether both sides gave back the same. */
  notCompared: number
}

/** How many more refunds may be asked about by name. */
export type Allowance = { left: number }

/**
 * Compares what was given back of payments that both sides have, in both directions. A provider that lists the refunds of a payment is held against our
 * books by their ids. One that does not list them is asked about each of ours, and believed as to how much it gave back in all.
 */
export async function compareRefunds(
  core: Core,
  provider: Provider,
  { page, booked, startedAt, mode }: Pick<ImportedPage, 'page' | 'booked'> & Pick<Taking, 'mode'> & { startedAt: Date },
  allowance: Allowance,
): Promise<RefundComparison> {
  const ours = await readRefunds(core, [...booked.values()], startedAt)
  const compared: RefundComparison = { differences: [], notCompared: 0 }
  for (const payment of page) {
    const row = booked.get(payment.endToEndId)
    // A payment that only one side has is a difference by itself.
    if (!row || row.provider !== provider.name) continue
    const refunds = ours.get(row.paymentId) ?? []
    if (payment.refunds) {
      if (payment.refunds.length + refunds.length > 0) {
        compared.differences.push(...compareListed(provider.name, payment, refunds, mode))
      }
      continue
    }
    compared.differences.push(...compareSums(provider.name, payment, refunds))
    const isAnswered = await askAboutRefunds(core, provider, payment, refunds, { compared, allowance })
    if (!isAnswered || payment.givenBack === undefined) compared.notCompared++
  }
  return compared
}

/**
 * Pure. What is done at the provider and still under way with us is no difference: we will hear of it. A refund made without us that stands in our books
 * is named with its day until somebody has decided who bears it; for whoever only reads, the two agree.
 */
function compareListed(
  provider: string,
  payment: ReceivedPayment,
  ours: OurRefund[],
  mode: Taking['mode'],
): ComparisonDifference[] {
  const differ = differAbout(payment)
  const made = (payment.refunds ?? []).filter((refund) => refund.status !== 'failed')
  const theirs = made.flatMap(({ refundId, amountCents }) => {
    const row = ours.find((refund) => refund.refundId === refundId)
    if (!row) {
      const text = `${provider} gave back ${amountCents} cents (refund ${refundId}), but our books do not say so`
      return [differ('refund_not_in_books', text)]
    }
    if (row.amountCents !== amountCents) return [otherAmount(differ, { provider, amountCents, row })]
    if (!row.isForeign || mode === 'read') return []
    const text = `${provider} gave back ${amountCents} cents of it (refund ${refundId}), which we did not ask for`
    return [differ('foreign_refund', text)]
  })
  const invented = ours.filter(
    (row) => row.isSettled && !row.isUndone && !made.some(({ refundId }) => refundId === row.refundId),
  )
  return [...theirs, ...invented.map((row) => notAtProvider(differ, provider, row))]
}

/** Pure. For a provider that says how much it gave back, and not by which refunds. */
function compareSums(provider: string, payment: ReceivedPayment, ours: OurRefund[]): ComparisonDifference[] {
  const { givenBack, amountCents } = payment
  if (givenBack === undefined || givenBack === 'nothing') return []
  const sumCents = ours.reduce((sum, row) => (row.isUndone ? sum : sum + row.amountCents), 0)
  const agrees = givenBack === 'all' ? sumCents === amountCents : sumCents > 0
  if (agrees) return []
  const share = givenBack === 'all' ? `all ${amountCents} cents` : `a part of ${amountCents} cents`
  const text = `${provider} gave back ${share}, our books ${sumCents} cents`
  return [differAbout(payment)('refund_not_in_books', text)]
}

/** True when the provider had a word on each. */
async function askAboutRefunds(
  core: Core,
  provider: Provider,
  payment: ReceivedPayment,
  ours: OurRefund[],
  { compared, allowance }: { compared: RefundComparison; allowance: Allowance },
): Promise<boolean> {
  const { endToEndId } = payment
  const differ = differAbout(payment)
  let isAnswered = true
  for (const row of ours.filter((refund) => refund.isSettled && !refund.isUndone)) {
    const answer = allowance.left-- > 0 ? await askAbout(core, provider, endToEndId, row.refundId) : 'unknown'
    if (answer === 'unknown') isAnswered = false
    else if (answer === 'absent' || answer.status === 'failed') {
      compared.differences.push(notAtProvider(differ, provider.name, row))
    } else if (answer.amountCents !== row.amountCents) {
      compared.differences.push(otherAmount(differ, { provider: provider.name, amountCents: answer.amountCents, row }))
    }
  }
  return isAnswered
}

// One refund that the provider cannot tell of must not hold up the others. A provider that cannot be asked at all is another matter.
async function askAbout(core: Core, provider: Provider, endToEndId: string, refundId: string) {
  try {
    return await provider.checkRefund({ endToEndId, refundId })
  } catch (error) {
    if (!(error instanceof ProviderError) || error.outcome === 'unreachable') throw error
    core.log.warn({ err: error, provider: provider.name, endToEndId, refundId }, 'a refund could not be compared')
    return 'unknown'
  }
}

type Differ = (kind: DifferenceKind, text: string) => ComparisonDifference

function differAbout({ endToEndId }: ReceivedPayment): Differ {
  return (kind, text) => ({ kind, endToEndId, text })
}

function notAtProvider(differ: Differ, provider: string, { amountCents, refundId }: OurRefund): ComparisonDifference {
  const text = `our books say that ${amountCents} cents were given back (refund ${refundId}), but ${provider} does not`
  return differ('refund_not_at_provider', text)
}

function otherAmount(
  differ: Differ,
  { provider, amountCents, row }: { provider: string; amountCents: Cents; row: OurRefund },
): ComparisonDifference {
  const text = `${provider} says that refund ${row.refundId} is of ${amountCents} cents, our books ${row.amountCents}`
  return differ('refund_other_amount', text)
}

/** By payment. */
async function readRefunds(core: Core, booked: Booked[], startedAt: Date): Promise<Map<string, OurRefund[]>> {
  const rows = await query<OurRefund>(
    core.pool,
    `select r.payment_id as "paymentId", r.provider_refund_id as "refundId", r.amount_cents as "amountCents",
       r.status = 'DONE' and r.ended_at <= $2 as "isSettled",
       exists (select from exceptions x where x.refund_id = r.id and x.kind = 'foreign_refund' and x.resolved_at is null) as "isForeign",
       exists (select from exceptions x where x.refund_id = r.id and x.kind = 'undone_refund') as "isUndone"
     from refunds r where r.payment_id = any($1::uuid[]) and r.status <> 'FAILED' order by r.id`,
    [booked.map((row) => row.paymentId), startedAt],
  )
  const byPayment = new Map<string, OurRefund[]>()
  for (const row of rows) byPayment.set(row.paymentId, [...(byPayment.get(row.paymentId) ?? []), row])
  return byPayment
}
