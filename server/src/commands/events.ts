import { Option, type Command } from 'commander'
import { Fault } from '../base/fault.ts'
import type { Context } from '../domain/context.ts'
import {
  DELIVERY_STATES,
  findEvent,
  listEvents,
  type AttemptRecord,
  type DeliveryState,
  type EventDelivery,
  type EventRecord,
} from '../domain/webhooks/delivery-history.ts'
import { resendEvent, resendMany } from '../domain/webhooks/resend.ts'
import { listWebhooksOf } from '../domain/webhooks/webhooks.ts'
import { presentAttempt, presentEvent } from '../http/api/events.ts'
import { accountIdOf } from './account.ts'
import { addCommand, AS_JSON, limit, ONLY_ACCOUNT, time } from './arguments.ts'
import { count, cut, json, moment, tableOf } from './format.ts'
import { contextAction, printList, printOne, withContext, type JsonOption, type Terminal } from './terminal.ts'

const STATES = [...DELIVERY_STATES]
// Fits beside the rest of the line.
const EXCERPT_LENGTH = 60
const EVENT_ID = 'evt_0199a3c2f4b87d6e9b1a5c0d3e2f4a68'

export function eventCommands(program: Command, terminal: Terminal): void {
  const events = program.command('events').description('list, show and resend webhook events')
  addCommand(events, 'list', '--state failed --email ana@loja.example')
    .description('list the newest events with the state of their deliveries')
    .option(...ONLY_ACCOUNT)
    .addOption(new Option('--state <state>', 'only events with a delivery in this state').choices(STATES))
    .option(...limit(50))
    .option(...AS_JSON)
    .action(contextAction(terminal, listEventsCommand))
  addCommand(events, 'show', EVENT_ID)
    .description('show an event, its deliveries, and each attempt of the last 30 days')
    .argument('<id>', 'id from `events list`: evt_…')
    .option(...AS_JSON)
    .action(contextAction(terminal, showEventCommand))
  const all = ['--failed --email ana@loja.example', '--since 2026-01-31T00:00:00-03:00']
  addCommand(events, 'resend', EVENT_ID, ...all)
    .description('queue one event, all failed ones, or all since a time; the running server sends them')
    .argument('[id]', 'id from `events list`: evt_…')
    .option('--failed', 'all failed deliveries')
    .option('--since <time>', 'all events since this time, delivered or not', time)
    .option(...ONLY_ACCOUNT)
    .option('--webhook <id>', 'only to this webhook')
    .option(...AS_JSON)
    .addHelpText('after', '\nA resent event has the same id and body, so receivers can recognise it.')
    .action((id, options) => resendCommand(terminal, id, options))
}

type ListOptions = JsonOption & { email?: string; state?: DeliveryState; limit: number }

async function listEventsCommand(ctx: Context, terminal: Terminal, options: ListOptions): Promise<void> {
  const filter = { limit: options.limit, ...(options.state && { state: options.state }) }
  const { events, nextCursor } = await listEvents(ctx, await accountIdOf(ctx, options.email), filter)
  printList(terminal, options, events, {
    nextCursor,
    empty: 'No event matches.',
    toJson: (event) => ({ account: event.email, ...presentEvent(event) }),
    columns: {
      ID: (event) => event.id,
      ACCOUNT: (event) => event.email,
      EVENT: (event) => event.kind,
      CREATED: (event) => moment(event.createdAt),
      DELIVERIES: (event) => summaryOf(event.deliveries),
    },
  })
}

async function showEventCommand(ctx: Context, terminal: Terminal, id: string, options: JsonOption): Promise<void> {
  const { event, attempts } = await findEvent(ctx, null, id)
  if (options.json) {
    const presented = { account: event.email, ...presentEvent(event), attempts: attempts.map(presentAttempt) }
    return terminal.print(json(presented))
  }
  const webhooks = await listWebhooksOf(ctx, await accountIdOf(ctx, event.email))
  const names = new Map(webhooks.map((webhook) => [webhook.webhookId, webhook.name]))
  terminal.print(describe(event, attempts, ({ webhookId }) => names.get(webhookId) ?? '(removed)'))
}

type ResendOptions = JsonOption & { failed?: boolean; since?: Date; email?: string; webhook?: string }

async function resendCommand(terminal: Terminal, id: string | undefined, options: ResendOptions): Promise<void> {
  const { failed, since, email, webhook = null } = options
  if ([id, failed, since].filter((choice) => choice !== undefined).length !== 1)
    throw new Fault('bad_request', 'give exactly one of: an event (evt_…), --failed, --since <time>')
  await withContext(terminal, async (ctx) => {
    const accountId = await accountIdOf(ctx, email)
    const queued =
      id === undefined
        ? await resendMany(ctx, accountId, since ? { since } : { failed: true }, webhook)
        : await resendEvent(ctx, accountId, id, webhook)
    printOne(terminal, options, { queued }, () => `Queued ${count(queued, 'delivery', 'deliveries')}.`)
    terminal.say(
      queued === 0
        ? 'Nothing to send: nothing failed, or no enabled webhook wants it. A WEBHOOK_TEST is never resent.'
        : 'The running server sends within a second. If none is running: guiche start',
    )
  })
}

function summaryOf(deliveries: EventDelivery[]): string {
  const counts = STATES.map((state) => ({
    state,
    many: deliveries.filter((delivery) => delivery.state === state).length,
  }))
  const named = counts.filter(({ many }) => many > 0).map(({ state, many }) => `${many} ${state}`)
  return named.join(', ') || 'none'
}

function describe(
  event: EventRecord,
  attempts: AttemptRecord[],
  nameOf: (delivery: { webhookId: string }) => string,
): string {
  const head = [
    `Event    ${event.id}`,
    `Kind     ${event.kind}`,
    `Account  ${event.email}`,
    `Created  ${exact(event.createdAt)}`,
    `Body     ${event.body}`,
    '',
  ]
  if (event.deliveries.length === 0) return [...head, 'No webhook subscribed to it.'].join('\n')
  const deliveries = tableOf(event.deliveries, {
    WEBHOOK: (delivery) => delivery.webhookId,
    NAME: nameOf,
    STATE: (delivery) => delivery.state,
    ATTEMPTS: (delivery) => delivery.attempts,
    WHEN: ({ nextAttemptAt, endedAt }) =>
      nextAttemptAt ? `next ${exact(nextAttemptAt)}` : `ended ${endedAt ? exact(endedAt) : ''}`,
  })
  const tried = tableOf(attempts, {
    'ATTEMPT AT': (attempt) => exact(attempt.at),
    NAME: nameOf,
    NUMBER: (attempt) => attempt.number,
    OUTCOME: (attempt) => attempt.error ?? `answered ${attempt.status}`,
    LATENCY: (attempt) => `${attempt.latencyMs} ms`,
    ANSWER: (attempt) => cut(attempt.excerpt, EXCERPT_LENGTH),
  })
  return [...head, deliveries, ...(attempts.length > 0 ? ['', tried] : [])].join('\n')
}

/** To the second, because retries follow each other within seconds. */
function exact(date: Date): string {
  return date.toISOString().slice(0, 19).replace('T', ' ')
}
