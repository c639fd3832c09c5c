import { OperatorError } from '../base/operator-error.ts'
import type { Context } from '../domain/context.ts'
import type { EventKind } from '../domain/webhooks/events.ts'
import { testWebhook } from '../domain/webhooks/test-webhook.ts'
import {
  canOpenNewestSecret,
  createWebhook,
  deleteWebhook,
  findWebhook,
  findWebhookOwner,
  listWebhooksOf,
  rotateSecret,
  updateWebhook,
} from '../domain/webhooks/webhooks.ts'
import type { presentTest, presentWebhook } from '../http/api/webhooks.ts'
import { accountIdOf, requireAccount } from './account-source.ts'
import { path, type Service } from './service.ts'
import { refuseEmail, type Places } from './source.ts'
import { consoleActor, withContext, type Terminal } from './terminal.ts'

type Presented = ReturnType<typeof presentWebhook>
export type ListedWebhook = Presented & { account?: string }
export type Test = ReturnType<typeof presentTest>
export type NewWebhook = { url: string; name: string; events: string[]; authorization: string | null }

export type Webhooks = {
  list(email: string | undefined): Promise<ListedWebhook[]>
  find(id: string): Promise<Presented>
  /** The test takes up to 15 seconds in the database. It is apart, so that the secret can be printed before it. */
  add(
    email: string | undefined,
    wanted: NewWebhook,
  ): Promise<{ webhook: Presented; secret: string; test(): Promise<Test> }>
  test(id: string): Promise<Test>
  rotate(id: string, overlapSeconds: number): Promise<{ webhook: Presented; secret: string }>
  enable(id: string, enabled: boolean): Promise<Presented>
  remove(id: string): Promise<void>
}

export const WEBHOOKS: Places<Context, Webhooks> = { open: withContext, inDatabase, atService }

async function inDatabase(ctx: Context, terminal: Terminal): Promise<Webhooks> {
  const { presentTest, presentWebhook } = await import('../http/api/webhooks.ts')
  const ownerOf = (id: string) => findWebhookOwner(ctx, id)
  return {
    async list(email) {
      const webhooks = await listWebhooksOf(ctx, await accountIdOf(ctx, email))
      return webhooks.map((webhook) => ({ account: webhook.email, ...presentWebhook(webhook) }))
    },
    find: async (id) => presentWebhook(await findWebhook(ctx, await ownerOf(id), id)),
    async add(email, { events, ...wanted }) {
      if (email === undefined) throw new OperatorError("required option '--email <email>' not specified")
      const { accountId } = await requireAccount(ctx, email)
      await warnOfForeignKey(ctx, terminal)
      // createWebhook refuses unknown kinds and lists the known ones.
      const fields = { ...wanted, eventKinds: events as EventKind[] }
      const { webhook, secret } = await createWebhook(ctx, accountId, fields, consoleActor())
      const test = async () => presentTest(await testWebhook(ctx, accountId, webhook.webhookId))
      return { webhook: presentWebhook(webhook), secret, test }
    },
    test: async (id) => presentTest(await testWebhook(ctx, await ownerOf(id), id)),
    async rotate(id, overlapSeconds) {
      await warnOfForeignKey(ctx, terminal)
      const { webhook, secret } = await rotateSecret(ctx, await ownerOf(id), id, overlapSeconds, consoleActor())
      return { webhook: presentWebhook(webhook), secret }
    },
    enable: async (id, enabled) =>
      presentWebhook(await updateWebhook(ctx, await ownerOf(id), id, { enabled }, consoleActor())),
    remove: async (id) => deleteWebhook(ctx, await ownerOf(id), id, consoleActor()),
  }
}

function atService({ ask }: Service): Webhooks {
  return {
    async list(email) {
      refuseEmail(email)
      return (await ask<{ webhooks: Presented[] }>('GET', '/api/webhooks')).webhooks
    },
    find: async (id) => (await ask<{ webhook: Presented }>('GET', path`/api/webhooks/${id}`)).webhook,
    async add(email, body) {
      refuseEmail(email)
      type Added = { webhook: Presented; secret: string; test: Test }
      const { webhook, secret, test } = await ask<Added>('POST', '/api/webhooks', { body })
      return { webhook, secret, test: async () => test }
    },
    test: async (id) => (await ask<{ test: Test }>('POST', path`/api/webhooks/${id}/test`)).test,
    rotate: (id, overlapSeconds) => ask('POST', path`/api/webhooks/${id}/rotate-secret`, { body: { overlapSeconds } }),
    enable: async (id, enabled) =>
      (await ask<{ webhook: Presented }>('PATCH', path`/api/webhooks/${id}`, { body: { enabled } })).webhook,
    remove: async (id) => void (await ask('DELETE', path`/api/webhooks/${id}`)),
  }
}

// With another home or environment than the server's, a command seals secrets that the server cannot open. This is only
// a warning, because after a key was lost, webhooks get new secrets this way.
async function warnOfForeignKey(ctx: Context, terminal: Terminal): Promise<void> {
  if (await canOpenNewestSecret(ctx)) return
  terminal.say(
    'Warning: this SECRET_KEY does not open the stored secrets. If the server uses another one, it cannot sign with the new secret.',
  )
}
