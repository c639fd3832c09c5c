import { randomBytes } from 'node:crypto'
import { encodeBrCode } from '../../base/brcode.ts'
import type { Cents } from '../../base/money.ts'
import { hexId } from '../../db/sql-values.ts'
import { queryOne, transact, type Tx } from '../../db/tx.ts'
import { readAccountTerms } from '../accounts/terms.ts'
import type { Account } from '../accounts/accounts.ts'
import { keepAttemptPartitions } from '../webhooks/attempt-partitions.ts'
import { recordFailed, RETRY_AFTER_MS, type Attempt, type Claimed } from '../webhooks/attempts.ts'
import { recordDeliveredIn } from '../webhooks/delivery-queue.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import { endCharge, EXPIRY_GRACE_MS, markPending } from '../deposits/charge-states.ts'
import type { Context } from '../context.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { resetDailyTotals, refreshDailyTotals } from '../reports/daily-totals.ts'
import { openDeposit } from '../deposits/open-deposit.ts'
import { SCOPES } from '../accounts/callers.ts'
import { insertIntents } from '../deposits/intents.ts'
import { refundSubject } from '../refunds/refund-events.ts'
import { endRefund } from '../refunds/refund-states.ts'
import { markSent, refundLease } from '../refunds/run-refund.ts'
import { reserveForCharge } from '../refunds/request-refund.ts'
import { planHistory, type PastDeposit, type Step } from './seed-plan.ts'
import { settle } from '../deposits/settle.ts'
import {
  createWebhook,
  disableFailingWebhook,
  disableWebhook,
  enableWebhook,
  listWebhooks,
  type Webhook,
} from '../webhooks/webhooks.ts'

/** What the bank must record too, or its list and our books would differ. */
export type BankHistory = {
  pix: { endToEndId: string; txid: string; amountCents: number; at: Date }[]
  refunds: { endToEndId: string; id: string; amountCents: number; at: Date }[]
}

export type SeedRequest = {
  account: Account
  provider: string
  deposits: number
  days: number
  seed: number
}

export type Seeded = { deposits: number; payments: number; refunds: number; pending: number }

// One transaction, of some tenths of a second, and no more than the bank takes in one request.
const BATCH = 200
// Deposits that can still be paid are opened at the bank, as any other.
const SHARE_PENDING = 0.0005
const MAX_PENDING = 20

/** Replays a planned history. A batch is one transaction, so that no worker sees a due check or delivery. */
export async function seedHistory(
  ctx: Context,
  request: SeedRequest,
  tellBank: (history: BankHistory) => Promise<void>,
  onBatch: (done: number, all: number) => void,
): Promise<Seeded> {
  const { account, provider } = request
  const { accountId } = account
  const { overrides, effective: terms } = await readAccountTerms(ctx, accountId)
  const pending = Math.min(MAX_PENDING, Math.ceil(request.deposits * SHARE_PENDING))
  const now = ctx.now()
  const steps = planHistory({
    ...request,
    deposits: request.deposits - pending,
    now,
    terms,
    earlier: await lastNumber(ctx, accountId),
    newChargeId: (at, facts) => ctx.settings.chargeSeal.newId(at, { ...facts, accountId }),
  })
  const scene = { account, provider, instance: ctx.instance, now, exampleId: await exampleWebhook(ctx, now, accountId) }
  await transact(ctx.pool, (tx) => auditSeed(tx, now, request))
  for (let start = 0; start < steps.length; start += BATCH) {
    const batch = steps.slice(start, start + BATCH)
    await tellBank(await transact(ctx.pool, (tx) => replay(tx, scene, batch)))
    onBatch(start + batch.length, steps.length)
  }
  const caller = { kind: 'account', keyId: null, accountName: account.name, suspendedAt: null } as const
  const wanted = { valueCents: terms.valueMinCents + 50_00, expiresInSeconds: null }
  for (let made = 0; made < pending; made++)
    await openDeposit(ctx, { ...caller, ...account, scopes: [...SCOPES], overrides }, wanted, null)
  await keepAttemptPartitions(ctx)
  // Else the first page view of the dashboard would have to do it.
  await refreshDailyTotals(ctx, accountId)
  const refunds = steps.filter(({ refundCents }) => refundCents !== null).length
  const payments = steps.filter(({ deposit }) => deposit.payment).length - refunds
  return { deposits: request.deposits, payments, refunds, pending }
}

async function lastNumber(ctx: Context, accountId: string): Promise<number> {
  const { last } = await queryOne<{ last: number }>(
    ctx.pool,
    `select coalesce(max(substring(external_id from '^order-(\\d{1,9})$')::bigint), 0) as last
     from charges where account_id = $1`,
    [accountId],
  )
  return last
}

const SEED: Actor = { kind: 'system', name: 'guiche seed' }
const EXAMPLE = makeReason('seed_example', 'created by guiche seed as an example; it has no server')

/**
 * A disabled example for an account without webhooks; null for others. Only the replay enables it, in transactions that
 * leave it as this does.
 */
async function exampleWebhook(ctx: Context, now: Date, accountId: string): Promise<string | null> {
  const own = await listWebhooks(ctx, accountId)
  const id = own.length === 0 ? await makeExample(ctx, accountId) : own.find(isExample)?.webhookId
  if (id === undefined) return null
  await transact(ctx.pool, async (tx) => {
    await enableWebhook(tx, id)
    await disableFailingWebhook(tx, now, id, EXAMPLE)
  })
  return id
}

function isExample({ disabledCode }: Webhook): boolean {
  return disabledCode === EXAMPLE.code
}

async function makeExample(ctx: Context, accountId: string): Promise<string> {
  const fields = {
    name: 'Example shop',
    url: 'https://shop.example.com/webhooks/guiche',
    eventKinds: ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED'],
    authorization: null,
  } satisfies Parameters<typeof createWebhook>[2]
  const { webhook } = await createWebhook(ctx, accountId, fields, SEED)
  return webhook.webhookId
}

/** The audit log explains why closed days got more deposits after they were closed. */
function auditSeed(tx: Tx, now: Date, { account, provider, deposits, days, seed }: SeedRequest): Promise<void> {
  const change = { subject: `account ${account.accountId}`, accountId: account.accountId, reason: null }
  return writeAudit(tx, now, SEED, { action: 'history.seeded', ...change, details: { provider, deposits, days, seed } })
}

type Scene = { account: Account; provider: string; instance: number; now: Date; exampleId: string | null }

async function replay(tx: Tx, scene: Scene, steps: Step[]): Promise<BankHistory> {
  const { account, now, exampleId } = scene
  if (exampleId) await enableWebhook(tx, exampleId)
  const history: BankHistory = { pix: [], refunds: [] }
  const failures = new Map<string, number>()
  const opened = steps.flatMap(({ deposit, refundCents }) => (refundCents === null ? [deposit] : []))
  await openCharges(tx, scene, opened)
  for (const group of byTime(steps)) {
    const { at } = group[0]!
    const ended = group.filter(({ refundCents }) => refundCents === null)
    const deposits = ended.map(({ deposit }) => deposit)
    history.pix.push(...(await endDeposits(tx, scene, at, deposits)))
    for (const { deposit, failures: failed } of ended) failures.set(deposit.chargeId, failed)
    for (const { deposit, refundCents } of group) {
      if (refundCents === null) continue
      const refund = await refundDeposit(tx, account, at, { deposit, amountCents: refundCents })
      history.refunds.push(refund)
      failures.set(refundSubject({ chargeId: deposit.chargeId, providerRefundId: refund.id, madeBefore: 0 }), 0)
    }
  }
  await deliver(tx, failures)
  if (exampleId) await disableWebhook(tx, now, exampleId, EXAMPLE)
  await resetDailyTotals(tx, account.accountId)
  return history
}

function byTime(steps: Step[]): Step[][] {
  const groups = new Map<number, Step[]>()
  for (const step of steps) {
    const ms = step.at.getTime()
    groups.set(ms, [...(groups.get(ms) ?? []), step])
  }
  return [...groups.values()]
}

/** Every charge ends in this transaction, so its check ends here too. */
async function openCharges(tx: Tx, { account, provider, instance }: Scene, deposits: PastDeposit[]): Promise<void> {
  if (deposits.length === 0) return
  const firstAt = new Date(Math.min(...deposits.map(({ createdAt }) => createdAt.getTime())))
  const { accountId } = account
  const intents = deposits.map((deposit) => ({
    charge: { ...deposit, id: deposit.chargeId, accountId, provider, openingInstance: instance },
    idempotency: null,
  }))
  const results = await insertIntents(tx, firstAt, intents)
  if (results.some(({ kind }) => kind !== 'opened')) throw new Error('Another seed of this account runs')
  const accepted = deposits.map((deposit) => ({
    chargeId: deposit.chargeId,
    provider,
    emv: codeOf(deposit),
    hasKey: false,
  }))
  await markPending(tx, instance, accepted)
  await tx.run('delete from checks where provider = $1 and subject = any($2)', [
    provider,
    deposits.map(({ chargeId }) => chargeId),
  ])
}

function expiryOf({ expiresAt }: PastDeposit): Date {
  return new Date(expiresAt.getTime() + EXPIRY_GRACE_MS)
}

function codeOf({ valueCents }: PastDeposit): string {
  const location = `localhost/qr/v2/${randomBytes(16).toString('hex')}`
  return encodeBrCode({ location, merchantName: 'GUICHE SANDBOX', merchantCity: 'BRASILIA', amountCents: valueCents })
}

async function endDeposits(
  tx: Tx,
  { provider }: Scene,
  at: Date,
  deposits: PastDeposit[],
): Promise<BankHistory['pix']> {
  const pix: BankHistory['pix'] = []
  for (const deposit of deposits) {
    const { chargeId, valueCents, payment, status } = deposit
    if (payment)
      pix.push({ endToEndId: payment.endToEndId, txid: chargeId, amountCents: valueCents, at: payment.paidAt })
    if (payment?.isLate) await endCharge(tx, expiryOf(deposit), chargeId, 'EXPIRED')
    if (status !== 'COMPLETED') await endCharge(tx, at, chargeId, status)
  }
  if (pix.length === 0) return []
  const payments = pix.map(({ at: occurredAt, ...received }) => ({ ...received, provider, occurredAt }))
  const { completed } = await settle(tx, at, payments)
  if (completed.length !== payments.length) throw new Error('A planned payment did not complete its charge')
  return pix
}

async function refundDeposit(
  tx: Tx,
  { accountId, email }: Account,
  at: Date,
  { deposit, amountCents }: { deposit: PastDeposit; amountCents: Cents },
): Promise<BankHistory['refunds'][number]> {
  const { paymentLinkId, chargeId } = deposit
  const request = { accountId, paymentLinkId, amountCents, reason: 'returned', idempotencyKey: null }
  const leasedUntil = refundLease(at)
  const actor: Actor = { kind: 'account', name: email }
  const { refund } = await reserveForCharge(tx, at, actor, chargeId, { ...request, returnsFee: false, leasedUntil })
  await markSent(tx, at, { refund, leasedUntil })
  await endRefund(tx, at, refund.id, { status: 'done' })
  return { endToEndId: refund.endToEndId, id: refund.id, amountCents, at }
}

const FIRST_ATTEMPT_MS = 120

/** In the order of time: a success between two failures keeps a webhook from being disabled. */
async function deliver(tx: Tx, failures: Map<string, number>): Promise<void> {
  let queue = await claim(tx, failures)
  while (queue.length > 0) {
    queue.sort((a, b) => a.at.getTime() - b.at.getTime())
    const { at } = queue[0]!
    const due = queue.filter((attempt) => attempt.at.getTime() === at.getTime())
    const failed = due.filter(({ status }) => status !== 200)
    const delivered = due.filter(({ status }) => status === 200)
    if (failed.length > 0) await recordFailed(tx, at, failed, () => 0.5)
    if (delivered.length > 0) await recordDeliveredIn(tx, at, delivered)
    const again = new Map(failed.map(({ subject }) => [subject, failures.get(subject)!]))
    queue = [...queue.slice(due.length), ...(again.size > 0 ? await claim(tx, again) : [])]
  }
}

type Due = Attempt & { subject: string; status: number }

/** As the worker claims deliveries, but in this transaction, and nothing is sent. */
async function claim(tx: Tx, failures: Map<string, number>): Promise<Due[]> {
  const leasedUntil = new Date(0)
  const rows = await tx.rows<Pick<Claimed, 'eventId' | 'webhookId' | 'attempt'> & DueEvent>(
    `update deliveries d set leased_until = $2 from events v where v.subject_id = any($1) and d.event_id = v.id
     returning d.event_id as "eventId", d.webhook_id as "webhookId", d.attempts + 1 as attempt,
       ${hexId('v.subject_id')} as subject, v.created_at as "createdAt"`,
    [[...failures.keys()], leasedUntil],
  )
  const target = { url: '', keys: [], authorization: null, isDisabled: false }
  return rows.map(({ subject, createdAt, ...row }) => {
    const waitedMs = RETRY_AFTER_MS.slice(0, row.attempt - 1).reduce((sum, ms) => sum + ms, FIRST_ATTEMPT_MS)
    const at = new Date(createdAt.getTime() + waitedMs)
    const status = row.attempt <= failures.get(subject)! ? 503 : 200
    const excerpt = status === 200 ? '{"received":true}' : 'Service Unavailable'
    const latencyMs = (status === 200 ? 40 : 900) + (at.getTime() % 90)
    const answer = { kind: 'answered', status, latencyMs, retryAfterMs: null, excerpt } as const
    return { subject, status, at, answer, delivery: { ...row, leasedUntil, body: '', target } }
  })
}

type DueEvent = { subject: string; createdAt: Date }
