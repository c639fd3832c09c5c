import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import {
  ProviderError,
  WHOLE_REFUND,
  wholeRefundOf,
  type Nature,
  type Provider,
  type ProviderRefund,
  type ReceivedPayment,
} from '../ports/provider.ts'
import { bookRefunds, type Booked, type ImportedPage, type ImportMode } from './import-received.ts'
import type { ComparisonDifference, DifferenceKind } from './differences.ts'
import { UNDONE_JOINS } from '../refunds/refund-states.ts'
import type { Core } from '../core/core.ts'

/** A refund in our books that did not fail. Of one that was undone and made again, the last. */
type OurRefund = {
  paymentId: string
  refundId: string
  amountCents: Cents
  /** As the provider first told it; null of a refund that was asked for here. */
  nature: Nature | null
  /** It was done, or undone, before the comparison began, so the provider must say the same. */
  isSettled: boolean
  /** Made without us, and no operator has decided yet who bears it. */
  isForeign: boolean
  /** The provider took it back after it was done, and our books say so. */
  isUndone: boolean
  /** The provider contradicted it, and has not answered about it alone yet. */
  isChecked: boolean
}

export type RefundComparison = {
  differences: ComparisonDifference[]
  /** Payments for which nobody can say whether both sides refunded the same. */
  notCompared: number
}

/** How many more refunds may be asked about by id. */
export type Allowance = { left: number }

/** Compares by id where the provider lists refunds; otherwise asks about each of ours and compares the total. */
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
      const readable = refunds.filter(({ refundId }) => !mayBeUnread(payment, refundId))
      compared.differences.push(...unreadOf(payment), ...compareListed(payment, payment.refunds, readable, mode))
      continue
    }
    const { answers, isComplete } = await askAboutRefunds(core, provider, payment, refunds, allowance)
    const differences = [...answers].flatMap(([refund, theirs]) => compareRefund(payment, refund, theirs, mode))
    compared.differences.push(...compareSums(payment, refunds), ...differences)
    if (!isComplete || payment.givenBack === undefined) compared.notCompared++
    const told = [...answers.values()].flatMap((theirs) => theirs ?? [])
    const { endToEndId } = payment
    if (mode === 'book' && differences.length > 0)
      await bookRefunds(core, [{ provider: provider.name, endToEndId, refunds: told }])
  }
  return compared
}

/** An unreadable refund without an id may be any of those that the list does not show otherwise. */
function mayBeUnread({ refunds = [], unreadRefunds = [] }: ReceivedPayment, refundId: string): boolean {
  if (refunds.some((refund) => refund.refundId === refundId)) return false
  return unreadRefunds.some((unread) => (unread.refundId ?? refundId) === refundId)
}

function unreadOf(payment: ReceivedPayment): ComparisonDifference[] {
  return (payment.unreadRefunds ?? []).map(({ refundId, text }) => {
    const refund = refundId === null ? 'a refund of it without an id' : `a refund of it (${refundId})`
    return differ(payment, 'unread', `${payment.provider} lists ${refund} that cannot be read (${text})`)
  })
}

function compareListed(
  payment: ReceivedPayment,
  listed: ProviderRefund[],
  ours: OurRefund[],
  mode: ImportMode,
): ComparisonDifference[] {
  const unknown = listed.filter(
    ({ refundId, status }) => status !== 'failed' && !ours.some((row) => row.refundId === refundId),
  )
  return [
    ...unknown.map(({ refundId, amountCents }) => {
      const text = `${payment.provider} gave back ${amountCents} cents (refund ${refundId}), but our books do not say so`
      return differ(payment, 'refund_not_in_books', text)
    }),
    ...ours.flatMap((row) => {
      const theirs = listed.find(({ refundId }) => refundId === row.refundId)
      return compareRefund(payment, row, theirs, mode)
    }),
  ]
}

/** Pure. One that is still in progress with us is no difference. One made without us is, until it is decided. */
function compareRefund(
  payment: ReceivedPayment,
  row: OurRefund,
  theirs: ProviderRefund | undefined,
  mode: ImportMode,
): ComparisonDifference[] {
  const { provider } = payment
  const { amountCents, refundId, isSettled, isUndone, isChecked } = row
  const made = theirs?.status === 'failed' ? undefined : theirs
  if (made && made.amountCents !== amountCents) return [otherAmount(payment, row, made.amountCents)]
  // The account was told of the first one, and it moves no money.
  if (made?.nature && row.nature && made.nature !== row.nature)
    return [
      differ(
        payment,
        'refund_other_nature',
        `${provider} says that refund ${refundId} is of nature ${made.nature}, our books ${row.nature}`,
      ),
    ]
  if (isSettled && isUndone) {
    const text = `${provider} gave back ${amountCents} cents again (refund ${refundId}), which our books have as undone`
    return made?.status === 'done' || isChecked ? [differ(payment, 'refund_not_in_books', text)] : []
  }
  if (isSettled && (!made || isChecked)) {
    const says = isChecked ? 'called it failed, and is being asked about it' : 'does not'
    const text = `our books say that ${amountCents} cents were given back (refund ${refundId}), but ${provider} ${says}`
    return [differ(payment, 'refund_not_at_provider', text)]
  }
  if (!made || !row.isForeign || mode === 'read') return []
  const text = `${provider} gave back ${amountCents} cents of it (refund ${refundId}), which we did not ask for`
  return [differ(payment, 'foreign_refund', text)]
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

/** By refund of ours: as the provider has it, or undefined if it has none. */
type Answers = Map<OurRefund, ProviderRefund | undefined>

async function askAboutRefunds(
  core: Core,
  provider: Provider,
  payment: ReceivedPayment,
  ours: OurRefund[],
  allowance: Allowance,
): Promise<{ answers: Answers; isComplete: boolean }> {
  const answers: Answers = new Map()
  let isComplete = true
  for (const row of ours.filter(({ isSettled }) => isSettled)) {
    const answer = await askAbout(core, provider, payment, row.refundId, allowance)
    if (answer === 'unknown') isComplete = false
    else answers.set(row, answer === 'absent' ? undefined : answer)
  }
  return { answers, isComplete }
}

// A refund that the provider cannot tell of must not block the others. An unreachable provider ends the comparison.
async function askAbout(
  core: Core,
  provider: Provider,
  payment: ReceivedPayment,
  refundId: string,
  allowance: Allowance,
) {
  if (refundId === WHOLE_REFUND) return wholeRefundOf(payment) ?? 'unknown'
  if (allowance.left-- <= 0) return 'unknown'
  const { endToEndId } = payment
  try {
    return await provider.checkRefund({ endToEndId, refundId })
  } catch (err) {
    if (!(err instanceof ProviderError) || err.outcome === 'unreachable') throw err
    core.log.warn({ err, provider: provider.name, endToEndId, refundId }, 'comparing a refund failed')
    return 'unknown'
  }
}

function differ({ endToEndId }: ReceivedPayment, kind: DifferenceKind, text: string): ComparisonDifference {
  return { kind, endToEndId, text }
}

function otherAmount(payment: ReceivedPayment, row: OurRefund, amountCents: Cents): ComparisonDifference {
  const theirs = `${payment.provider} says that refund ${row.refundId} is of ${amountCents} cents`
  return differ(payment, 'refund_other_amount', `${theirs}, our books ${row.amountCents}`)
}

async function readRefunds(core: Core, booked: Booked[], startedAt: Date): Promise<Map<string, OurRefund[]>> {
  const rows = await query<OurRefund>(
    core.pool,
    `select r.payment_id as "paymentId", r.provider_refund_id as "refundId", r.amount_cents as "amountCents", r.nature,
       r.status = 'DONE' and coalesce(u.opened_at, r.ended_at) <= $2 as "isSettled",
       exists (
         select from exceptions x where x.refund_id = r.id and x.kind = 'foreign_refund' and x.resolved_at is null
       ) as "isForeign",
       u.id is not null as "isUndone",
       exists (select from refund_checks k where k.refund_id = r.id) as "isChecked"
     from refunds r ${UNDONE_JOINS}
     where r.payment_id = any($1::uuid[]) and r.status <> 'FAILED' and again.id is null order by r.id`,
    [booked.map((row) => row.paymentId), startedAt],
  )
  const byPayment = new Map<string, OurRefund[]>()
  for (const row of rows) byPayment.set(row.paymentId, [...(byPayment.get(row.paymentId) ?? []), row])
  return byPayment
}
