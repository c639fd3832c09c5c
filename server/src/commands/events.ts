import { Option, type Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { DELIVERY_STATES, type DeliveryState } from '../domain/webhooks/event-search.ts'
import { apiAction, type Answer, type Api, type WithAccount } from './api.ts'
import { addCommand, AS_JSON, id, limit, ONLY_ACCOUNT, time } from './arguments.ts'
import { accountColumn, count, cut, json, moment, second, tableOf } from './format.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

const STATES = [...DELIVERY_STATES]
const EXCERPT_LENGTH = 60
const EVENT_ID = 'evt_DEPOSIT_ASSET_SUCCESS_0199a3c2f4b87d6e9b1a5c0d3e2f4a68'

export function eventCommands(program: Command, terminal: Terminal): void {
  const events = program.command('events').description('list, show and resend webhook events')
  addCommand(events, 'list', '--state failed --email ana@loja.example')
    .description('list the newest events with the state of their deliveries')
    .option(...ONLY_ACCOUNT)
    .addOption(new Option('--state <state>', 'only events with a delivery in this state').choices(STATES))
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, listEventsCommand))
  addCommand(events, 'show', EVENT_ID)
    .description('show an event, its deliveries, and each attempt that is kept')
    .argument('<id>', 'id from `events list`: evt_…', id)
    .option(...AS_JSON)
    .action(apiAction(terminal, showEventCommand))
  const all = ['--failed --email ana@loja.example', '--since 2026-01-31T00:00:00-03:00']
  addCommand(events, 'resend', EVENT_ID, ...all)
    .description('queue one event, all failed ones, or all since a time; the running server sends them')
    .argument('[id]', 'id from `events list`: evt_…', id)
    .option('--failed', 'all failed deliveries')
    .option('--since <time>', 'all events since this time, delivered or not', time)
    .option(...ONLY_ACCOUNT)
    .option('--webhook <id>', 'only to this webhook')
    .option(...AS_JSON)
    .addHelpText('after', '\nA resent event has the same id and body, so receivers can recognise it.')
    .action((id, options) => apiAction(terminal, resendCommand)(whichOf(id, options), options))
}

type Event = WithAccount<Answer<'getEvent'>['event']>
type Attempt = Answer<'getEvent'>['attempts'][number]
type ListOptions = JsonOption & { email?: string; state?: DeliveryState; limit: number }

async function listEventsCommand(api: Api, terminal: Terminal, options: ListOptions): Promise<void> {
  const { json, email, ...filter } = options
  const listed = await (await api.as(email)).list('listEvents', filter)
  printList<Event>(terminal, { json }, listed, {
    empty: 'No event matches.',
    columns: {
      ID: (event) => event.id,
      ...accountColumn<Event>(listed.items),
      EVENT: (event) => event.event,
      CREATED: (event) => moment(event.createdAt),
      DELIVERIES: (event) => summaryOf(event.deliveries),
    },
  })
}

async function showEventCommand(api: Api, terminal: Terminal, eventId: string, options: JsonOption): Promise<void> {
  const { event, attempts }: { event: Event; attempts: Attempt[] } = await api.call('getEvent', { path: { eventId } })
  if (options.json) return terminal.print(json({ ...event, attempts }))
  const { webhooks } = await (await api.as(event.account)).call('listWebhooks', {})
  const names = new Map(webhooks.map(({ id, name }) => [id, name]))
  terminal.print(describe(event, attempts, ({ webhookId }) => names.get(webhookId) ?? '(removed)'))
}

type ResendOptions = JsonOption & { failed?: true; since?: Date; email?: string; webhook?: string }

async function resendCommand(api: Api, terminal: Terminal, which: Which, options: ResendOptions): Promise<void> {
  const { call } = await api.as(options.email)
  const to = options.webhook === undefined ? {} : { webhookId: options.webhook }
  const { queued } =
    'eventId' in which
      ? await call('resendEvent', { path: which, body: to })
      : await call('resendEvents', { body: { ...which, ...to } })
  printOne(terminal, options, { queued }, () => `Queued ${count(queued, 'delivery', 'deliveries')}.`)
  terminal.say(
    queued === 0
      ? 'Nothing to send: nothing failed, or no enabled webhook wants it. A WEBHOOK_TEST is never resent.'
      : 'The running server sends within a second. If none is running: guiche start',
  )
}

type Which = { eventId: string } | { failed: true } | { since: string }

function whichOf(eventId: string | undefined, { failed, since }: ResendOptions): Which {
  const given: Which[] = [
    ...(eventId === undefined ? [] : [{ eventId }]),
    ...(failed ? [{ failed }] : []),
    ...(since ? [{ since: since.toISOString() }] : []),
  ]
  if (given.length === 1) return given[0]!
  throw new Fault('bad_request', 'Give exactly one of: an event (evt_…), --failed, --since <time>')
}

function summaryOf(deliveries: Event['deliveries']): string {
  const counts = STATES.map((state) => ({
    state,
    many: deliveries.filter((delivery) => delivery.state === state).length,
  }))
  const named = counts.filter(({ many }) => many > 0).map(({ state, many }) => `${many} ${state}`)
  return named.join(', ') || 'none'
}

function describe(event: Event, attempts: Attempt[], nameOf: (delivery: { webhookId: string }) => string): string {
  const { id, event: kind, createdAt, data, account } = event
  const head = [
    `Event    ${id}`,
    `Kind     ${kind}`,
    ...(account === undefined ? [] : [`Account  ${account}`]),
    `Created  ${second(createdAt)}`,
    `Body     ${JSON.stringify({ id, event: kind, createdAt, data })}`,
    '',
  ]
  if (event.deliveries.length === 0) return [...head, 'No webhook subscribed to it.'].join('\n')
  const deliveries = tableOf(event.deliveries, {
    WEBHOOK: (delivery) => delivery.webhookId,
    NAME: nameOf,
    STATE: (delivery) => delivery.state,
    ATTEMPTS: (delivery) => delivery.attempts,
    WHEN: ({ nextAttemptAt, endedAt }) =>
      nextAttemptAt ? `next ${second(nextAttemptAt)}` : `ended ${endedAt ? second(endedAt) : ''}`,
  })
  const tried = tableOf(attempts, {
    'ATTEMPT AT': (attempt) => second(attempt.at),
    NAME: nameOf,
    NUMBER: (attempt) => attempt.number,
    OUTCOME: (attempt) => attempt.error ?? `answered ${attempt.status}`,
    LATENCY: (attempt) => `${attempt.latencyMs} ms`,
    ANSWER: (attempt) => cut(attempt.excerpt, EXCERPT_LENGTH),
  })
  return [...head, deliveries, ...(attempts.length > 0 ? ['', tried] : [])].join('\n')
}
