import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { SCOPES } from '../src/domain/accounts/callers.ts'
import { ROLE_NAMES } from '../src/domain/accounts/roles.ts'
import { AUDIT_ACTIONS } from '../src/domain/core/audit-log.ts'
import { LINE_KIND_NAMES, LINE_KINDS } from '../src/domain/ledger/line-kinds.ts'
import { DISPUTE_STATUSES } from '../src/domain/disputes/dispute-states.ts'
import { PAYOUT_STATUSES } from '../src/domain/payouts/payout-states.ts'
import { REASON_CODES } from '../src/domain/ports/delivery-reasons.ts'
import { EXCEPTION_KINDS } from '../src/domain/refunds/exceptions.ts'
import { EVENT_KINDS, EVENTS, SENT_KINDS, type SentKind } from '../src/domain/webhooks/event-kinds.ts'
import { STATUSES } from '../src/http/api/deposit-records.ts'
import { EVENT_EXAMPLES } from '../src/http/api/event-examples.ts'
import { eventSchema } from '../src/http/docs/webhook-events.ts'
import { STATES } from '../src/http/operator/exceptions.ts'
import { ERROR_CODES } from '../src/http/server/error-codes.ts'
import { formatted, listText, partAt, readAnswers, schemaOf, typeText, type Names } from './contract-types.ts'

// The dashboard has a generated copy of what the server answers.

const HEADER = '// Generated from the server’s schemas: UPDATE_CONTRACT=1 npx vitest run server/test/contract.test.ts\n'

const LISTS = {
  DEPOSIT_STATUSES: ['DepositStatus', STATUSES],
  SCOPES: ['Scope', SCOPES],
  ROLES: ['Role', ROLE_NAMES],
  EVENTS: ['EventKind', EVENT_KINDS],
  PAYOUT_STATUSES: ['PayoutStatus', PAYOUT_STATUSES],
  DISPUTE_STATUSES: ['DisputeStatus', DISPUTE_STATUSES],
  EXCEPTION_KINDS: ['ExceptionKind', EXCEPTION_KINDS],
  EXCEPTION_STATES: ['ExceptionState', STATES],
  ERROR_CODES: ['ErrorCode', ERROR_CODES],
  REASON_CODES: ['ReasonCode', REASON_CODES],
  AUDIT_ACTIONS: ['AuditAction', AUDIT_ACTIONS],
} as const

/** Where each type without an `id` is found. Types with an `id` come from the same routes. */
const TYPES: Record<string, string> = {
  Me: 'GET /me me',
  Service: 'GET /me service',
  Session: 'GET /me',
  RefundStatus: 'GET /deposit/:paymentLinkId/timeline refunds[].status',
  TimelineEntry: 'GET /deposit/:paymentLinkId/timeline timeline[]',
  DepositHistory: 'GET /deposit/:paymentLinkId/timeline',
  Statement: 'GET /statement',
  Period: 'GET /overview today',
  Day: 'GET /overview days[]',
  Attention: 'GET /overview attention[]',
  Overview: 'GET /overview',
  CounterTotals: 'GET /counter/takings today',
  CounterDeposit: 'GET /counter/takings deposits[]',
  Takings: 'GET /counter/takings',
  Key: 'GET /keys keys[]',
  Member: 'GET /members members[]',
  MemberInvitation: 'GET /members invitations[]',
  Members: 'GET /members',
  Notice: 'GET /notices notices[]',
  NoticeChoice: 'GET /notices/choices choices[]',
  NoticeChoices: 'GET /notices/choices',
  DeliveryState: 'GET /deliveries deliveries[].status',
  Delivery: 'GET /deliveries deliveries[]',
  DeliveryAttempt: 'GET /deliveries/:eventId/:webhookId attempts[]',
  DeliveryDetails: 'GET /deliveries/:eventId/:webhookId',
  OwnTerms: 'GET /operator/accounts/:accountId terms.own',
  AccountDetails: 'GET /operator/accounts/:accountId',
  Invitation: 'GET /operator/invitations invitations[]',
  OperatorDepositRecord: 'GET /operator/deposits/:paymentLinkId',
  Resolution: 'GET /operator/exceptions exceptions[].resolution.how',
  ExceptionRecord: 'GET /operator/exceptions/:exceptionId',
  ResolveResult: 'POST /operator/exceptions/resolve results[]',
  FailingWebhook: 'GET /operator/webhook-failures webhooks[]',
  OperatorOverview: 'GET /operator/overview',
  Health: 'GET /operator/health',
  OpenItem: 'GET /operator/open items[]',
  OpenWork: 'GET /operator/open',
  PaymentData: 'GET /payment-link/:paymentLinkId/data payment',
  PaymentTexts: 'GET /payment-link/:paymentLinkId/data texts',
}
/** More routes with types that have an `id`. */
const ROUTES = [
  'GET /search',
  'GET /operator/deposits',
  'GET /operator/accounts/:accountId/history',
  'POST /deposit',
  'GET /payouts',
  'GET /disputes',
  'GET /operator/disputes',
  'GET /codes',
  'GET /shop',
  'GET /operator/payouts',
  'GET /operator/reversals',
  'POST /webhooks',
  'GET /webhooks/:webhookId/stats',
  'GET /events',
  'GET /requests',
  'POST /operator/reconcile',
  'GET /operator/audit-log',
]

test('the dashboard has the codes of the server', async () => {
  const lists = Object.entries(LISTS).map(([name, [type, values]]) => listText(name, type, values))
  const text = `${HEADER}\n${lists.join('\n')}`
  expect(await kept('codes.ts', text)).toBe(text)
})

test('the dashboard has the types of what the server answers', async () => {
  const answers = await readAnswers()
  const places = [...Object.values(TYPES), ...ROUTES]
  const withId = places.flatMap((place) => Object.entries(answerAt(place).schema.$defs ?? {}))
  expect(withId.filter(([name]) => name in TYPES)).toEqual([])
  const own = Object.entries(TYPES).map(([name, place]) => {
    const { schema, part } = answerAt(place)
    return [name, part ? partAt(schema, part) : schema] as const
  })
  const names: Names = new Map(own.map(([name, schema]) => [typeText(schema), name]))
  for (const [type, values] of Object.values(LISTS)) names.set(typeText({ enum: [...values] }), type)
  const texts = new Map([...own, ...withId].map(([name, schema]) => [name, typeText(schema, names, false)]))

  const types = [...texts].map(([name, text]) => `export type ${name} = ${text}`).join('\n')
  const imported = Object.values(LISTS).flatMap(([type]) => (new RegExp(`\\b${type}\\b`).test(types) ? type : []))
  const header = `${HEADER}\nimport type { ${imported.join(', ')} } from './codes.ts'\n`
  const text = await formatted(`${header}\n${types}\n`)
  expect(await kept('types.ts', text)).toBe(text)

  function answerAt(place: string) {
    const [method, path, part] = place.split(' ')
    const prefix = path!.startsWith('/payment-link/') ? '' : '/dashboard/api'
    const answer = answers.get(`${method} ${prefix}${path}`)
    if (!answer) throw new Error(`${place}: there is no such route, or it has no schema`)
    return { schema: schemaOf(answer), part }
  }
})

test('the dashboard has a name, a summary, the fields and an example of each event', async () => {
  const names = SENT_KINDS.map((kind) => [kind, [EVENTS[kind].name['pt-BR'], EVENTS[kind].name.en]])
  const summaries = SENT_KINDS.map((kind) => [kind, [EVENTS[kind].summary['pt-BR'], EVENTS[kind].summary.en]])
  const lists = {
    EVENT_NAMES: Object.fromEntries(names),
    EVENT_SUMMARIES: Object.fromEntries(summaries),
    EVENT_FIELDS: Object.fromEntries(SENT_KINDS.map((kind) => [kind, fieldTypes(kind)])),
    EVENT_EXAMPLES,
  }
  const texts = Object.entries(lists).map(
    ([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const\n`,
  )
  const text = await formatted(`${HEADER}\n${texts.join('\n')}`)
  expect(await kept('events.ts', text)).toBe(text)
})

type Properties = { properties: Record<string, Parameters<typeof typeText>[0]> }

/** By field of its data, the type. */
function fieldTypes(kind: SentKind): Record<string, string> {
  const { data } = eventSchema(kind).properties as Record<'data', Properties>
  return Object.fromEntries(Object.entries(data.properties).map(([name, schema]) => [name, typeText(schema)]))
}

test('the dashboard has a title of each kind of line', async () => {
  const titles = LINE_KIND_NAMES.map((kind) => [kind, LINE_KINDS[kind].titles])
  const value = JSON.stringify(Object.fromEntries(titles))
  const text = await formatted(`${HEADER}\nexport const LINE_TITLES = ${value} as const\n`)
  expect(await kept('line-titles.ts', text)).toBe(text)
})

/** Reads the file in the tree. With UPDATE_CONTRACT, `text` first replaces it. */
async function kept(file: string, text: string): Promise<string> {
  const path = new URL(`../../web/src/contract/${file}`, import.meta.url)
  if (process.env['UPDATE_CONTRACT']) await writeFile(path, text)
  return readFile(path, 'utf8')
}
