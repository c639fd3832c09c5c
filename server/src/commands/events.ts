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
import { requireAccount } from './account.ts'
import { time, wholeNumber } from './arguments.ts'
import { cut, json, moment, table, withContext, type Terminal } from './terminal.ts'

const STATES = [...DELIVERY_STATES]
const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000
// As much of a receiver's answer as fits beside the rest of its line.
const EXCERPT_LENGTH = 60

export function eventCommands(program: Command, terminal: Terminal): void {
  const events = program.command('events').description('what account holders were told, and what became of it')
  events
    .command('list')
    .description('the newest events, each with the state of its deliveries')
    .option('--email <email>', 'of this account only')
    .addOption(new Option('--state <state>', 'only those with a delivery in this state').choices(STATES))
    .option('--limit <n>', `how many, up to ${MAX_LIMIT}`, wholeNumber({ min: 1, max: MAX_LIMIT }), DEFAULT_LIMIT)
    .option('--json', 'as JSON, for programs')
    .addHelpText('after', '\nExample:\n  $ npx guiche events list --state failed --email ana@loja.example')
    .action((options) => listEventsCommand(terminal, options))
  events
    .command('show')
    .description('an event, its deliveries, and each attempt of the last 30 days')
    .argument('<id>', 'evt_…')
    .option('--json', 'as JSON, for programs')
    .action((id, options) => showEventCommand(terminal, id, options))
  events
    .command('resend')
    .description('queue an event again, or all that failed, or all since a time; the server sends them')
    .argument('[id]', 'evt_…')
    .option('--failed', 'all that failed')
    .option('--since <time>', 'all since this time, delivered or not', time)
    .option('--email <email>', 'of this account only')
    .option('--webhook <id>', 'to this webhook only')
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
Examples:
  $ npx guiche events resend evt_0199a3c2f4b87d6e9b1a5c0d3e2f4a68
  $ npx guiche events resend --failed --email ana@loja.example
  $ npx guiche events resend --since 2026-01-31T00:00:00-03:00

Receivers get the same id and the same bytes, by which they tell a repetition.`,
    )
    .action((id, options) => resendCommand(terminal, id, options))
}

type ListOptions = { email?: string; state?: DeliveryState; limit: number; json?: boolean }

function listEventsCommand(terminal: Terminal, options: ListOptions): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const filter = { limit: options.limit, ...(options.state && { state: options.state }) }
    const { events, nextCursor } = await listEvents(ctx, await accountIdOf(ctx, options.email), filter)
    if (nextCursor) terminal.say(`The newest ${events.length}; there are more: see --limit.`)
    if (options.json)
      return terminal.print(json(events.map((event) => ({ account: event.email, ...presentEvent(event) }))))
    if (events.length === 0) return terminal.say('There are no such events.')
    const rows = events.map((event) => [
      event.id,
      event.email,
      event.kind,
      moment(event.createdAt),
      summaryOf(event.deliveries),
    ])
    terminal.print(table(['ID', 'ACCOUNT', 'EVENT', 'CREATED', 'DELIVERIES'], rows))
  })
}

function showEventCommand(terminal: Terminal, id: string, options: { json?: boolean }): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const { event, attempts } = await findEvent(ctx, null, id)
    if (options.json) {
      const presented = { account: event.email, ...presentEvent(event), attempts: attempts.map(presentAttempt) }
      return terminal.print(json(presented))
    }
    const webhooks = await listWebhooksOf(ctx, await accountIdOf(ctx, event.email))
    const names = new Map(webhooks.map((webhook) => [webhook.webhookId, webhook.name]))
    terminal.print(describe(event, attempts, (webhookId) => names.get(webhookId) ?? '(removed)'))
  })
}

type ResendOptions = { failed?: boolean; since?: Date; email?: string; webhook?: string; json?: boolean }

async function resendCommand(terminal: Terminal, id: string | undefined, options: ResendOptions): Promise<void> {
  const { failed, since, email, webhook = null } = options
  if ([id, failed, since].filter((one) => one !== undefined).length !== 1) {
    throw new Fault('bad_request', 'name one of these: an event (evt_…), --failed, or --since <time>')
  }
  await withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const accountId = await accountIdOf(ctx, email)
    const queued =
      id === undefined
        ? await resendMany(ctx, accountId, since ? { since } : { failed: true }, webhook)
        : await resendEvent(ctx, accountId, id, webhook)
    terminal.print(options.json ? json({ queued }) : `Queued ${queued} ${queued === 1 ? 'delivery' : 'deliveries'}.`)
    terminal.say(
      queued === 0
        ? 'There is nothing to send: no enabled webhook wants it, or nothing failed. A WEBHOOK_TEST is never resent.'
        : 'A running server sends them within a second; without one they wait until it starts.',
    )
  })
}

async function accountIdOf(ctx: Context, email: string | undefined): Promise<string | null> {
  return email === undefined ? null : (await requireAccount(ctx, email)).accountId
}

function summaryOf(deliveries: EventDelivery[]): string {
  const counts = STATES.map((state) => ({ state, count: deliveries.filter((one) => one.state === state).length }))
  const named = counts.filter(({ count }) => count > 0).map(({ state, count }) => `${count} ${state}`)
  return named.join(', ') || 'none'
}

function describe(event: EventRecord, attempts: AttemptRecord[], nameOf: (webhookId: string) => string): string {
  const head = [
    `Event    ${event.id}`,
    `Kind     ${event.kind}`,
    `Account  ${event.email}`,
    `Created  ${exact(event.createdAt)}`,
    `Body     ${event.body}`,
  ]
  if (event.deliveries.length === 0) return [...head, '', 'No webhook wanted it.'].join('\n')
  const deliveries = event.deliveries.map((one) => [
    one.webhookId,
    nameOf(one.webhookId),
    one.state,
    String(one.attempts),
    one.nextAttemptAt ? `next ${exact(one.nextAttemptAt)}` : `ended ${exact(one.endedAt!)}`,
  ])
  const tried = attempts.map((one) => [
    exact(one.at),
    nameOf(one.webhookId),
    String(one.number),
    one.error ?? `answered ${one.status}`,
    `${one.latencyMs} ms`,
    cut(one.excerpt, EXCERPT_LENGTH),
  ])
  return [
    ...head,
    '',
    table(['WEBHOOK', 'NAME', 'STATE', 'ATTEMPTS', 'WHEN'], deliveries),
    ...(tried.length > 0 ? ['', table(['ATTEMPT AT', 'NAME', 'NUMBER', 'OUTCOME', 'LATENCY', 'ANSWER'], tried)] : []),
  ].join('\n')
}

/** To the second: retries follow each other within seconds. */
function exact(date: Date): string {
  return date.toISOString().slice(0, 19).replace('T', ' ')
}
