import { Fault } from '../../base/fault.ts'
import { hexId } from '../../db/sql-values.ts'
import { inSpan } from '../../base/tracing.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import { SYSTEM } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { policyOf, type PayerPolicy } from '../core/payers.ts'
import { PAYER_ANSWER } from '../core/seals.ts'
import type { StoredStatus } from '../deposits/charge-reads.ts'
import { retryAt, type Check } from '../deposits/checks/check-queue.ts'
import { payerEvent } from '../deposits/held-events.ts'
import { transactOrders } from '../deposits/order-locks.ts'
import { erasePayerNumber, readPayerNumber } from '../deposits/payer-numbers.ts'
import { cancelDeposit } from '../deposits/query-deposit.ts'
import { providerNamed } from '../ports/provider.ts'
import { insertEvents } from '../webhooks/events.ts'
import { announceMatched, decide } from './resolve-exception.ts'
import type { Refund } from './refund-states.ts'
import { refundLease, runRefund } from './run-refund.ts'

// Who paid: asks the provider whether the person that a charge names made a payment of it, records the answer once, and
// does what follows from it in the same transaction. See docs/decisions/0053-who-paid.md.

// A list that lags looks as if another person had paid. So the provider must say it this often, at growing distances:
// for about a minute.
const DENIALS = 6
// Between two questions that got no answer: half of the time since the payment, within these bounds.
const MIN_PAUSE_MS = 2_000
const MAX_PAUSE_MS = 5 * 60_000
// Of a charge that is credited. What it would still change is not worth keeping the number for.
const VERIFY_WITHIN_MS = 24 * 3_600_000

type Answer = 'matched' | 'mismatched'

type Question = {
  endToEndId: string
  occurredAt: Date
  recordedAt: Date
  chargeId: string
  accountId: string
  paymentLinkId: string
  externalId: string | null
  metadata: string | null
  payer: string
  status: StoredStatus
  answer: Answer | null
  /** Open, and of this payment. */
  exceptionId: string | null
}

const SELECT_QUESTION = `
  select p.end_to_end_id as "endToEndId", p.occurred_at as "occurredAt", p.recorded_at as "recordedAt",
    ${hexId('c.id')} as "chargeId", c.account_id as "accountId", c.payment_link_id as "paymentLinkId",
    c.external_id as "externalId", c.metadata, c.payer, c.status, a.answer, ${hexId('x.id')} as "exceptionId"
  from payments p
  join charges c on c.id = p.charge_id and c.payer is not null
  left join payer_answers a on a.end_to_end_id = p.end_to_end_id
  left join exceptions x on x.payment_id = p.id and x.kind = 'payer_unconfirmed' and x.resolution is null
  where p.end_to_end_id = $1`

/** denied: the provider said that another person paid, and is asked again. It counts only these attempts. */
type Outcome = 'over' | 'denied' | 'unknown'

/** Does a claimed check of the kind payer, and ends or moves it. */
export function answerPayer(ctx: Context, check: Check): Promise<void> {
  const { provider, subject, attempts, kind } = check
  const attributes = { 'guiche.provider': provider, 'guiche.check': kind, 'guiche.attempt': attempts }
  return inSpan('check', { attributes }, async () => {
    const endToEndId = subject.slice(kind.length + 1)
    const [question] = await query<Question>(ctx.pool, SELECT_QUESTION, [endToEndId])
    const outcome = question ? await askAndRecord(ctx, check, question).catch(unknownBy(ctx, check)) : 'over'
    const nextDueAt = outcome === 'denied' ? retryAt(ctx.now(), attempts) : pauseEnd(ctx, question)
    await ctx.finishedChecks.add({
      check,
      nextDueAt: outcome === 'over' ? null : nextDueAt,
      untilEnded: false,
      wasAsked: outcome === 'denied',
    })
  })
}

function unknownBy({ log }: Core, { subject }: Check) {
  return (err: unknown): Outcome => {
    log.warn({ err, subject }, 'asking the provider who paid failed')
    return 'unknown'
  }
}

function pauseEnd(core: Core, question: Question | undefined): Date {
  const nowMs = core.now().getTime()
  const ageMs = nowMs - (question?.recordedAt.getTime() ?? nowMs)
  return new Date(nowMs + Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, ageMs / 2)))
}

async function askAndRecord(ctx: Context, check: Check, question: Question): Promise<Outcome> {
  const policy = policyOf(question)
  if (question.answer === null && isAsked(ctx, question, policy)) {
    const answer = await askProvider(ctx, check, question)
    // A question that nobody can answer waits for the operator, or is given up.
    if (answer === 'never') return endQuestion(ctx, question)
    if (answer === 'unknown' || answer === 'denied') return answer
    await record(ctx, question, { answer, policy })
    question.answer = answer
  }
  if (question.answer === null) return endQuestion(ctx, question)
  if (policy === 'require' && question.answer === 'mismatched') await closeCharge(ctx, question)
  return 'over'
}

/** An operator may have decided meanwhile. */
function isAsked(core: Core, { exceptionId, recordedAt }: Question, policy: PayerPolicy | null): boolean {
  if (policy === 'require') return exceptionId !== null
  return core.now().getTime() - recordedAt.getTime() < VERIFY_WITHIN_MS
}

async function askProvider(
  ctx: Context,
  { provider: name, attempts }: Check,
  { chargeId, endToEndId, occurredAt }: Question,
): Promise<Answer | 'denied' | 'unknown' | 'never'> {
  const provider = providerNamed(ctx, name)
  const payer = await readPayerNumber(ctx, chargeId)
  if (!provider.checkPayer || !payer) return 'never'
  const answer = await provider.checkPayer({ payer, txid: chargeId, endToEndId, occurredAt })
  return answer === 'mismatched' && attempts < DENIALS ? 'denied' : answer
}

async function endQuestion(core: Core, { chargeId, endToEndId }: Question): Promise<Outcome> {
  await transact(core.pool, (tx) => erasePayerNumber(tx, chargeId, endToEndId))
  return 'over'
}

type Answered = { answer: Answer; policy: PayerPolicy | null }

/** What follows is done with the answer, or left to the operator where it cannot be. */
async function record(ctx: Context, question: Question, answered: Answered): Promise<void> {
  const leasedUntil = refundLease(ctx.now())
  const attempt = (isDecided: boolean) =>
    transactOrders(ctx, (tx, open) => recordIn(tx, ctx.now(), question, { ...answered, isDecided, leasedUntil, open }))
  const recorded = await attempt(answered.policy === 'require').catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code === 'unavailable') throw error
    ctx.log.warn({ err: error, endToEndId: question.endToEndId }, 'the operator must decide about a payment')
    return attempt(false)
  })
  if (!recorded) return
  ctx.wakeDeliveries()
  if (recorded.isCompleted) announceMatched(ctx, question.chargeId)
  if (recorded.refund) await runRefund(ctx, { refund: recorded.refund, leasedUntil, attempts: 1 })
}

type Recorded = { isCompleted: boolean; refund?: Refund | undefined }

type Recording = Answered & { isDecided: boolean; leasedUntil: Date; open: string[] }

/** Its key decides which process records the answer. Undefined: another one did. */
async function recordIn(
  tx: Tx,
  now: Date,
  question: Question,
  { answer, policy, isDecided, leasedUntil, open }: Recording,
): Promise<Recorded | undefined> {
  const { endToEndId, chargeId, accountId, exceptionId } = question
  // Everyone locks the charges first.
  await tx.run('select from charges where id = any($1) order by id for no key update', [[chargeId, ...open]])
  const seal = tx.sealer.seal(PAYER_ANSWER.textOf({ endToEndId, chargeId, answer, answeredAt: now }))
  const isNew = await tx.run(
    `insert into payer_answers (end_to_end_id, charge_id, answer, answered_at, seal) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [endToEndId, chargeId, answer, now, seal],
  )
  if (isNew === 0) return undefined
  const charge = { ...question, id: chargeId }
  await insertEvents(tx, now, [payerEvent(now, accountId, { charge, endToEndId, answer })])
  await erasePayerNumber(tx, chargeId, endToEndId)
  if (policy !== 'require' || !isDecided || exceptionId === null) return { isCompleted: false }
  const how = answer === 'matched' ? 'match' : 'refund'
  const decision = { resolution: { how }, actor: SYSTEM, reason: REASONS[answer], leasedUntil, open } as const
  const refund = await decide(tx, now, exceptionId, decision)
  return { isCompleted: !refund, refund }
}

const REASONS = {
  matched: 'The provider confirmed that the person whom the charge requires paid',
  mismatched: 'The provider said that another person paid than the charge requires',
}

/** Its code was used, so the right person could not pay it. After a crash, or without an answer, this is repeated. */
async function closeCharge(ctx: Context, { accountId, paymentLinkId, chargeId }: Question): Promise<void> {
  const [charge] = await query<{ status: StoredStatus }>(ctx.pool, 'select status from charges where id = $1', [
    chargeId,
  ])
  if (charge?.status !== 'PENDING') return
  try {
    await cancelDeposit(ctx, accountId, paymentLinkId)
  } catch (error) {
    // It ended meanwhile.
    if (!(error instanceof Fault && error.code === 'not_cancelable')) throw error
  }
}
