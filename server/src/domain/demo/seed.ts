import { randomBytes } from 'node:crypto'
import { encodeBrCode } from '../../base/brcode.ts'
import { newUuid7, uuidFromHex } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { readAccountTerms } from '../accounts/terms.ts'
import type { Account } from '../accounts/accounts.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import { forgetDepositDays, readDepositDays } from '../reports/daily-totals.ts'
import { dayOf } from '../core/business-days.ts'
import { openDeposit } from '../deposits/deposits.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { disableWebhook } from '../webhooks/webhook-rows.ts'
import { storeEvents, type NewEvent } from '../webhooks/events.ts'
import { SCOPES } from '../accounts/callers.ts'
import { postTransfers, type Transfer } from '../ledger/ledger.ts'
import { refundEvent } from '../refunds/refund-events.ts'
import { writeDeliveries } from './seed-deliveries.ts'
import { planHistory, type Happening, type PastDeposit, type PastRefund } from './seed-plan.ts'
import { depositEvent } from '../deposits/settle.ts'
import { createWebhook, listWebhooks } from '../webhooks/webhooks.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

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

// A transaction of some tenths of a second.
const BATCH = 1_000
// What can still be paid is made as any deposit is, at the bank.
const SHARE_PENDING = 0.0005
const MAX_PENDING = 20

/**
 * Writes a history for an account, oldest first, in whole batches: each is a transaction after which the books agree with themselves, and is
 * then told to the bank. For the sandbox alone: nothing of it happened.
 */
export async function seedHistory(
  ctx: Context,
  request: SeedRequest,
  tellBank: (history: BankHistory) => Promise<void>,
  onBatch: (done: number, all: number) => void,
): Promise<Seeded> {
  const { account, provider } = request
  const { overrides, effective: terms } = await readAccountTerms(ctx, account.accountId)
  const pending = Math.min(MAX_PENDING, Math.ceil(request.deposits * SHARE_PENDING))
  const now = ctx.now()
  const earlier = await lastNumber(ctx, account.accountId)
  const happenings = planHistory({
    ...request,
    deposits: request.deposits - pending,
    now,
    terms,
    earlier,
    newChargeId: (at, facts) => ctx.settings.chargeSeal.newId(at, { ...facts, accountId: account.accountId }),
  })
  const webhookIds = await webhooksOf(ctx, account.accountId)
  await transact(ctx.pool, (tx) => noteSeed(tx, now, request))
  for (let start = 0; start < happenings.length; start += BATCH) {
    const batch = happenings.slice(start, start + BATCH)
    await transact(ctx.pool, (tx) => writeBatch(tx, { account, provider, webhookIds, now }, batch))
    await tellBank(bankHistoryOf(batch))
    onBatch(start + batch.length, happenings.length)
  }
  const caller = { kind: 'account', keyId: null, accountName: account.name, suspendedAt: null } as const
  for (let made = 0; made < pending; made++) {
    const wanted = {
      valueCents: terms.valueMinCents + 50_00,
      externalId: null,
      description: null,
      expiresInSeconds: null,
    }
    await openDeposit(ctx, { ...caller, ...account, scopes: [...SCOPES], overrides }, wanted, null)
  }
  // So that the first look at the dashboard is as quick as the next.
  await readDepositDays(ctx, ctx.now(), account.accountId, dayOf(now))
  const refunds = happenings.filter((one) => 'refund' in one).length
  const payments = happenings.filter((one) => 'deposit' in one && one.deposit.payment).length
  return { deposits: request.deposits, payments, refunds, pending }
}

/** Of an earlier seed, also of one that was cut off. */
async function lastNumber(core: Core, accountId: string): Promise<number> {
  const [row] = await query<{ last: number }>(
    core.pool,
    `select coalesce(max(substring(external_id from '^order-(\\d{1,9})$')::bigint), 0) as last from charges where account_id = $1`,
    [accountId],
  )
  return row!.last
}

/** What it writes lies in days that may be closed, and their sums were taken without it. */
function noteSeed(tx: Tx, now: Date, { account, provider, deposits, days, seed }: SeedRequest): Promise<void> {
  const change = { subject: `account ${account.accountId}`, accountId: account.accountId, reason: null }
  return writeAudit(tx, now, SEED, { action: 'history.seeded', ...change, details: { provider, deposits, days, seed } })
}

type Where = { account: Account; provider: string; webhookIds: string[]; now: Date }

async function writeBatch(tx: Tx, where: Where, happenings: Happening[]): Promise<void> {
  const deposits = happenings.flatMap((one) => ('deposit' in one ? [one.deposit] : []))
  const refunds = happenings.flatMap((one) => ('refund' in one ? [one.refund] : []))
  await insertCharges(tx, where, deposits)
  await insertPayments(tx, where, deposits)
  await insertRefunds(tx, where, refunds)
  await postTransfers(
    tx,
    where.now,
    happenings.flatMap((one) => transfersOf(where, one)),
  )
  const events = happenings.flatMap((one) => eventsOf(where, one))
  await storeEvents(tx, events)
  await writeDeliveries(tx, where, events)
  // It lies behind what was counted.
  await forgetDepositDays(tx, where.account.accountId)
}

async function insertCharges(tx: Tx, { account, provider }: Where, deposits: PastDeposit[]): Promise<void> {
  const column = <Value>(of: (deposit: PastDeposit) => Value) => deposits.map(of)
  await tx.run(
    `with made as (
       insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents, emv,
         external_id, description, created_at, expires_at, end_to_end_id, paid_at, paid_late, closed_at)
       select id, payment_link_id, $1, $2, status, original, value, fee, emv, external_id, description, created_at, expires_at,
         end_to_end_id, paid_at, paid_late, closed_at
       from unnest($3::uuid[], $4::uuid[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::text[],
         $12::timestamptz[], $13::timestamptz[], $14::text[], $15::timestamptz[], $16::boolean[], $17::timestamptz[])
         as n (id, payment_link_id, status, original, value, fee, emv, external_id, description, created_at, expires_at, end_to_end_id,
           paid_at, paid_late, closed_at)
       returning id, account_id, external_id, status
     )
     insert into external_ids (account_id, external_id, charge_id)
     select account_id, external_id, id from made where external_id is not null and status = 'COMPLETED' on conflict do nothing`,
    [
      account.accountId,
      provider,
      column((one) => uuidFromHex(one.chargeId)),
      column((one) => one.paymentLinkId),
      column((one) => one.status),
      column((one) => one.originalValueCents),
      column((one) => one.valueCents),
      column((one) => one.feeCents),
      column(codeOf),
      column((one) => one.externalId),
      column((one) => one.description),
      column((one) => one.createdAt),
      column((one) => one.expiresAt),
      column((one) => one.payment?.endToEndId ?? null),
      column((one) => one.payment?.paidAt ?? null),
      column((one) => one.payment?.isLate ?? false),
      column((one) => one.endedAt),
    ],
  )
}

/** A code of its shape, for a location that nobody serves any more. */
function codeOf({ valueCents }: PastDeposit): string {
  const location = `localhost/qr/v2/${randomBytes(16).toString('hex')}`
  return encodeBrCode({ location, merchantName: 'GUICHE SANDBOX', merchantCity: 'BRASILIA', amountCents: valueCents })
}

async function insertPayments(tx: Tx, { provider }: Where, deposits: PastDeposit[]): Promise<void> {
  const paid = deposits.filter((one) => one.payment)
  await tx.run(
    `insert into payments (id, provider, end_to_end_id, txid, amount_cents, charge_id, credited, occurred_at, recorded_at)
     select id, $1, end_to_end_id, txid, amount_cents, charge_id, true, occurred_at, recorded_at
     from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::uuid[], $7::timestamptz[], $8::timestamptz[])
       as n (id, end_to_end_id, txid, amount_cents, charge_id, occurred_at, recorded_at)`,
    [
      provider,
      paid.map((one) => one.payment!.paymentId),
      paid.map((one) => one.payment!.endToEndId),
      paid.map((one) => one.chargeId),
      paid.map((one) => one.valueCents),
      paid.map((one) => uuidFromHex(one.chargeId)),
      paid.map((one) => one.payment!.paidAt),
      paid.map((one) => one.endedAt),
    ],
  )
}

async function insertRefunds(tx: Tx, { account }: Where, refunds: PastRefund[]): Promise<void> {
  if (refunds.length === 0) return
  await tx.run(
    `with made as (
       insert into refunds (id, payment_id, charge_id, source, account_id, provider_refund_id, amount_cents, status, reason,
         requested_by_kind, requested_by, created_at, sent_at, ended_at)
       select id, payment_id, charge_id, 'balance', $1, provider_refund_id, amount_cents, 'DONE', 'returned', 'account', $2, at, at, at
       from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::bigint[], $8::timestamptz[])
         as n (id, payment_id, charge_id, provider_refund_id, amount_cents, at)
     )
     update charges c set refunded_cents = n.amount_cents from unnest($5::uuid[], $7::bigint[]) as n (id, amount_cents) where c.id = n.id`,
    [
      account.accountId,
      account.email,
      refunds.map((one) => uuidFromHex(one.refundId)),
      refunds.map((one) => one.deposit.payment!.paymentId),
      refunds.map((one) => uuidFromHex(one.deposit.chargeId)),
      refunds.map((one) => one.refundId),
      refunds.map((one) => one.amountCents),
      refunds.map((one) => one.createdAt),
    ],
  )
  for (const { refundId, deposit, amountCents, createdAt } of refunds) {
    await writeAudit(
      tx,
      createdAt,
      { kind: 'account', name: account.email },
      {
        action: 'refund.requested',
        subject: `refund ${refundId}`,
        accountId: account.accountId,
        reason: 'returned',
        details: { paymentLinkId: deposit.paymentLinkId, amountCents, feeReturnedCents: 0 },
      },
    )
  }
}

function transfersOf({ account, provider }: Where, one: Happening): Transfer[] {
  const cash = { kind: 'cash', provider } as const
  const balance = { kind: 'balance', accountId: account.accountId } as const
  if ('refund' in one) {
    const { refundId, deposit, amountCents, createdAt } = one.refund
    const common = {
      amountCents,
      paymentId: deposit.payment!.paymentId,
      chargeId: uuidFromHex(deposit.chargeId),
      refundId: uuidFromHex(refundId),
      occurredAt: createdAt,
      recordedAt: createdAt,
    }
    return [
      { ...common, kind: 'refund_reserved', debit: balance, credit: { kind: 'refunding' } },
      { ...common, kind: 'refund_paid', debit: { kind: 'refunding' }, credit: cash },
    ]
  }
  const { payment, chargeId, valueCents, feeCents, endedAt } = one.deposit
  if (!payment) return []
  const { paymentId, paidAt } = payment
  const common = { paymentId, chargeId: uuidFromHex(chargeId), debit: cash, occurredAt: paidAt, recordedAt: endedAt }
  const credit: Transfer = { ...common, kind: 'deposit', credit: balance, amountCents: valueCents - feeCents }
  const fee: Transfer = { ...common, kind: 'fee', credit: { kind: 'fees' }, amountCents: feeCents }
  return feeCents > 0 ? [credit, fee] : [credit]
}

function eventsOf({ account }: Where, one: Happening): (NewEvent & { id: string })[] {
  const { accountId } = account
  if ('refund' in one) {
    const { refundId, deposit, amountCents, createdAt } = one.refund
    const { chargeId, paymentLinkId, externalId, valueCents, payment } = deposit
    const refund = { id: refundId, chargeId, amountCents, feeReturnedCents: 0, endToEndId: payment!.endToEndId }
    const charge = {
      account_id: accountId,
      payment_link_id: paymentLinkId,
      external_id: externalId,
      value_cents: valueCents,
      refunded_cents: amountCents,
    }
    return [{ id: newUuid7(createdAt), ...refundEvent(createdAt, refund, charge) }]
  }
  const { payment, endedAt, chargeId, ...deposit } = one.deposit
  if (!payment) return []
  const charge = { ...deposit, id: chargeId, accountId, status: payment.isLate ? 'EXPIRED' : 'PENDING' } as const
  const received = { endToEndId: payment.endToEndId, amountCents: deposit.valueCents, occurredAt: payment.paidAt }
  return [{ id: newUuid7(endedAt), ...depositEvent(endedAt, { charge, payment: received }) }]
}

function bankHistoryOf(happenings: Happening[]): BankHistory {
  const history: BankHistory = { pix: [], refunds: [] }
  for (const one of happenings) {
    if ('refund' in one) {
      const { refundId, deposit, amountCents, createdAt } = one.refund
      history.refunds.push({ endToEndId: deposit.payment!.endToEndId, id: refundId, amountCents, at: createdAt })
    } else if (one.deposit.payment) {
      const { payment, chargeId, valueCents } = one.deposit
      history.pix.push({ endToEndId: payment.endToEndId, txid: chargeId, amountCents: valueCents, at: payment.paidAt })
    }
  }
  return history
}

const SEED: Actor = { kind: 'system', name: 'guiche seed' }

/** The account's own, or else one that shows what a log of deliveries looks like. It is disabled: nobody listens there. */
async function webhooksOf(ctx: Context, accountId: string): Promise<string[]> {
  const own = await listWebhooks(ctx, accountId)
  if (own.length > 0) return own.map((one) => one.webhookId)
  const fields = {
    name: 'Example shop',
    url: 'https://shop.example.com/webhooks/guiche',
    eventKinds: ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED'],
    authorization: null,
  } satisfies Parameters<typeof createWebhook>[2]
  const { webhook } = await createWebhook(ctx, accountId, fields, SEED)
  const reason = makeReason('seed_example', 'made by guiche seed as an example: nobody listens there')
  await transact(ctx.pool, (tx) => disableWebhook(tx, ctx.now(), webhook.webhookId, reason))
  return [webhook.webhookId]
}
