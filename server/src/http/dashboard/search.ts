import { depositsSince, type Scope } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { FoundKind } from '../../domain/search/finders.ts'
import { searchAll } from '../../domain/search/search.ts'
import { foundSchema, presentFound, searchQuery } from '../operator/search.ts'
import { response, type Api } from '../server/schemas.ts'

export function searchRoutes(api: Api, ctx: Context): void {
  const config = { scope: 'deposits:read', orScope: 'deposits:today' } as const
  api.get('/api/search', { schema: searchRoute, config }, async ({ caller, query: { q, limit } }) => {
    const { accountId, scopes } = caller
    const kinds = KINDS.filter(([, needed]) => needed.some((scope) => scopes.includes(scope))).map(([kind]) => kind)
    const found = await searchAll(ctx, q, kinds, { accountId, since: depositsSince(caller, ctx.now()), limit })
    return { success: true as const, results: found.map(presentFound) }
  })
}

/** Each with the scopes of which one is enough. */
const KINDS: [FoundKind, Scope[]][] = [
  ['deposit', ['deposits:read', 'deposits:today']],
  ['refund', ['deposits:read']],
  ['payout', ['payouts:read']],
  ['event', ['events:read']],
]

const searchRoute = { querystring: searchQuery, response: { 200: response('', { results: foundSchema.array() }) } }
