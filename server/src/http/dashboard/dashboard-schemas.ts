import { z } from 'zod'
import type { Counts, DayCounts } from '../../domain/reports/daily-totals.ts'
import type { LogAttempt, LogEntry, TroubledWebhook } from '../../domain/webhooks/delivery-log.ts'
import { EVENT_KINDS } from '../../domain/webhooks/events.ts'
import { DELIVERY_STATES } from '../../domain/webhooks/find-deliveries.ts'
import { SCOPES } from '../../domain/accounts/callers.ts'
import type { ListedKey } from '../../domain/accounts/api-keys.ts'
import { ATTENTION_KINDS, type Attention } from '../../domain/reports/overview.ts'
import type { Moment } from '../../domain/reports/timeline.ts'
import { presentRefund } from '../api/refunds.ts'
import { page, text } from '../server/schemas.ts'

// Requests and answers that only the dashboard has, and the functions that make those answers.

const NAME_ERROR = 'name must be 1 to 100 characters, without control characters'
const SCOPES_ERROR = `scopes must list at least one of ${SCOPES.join(', ')}`
const EXPIRES_ERROR = 'expiresAt must be an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z, or null'
const BODY_ERROR = 'Request body must be a JSON object'
const EMAIL_ERROR = 'email must be an e-mail address'
const WEBHOOK_ERROR = 'webhookId must be the id of a webhook'
const EVENTS = [...EVENT_KINDS, 'WEBHOOK_TEST'] as const

const time = z.iso.datetime()
const cents = z.int()
const iso = (at: Date | null) => at?.toISOString() ?? null

// ---- Keys ----

export const keyParams = z.object({ keyId: z.string() })

export const newKeyBody = z.object(
  {
    name: text({ min: 1, max: 100 }, NAME_ERROR),
    scopes: z.array(z.enum(SCOPES, { error: SCOPES_ERROR }), { error: SCOPES_ERROR }).min(1, { error: SCOPES_ERROR }),
    expiresAt: z.iso
      .datetime({ offset: true, error: EXPIRES_ERROR })
      .transform((value) => new Date(value))
      .nullish(),
  },
  { error: BODY_ERROR },
)

export const keyShape = z.object({
  keyId: z.string(),
  name: z.string(),
  prefix: z.string(),
  scopes: z.string().array(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  lastUsedAt: time.nullable(),
})

export function presentKey({ keyId, name, prefix, scopes, ...key }: ListedKey) {
  return {
    keyId,
    name,
    prefix,
    scopes,
    createdAt: key.createdAt.toISOString(),
    expiresAt: iso(key.expiresAt),
    revokedAt: iso(key.revokedAt),
    lastUsedAt: iso(key.lastUsedAt),
  }
}

// ---- Overview ----

const counted = { created: z.int(), paid: z.int(), paidValue: cents, creditedValue: cents }
export const periodShape = z.object({ ...counted, fees: cents })
export const daysShape = z.object({ day: z.string(), ...counted }).array()

export function presentPeriod({ created, paid, paidCents, feeCents }: Counts) {
  return { created, paid, paidValue: paidCents, creditedValue: paidCents - feeCents, fees: feeCents }
}

export function presentDay(counts: DayCounts) {
  const { fees: _, ...period } = presentPeriod(counts)
  return { day: counts.day, ...period }
}

export const attentionShape = z.object({
  kind: z.enum(ATTENTION_KINDS),
  subjectId: z.string().nullable(),
  name: z.string().nullable(),
  at: time.nullable(),
  value: cents.nullable(),
})

export function presentAttention({ valueCents, ...attention }: Attention) {
  return { ...attention, at: iso(attention.at), value: valueCents }
}

// ---- Timeline ----

export const momentShape = z.looseObject({ at: time, kind: z.string() })

/** In the API's names, which leave the unit out as all its amounts do. */
export function presentMoment(moment: Moment) {
  const at = moment.at.toISOString()
  switch (moment.kind) {
    case 'created':
      return { at, kind: moment.kind, provider: moment.provider, value: moment.valueCents, fee: moment.feeCents }
    case 'paid':
      return { at, kind: moment.kind, endToEndId: moment.endToEndId, value: moment.valueCents }
    case 'credited': {
      const { kind, valueCents, feeCents, balanceAfterCents } = moment
      return { at, kind, value: valueCents, fee: feeCents, balanceAfter: balanceAfterCents }
    }
    case 'payment_held': {
      const { endToEndId, amountCents, kind } = moment.payment
      return { at, kind: moment.kind, endToEndId, value: amountCents, why: kind }
    }
    case 'payment_released': {
      const { endToEndId, amountCents, resolution, isOwn } = moment.payment
      return { at, kind: moment.kind, endToEndId, value: amountCents, how: resolution, isOwn }
    }
    case 'refund_requested':
    case 'refund_done':
    case 'refund_failed': {
      const { id, value, reason } = presentRefund(moment.refund)
      return { at, kind: moment.kind, refundId: id, value, reason }
    }
    case 'confirmed':
    case 'expired':
    case 'canceled':
    case 'event':
    case 'webhook_attempt':
    case 'next_check':
      return { ...moment, at }
  }
}

// ---- Deliveries ----

export const deliveriesQuery = z.object({
  status: z.enum(DELIVERY_STATES, { error: `status must be one of ${DELIVERY_STATES.join(', ')}` }).exactOptional(),
  webhookId: z.uuid({ error: WEBHOOK_ERROR }).exactOptional(),
  event: z.enum(EVENTS, { error: `event must be one of ${EVENTS.join(', ')}` }).exactOptional(),
  cursor: page.cursor,
  limit: page.limit,
})

export const deliveryParams = z.object({ eventId: z.string(), webhookId: z.string() })

export const deliveryShape = z.object({
  eventId: z.string(),
  event: z.string(),
  subject: z.object({ paymentLinkId: z.string().nullable() }),
  webhookId: z.string(),
  webhookName: z.string(),
  status: z.enum(DELIVERY_STATES),
  attempts: z.int(),
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  lastErrorCode: z.string().nullable(),
  lastErrorDetail: z.string().nullable(),
  lastAt: time.nullable(),
  nextAt: time.nullable(),
  createdAt: time,
})

export function presentDelivery({ paymentLinkId, ...delivery }: LogEntry) {
  return {
    ...delivery,
    subject: { paymentLinkId },
    lastAt: iso(delivery.lastAt),
    nextAt: iso(delivery.nextAt),
    createdAt: delivery.createdAt.toISOString(),
  }
}

export const requestShape = z.object({
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

export const attemptShape = z.object({
  number: z.int(),
  at: time,
  status: z.int().nullable(),
  error: z.string().nullable(),
  errorCode: z.string().nullable(),
  errorDetail: z.string().nullable(),
  latencyMs: z.int(),
  excerpt: z.string(),
})

export function presentLogAttempt(attempt: LogAttempt) {
  return { ...attempt, at: attempt.at.toISOString() }
}

// ---- Operators ----

export const newAccountBody = z.object(
  {
    email: z.string({ error: EMAIL_ERROR }).max(254, { error: EMAIL_ERROR }),
    name: text({ min: 1, max: 100 }, NAME_ERROR),
  },
  { error: BODY_ERROR },
)

export const troubledQuery = z.object({ cursor: page.cursor, limit: page.limit })

export const troubledShape = z.object({
  webhookId: z.string(),
  accountId: z.string(),
  accountEmail: z.string(),
  name: z.string(),
  url: z.string(),
  failingSince: time.nullable(),
  disabledAt: time.nullable(),
  disabledReason: z.string().nullable(),
  disabledCode: z.string().nullable(),
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  lastErrorCode: z.string().nullable(),
  lastErrorDetail: z.string().nullable(),
  pending: z.int(),
})

/** Paths of receivers' addresses hold tokens often enough, so operators see the host alone. */
export function presentTroubled(webhook: TroubledWebhook) {
  return {
    ...webhook,
    url: new URL(webhook.url).host,
    failingSince: iso(webhook.failingSince),
    disabledAt: iso(webhook.disabledAt),
  }
}
