import type { Command } from 'commander'
import { EVENT_KINDS } from '../domain/webhooks/events.ts'
import {
  MAX_OVERLAP_SECONDS,
  nameFromUrl,
  DEFAULT_EVENT_KINDS,
  DEFAULT_OVERLAP_SECONDS,
} from '../domain/webhooks/webhooks.ts'
import { addCommand, AS_JSON, commaSeparated, OF_ACCOUNT, ONLY_ACCOUNT, positive, wholeNumber } from './arguments.ts'
import { accountColumn, cut, json, moment } from './format.ts'
import { sourceAction } from './source.ts'
import { printList, type JsonOption, type Terminal } from './terminal.ts'
import { webhooksListenCommand } from './webhooks-listen.ts'
import { WEBHOOKS, type ListedWebhook, type Test, type Webhooks } from './webhooks-source.ts'

const HOUR_SECONDS = 3600
// Enough to see what is wrong with a receiver.
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
    .action(sourceAction(terminal, WEBHOOKS, addWebhook))
  addCommand(webhooks, 'listen', '--status 500   # shows the retries')
    .description('run a receiver that prints each delivery and verifies its signature')
    .option('--port <port>', 'port to listen on (default: 4747)', positive)
    .option('--secret <whsec>', 'signing secret to verify deliveries with')
    .option('--status <code>', 'HTTP status to answer (default: 200)', positive)
    .action((options) => webhooksListenCommand(terminal, options))
  addCommand(webhooks, 'list', '--email ana@loja.example')
    .description('list webhooks with their state')
    .option(...ONLY_ACCOUNT)
    .option(...AS_JSON)
    .action(sourceAction(terminal, WEBHOOKS, listWebhooks))
  registerForOne(webhooks, terminal)
}

function registerForOne(webhooks: Command, terminal: Terminal): void {
  const maxHours = MAX_OVERLAP_SECONDS / HOUR_SECONDS
  const add = (name: string, example = '') =>
    addCommand(webhooks, name, `<id> ${example}`).argument('<id>', 'id from `webhooks list`')
  add('test')
    .description('send a WEBHOOK_TEST now; exits 1 if it is not delivered')
    .option(...AS_JSON)
    .action(sourceAction(terminal, WEBHOOKS, sendTest))
  add('rotate', '--overlap-hours 1')
    .description('replace the signing secret; prints only the new one, once')
    .option(
      '--overlap-hours <n>',
      `hours that the old secret signs as well, up to ${maxHours}; 0 if it has leaked`,
      wholeNumber({ min: 0, max: maxHours }),
      DEFAULT_OVERLAP_SECONDS / HOUR_SECONDS,
    )
    .action(sourceAction(terminal, WEBHOOKS, rotateWebhook))
  add('enable')
    .description('send events to a webhook again, and reset its failure count')
    .action(sourceAction(terminal, WEBHOOKS, enableWebhook))
  add('disable')
    .description('send no more events to a webhook; pending deliveries fail')
    .action(sourceAction(terminal, WEBHOOKS, disableWebhook))
  add('remove')
    .description('remove a webhook for good; its events are kept')
    .action(sourceAction(terminal, WEBHOOKS, removeWebhook))
}

type AddOptions = JsonOption & { email?: string; url: string; name?: string; events: string; authorization?: string }

async function addWebhook(webhooks: Webhooks, terminal: Terminal, options: AddOptions): Promise<void> {
  const { url, name = nameFromUrl(url), events, authorization = null } = options
  const wanted = { url, name, events: commaSeparated(events), authorization }
  const { webhook, secret, test: sendTest } = await webhooks.add(options.email, wanted)
  // Before the test, which may be interrupted: the secret cannot be shown again.
  if (!options.json) terminal.print(`Webhook  ${webhook.id}\nSecret   ${secret}`)
  const test = await sendTest()
  terminal.print(options.json ? json({ webhook, secret, test }) : describeTest(test))
  terminal.say('Save the secret now, it is not shown again. The receiver needs it to verify signatures.')
}

async function listWebhooks(
  webhooks: Webhooks,
  terminal: Terminal,
  options: JsonOption & { email?: string },
): Promise<void> {
  const listed = await webhooks.list(options.email)
  printList(terminal, options, listed, {
    empty: 'There are no webhooks. Add one with: guiche webhooks add --email <email> --url <url>',
    columns: {
      ID: (webhook) => webhook.id,
      ...accountColumn(listed),
      NAME: (webhook) => webhook.name,
      URL: (webhook) => webhook.url,
      STATE: stateOf,
    },
  })
}

async function sendTest(webhooks: Webhooks, terminal: Terminal, id: string, options: JsonOption): Promise<void> {
  const test = await webhooks.test(id)
  terminal.print(options.json ? json(test) : describeTest(test))
  if (!test.delivered) terminal.setExitCode(1)
}

async function rotateWebhook(
  webhooks: Webhooks,
  terminal: Terminal,
  id: string,
  options: { overlapHours: number },
): Promise<void> {
  const { webhook, secret } = await webhooks.rotate(id, options.overlapHours * HOUR_SECONDS)
  terminal.print(secret)
  const until = webhook.previousSecretUntil
  terminal.say(until ? `The old secret also signs until ${moment(until)} UTC.` : 'The old secret no longer signs.')
}

async function enableWebhook(webhooks: Webhooks, terminal: Terminal, id: string): Promise<void> {
  const { disabledAt } = await webhooks.find(id)
  const { name } = await webhooks.enable(id, true)
  terminal.print(`Enabled ${id} (${name}).`)
  if (!disabledAt) return
  terminal.say(`To resend failed deliveries:  guiche events resend --failed --webhook ${id}`)
  terminal.say(`To send what it missed:       guiche events resend --since ${disabledAt} --webhook ${id}`)
}

async function disableWebhook(webhooks: Webhooks, terminal: Terminal, id: string): Promise<void> {
  const { name } = await webhooks.enable(id, false)
  terminal.print(`Disabled ${id} (${name}).`)
}

async function removeWebhook(webhooks: Webhooks, terminal: Terminal, id: string): Promise<void> {
  const { name } = await webhooks.find(id)
  await webhooks.remove(id)
  terminal.print(`Removed ${id} (${name}).`)
}

function stateOf(webhook: ListedWebhook): string {
  if (webhook.disabledAt) return `off since ${moment(webhook.disabledAt)}: ${webhook.disabledReason}`
  return webhook.failingSince ? `failing since ${moment(webhook.failingSince)}` : 'enabled'
}

function describeTest({ delivered, status, error, latencyMs, excerpt }: Test): string {
  const outcome = error ?? `the receiver answered ${status}`
  const first = `Test     ${delivered ? 'delivered' : 'not delivered'}: ${outcome}, after ${latencyMs} ms`
  return excerpt === '' ? first : `${first}\nAnswer   ${cut(excerpt, EXCERPT_LENGTH)}`
}
