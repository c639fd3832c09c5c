import { z } from 'zod'
import { readBalance, readStatement } from '../../domain/ledger/account-statement.ts'
import type { Context } from '../../domain/context.ts'
import type { Api } from '../server/typed-app.ts'
import { presentLine } from './present.ts'
import { answer, commonErrors, errorAnswer, lineShape, nextCursor, statementQuery } from '../server/schemas.ts'

export function balanceRoutes(app: Api, ctx: Context): void {
  app.get('/api/balance', { schema: balanceSchema, config: { scope: 'balance:read' } }, async (request) => {
    const { balanceCents } = await readBalance(ctx, request.caller.accountId)
    return { success: true as const, balance: balanceCents, currency: 'BRL' as const }
  })

  app.get('/api/statement', { schema: statementSchema, config: { scope: 'balance:read' } }, async (request) => {
    const { lines, nextCursor } = await readStatement(ctx, request.caller.accountId, request.query)
    return { success: true as const, lines: lines.map(presentLine), nextCursor }
  })
}

const balanceSchema = {
  tags: ['Balance'],
  operationId: 'getBalance',
  summary: 'Read the balance',
  description: 'What was credited to the account and not taken from it. Needs the scope `balance:read`.',
  response: {
    200: answer('The balance.', {
      balance: z.int().meta({ description: 'In cents.', examples: [4950] }),
      currency: z.literal('BRL'),
    }),
    ...commonErrors,
  },
}

const statementSchema = {
  tags: ['Balance'],
  operationId: 'getStatement',
  summary: 'Read the statement',
  description:
    'Every line of the ledger that moved the balance, newest first, a page at a time. Needs the scope `balance:read`.',
  querystring: statementQuery,
  response: {
    200: answer('A page of lines.', { lines: lineShape.array(), nextCursor }),
    400: errorAnswer('A parameter is wrong; the text says which and what is allowed.'),
    ...commonErrors,
  },
}
