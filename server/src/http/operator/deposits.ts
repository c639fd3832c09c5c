import { z } from 'zod'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { depositOf, listDeposits, readAccountsOf } from '../../domain/reports/list-deposits.ts'
import { readOperatorDeposit } from '../../domain/reports/operator-deposit.ts'
import { depositSchema, presentDeposit } from '../api/deposit-records.ts'
import { depositsQuery } from '../api/deposits.ts'
import { presentRefund, refundSchema } from '../api/refunds.ts'
import {
  cents,
  describeOperations,
  idField,
  nextCursor,
  paymentLinkParams,
  response,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'
import { momentSchema, presentMoment } from './moments.ts'

export function operatorDepositRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  const { publicUrl } = ctx.settings

  app.get('/api/operator/deposits', { schema: routes.listAllDeposits, config }, async (request) => {
    const { accountId = null, ...filter } = request.query
    const { deposits, held, nextCursor } = await listDeposits(ctx, accountId, filter)
    const accounts = await readAccountsOf(ctx, deposits)
    const presented = deposits.map((deposit) => ({
      ...presentDeposit(publicUrl, deposit, held.get(deposit.id)),
      account: presentAccount(accounts.get(deposit.id)!),
    }))
    return { success: true as const, deposits: presented, nextCursor }
  })

  const one = '/api/operator/deposits/:paymentLinkId'
  app.get(one, { schema: routes.getAnyDeposit, config }, async (request) => {
    const { charge, held, refunds, moments, account, ledger, history, exceptions } = await readOperatorDeposit(
      ctx,
      request.params.paymentLinkId,
    )
    return {
      success: true as const,
      deposit: presentDeposit(publicUrl, depositOf(charge), held),
      account: presentAccount(account),
      provider: charge.provider,
      refunds: refunds.map(presentRefund),
      timeline: moments.map(presentMoment),
      ledger: ledger.map(toApi),
      history: history.map(toApi),
      exceptions,
    }
  })
}

const accountSchema = z.object({ id: z.string(), name: z.string(), email: z.string() }).meta({ id: 'DepositAccount' })

function presentAccount({ accountId: id, name, email }: { accountId: string; name: string; email: string }) {
  return { id, name, email }
}

const allDepositsQuery = depositsQuery.omit({ externalId: true, code: true }).extend({
  accountId: idField('accountId', 'an account').exactOptional().meta({ description: 'Only deposits of this account.' }),
})

const listedSchema = z.object({ ...depositSchema.shape, account: accountSchema }).meta({ id: 'OperatorDeposit' })

const ledgerSchema = z
  .object({
    transferId: z.string(),
    at: time,
    kind: z.string(),
    debit: z.string().meta({ description: 'A ledger account: its kind, and of `cash` its provider, as `cash:main`.' }),
    credit: z.string(),
    value: cents,
    balanceAfter: cents.nullable().meta({ description: 'The available balance after it, if it moves that.' }),
  })
  .meta({ id: 'LedgerTransfer' })

const placeSchema = z
  .object({
    position: z.int().nullable().meta({ description: 'Null while the event has no position yet.' }),
    event: z.string(),
    id: z.string(),
    at: time,
  })
  .meta({ id: 'HistoryPlace' })

const routes = describeOperations('Operator', {
  listAllDeposits: {
    summary: 'List deposits of all accounts',
    description: 'Newest first, in pages, as stored: the provider is not asked. Needs an operator’s key.',
    querystring: allDepositsQuery,
    response: { 200: response('A page of deposits.', { deposits: listedSchema.array(), nextCursor }) },
  },
  getAnyDeposit: {
    summary: 'Get a deposit of any account',
    description:
      'With its account, refunds, timeline, transfers in the ledger, places in the history of its account, and exceptions; as stored: the provider is not asked. Needs an operator’s key.',
    params: paymentLinkParams,
    response: {
      200: response('The deposit.', {
        deposit: depositSchema,
        account: accountSchema,
        provider: z.string(),
        refunds: refundSchema.array(),
        timeline: momentSchema.array().meta({ description: 'What happened, oldest first.' }),
        ledger: ledgerSchema.array().meta({ description: 'Oldest first, at most 1 000.' }),
        history: placeSchema.array().meta({ description: 'The events about it, oldest first, at most 100.' }),
        exceptions: z.string().array().meta({ description: 'The ids of its exceptions, oldest first.' }),
      }),
    },
    errors: { 404: '`Charge not found`: the id is unknown or malformed.' },
  },
})
