import { z } from 'zod'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { Provider } from '../../domain/ports/provider.ts'
import { describeOperations, response, text, time, toApi, type Api } from '../server/schemas.ts'

export function providerRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  app.get('/api/operator/providers', { schema: routes.listProviders, config }, async () => ({
    success: true as const,
    providers: ctx.providers.map(presentProvider),
  }))
}

export const providerName = text({ min: 1, max: 64 }, 'provider must be the name of a provider')

export const providerSchema = z
  .object({
    name: z.string(),
    breaker: z
      .enum(['closed', 'open', 'half-open'])
      .meta({ description: 'open: it failed repeatedly and is not called for a while.' }),
    lastError: z.string().nullable(),
    lastSuccessAt: time.nullable().meta({ description: 'Null: no call has succeeded since this process started.' }),
  })
  .meta({ id: 'ProviderHealth' })

export function presentProvider({ name, health }: Provider) {
  const { breaker, lastError, lastSuccessAt } = health()
  return toApi({ name, breaker, lastError, lastSuccessAt })
}

const routes = describeOperations('Operator', {
  listProviders: {
    summary: 'Get the health of the payment providers',
    description: 'In order of preference, as seen by the process that answers. Needs an operator’s key.',
    response: { 200: response('The providers.', { providers: providerSchema.array() }) },
  },
})
