import type { Command } from 'commander'
import type { Context } from '../domain/context.ts'
import type { WebhookAnswer } from '../domain/ports/webhook-sender.ts'
import { testWebhook } from '../domain/webhooks/test-webhook.ts'
import { EVENT_KINDS, type EventKind } from '../domain/webhooks/events.ts'
import {
  canOpenNewestSecret,
  createWebhook,
  deleteWebhook,
  findWebhook,
  findWebhookOwner,
  listWebhooksOf,
  MAX_OVERLAP_SECONDS,
  nameFromUrl,
  rotateSecret,
  updateWebhook,
  DEFAULT_EVENT_KINDS,
  DEFAULT_OVERLAP_SECONDS,
  type Webhook,
} from '../domain/webhooks/webhooks.ts'
import { presentTest, presentWebhook } from '../http/api/webhooks.ts'
import { accountIdOf, requireAccount } from './account.ts'
import { addCommand, AS_JSON, commaSeparated, OF_ACCOUNT, ONLY_ACCOUNT, positive, wholeNumber } from './arguments.ts'
import { cut, json, moment } from './format.ts'
import { consoleActor, contextAction, printList, type JsonOption, type Terminal } from './terminal.ts'
import { webhooksListenCommand } from './webhooks-listen.ts'

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
  $ npx guiche webhooks add --email ana@loja.example --url http://127.0.0.1:4747/
  $ npx guiche pay <paymentLinkId>                 # the second terminal shows the event`,
    )
  addCommand(webhooks, 'add', '--email ana@loja.example --url https://loja.example/guiche --authorization "Bearer abc"')
    .description('add a webhook and test it; prints its signing secret, once')
    .requiredOption(...OF_ACCOUNT)
    .requiredOption('--url <url>', 'URL that receives the events')
    .option('--name <name>', 'name in lists (default: the host of the URL)')
    .option('--events <kinds>', `comma-separated: ${EVENT_KINDS.join(', ')}`, DEFAULT_EVENT_KINDS.join(','))
    .option('--authorization <value>', 'Authorization header of each delivery')
    .option(...AS_JSON)
    .action(contextAction(terminal, addWebhook))
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
    .action(contextAction(terminal, listWebhooks))
  registerForOne(webhooks, terminal)
}

function registerForOne(webhooks: Command, terminal: Terminal): void {
  const maxHours = MAX_OVERLAP_SECONDS / HOUR_SECONDS
  const add = (name: string, example = '') =>
    addCommand(webhooks, name, `<id> ${example}`).argument('<id>', 'id from `webhooks list`')
  add('test')
    .description('send a WEBHOOK_TEST now; exits 1 if it is not delivered')
    .option(...AS_JSON)
    .action(contextAction(terminal, sendTest))
  add('rotate', '--overlap-hours 1')
    .description('replace the signing secret; prints only the new one, once')
    .option(
      '--overlap-hours <n>',
      `hours that the old secret signs as well, up to ${maxHours}; 0 if it has leaked`,
      wholeNumber({ min: 0, max: maxHours }),
      DEFAULT_OVERLAP_SECONDS / HOUR_SECONDS,
    )
    .action(contextAction(terminal, rotateWebhook))
  add('enable')
    .description('send events to a webhook again, and reset its failure count')
    .action(contextAction(terminal, enableWebhook))
  add('disable')
    .description('send no more events to a webhook; pending deliveries fail')
    .action(contextAction(terminal, disableWebhook))
  add('remove')
    .description('remove a webhook for good; its events are kept')
    .action(contextAction(terminal, removeWebhook))
}

type AddOptions = JsonOption & { email: string; url: string; name?: string; events: string; authorization?: string }

async function addWebhook(ctx: Context, terminal: Terminal, options: AddOptions): Promise<void> {
  const { url, name = nameFromUrl(url), events, authorization = null } = options
  const { accountId } = await requireAccount(ctx, options.email)
  await warnOfForeignKey(ctx, terminal)
  // createWebhook refuses unknown kinds and lists the known ones.
  const fields = { url, name, eventKinds: commaSeparated(events) as EventKind[], authorization }
  const { webhook, secret } = await createWebhook(ctx, accountId, fields, consoleActor())
  // Before the test, which takes up to 15 seconds and may be interrupted: the secret cannot be shown again.
  if (!options.json) terminal.print(`Webhook  ${webhook.webhookId}\nSecret   ${secret}`)
  const test = await testWebhook(ctx, accountId, webhook.webhookId)
  if (options.json) terminal.print(json({ webhook: presentWebhook(webhook), secret, test: presentTest(test) }))
  else terminal.print(describeTest(test))
  terminal.say('Save the secret now, it is not shown again. The receiver needs it to verify signatures.')
}

async function listWebhooks(ctx: Context, terminal: Terminal, options: JsonOption & { email?: string }): Promise<void> {
  printList(terminal, options, await listWebhooksOf(ctx, await accountIdOf(ctx, options.email)), {
    empty: 'There are no webhooks. Add one with: guiche webhooks add --email <email> --url <url>',
    toJson: (webhook) => ({ account: webhook.email, ...presentWebhook(webhook) }),
    columns: {
      ID: (webhook) => webhook.webhookId,
      ACCOUNT: (webhook) => webhook.email,
      NAME: (webhook) => webhook.name,
      URL: (webhook) => webhook.url,
      STATE: stateOf,
    },
  })
}

async function sendTest(ctx: Context, terminal: Terminal, id: string, options: JsonOption): Promise<void> {
  const test = await testWebhook(ctx, await findWebhookOwner(ctx, id), id)
  const presented = presentTest(test)
  terminal.print(options.json ? json(presented) : describeTest(test))
  if (!presented.delivered) terminal.setExitCode(1)
}

async function rotateWebhook(
  ctx: Context,
  terminal: Terminal,
  id: string,
  options: { overlapHours: number },
): Promise<void> {
  await warnOfForeignKey(ctx, terminal)
  const accountId = await findWebhookOwner(ctx, id)
  const overlapSeconds = options.overlapHours * HOUR_SECONDS
  const { webhook, secret } = await rotateSecret(ctx, accountId, id, overlapSeconds, consoleActor())
  terminal.print(secret)
  const until = webhook.previousSecretUntil
  terminal.say(until ? `The old secret also signs until ${moment(until)} UTC.` : 'The old secret no longer signs.')
}

async function enableWebhook(ctx: Context, terminal: Terminal, id: string): Promise<void> {
  const accountId = await findWebhookOwner(ctx, id)
  const { disabledAt } = await findWebhook(ctx, accountId, id)
  const { name } = await updateWebhook(ctx, accountId, id, { enabled: true }, consoleActor())
  terminal.print(`Enabled ${id} (${name}).`)
  if (!disabledAt) return
  terminal.say(`To resend failed deliveries:  guiche events resend --failed --webhook ${id}`)
  terminal.say(`To send what it missed:       guiche events resend --since ${disabledAt.toISOString()} --webhook ${id}`)
}

async function disableWebhook(ctx: Context, terminal: Terminal, id: string): Promise<void> {
  const { name } = await updateWebhook(ctx, await findWebhookOwner(ctx, id), id, { enabled: false }, consoleActor())
  terminal.print(`Disabled ${id} (${name}).`)
}

async function removeWebhook(ctx: Context, terminal: Terminal, id: string): Promise<void> {
  const accountId = await findWebhookOwner(ctx, id)
  const { name } = await findWebhook(ctx, accountId, id)
  await deleteWebhook(ctx, accountId, id, consoleActor())
  terminal.print(`Removed ${id} (${name}).`)
}

// With another home or environment than the server's, a command seals secrets that the server cannot open. This is only
// a warning, because after a key was lost, webhooks get new secrets this way.
async function warnOfForeignKey(ctx: Context, terminal: Terminal): Promise<void> {
  if (await canOpenNewestSecret(ctx)) return
  terminal.say(
    'Warning: this SECRET_KEY does not open the stored secrets. If the server uses another one, it cannot sign with the new secret.',
  )
}

function stateOf(webhook: Webhook): string {
  if (webhook.disabledAt) return `off since ${moment(webhook.disabledAt)}: ${webhook.disabledReason}`
  return webhook.failingSince ? `failing since ${moment(webhook.failingSince)}` : 'enabled'
}

function describeTest(test: WebhookAnswer): string {
  const { delivered, status, error, latencyMs, excerpt } = presentTest(test)
  const outcome = error ?? `the receiver answered ${status}`
  const first = `Test     ${delivered ? 'delivered' : 'not delivered'}: ${outcome}, after ${latencyMs} ms`
  return excerpt === '' ? first : `${first}\nAnswer   ${cut(excerpt, EXCERPT_LENGTH)}`
}
