import { z } from 'zod'
import {
  createAccount,
  listAccounts,
  readAccount,
  resumeAccount,
  suspendAccount,
  type ListedAccount,
} from '../../domain/accounts/accounts.ts'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import { endSessions } from '../../domain/accounts/sessions.ts'
import { readAccountTerms, setAccountTerms, type AccountTerms, type TermsPatch } from '../../domain/accounts/terms.ts'
import { ROLE_NAMES } from '../../domain/accounts/roles.ts'
import type { Context } from '../../domain/context.ts'
import { REASON_RULE } from '../../domain/core/audit-log.ts'
import type { Core } from '../../domain/core/core.ts'
import { TERM_NAMES, termField, TERMS, termSchema, type Terms } from '../../domain/core/terms.ts'
import { readAccountHistory, readAccountRecord, type AccountRecord } from '../../domain/reports/account-record.ts'
import type { Counts } from '../../domain/reports/daily-totals.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  nameField,
  nextCursor,
  paging,
  reasonField,
  response,
  searchField,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'

const config = { scope: OPERATOR_SCOPE } as const
const fresh = { ...config, fresh: true } as const

export function accountRoutes(app: Api, core: Core): void {
  const url = '/api/operator/accounts/:accountId'
  app.get('/api/operator/accounts', { schema: routes.listAccounts, config }, async (request) => {
    const { accounts, nextCursor } = await listAccounts(core, request.query)
    return { success: true as const, accounts: accounts.map(presentAccount), nextCursor }
  })

  app.get(url, { schema: routes.getAccount, config }, async (request) => {
    const { account, counts } = await readAccount(core, request.params.accountId)
    const terms = await readAccountTerms(core, account.accountId)
    const record = presentRecord(await readAccountRecord(core, account.accountId))
    return { success: true as const, account: presentAccount(account), terms: presentTerms(terms), counts, ...record }
  })

  app.get(`${url}/history`, { schema: routes.getAccountHistory, config }, async (request) => {
    const { entries, nextCursor } = await readAccountHistory(core, request.params.accountId, request.query)
    return { success: true as const, events: entries.map(toApi), nextCursor }
  })

  app.patch(`${url}/terms`, { schema: routes.setAccountTerms, config: fresh }, async (request) => {
    const { reason, ...terms } = request.body
    const { accountId } = request.params
    const changed = await setAccountTerms(core, actorOf(request.operator), accountId, overridesFrom(terms), reason)
    return { success: true as const, terms: presentTerms(changed) }
  })

  app.post(`${url}/suspend`, { schema: routes.suspendAccount, config: fresh }, async (request) => {
    const { accountId } = request.params
    await suspendAccount(core, actorOf(request.operator), accountId, request.body.reason)
    return { success: true as const, account: presentAccount((await readAccount(core, accountId)).account) }
  })

  app.post(`${url}/resume`, { schema: routes.resumeAccount, config: fresh }, async (request) => {
    const { accountId } = request.params
    await resumeAccount(core, actorOf(request.operator), accountId, request.body.reason)
    return { success: true as const, account: presentAccount((await readAccount(core, accountId)).account) }
  })

  // For an account holder who lost a device or must be locked out.
  app.post(`${url}/sign-out`, { schema: routes.signOutAccount, config: fresh }, async (request) => ({
    success: true as const,
    ended: await endSessions(core, actorOf(request.operator), request.params.accountId, request.body.reason),
  }))
}

/** In the dashboard only: the response holds a password, which must not be one leaked key away. */
export function createAccountRoutes(api: Api, ctx: Context): void {
  api.post('/api/operator/accounts', { schema: createAccountRoute, config: fresh }, async (request, reply) => {
    const wanted = { ...request.body, password: null }
    const { accountId, password } = await createAccount(ctx, wanted, actorOf(request.operator))
    reply.code(201)
    return { success: true as const, account: presentAccount((await readAccount(ctx, accountId)).account), password }
  })
}

// ---- Accounts ----

const accountParams = z.object({ accountId: z.string().meta({ description: 'The id of the account.' }) })
const reasonBody = z.object({ reason: reasonField }, { error: REASON_RULE })

const accountsQuery = z.object({
  search: searchField.exactOptional().meta({ description: 'Part of the e-mail or the name, case-insensitive.' }),
  ...paging,
})

const EMAIL_ERROR = 'email must be an e-mail address'
const newAccountBody = z.object(
  { email: z.string({ error: EMAIL_ERROR }).max(254, { error: EMAIL_ERROR }), name: nameField },
  { error: BODY_ERROR },
)

const accountSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string().meta({ description: 'The name that payers see.' }),
    createdAt: time,
    balance: cents.meta({ description: 'In cents.' }),
    owed: cents.meta({ description: 'What it owes for reversals, in cents.' }),
    suspendedAt: time.nullable().meta({ description: 'When it was suspended. Null if it is not.' }),
    suspendedReason: z.string().nullable(),
  })
  .meta({ id: 'Account' })

function presentAccount({ accountId, ...account }: ListedAccount) {
  return { id: accountId, ...toApi(account) }
}

const countsSchema = z
  .object({
    pending: z.int(),
    completed: z.int(),
    expired: z.int(),
    canceled: z.int(),
    isCut: z.boolean().meta({ description: 'True if only the newest 100 000 charges were counted.' }),
    activeKeys: z.int(),
    webhooks: z.int(),
  })
  .meta({ id: 'AccountCounts' })

// ---- The record ----

const periodSchema = z.object({ created: z.int(), paid: z.int(), paidValue: cents, fees: cents })

function presentPeriod({ created, paid, paidCents, feeCents }: Counts) {
  return { created, paid, paidValue: paidCents, fees: feeCents }
}

const recordFields = {
  volume: z
    .object({ today: periodSchema, last30: periodSchema })
    .meta({ id: 'AccountVolume', description: 'Its deposits of today and of the last 30 days, in its time zone.' }),
  keys: z
    .object({
      name: z.string(),
      prefix: z.string(),
      scopes: z.string().array(),
      createdAt: time,
      expiresAt: time.nullable(),
      revokedAt: time.nullable(),
      lastUsedAt: time.nullable(),
    })
    .array()
    .meta({ description: 'Its API keys, active ones first, at most 500. A key itself is stored nowhere.' }),
  webhooks: z
    .object({
      name: z.string(),
      host: z.string().meta({ description: 'Of its URL. The rest is the account’s own.' }),
      state: z.enum(['working', 'failing', 'disabled']),
      failingSince: time.nullable(),
    })
    .array(),
  members: z
    .object({
      email: z.string(),
      role: z.enum(ROLE_NAMES),
      hasSecondFactor: z.boolean(),
      lastSignInAt: time
        .nullable()
        .meta({ description: 'Null if it was longer ago than records of sign-ins are kept.' }),
    })
    .array(),
}

function presentRecord({ volume, keys, webhooks, members }: AccountRecord) {
  return {
    volume: { today: presentPeriod(volume.today), last30: presentPeriod(volume.last30) },
    keys: keys.map(toApi),
    webhooks: webhooks.map(toApi),
    members: members.map(toApi),
  }
}

const historyEntrySchema = z
  .object({
    position: z.int().meta({ description: 'Its place in the history of the account.' }),
    event: z.string(),
    id: z.string(),
    at: time,
    title: z.string().nullable().meta({ description: 'The reference or the payment link of what it is about.' }),
  })
  .meta({ id: 'HistoryEntry' })

// ---- Terms ----

/** By field of the API. */
function byTerm<Value>(valueOf: (name: keyof Terms) => Value): Record<string, Value> {
  return Object.fromEntries(TERM_NAMES.map((name) => [termField(name), valueOf(name)]))
}

function describeTerm(name: keyof Terms): string {
  const { words } = TERMS[name]
  return `${words[0]!.toUpperCase()}${words.slice(1)}${name.endsWith('Cents') ? ', in cents' : ''}.`
}

const TERMS_FIELDS = byTerm((name) =>
  termSchema(name)
    .nullable()
    .exactOptional()
    .meta({ description: describeTerm(name) }),
)

const NOTHING_ERROR = `Give at least one of ${Object.keys(TERMS_FIELDS).join(', ')}`
const termsBody = z
  .object({ ...TERMS_FIELDS, reason: reasonField }, { error: BODY_ERROR })
  .refine((body) => Object.keys(TERMS_FIELDS).some((name) => name in body), { error: NOTHING_ERROR })
  .meta({
    description: 'Changes only the fields given. null restores the default.',
    examples: [{ feeBps: 80, feeMax: null, reason: 'contract of March' }],
  })

function overridesFrom(body: Record<string, unknown>): TermsPatch {
  const given = TERM_NAMES.filter((name) => termField(name) in body)
  return Object.fromEntries(given.map((name) => [name, body[termField(name)]]))
}

const integerOrChoice = (name: keyof Terms) => (TERMS[name].choices ? termSchema(name) : z.int())

const overridesSchema = z
  .object(byTerm((name) => integerOrChoice(name).nullable()))
  .meta({ description: 'The account’s own terms. null: the default applies.' })

const termsSchema = z
  .object({
    own: overridesSchema,
    effective: z
      .object(
        byTerm((name) => (TERMS[name].default === null ? integerOrChoice(name).nullable() : integerOrChoice(name))),
      )
      .meta({ description: 'The terms of new deposits. Existing charges keep theirs.' }),
    history: z
      .object({
        validFrom: time,
        own: overridesSchema,
        setBy: z.string().meta({ description: 'Who set them, for humans.' }),
        reason: z.string(),
      })
      .array()
      .meta({ description: 'Newest first, at most 100.' }),
  })
  .meta({ id: 'AccountTerms' })

function presentTerms({ overrides, effective, history }: AccountTerms) {
  return {
    own: toApi(overrides),
    effective: toApi(effective),
    history: history.map(({ overrides: own, ...version }) => ({ ...toApi(version), own: toApi(own) })),
  }
}

// ---- Routes ----

const ofAccount = {
  params: accountParams,
  errors: { 404: '`Account not found`: the id is unknown or malformed.' },
}

const routes = describeOperations('Operator', {
  listAccounts: {
    summary: 'List accounts',
    description: 'Newest first, each with its balance. Needs an operator’s key.',
    querystring: accountsQuery,
    response: { 200: response('A page of accounts.', { accounts: accountSchema.array(), nextCursor }) },
  },
  getAccount: {
    summary: 'Get an account',
    description:
      'With its balance, its terms and their history, its deposits by status, its volume, API keys, webhooks and members. Needs an operator’s key.',
    ...ofAccount,
    response: {
      200: response('The account.', {
        account: accountSchema,
        terms: termsSchema,
        counts: countsSchema,
        ...recordFields,
      }),
    },
  },
  getAccountHistory: {
    summary: 'List the history of an account',
    description: 'Its events by their positions, newest first. Needs an operator’s key.',
    ...ofAccount,
    querystring: z.object(paging),
    response: { 200: response('A page of events.', { events: historyEntrySchema.array(), nextCursor }) },
  },
  setAccountTerms: {
    summary: 'Set fee and limits of an account',
    description:
      'Changes only the fields given; null restores the default. New deposits use the new terms within two seconds, existing charges keep theirs. Needs an operator’s key.',
    ...ofAccount,
    body: termsBody,
    response: { 200: response('The terms and their history.', { terms: termsSchema }) },
  },
  suspendAccount: {
    summary: 'Suspend an account',
    description:
      'Within two seconds its keys can only read deposits and balance; everything else gets `This account is suspended`. Existing charges can still be paid and are credited. Suspending twice changes nothing. Needs an operator’s key.',
    ...ofAccount,
    body: reasonBody,
    response: { 200: response('The account.', { account: accountSchema }) },
  },
  resumeAccount: {
    summary: 'Resume an account',
    description: 'Within two seconds its keys have all their scopes again. Needs an operator’s key.',
    ...ofAccount,
    body: reasonBody,
    response: { 200: response('The account.', { account: accountSchema }) },
  },
  signOutAccount: {
    summary: 'End the sessions of an account holder',
    description:
      'Signs the account out of the dashboard everywhere, and invalidates links to reset its password. API keys still work. Needs an operator’s key.',
    ...ofAccount,
    body: reasonBody,
    response: {
      200: response('How many sessions ended.', { ended: z.int().meta({ description: 'Number of ended sessions.' }) }),
    },
  },
})

const createAccountRoute = {
  body: newAccountBody,
  response: { 201: response('', { account: accountSchema, password: z.string() }) },
}
