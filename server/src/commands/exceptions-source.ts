import type { Context } from '../domain/context.ts'
import type { ExceptionState, Resolution } from '../domain/deposits/exception-states.ts'
import { findException, listExceptions, type ExceptionKind } from '../domain/refunds/exceptions.ts'
import { resolveException } from '../domain/refunds/resolve-exception.ts'
import type { presentException } from '../http/operator/exceptions.ts'
import { findAccountAt, requireAccount } from './account-source.ts'
import { path, type Service } from './service.ts'
import type { Places } from './source.ts'
import { consoleActor, withContext } from './terminal.ts'

export type Exception = ReturnType<typeof presentException>
type Filter = {
  state?: ExceptionState
  kind?: ExceptionKind
  provider?: string
  from?: Date
  to?: Date
  limit: number
}

export type Exceptions = {
  list(filter: Filter): Promise<{ exceptions: Exception[]; nextCursor: string | null }>
  find(id: string): Promise<Exception>
  accountId(email: string): Promise<string>
  resolve(id: string, resolution: Resolution, reason: string): Promise<Exception>
}

export const EXCEPTIONS: Places<Context, Exceptions> = { open: withContext, inDatabase, atService }

async function inDatabase(ctx: Context): Promise<Exceptions> {
  const { presentException } = await import('../http/operator/exceptions.ts')
  return {
    async list(filter) {
      const { exceptions, nextCursor } = await listExceptions(ctx, filter)
      return { exceptions: exceptions.map(presentException), nextCursor }
    },
    find: async (id) => presentException(await findException(ctx, id)),
    accountId: async (email) => (await requireAccount(ctx, email)).accountId,
    resolve: async (id, resolution, reason) =>
      presentException(await resolveException(ctx, consoleActor(), id, resolution, reason)),
  }
}

function atService(service: Service): Exceptions {
  type Answer = { exception: Exception }
  return {
    async list(filter) {
      const { items, nextCursor } = await service.list<Exception>('/api/operator/exceptions', 'exceptions', filter)
      return { exceptions: items, nextCursor }
    },
    find: async (id) => (await service.ask<Answer>('GET', path`/api/operator/exceptions/${id}`)).exception,
    accountId: (email) => findAccountAt(service, email),
    async resolve(id, resolution, reason) {
      const body = { ...resolution, reason }
      return (await service.ask<Answer>('POST', path`/api/operator/exceptions/${id}/resolve`, { body })).exception
    },
  }
}
