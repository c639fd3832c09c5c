import { z } from 'zod'
import { READABLE_RULE } from '../../base/readable-text.ts'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Core } from '../../domain/core/core.ts'
import { FOUND_KINDS, MAX_NEWEST, type Found } from '../../domain/search/finders.ts'
import { searchAll } from '../../domain/search/search.ts'
import {
  cents,
  describeOperations,
  integerParameter,
  response,
  text,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'

export function operatorSearchRoutes(app: Api, core: Core): void {
  const route = { schema: routes.searchAll, config: { scope: OPERATOR_SCOPE } } as const
  app.get('/api/operator/search', route, async (request) => {
    const { q, limit } = request.query
    const found = await searchAll(core, q, FOUND_KINDS, { accountId: null, since: null, limit })
    return { success: true as const, results: found.map(presentFound) }
  })
}

export const searchQuery = z.object({
  q: text({ min: 2, max: 200 }, `q must be 2 to 200 characters, ${READABLE_RULE}`).meta({
    description: 'What was typed or pasted.',
    examples: ['order-1042'],
  }),
  limit: integerParameter('limit', { min: 1, max: 20, default: 5, description: 'Maximum number of each kind.' }),
})

export const foundSchema = z
  .object({
    kind: z.enum(FOUND_KINDS),
    id: z.string().meta({ description: 'As the API names it. Of a payment, its endToEndId.' }),
    title: z.string().meta({ description: 'What a person calls it, or its shortened id.' }),
    detail: z.string().nullable().meta({ description: 'Of an exception, its kind.' }),
    accountId: z.string().nullable(),
    accountName: z.string().nullable(),
    status: z.string().nullable().meta({ description: 'Of an exception, its state.' }),
    value: cents.nullable(),
    at: time,
    paymentLinkId: z.string().nullable().meta({
      description: 'The deposit that it is about. Of a payment, the one that it completed.',
    }),
    exceptionId: z.string().nullable(),
  })
  .meta({ id: 'Found' })

export function presentFound(found: Found) {
  return toApi(found)
}

const routes = describeOperations('Operator', {
  searchAll: {
    summary: 'Search everything',
    description: `Accounts, deposits, payments, refunds, exceptions, payouts and events, in this order, each newest first. By words of names, e-mails, references and descriptions (3 characters or more), by ids and E2E ids, whole or the beginning of them, by a payment link, by an amount (\`199,90\` or \`199.90\`), and by the name of an event. A part of an E2E id or of a charge’s id is found however old it is, if it has 7 or more of the last characters (11 of an E2E id, 12 of an id). Other parts are found among the newest ${MAX_NEWEST.toLocaleString('en')} of their kind, and so are amounts of refunds and payouts, and the notes and references of payouts. Needs an operator’s key.`,
    querystring: searchQuery,
    response: { 200: response('What was found.', { results: foundSchema.array() }) },
    errors: { 400: '`q` or `limit` is invalid, or too much matches the text (`search_too_slow`).' },
  },
})
