import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { EVENT_KINDS, type EventKind } from '../domain/webhooks/event-kinds.ts'
import {
  canOpenNewestSecret,
  MAX_OVERLAP_SECONDS,
  nameFromUrl,
  DEFAULT_EVENT_KINDS,
  DEFAULT_OVERLAP_SECONDS,
} from '../domain/webhooks/webhooks.ts'
import { apiAction, type Answer, type Api, type WithAccount } from './api.ts'
import { addCommand, AS_JSON, commaSeparated, id, OF_ACCOUNT, ONLY_ACCOUNT, wholeNumber } from './arguments.ts'
import { accountColumn, count, cut, json, labelled, moment } from './format.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'
import { webhooksListenCommand } from './webhooks-listen.ts'

const HOUR_SECONDS = 3600
const EXCERPT_LENGTH = 400

export function webhookCommands(program: Command, terminal: Terminal): void {
  const webhooks = program
    .command('webhooks')
    .description('add, list, test and remove webhooks, to which guiche sends events')
    .addHelpText(
      'after',
      `
To try webhooks in sandbox mode:
  $ npx guiche webhooks listen                     # in a second terminal
  $ npx guiche webhooks add --email ana@loja.example --url http://127.0.0.1:4747/   # with GUICHE_URL, without --email
  $ npx guiche pay <paymentLinkId>                 # the second terminal shows the event`,
    )
  addCommand(webhooks, 'add', '--email ana@loja.example --url https://loja.example/guiche --authorization "Bearer abc"')
    .description('add a webhook and test it; prints its signing secret, once')
    .option(OF_ACCOUNT[0], `${OF_ACCOUNT[1]} (required without GUICHE_URL)`)
    .requiredOption('--url <url>', 'URL that receives the events')
    .option('--name <name>', 'name in lists (default: the host of the URL)')
    .option('--events <kinds>', `comma-separated: ${EVENT_KINDS.join(', ')}`, DEFAULT_EVENT_KINDS.join(','))
    .option('--authorization <value>', 'Authorization header of each delivery')
    .option(...AS_JSON)
    .action(apiAction(terminal, addWebhook))
  addCommand(webhooks, 'listen', '--status 500   # shows the retries')
    .description('run a receiver that prints each delivery and verifies its signature')
    .option('--port <port>', 'port to listen on (default: 4747)', wholeNumber({ min: 1, max: 65_535 }))
    .option('--secret <whsec>', 'signing secret to verify deliveries with')
    .option('--status <code>', 'HTTP status to answer (default: 200)', wholeNumber({ min: 200, max: 599 }))
    .action((options) => webhooksListenCommand(terminal, options))
  addCommand(webhooks, 'list', '--email ana@loja.example')
    .description('list webhooks with their state')
    .option(...ONLY_ACCOUNT)
    .option(...AS_JSON)
    .action(apiAction(terminal, listWebhooks))
  registerForOne(webhooks, terminal)
}

function registerForOne(webhooks: Command, terminal: Terminal): void {
  const maxHours = MAX_OVERLAP_SECONDS / HOUR_SECONDS
  const add = (name: string, example = '') =>
    addCommand(webhooks, name, `<id> ${example}`).argument('<id>', 'id from `webhooks list`', id)
  add('test')
    .description('send a WEBHOOK_TEST now, or the example of a kind; exits 1 if it is not delivered')
    .option('--event <kind>', 'the example of this kind, marked as a test')
    .option(...AS_JSON)
    .action(apiAction(terminal, sendTest))
  add('stats')
    .description('show how a webhook fares: attempts of the last day and week, and what waits')
    .option(...AS_JSON)
    .action(apiAction(terminal, showStats))
  add('retry')
    .description('try waiting deliveries now, without waiting for their next attempt')
    .option('--event <id>', 'only the delivery of this event')
    .action(apiAction(terminal, retryWaiting))
  add('rotate', '--overlap-hours 1')
    .description('replace the signing secret; prints only the new one, once')
    .option(
      '--overlap-hours <n>',
      `hours that the old secret signs as well, up to ${maxHours}; 0 if it has leaked`,
      wholeNumber({ min: 0, max: maxHours }),
      DEFAULT_OVERLAP_SECONDS / HOUR_SECONDS,
    )
    .action(apiAction(terminal, rotateWebhook))
  add('enable')
    .description('send events to a webhook again, and reset its failure count')
    .action(apiAction(terminal, enableWebhook))
  add('disable')
    .description('send no more events to a webhook; pending deliveries fail')
    .action(apiAction(terminal, disableWebhook))
  add('remove').description('remove a webhook for good; its events are kept').action(apiAction(terminal, removeWebhook))
}

type Figures = Answer<'getWebhookStats'>['stats']['day']
type Webhook = WithAccount<Answer<'getWebhook'>['webhook']>
type AddOptions = JsonOption & { email?: string; url: string; name?: string; events: string; authorization?: string }

async function addWebhook(api: Api, terminal: Terminal, options: AddOptions): Promise<void> {
  const { email, url, name = nameFromUrl(url), events, authorization = null } = options
  if (api.core && email === undefined) throw new OperatorError("Required option '--email <email>' not specified")
  await warnOfForeignKey(api, terminal)
  const body = { url, name, events: commaSeparated(events) as Webhook['events'], authorization }
  const { webhook, secret, test } = await (await api.as(email)).call('createWebhook', { body })
  const text = `Webhook  ${webhook.id}\nSecret   ${secret}\n${describeTest(test)}`
  terminal.print(options.json ? json({ webhook, secret, test }) : text)
  terminal.say('Save the secret now, it is not shown again. The receiver needs it to verify signatures.')
}

async function listWebhooks(api: Api, terminal: Terminal, options: JsonOption & { email?: string }): Promise<void> {
  const { webhooks } = await (await api.as(options.email)).call('listWebhooks', {})
  printList<Webhook>(terminal, options, webhooks, {
    empty: 'There are no webhooks. Add one with: guiche webhooks add --email <email> --url <url>',
    columns: {
      ID: (webhook) => webhook.id,
      ...accountColumn<Webhook>(webhooks),
      NAME: (webhook) => webhook.name,
      URL: (webhook) => webhook.url,
      STATE: stateOf,
    },
  })
}

type TestOptions = JsonOption & { event?: EventKind }

async function sendTest({ call }: Api, terminal: Terminal, webhookId: string, options: TestOptions): Promise<void> {
  const body = options.event === undefined ? {} : { event: options.event }
  const { test } = await call('testWebhook', { path: { webhookId }, body })
  printOne(terminal, options, test, describeTest)
  if (!test.delivered) terminal.setExitCode(1)
}

async function showStats({ call }: Api, terminal: Terminal, webhookId: string, options: JsonOption): Promise<void> {
  const answer = await call('getWebhookStats', { path: { webhookId } })
  printOne(terminal, options, answer, ({ stats, waiting }) =>
    labelled({
      'Last 24 hours': describeFigures(stats.day),
      'Last 7 days': describeFigures(stats.week),
      'Counted since': stats.sampledSince && `${moment(stats.sampledSince)}, the newest 2,000 events`,
      Waiting: `${waiting.count}${waiting.isMore ? ' or more' : ''}`,
      'Next attempt': waiting.nextAttemptAt && moment(waiting.nextAttemptAt),
      'Last failure': waiting.lastFailure && (waiting.lastFailure.error ?? `answered ${waiting.lastFailure.status}`),
    }),
  )
}

function describeFigures({ attempts, delivered, latencyP50Ms, latencyP95Ms }: Figures): string {
  const latency = latencyP50Ms === null ? '' : `, p50 ${latencyP50Ms} ms, p95 ${latencyP95Ms} ms`
  return `${delivered} of ${count(attempts, 'attempt')} delivered${latency}`
}

async function retryWaiting({ call }: Api, terminal: Terminal, webhookId: string, options: { event?: string }) {
  const body = options.event === undefined ? {} : { eventId: options.event }
  const { queued } = await call('retryWebhook', { path: { webhookId }, body })
  terminal.print(`${queued} due now.`)
}

async function rotateWebhook(api: Api, terminal: Terminal, webhookId: string, options: { overlapHours: number }) {
  await warnOfForeignKey(api, terminal)
  const body = { overlapSeconds: options.overlapHours * HOUR_SECONDS }
  const { webhook, secret } = await api.call('rotateWebhookSecret', { path: { webhookId }, body })
  terminal.print(secret)
  const until = webhook.previousSecretUntil
  terminal.say(until ? `The old secret also signs until ${moment(until)} UTC.` : 'The old secret no longer signs.')
}

async function enableWebhook({ call }: Api, terminal: Terminal, webhookId: string): Promise<void> {
  const { disabledAt, name } = (await call('getWebhook', { path: { webhookId } })).webhook
  await call('updateWebhook', { path: { webhookId }, body: { enabled: true } })
  terminal.print(`Enabled ${webhookId} (${name}).`)
  if (!disabledAt) return
  terminal.say(`To resend failed deliveries:  guiche events resend --failed --webhook ${webhookId}`)
  terminal.say(`To send what it missed:       guiche events resend --since ${disabledAt} --webhook ${webhookId}`)
}

async function disableWebhook({ call }: Api, terminal: Terminal, webhookId: string): Promise<void> {
  const { webhook } = await call('updateWebhook', { path: { webhookId }, body: { enabled: false } })
  terminal.print(`Disabled ${webhookId} (${webhook.name}).`)
}

async function removeWebhook({ call }: Api, terminal: Terminal, webhookId: string): Promise<void> {
  const { name } = (await call('getWebhook', { path: { webhookId } })).webhook
  await call('deleteWebhook', { path: { webhookId } })
  terminal.print(`Removed ${webhookId} (${name}).`)
}

// A command with another SECRET_KEY than the server's seals secrets that the server cannot open. Only a warning: after
// a key was lost, webhooks get new secrets this way.
async function warnOfForeignKey({ core }: Api, terminal: Terminal): Promise<void> {
  if (!core || (await canOpenNewestSecret(core))) return
  terminal.say(
    'Warning: this SECRET_KEY does not open the stored secrets. If the server uses another one, it cannot sign with the new secret.',
  )
}

function stateOf(webhook: Webhook): string {
  if (webhook.disabledAt) return `off since ${moment(webhook.disabledAt)}: ${webhook.disabledReason}`
  return webhook.failingSince ? `failing since ${moment(webhook.failingSince)}` : 'enabled'
}

function describeTest({ delivered, status, error, latencyMs, excerpt }: Answer<'testWebhook'>['test']): string {
  const outcome = error ?? `the receiver answered ${status}`
  const first = `Test     ${delivered ? 'delivered' : 'not delivered'}: ${outcome}, after ${latencyMs} ms`
  return excerpt === '' ? first : `${first}\nAnswer   ${cut(excerpt, EXCERPT_LENGTH)}`
}
