import { readAccountTerms, setAccountTerms } from '../../domain/accounts/terms.ts'
import { listAccounts, readAccount, resumeAccount, suspendAccount } from '../../domain/accounts/accounts.ts'
import { listAuditLog } from '../../domain/core/audit-log.ts'
import type { Context } from '../../domain/context.ts'
import { OPERATOR_SCOPE, actorOf } from '../../domain/accounts/callers.ts'
import type { Api } from '../server/typed-app.ts'
import {
  accountParams,
  accountShape,
  accountsQuery,
  auditLogQuery,
  changeShape,
  countsShape,
  patchFrom,
  presentAccount,
  presentChange,
  presentProvider,
  presentTerms,
  providerShape,
  reasonBody,
  termsBody,
  termsShape,
} from './operator-schemas.ts'
import { answer, bodyErrors, commonErrors, errorAnswer, nextCursor } from '../server/schemas.ts'

/** Accounts and their terms, the audit log, the health of providers. What moves money is in operator-money.ts. */
export function operatorRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  const fresh = { ...config, fresh: true } as const

  app.get('/api/operator/accounts', { schema: listSchema, config }, async (request) => {
    const { accounts, nextCursor } = await listAccounts(ctx, request.query)
    return { success: true as const, accounts: accounts.map(presentAccount), nextCursor }
  })

  app.get('/api/operator/accounts/:accountId', { schema: readSchema, config }, async (request) => {
    const { account, counts } = await readAccount(ctx, request.params.accountId)
    const terms = await readAccountTerms(ctx, account.accountId)
    return { success: true as const, account: presentAccount(account), terms: presentTerms(terms), counts }
  })

  app.patch('/api/operator/accounts/:accountId/terms', { schema: termsSchema, config: fresh }, async (request) => {
    const { accountId } = request.params
    const { reason } = request.body
    const terms = await setAccountTerms(ctx, actorOf(request.operator), accountId, patchFrom(request.body), reason)
    return { success: true as const, terms: presentTerms(terms) }
  })

  app.post('/api/operator/accounts/:accountId/suspend', { schema: suspendSchema, config: fresh }, async (request) => {
    const { accountId } = request.params
    await suspendAccount(ctx, actorOf(request.operator), accountId, request.body.reason)
    return { success: true as const, account: presentAccount((await readAccount(ctx, accountId)).account) }
  })

  app.post('/api/operator/accounts/:accountId/resume', { schema: resumeSchema, config: fresh }, async (request) => {
    const { accountId } = request.params
    await resumeAccount(ctx, actorOf(request.operator), accountId, request.body.reason)
    return { success: true as const, account: presentAccount((await readAccount(ctx, accountId)).account) }
  })

  app.get('/api/operator/audit-log', { schema: auditLogSchema, config }, async (request) => {
    const { changes, nextCursor } = await listAuditLog(ctx, request.query)
    return { success: true as const, entries: changes.map(presentChange), nextCursor }
  })

  app.get('/api/operator/providers', { schema: providersSchema, config }, async () => ({
    success: true as const,
    providers: ctx.providers.map(presentProvider),
  }))
}

const NOT_FOUND = errorAnswer('`Account not found`: unknown or malformed.')
const BAD_PARAMETER = errorAnswer('A parameter is wrong; the text says which and what is allowed.')
const tags = ['Operator']

const listSchema = {
  tags,
  operationId: 'listAccounts',
  summary: 'List accounts',
  description: 'Newest first, each with its balance. Needs an operator’s key.',
  querystring: accountsQuery,
  response: {
    200: answer('A page of accounts.', { accounts: accountShape.array(), nextCursor }),
    400: BAD_PARAMETER,
    ...commonErrors,
  },
}

const readSchema = {
  tags,
  operationId: 'getAccount',
  summary: 'Read an account',
  description: 'With its terms and their history, its balance, and how its deposits fare. Needs an operator’s key.',
  params: accountParams,
  response: {
    200: answer('The account.', { account: accountShape, terms: termsShape, counts: countsShape }),
    404: NOT_FOUND,
    ...commonErrors,
  },
}

const termsSchema = {
  tags,
  operationId: 'setAccountTerms',
  summary: 'Set fee and limits of an account',
  description:
    'Only what is given changes; null takes the account’s own away, and the deployment’s counts again. New deposits are priced by it within two seconds; charges keep the terms that they were made with. Needs an operator’s key.',
  params: accountParams,
  body: termsBody,
  response: {
    200: answer('The terms, and their history.', { terms: termsShape }),
    ...bodyErrors,
    404: NOT_FOUND,
    ...commonErrors,
  },
}

const suspendSchema = {
  tags,
  operationId: 'suspendAccount',
  summary: 'Suspend an account',
  description:
    'Within two seconds its keys may read deposits and balance, and are told `This account is suspended` for all else. Charges that payers have in hand stay payable, and what is paid is credited. Suspending a second time changes nothing. Needs an operator’s key.',
  params: accountParams,
  body: reasonBody,
  response: {
    200: answer('The account.', { account: accountShape }),
    ...bodyErrors,
    404: NOT_FOUND,
    ...commonErrors,
  },
}

const resumeSchema = {
  ...suspendSchema,
  operationId: 'resumeAccount',
  summary: 'End a suspension',
  description: 'Within two seconds its keys may do again what their scopes say. Needs an operator’s key.',
}

const auditLogSchema = {
  tags,
  operationId: 'listAuditLog',
  summary: 'Read the audit log',
  description:
    'Who changed what, when and why, newest first. Nothing in it is ever changed or removed. Needs an operator’s key.',
  querystring: auditLogQuery,
  response: {
    200: answer('A page of entries.', { entries: changeShape.array(), nextCursor }),
    400: BAD_PARAMETER,
    ...commonErrors,
  },
}

const providersSchema = {
  tags,
  operationId: 'listProviders',
  summary: 'Read the health of the payment providers',
  description: 'In order of preference, as the process that answers sees them. Needs an operator’s key.',
  response: { 200: answer('The providers.', { providers: providerShape.array() }), ...commonErrors },
}
