import { z } from 'zod'
import type { AccountTerms } from '../../domain/accounts/terms.ts'
import type { ListedAccount } from '../../domain/accounts/accounts.ts'
import { MAX_REASON_LENGTH, REASON_RULE, type LoggedChange } from '../../domain/core/audit-log.ts'
import { MAX_CENTS } from '../../base/money.ts'
import type { TermsOverrides } from '../../domain/accounts/pricing.ts'
import type { Terms } from '../../domain/core/settings.ts'
import type { Provider } from '../../domain/ports/provider.ts'
import { page, text } from '../server/schemas.ts'

// Requests and answers of the operators' API, and the functions that make those answers.

const BODY_ERROR = 'Request body must be a JSON object'
const SEARCH_ERROR = 'search must be 1 to 100 characters, without control characters'
const ACCOUNT_ID_ERROR = 'accountId must be the id of an account'
const ACTOR_ERROR = 'actor must be 1 to 254 characters, without control characters'
const ACTION_ERROR = 'action must be the name of an action, such as account.suspended'
const BEARER_ERROR = 'feeBearer must be account or payer, or null'

const time = z.iso.datetime()
const cents = z.int()

export const reasonField = text({ min: 1, max: MAX_REASON_LENGTH }, REASON_RULE).meta({
  description: 'Why, for the audit log.',
  examples: ['contract of March'],
})
export const reasonBody = z.object({ reason: reasonField }, { error: REASON_RULE })

// ---- Accounts ----

export const accountParams = z.object({ accountId: z.string().meta({ description: 'The id of the account.' }) })

export const accountsQuery = z.object({
  search: text({ min: 1, max: 100 }, SEARCH_ERROR)
    .exactOptional()
    .meta({ description: 'Any part of the e-mail or the name, in any case.' }),
  cursor: page.cursor,
  limit: page.limit,
})

export const accountShape = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string().meta({ description: 'Who is paid, as payers see it.' }),
    createdAt: time,
    balance: cents.meta({ description: 'In cents.' }),
    suspendedAt: time.nullable().meta({ description: 'Since when its keys may only read; null: they may do all.' }),
    suspendedReason: z.string().nullable(),
  })
  .meta({ id: 'Account' })

export function presentAccount({ accountId, balanceCents, ...account }: ListedAccount) {
  return {
    id: accountId,
    ...account,
    createdAt: account.createdAt.toISOString(),
    balance: balanceCents,
    suspendedAt: account.suspendedAt?.toISOString() ?? null,
  }
}

export const countsShape = z
  .object({
    pending: z.int(),
    completed: z.int(),
    expired: z.int(),
    canceled: z.int(),
    isCut: z.boolean().meta({ description: 'True when only the newest 100 000 charges were counted.' }),
    activeKeys: z.int(),
    webhooks: z.int(),
  })
  .meta({ id: 'AccountCounts' })

// ---- Terms ----

function amountField(name: string, least: number, description: string) {
  return integerField(name, { min: least, max: MAX_CENTS }, `${description}, in cents.`)
}

function integerField(name: string, { min, max }: { min: number; max: number }, description: string) {
  const error = `${name} must be an integer from ${min} to ${max}, or null`
  return z.int({ error }).min(min, { error }).max(max, { error }).nullable().exactOptional().meta({ description })
}

const TERMS_FIELDS = {
  feeBps: integerField('feeBps', { min: 0, max: 10_000 }, 'Basis points of the value: 100 is 1 %.'),
  feeFixed: amountField('feeFixed', 0, 'On top of that'),
  feeMin: amountField('feeMin', 0, 'The least fee'),
  feeMax: amountField('feeMax', 0, 'The greatest fee'),
  feeBearer: z
    .enum(['account', 'payer'], { error: BEARER_ERROR })
    .nullable()
    .exactOptional()
    .meta({ description: 'Who bears the fee.' }),
  valueMin: amountField('valueMin', 1, 'The least deposit'),
  valueMax: amountField('valueMax', 1, 'The greatest deposit'),
}

const NOTHING_ERROR = `Give at least one of ${Object.keys(TERMS_FIELDS).join(', ')}`

export const termsBody = z
  .object({ ...TERMS_FIELDS, reason: reasonField }, { error: BODY_ERROR })
  .refine((body) => Object.keys(TERMS_FIELDS).some((name) => name in body), { error: NOTHING_ERROR })
  .meta({
    description: 'Only what is given changes; null takes the account’s own away.',
    examples: [{ feeBps: 80, feeMax: null, reason: 'contract of March' }],
  })

/** The API's names for terms, which leave the unit out as all its amounts do. */
export function patchFrom(body: z.infer<typeof termsBody>): Partial<TermsOverrides> {
  const { feeBps, feeFixed, feeMin, feeMax, feeBearer, valueMin, valueMax } = body
  return {
    ...(feeBps !== undefined && { feeBps }),
    ...(feeFixed !== undefined && { feeFixedCents: feeFixed }),
    ...(feeMin !== undefined && { feeMinCents: feeMin }),
    ...(feeMax !== undefined && { feeMaxCents: feeMax }),
    ...(feeBearer !== undefined && { feeBearer }),
    ...(valueMin !== undefined && { valueMinCents: valueMin }),
    ...(valueMax !== undefined && { valueMaxCents: valueMax }),
  }
}

const bearer = z.enum(['account', 'payer'])

const ownTermsShape = z
  .object({
    feeBps: z.int().nullable(),
    feeFixed: cents.nullable(),
    feeMin: cents.nullable(),
    feeMax: cents.nullable(),
    feeBearer: bearer.nullable(),
    valueMin: cents.nullable(),
    valueMax: cents.nullable(),
  })
  .meta({ description: 'What the account has of its own; null: as the deployment says.' })

export const termsShape = z
  .object({
    own: ownTermsShape,
    effective: z
      .object({
        feeBps: z.int(),
        feeFixed: cents,
        feeMin: cents.nullable(),
        feeMax: cents.nullable(),
        feeBearer: bearer,
        valueMin: cents,
        valueMax: cents,
      })
      .meta({ description: 'What a deposit is priced by now. Charges keep the terms that they were made with.' }),
    history: z
      .object({
        validFrom: time,
        own: ownTermsShape,
        setBy: z.string().meta({ description: 'Whose doing it was, in words.' }),
        reason: z.string(),
      })
      .array()
      .meta({ description: 'Newest first, at most 100.' }),
  })
  .meta({ id: 'AccountTerms' })

export function presentTerms({ overrides, effective, history }: AccountTerms) {
  return {
    own: inApiNames(overrides),
    effective: inApiNames(effective),
    history: history.map((one) => ({
      validFrom: one.validFrom.toISOString(),
      own: inApiNames(one.overrides),
      setBy: one.setBy,
      reason: one.reason,
    })),
  }
}

function inApiNames<From extends Terms | TermsOverrides>(terms: From) {
  return {
    feeBps: terms.feeBps as From['feeBps'],
    feeFixed: terms.feeFixedCents as From['feeFixedCents'],
    feeMin: terms.feeMinCents,
    feeMax: terms.feeMaxCents,
    feeBearer: terms.feeBearer as From['feeBearer'],
    valueMin: terms.valueMinCents as From['valueMinCents'],
    valueMax: terms.valueMaxCents as From['valueMaxCents'],
  }
}

// ---- Audit log, providers ----

export const auditLogQuery = z.object({
  accountId: z
    .uuid({ error: ACCOUNT_ID_ERROR })
    .exactOptional()
    .meta({ description: 'Only what concerns this account.' }),
  actor: text({ min: 1, max: 254 }, ACTOR_ERROR)
    .exactOptional()
    .meta({ description: 'Only what this one did: an e-mail, or a user of the server’s terminal.' }),
  action: z
    .string({ error: ACTION_ERROR })
    .regex(/^[a-z_]{1,40}\.[a-z_]{1,40}$/, { error: ACTION_ERROR })
    .exactOptional()
    .meta({ description: 'Only this action.', examples: ['account.suspended'] }),
  ...page,
})

export const changeShape = z
  .object({
    id: z.string(),
    at: time,
    actorKind: z.enum(['operator', 'account', 'console', 'system']),
    actor: z.string().meta({ description: 'Who: an e-mail, or a user of the server’s terminal.' }),
    keyId: z.string().nullable().meta({ description: 'By which API key, if by one.' }),
    action: z.string().meta({ examples: ['account.terms_changed'] }),
    subject: z.string().meta({ description: 'What was changed: its kind and its id.' }),
    accountId: z.string().nullable().meta({ description: 'Whose affair it is, if it is one account’s.' }),
    reason: z.string().nullable(),
    details: z.looseObject({}).meta({ description: 'Before and after, or what tells what changed. Never a secret.' }),
  })
  .meta({ id: 'AuditLogEntry' })

export function presentChange(change: LoggedChange) {
  return { ...change, at: change.at.toISOString() }
}

export const providerShape = z
  .object({
    name: z.string(),
    breaker: z
      .enum(['closed', 'open', 'half-open'])
      .meta({ description: 'open: it failed so often that it is left alone for a while.' }),
    lastError: z.string().nullable(),
    lastSuccessAt: time.nullable().meta({ description: 'Null: it was not asked since this process started.' }),
  })
  .meta({ id: 'ProviderHealth' })

export function presentProvider(provider: Provider) {
  const { breaker, lastError, lastSuccessAt } = provider.health()
  return { name: provider.name, breaker, lastError, lastSuccessAt: lastSuccessAt?.toISOString() ?? null }
}
