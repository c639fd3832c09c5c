import { randomBytes } from 'node:crypto'
import { encodeBrCode } from '../../base/brcode.ts'
import { uuidFromHex } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { readAccountTerms } from '../accounts/terms.ts'
import type { Account } from '../accounts/accounts.ts'
import { keepAttemptPartitions } from '../webhooks/attempt-partitions.ts'
import { recordDeliveredIn, recordTroubled, RETRY_AFTER_MS, type Attempt, type Claimed } from '../webhooks/record-attempts.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import { endCharge, EXPIRY_GRACE_MS, markPending } from '../deposits/charge-states.ts'
import { endChecks } from '../deposits/checks.ts'
import type { Context } from '../context.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { dayOf } from '../core/business-days.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { forgetDepositDays, readDepositDays } from '../reports/daily-totals.ts'
import { openDeposit } from '../deposits/deposits.ts'
import { disableEndpoint, enableEndpoint } from '../webhooks/webhook-rows.ts'
import { SCOPES } from '../accounts/key-cache.ts'
import { insertIntents, type Opening } from '../deposits/intents.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import { endRefund } from '../refunds/refund-states.ts'
import { markSent, refundLease } from '../refunds/run-refund.ts'
import { reserveForCharge } from '../refunds/request-refund.ts'
import { planHistory, type PastDeposit, type PastRefund, type Step } from './seed-plan.ts'
import { settle } from '../deposits/settle.ts'
import { createEndpoint, listEndpoints } from '../webhooks/webhooks.ts'

/** What the bank must know too, or its list and our books would differ. */
export type BankHistory = {
  pix: { endToEndId: string; txid: string; amountCents: number; at: Date }[]
  refunds: { endToEndId: string; id: string; amountCents: number; at: Date }[]
}

export type SeedRequest = {
  account: Account
  /** Of the sandbox. */
  provider: string
  deposits: number
  days: number
  seed: number
}

export type Seeded = { deposits: number; payments: number; refunds: number; pending: number }

// A transaction of some tenths of a second, and no more than the bank takes at once.
const BATCH = 200
// What can still be paid is made as any deposit is, at the bank.
const SHARE_PENDING = 0.0005
const MAX_PENDING = 20

/**
 * Replays a planned history for an account with the past as the time, oldest first. Each batch is one transaction, from the
 * opening of its charges to the delivery of its events, so that no worker sees a charge or a delivery that is due. The bank
 * is told after each batch. For the sandbox alone: nothing of it happened.
 */
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
  const scene = { account, provider, instance: ctx.instance, now, exampleId: await exampleEndpoint(ctx, accountId) }
  await transact(ctx.pool, (tx) => noteSeed(tx, now, request))
  for (let start = 0; start < steps.length; start += BATCH) {
    const batch = steps.slice(start, start + BATCH)
    await tellBank(await transact(ctx.pool, (tx) => replay(tx, scene, batch)))
    onBatch(start + batch.length, steps.length)
  }
  const caller = { kind: 'account', keyId: null, accountName: account.name, suspendedAt: null } as const
  const wanted = {
    valueCents: terms.valueMinCents + 50_00,
    externalId: null,
    description: null,
    expiresInSeconds: null,
  }
  for (let made = 0; made < pending; made++)
    await openDeposit(ctx, { ...caller, ...account, scopes: [...SCOPES], overrides }, wanted, null)
  // Attempts that are older than they are kept would be deleted by the service soon.
  await keepAttemptPartitions(ctx.pool, now)
  // So that the first look at the dashboard is as quick as the next.
  await readDepositDays(ctx.pool, ctx.now(), accountId, dayOf(now))
  const refunds = steps.filter((step) => 'refund' in step).length
  const payments = steps.filter((step) => 'deposit' in step && step.deposit.payment).length
  return { deposits: request.deposits, payments, refunds, pending }
}

/** The number of the last deposit of an earlier seed, also of one that was interrupted. */
async function lastNumber(ctx: Context, accountId: string): Promise<number> {
  const [row] = await query<{ last: number }>(
    ctx.pool,
    `select coalesce(max(substring(external_id from '^order-(\\d{1,9})$')::bigint), 0) as last from charges where account_id = $1`,
    [accountId],
  )
  return row!.last
}

const SEED: Actor = { kind: 'system', name: 'guiche seed' }
const EXAMPLE = makeReason('seed_example', 'made by guiche seed as an example: nobody listens there')

/**
 * An account without a webhook gets one that shows what a log of deliveries looks like. It is disabled, because nobody
 * listens there, and enabled only inside the transactions that replay. Null: the account has webhooks of its own.
 */
async function exampleEndpoint(ctx: Context, accountId: string): Promise<string | null> {
  const own = await listEndpoints(ctx, accountId)
  if (own.length > 0) return own.find((endpoint) => endpoint.disabledCode === EXAMPLE.code)?.endpointId ?? null
  const fields = {
    name: 'Example shop',
    url: 'https://shop.example.com/webhooks/guiche',
    eventKinds: ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED'],
    authorization: null,
  } satisfies Parameters<typeof createEndpoint>[2]
  const { endpoint } = await createEndpoint(ctx, accountId, fields, SEED)
  await transact(ctx.pool, (tx) => disableEndpoint(tx, ctx.now(), endpoint.endpointId, EXAMPLE))
  return endpoint.endpointId
}

/** The history lies in days that may be closed, and their totals were taken without it. */
function noteSeed(tx: Tx, now: Date, { account, provider, deposits, days, seed }: SeedRequest): Promise<void> {
  const change = { subject: `account ${account.accountId}`, accountId: account.accountId, reason: null }
  return writeAudit(tx, now, SEED, { action: 'history.seeded', ...change, details: { provider, deposits, days, seed } })
}

type Scene = { account: Account; provider: string; instance: number; now: Date; exampleId: string | null }

async function replay(tx: Tx, scene: Scene, steps: Step[]): Promise<BankHistory> {
  const { account, now, exampleId } = scene
  if (exampleId) await enableEndpoint(tx, exampleId)
  const history: BankHistory = { pix: [], refunds: [] }
  const failures = new Map<string, number>()
  await openCharges(
    tx,
    scene,
    steps.flatMap((step) => ('deposit' in step ? [step.deposit] : [])),
  )
  for (const group of byTime(steps, (step) => step.at)) {
    const { at } = group[0]!
    await endDeposits(
      tx,
      scene,
      at,
      group.flatMap((step) => ('deposit' in step ? [step.deposit] : [])),
    )
    for (const step of group) {
      if ('refund' in step) history.refunds.push(await refund(tx, scene, at, step.refund))
      else if (step.deposit.payment) history.pix.push(pixOf(step.deposit, step.deposit.payment))
      if ('deposit' in step) failures.set(uuidFromHex(step.deposit.chargeId), step.failures)
    }
  }
  for (const { id } of history.refunds) failures.set(uuidFromHex(id), 0)
  await deliver(tx, failures)
  if (exampleId) await disableEndpoint(tx, now, exampleId, EXAMPLE)
  // The history lies behind what was counted.
  await forgetDepositDays(tx, account.accountId)
  return history
}

/** In order, those of one moment together. */
function byTime<Item>(items: Item[], timeOf: (item: Item) => Date): Item[][] {
  const groups = new Map<number, Item[]>()
  for (const item of items) {
    const ms = timeOf(item).getTime()
    groups.set(ms, [...(groups.get(ms) ?? []), item])
  }
  return [...groups.values()]
}

async function openCharges(tx: Tx, { account, provider, instance }: Scene, deposits: PastDeposit[]): Promise<void> {
  const openingOf = (deposit: PastDeposit): Opening => ({
    ...deposit,
    accountId: account.accountId,
    provider,
    instance,
    idempotency: null,
  })
  for (const group of byTime(deposits, (deposit) => deposit.createdAt)) {
    const results = await insertIntents(tx, group[0]!.createdAt, group.map(openingOf))
    if (results.some(({ kind }) => kind !== 'opened')) throw new Error('another seed of this account runs')
  }
  await markPending(
    tx,
    instance,
    deposits.map((deposit) => ({ chargeId: deposit.chargeId, emv: codeOf(deposit) })),
  )
  // Every charge ends in this transaction, so nobody has to ask the bank about it.
  await endChecks(
    tx,
    deposits.map(({ chargeId, expiresAt }) => {
      const dueAt = new Date(expiresAt.getTime() + EXPIRY_GRACE_MS)
      return { check: { provider, subject: chargeId, kind: 'charge', dueAt, attempts: 0 }, nextDueAt: null }
    }),
  )
}

/** A code of the right shape, for a location that nobody serves any more. */
function codeOf({ valueCents }: PastDeposit): string {
  const location = `localhost/qr/v2/${randomBytes(16).toString('hex')}`
  return encodeBrCode({ location, merchantName: 'GUICHE SANDBOX', merchantCity: 'BRASILIA', amountCents: valueCents })
}

async function endDeposits(tx: Tx, { provider }: Scene, at: Date, deposits: PastDeposit[]): Promise<void> {
  const payments: ReceivedPayment[] = []
  for (const { chargeId, expiresAt, valueCents, payment, status } of deposits) {
    if (payment) {
      const { endToEndId, paidAt } = payment
      payments.push({ provider, endToEndId, txid: chargeId, amountCents: valueCents, occurredAt: paidAt })
    }
    const expiredAt = new Date(expiresAt.getTime() + EXPIRY_GRACE_MS)
    if (payment?.isLate) await endCharge(tx, expiredAt, chargeId, { from: 'PENDING', to: 'EXPIRED' })
    if (!payment) await endCharge(tx, at, chargeId, { from: 'PENDING', to: status })
  }
  if (payments.length === 0) return
  const { completed } = await settle(tx, at, payments)
  if (completed.length !== payments.length) throw new Error('a planned payment did not complete its charge')
}

async function refund(
  tx: Tx,
  { account }: Scene,
  at: Date,
  { deposit, amountCents }: PastRefund,
): Promise<BankHistory['refunds'][number]> {
  const asked = {
    accountId: account.accountId,
    paymentLinkId: deposit.paymentLinkId,
    amountCents,
    reason: 'returned',
    idempotencyKey: null,
    returnsFee: false,
    leasedUntil: refundLease(at),
  }
  const actor: Actor = { kind: 'account', name: account.email }
  const { refund } = await reserveForCharge(tx, at, actor, deposit.chargeId, asked)
  await markSent(tx, at, { refund, leasedUntil: asked.leasedUntil })
  await endRefund(tx, at, refund.id, { status: 'done' })
  return { endToEndId: refund.endToEndId, id: refund.id, amountCents, at }
}

function pixOf({ chargeId, valueCents }: PastDeposit, { endToEndId, paidAt }: NonNullable<PastDeposit['payment']>) {
  return { endToEndId, txid: chargeId, amountCents: valueCents, at: paidAt }
}

const FIRST_ATTEMPT_MS = 120

/** In the order of time, because a success between two failures keeps a webhook from being disabled. */
async function deliver(tx: Tx, failures: Map<string, number>): Promise<void> {
  const fails = ({ subject, delivery }: Due) => delivery.attempt <= failures.get(subject)!
  let queue = await claim(tx, [...failures.keys()])
  while (queue.length > 0) {
    queue.sort((a, b) => a.at.getTime() - b.at.getTime())
    const { at } = queue[0]!
    const due = queue.filter((one) => one.at.getTime() === at.getTime())
    const failing = due.filter(fails).map((one) => ({ ...one, answer: answered(503, 900) }))
    const good = due
      .filter((one) => !fails(one))
      .map((one) => ({ ...one, answer: answered(200, 40 + (at.getTime() % 90)) }))
    if (failing.length > 0) await recordTroubled(tx, at, failing, () => 0.5)
    if (good.length > 0) await recordDeliveredIn(tx, at, good)
    const again = failing.map(({ subject }) => subject)
    queue = [...queue.slice(due.length), ...(again.length > 0 ? await claim(tx, again) : [])]
  }
}

type Due = Omit<Attempt, 'answer'> & { subject: string }

/** As the worker claims them, but for being sent: what is not committed yet nobody else sees. */
async function claim(tx: Tx, subjects: string[]): Promise<Due[]> {
  const leasedUntil = new Date(0)
  const rows = await tx.rows<Pick<Claimed, 'eventId' | 'endpointId' | 'place' | 'attempt'> & DueEvent>(
    `update deliveries d set leased_until = $2 from events v where v.subject_id = any($1) and d.event_id = v.id
     returning d.event_id as "eventId", d.endpoint_id as "endpointId", d.ctid as place, d.attempts + 1 as attempt,
       v.subject_id as subject, v.created_at as "createdAt"`,
    [subjects, leasedUntil],
  )
  const receiver = { url: '', secrets: [], authorization: null, isDisabled: false }
  return rows.map(({ subject, createdAt, ...row }) => {
    const waitedMs = RETRY_AFTER_MS.slice(0, row.attempt - 1).reduce((sum, ms) => sum + ms, FIRST_ATTEMPT_MS)
    const at = new Date(createdAt.getTime() + waitedMs)
    return { subject, at, delivery: { ...row, leasedUntil, body: '', receiver } }
  })
}

type DueEvent = { subject: string; createdAt: Date }

function answered(status: number, latencyMs: number): WebhookAnswer {
  const excerpt = status === 200 ? '{"received":true}' : 'Service Unavailable'
  return { kind: 'answered', status, latencyMs, retryAfterMs: null, excerpt }
}
