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
import { requireAccount } from './account.ts'
import { positive, wholeNumber } from './arguments.ts'
import { consoleActor, cut, json, moment, table, withContext, type Terminal } from './terminal.ts'
import { webhooksListenCommand } from './webhooks-listen.ts'

const HOUR_SECONDS = 3600
// What a receiver answered is shown to tell what is wrong with it, not to be read whole.
const EXCERPT_LENGTH = 400

export function webhookCommands(program: Command, terminal: Terminal): void {
  const webhooks = program
    .command('webhooks')
    .description('where account holders are told of events')
    .addHelpText(
      'after',
      `
Try it, in sandbox mode:
  $ npx guiche webhooks listen                                  # in a second terminal
  $ npx guiche webhooks add --email ana@loja.example --url http://127.0.0.1:4747/
  $ npx guiche pay <paymentLinkId>                              # and watch the event arrive`,
    )
  registerAdding(webhooks, terminal)
  registerLooking(webhooks, terminal)
  registerChanging(webhooks, terminal)
}

function registerAdding(webhooks: Command, terminal: Terminal): void {
  webhooks
    .command('add')
    .description('add a webhook; prints its signing secret, this once, and what came of a WEBHOOK_TEST')
    .requiredOption('--email <email>', 'whose events')
    .requiredOption('--url <url>', 'where to send them')
    .option('--name <name>', 'to tell it from others (default: the host of the URL)')
    .option('--events <kinds>', `comma-separated, of ${EVENT_KINDS.join(', ')}`, DEFAULT_EVENT_KINDS.join(','))
    .option('--authorization <value>', 'sent as the Authorization header of each delivery')
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
Example:
  $ npx guiche webhooks add --email ana@loja.example --url https://loja.example/guiche --authorization "Bearer abc"`,
    )
    .action((options) => addWebhook(terminal, options))
  webhooks
    .command('listen')
    .description('be a receiver: print each delivery, and whether its signature holds')
    .option('--port <port>', 'where to listen (default: 4747)', positive)
    .option('--secret <whsec>', 'the signing secret, to verify deliveries with')
    .option('--status <code>', 'what to answer (default: 200)', positive)
    .addHelpText('after', '\nExample:\n  $ npx guiche webhooks listen --status 500   # and watch the retries')
    .action((options) => webhooksListenCommand(terminal, options))
}

function registerLooking(webhooks: Command, terminal: Terminal): void {
  webhooks
    .command('list')
    .description('all webhooks, or those of one account')
    .option('--email <email>', 'of this account only')
    .option('--json', 'as JSON, for programs')
    .action((options) => listWebhooks(terminal, options))
  webhooks
    .command('test')
    .description('send a WEBHOOK_TEST now; exits 1 when it is not delivered')
    .argument('<id>', 'as `webhooks list` shows it')
    .option('--json', 'as JSON, for programs')
    .action((id, options) => sendTest(terminal, id, options))
}

function registerChanging(webhooks: Command, terminal: Terminal): void {
  const hours = { usual: DEFAULT_OVERLAP_SECONDS / HOUR_SECONDS, max: MAX_OVERLAP_SECONDS / HOUR_SECONDS }
  webhooks
    .command('rotate')
    .description('replace the signing secret; prints the new one alone, this once')
    .argument('<id>', 'as `webhooks list` shows it')
    .option(
      '--overlap-hours <n>',
      `how long the old secret signs too, up to ${hours.max}; 0 if it has leaked`,
      wholeNumber({ min: 0, max: hours.max }),
      hours.usual,
    )
    .addHelpText('after', '\nExample:\n  $ SECRET=$(npx guiche webhooks rotate <id> --overlap-hours 1)')
    .action((id, options) => rotateWebhook(terminal, id, options))
  webhooks
    .command('enable')
    .description('send it events again, and start its record of failures anew')
    .argument('<id>', 'as `webhooks list` shows it')
    .action((id) => enableWebhook(terminal, id))
  webhooks
    .command('disable')
    .description('send it nothing more; what was still to be sent counts as failed')
    .argument('<id>', 'as `webhooks list` shows it')
    .action((id) => disableWebhook(terminal, id))
  webhooks
    .command('remove')
    .description('disable it for good; its events stay readable')
    .argument('<id>', 'as `webhooks list` shows it')
    .action((id) => removeWebhook(terminal, id))
}

type AddOptions = {
  email: string
  url: string
  name?: string
  events: string
  authorization?: string
  json?: boolean
}

function addWebhook(terminal: Terminal, options: AddOptions): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const { accountId } = await requireAccount(ctx, options.email)
    await warnOfForeignKey(ctx, terminal)
    const { webhook, secret } = await createWebhook(
      ctx,
      accountId,
      {
        url: options.url,
        name: options.name ?? nameFromUrl(options.url),
        // createWebhook refuses what is no kind, with the list of those that are.
        eventKinds: options.events.split(',').map((kind) => kind.trim()) as EventKind[],
        authorization: options.authorization ?? null,
      },
      consoleActor(),
    )
    // Before the test, which can take 15 seconds and be broken off: the secret cannot be shown again.
    if (!options.json) terminal.print(`Webhook  ${webhook.webhookId}\nSecret   ${secret}`)
    const test = await testWebhook(ctx, accountId, webhook.webhookId)
    if (options.json) terminal.print(json({ webhook: presentWebhook(webhook), secret, test: presentTest(test) }))
    else terminal.print(describeTest(test))
    terminal.say('The secret is shown this once: the receiver verifies with it that events come from here.')
  })
}

function listWebhooks(terminal: Terminal, options: { email?: string; json?: boolean }): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const account = options.email === undefined ? null : await requireAccount(ctx, options.email)
    const webhooks = await listWebhooksOf(ctx, account?.accountId ?? null)
    if (options.json)
      return terminal.print(json(webhooks.map((one) => ({ account: one.email, ...presentWebhook(one) }))))
    if (webhooks.length === 0)
      return terminal.say('There are no webhooks yet. Add one with: guiche webhooks add --email <email> --url <url>')
    const rows = webhooks.map((one) => [one.webhookId, one.email, one.name, one.url, stateOf(one)])
    terminal.print(table(['ID', 'ACCOUNT', 'NAME', 'URL', 'STATE'], rows))
  })
}

function sendTest(terminal: Terminal, id: string, options: { json?: boolean }): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const test = await testWebhook(ctx, await findWebhookOwner(ctx, id), id)
    const presented = presentTest(test)
    terminal.print(options.json ? json(presented) : describeTest(test))
    if (!presented.delivered) terminal.setExitCode(1)
  })
}

function rotateWebhook(terminal: Terminal, id: string, options: { overlapHours: number }): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    await warnOfForeignKey(ctx, terminal)
    const overlapSeconds = options.overlapHours * HOUR_SECONDS
    const { webhook, secret } = await rotateSecret(
      ctx,
      await findWebhookOwner(ctx, id),
      id,
      overlapSeconds,
      consoleActor(),
    )
    terminal.print(secret)
    const until = webhook.previousSecretUntil
    terminal.say(until ? `The old secret signs too until ${moment(until)} UTC.` : 'The old secret signs no more.')
  })
}

function enableWebhook(terminal: Terminal, id: string): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const accountId = await findWebhookOwner(ctx, id)
    const { disabledAt } = await findWebhook(ctx, accountId, id)
    const { name } = await updateWebhook(ctx, accountId, id, { enabled: true }, consoleActor())
    terminal.print(`Enabled ${id} (${name}).`)
    if (!disabledAt) return
    terminal.say(`To send what failed:        guiche events resend --failed --webhook ${id}`)
    terminal.say(`To send what came after it: guiche events resend --since ${disabledAt.toISOString()} --webhook ${id}`)
  })
}

function disableWebhook(terminal: Terminal, id: string): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const { name } = await updateWebhook(ctx, await findWebhookOwner(ctx, id), id, { enabled: false }, consoleActor())
    terminal.print(`Disabled ${id} (${name}).`)
  })
}

function removeWebhook(terminal: Terminal, id: string): Promise<void> {
  return withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const accountId = await findWebhookOwner(ctx, id)
    const { name } = await findWebhook(ctx, accountId, id)
    await deleteWebhook(ctx, accountId, id, consoleActor())
    terminal.print(`Removed ${id} (${name}).`)
  })
}

// A command that is run with another home or environment than the server makes a key of its own, and what it seals the
// server cannot open. Only a warning: after a key was lost, this is how webhooks get secrets that can be opened again.
async function warnOfForeignKey(ctx: Context, terminal: Terminal): Promise<void> {
  if (await canOpenNewestSecret(ctx)) return
  terminal.say(
    'Warning: this SECRET_KEY does not open the secrets that are there. Unless the server runs with this one, it cannot sign with what is made now.',
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
