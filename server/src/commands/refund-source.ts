import { randomUUID } from 'node:crypto'
import type { Context } from '../domain/context.ts'
import type { RefundStatus } from '../domain/refunds/refund-states.ts'
import { endUndecided, listRefunds, requestRefund } from '../domain/refunds/request-refund.ts'
import type { presentRefund } from '../http/operator/refunds.ts'
import { accountIdOf, findAccountAt } from './account-source.ts'
import { path, type Service } from './service.ts'
import type { Places } from './source.ts'
import { consoleActor, withContext } from './terminal.ts'

export type Refund = ReturnType<typeof presentRefund>
type Request = { paymentLinkId: string; amountCents?: number; reason: string; idempotencyKey?: string }
type Filter = { email?: string; paymentLinkId?: string; status?: RefundStatus; inDoubt?: true; limit: number }

export type Refunds = {
  request(wanted: Request): Promise<Refund>
  end(refundId: string, decision: { outcome: 'done' | 'failed'; reason: string }): Promise<Refund>
  list(filter: Filter): Promise<{ refunds: Refund[]; nextCursor: string | null }>
}

export const REFUNDS: Places<Context, Refunds> = { open: withContext, inDatabase, atService }

async function inDatabase(ctx: Context): Promise<Refunds> {
  const { presentRefund } = await import('../http/operator/refunds.ts')
  return {
    async request({ paymentLinkId, amountCents, reason, idempotencyKey }) {
      const { refund } = await requestRefund(ctx, consoleActor(), {
        accountId: null,
        paymentLinkId,
        amountCents: amountCents ?? null,
        reason,
        idempotencyKey: idempotencyKey ?? null,
      })
      return presentRefund(refund)
    },
    end: async (refundId, decision) => presentRefund(await endUndecided(ctx, consoleActor(), refundId, decision)),
    async list({ email, ...filter }) {
      const accountId = await accountIdOf(ctx, email)
      const { refunds, nextCursor } = await listRefunds(ctx, { ...filter, ...(accountId && { accountId }) })
      return { refunds: refunds.map(presentRefund), nextCursor }
    },
  }
}

function atService(service: Service): Refunds {
  type Answer = { refund: Refund }
  return {
    async request({ paymentLinkId, amountCents: value, reason, idempotencyKey = randomUUID() }) {
      const request = { body: { value, reason }, idempotencyKey }
      return (await service.ask<Answer>('POST', path`/api/operator/deposits/${paymentLinkId}/refund`, request)).refund
    },
    end: async (refundId, body) =>
      (await service.ask<Answer>('POST', path`/api/operator/refunds/${refundId}/end`, { body })).refund,
    async list({ email, ...filter }) {
      const accountId = email === undefined ? undefined : await findAccountAt(service, email)
      const query = { ...filter, accountId }
      const { items, nextCursor } = await service.list<Refund>('/api/operator/refunds', 'refunds', query)
      return { refunds: items, nextCursor }
    },
  }
}
