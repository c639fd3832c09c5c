// Sets up what webhooks need: the parts of the build on a database, accounts with webhooks, and receivers.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'
import { newUuid7 } from '../server/dist/base/ids.js'
import { makeMetrics } from '../server/dist/base/metrics.js'
import { openEmbedded } from '../server/dist/db/embedded/server.js'
import { migrate } from '../server/dist/db/migrate.js'
import { makePool } from '../server/dist/db/pool.js'
import { joinPresence } from '../server/dist/db/presence.js'
import { transact } from '../server/dist/db/tx.js'
import { createAccount } from '../server/dist/domain/accounts/accounts.js'
import { makeContext } from '../server/dist/domain/context.js'
import { insertEvents, nameInBody } from '../server/dist/domain/webhooks/events.js'
import { makeSecretBox } from '../server/dist/domain/core/secret-box.js'
import { createWebhook } from '../server/dist/domain/webhooks/webhooks.js'
import { makeWebhookSender } from '../server/dist/egress/webhook-sender.js'

const log = { debug() {}, info() {}, warn: console.error, error: console.error }

/** On a database of its own, in a temporary home. */
export async function setUp() {
  const home = mkdtempSync(join(tmpdir(), 'guiche-bench-'))
  chmodSync(home, 0o755)
  const embedded = await openEmbedded({ home, say: () => {} })
  const { ctx, close } = await openContext(embedded.databaseUrl)
  return {
    ctx,
    async close() {
      await close()
      await embedded.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** On a database that exists and is empty. */
export async function openContext(databaseUrl) {
  await migrate(databaseUrl)
  const pool = makePool(databaseUrl, log)
  const presence = await joinPresence(databaseUrl)
  const webhookSender = makeWebhookSender({ allowNetworks: ['127.0.0.0/8'], allowHttp: false })
  const ctx = makeContext({
    pool,
    clock: { now: () => new Date(), offsetMs: () => 0, agrees: () => true },
    log,
    metrics: makeMetrics(),
    settings: SETTINGS,
    providers: [],
    webhookSender,
    mailer: { send: async () => {} },
    instance: presence.instance,
  })
  return {
    ctx,
    async close() {
      await webhookSender.close()
      await presence.leave()
      await pool.end()
    },
  }
}

const SETTINGS = {
  mode: 'test',
  publicUrl: 'http://localhost',
  terms: {
    feeBps: 100,
    feeFixedCents: 0,
    feeMinCents: null,
    feeMaxCents: null,
    feeBearer: 'account',
    valueMinCents: 1,
    valueMaxCents: 999_999_999_999,
  },
  chargeExpiresSeconds: 3600,
  pendingMaxPerAccount: 0,
  rateLimit: { perSecond: 0, burst: 1 },
  publicRateLimit: { perSecond: 0, burst: 1 },
  callbackSecrets: () => ['x'],
  secretBox: makeSecretBox(() => ['bench']),
}

let accounts = 0

/**
 * Creates an account with one webhook. Returns a function that writes events for it and resolves to the ids that
 * receivers get.
 */
export async function accountWithWebhook(ctx, url) {
  const { accountId } = await createAccount(ctx, {
    email: `bench${++accounts}@example.com`,
    name: 'bench',
    password: null,
  })
  await createWebhook(ctx, accountId, {
    name: 'sink',
    url,
    eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
    authorization: null,
  })
  const data = {
    transactionId: '0'.repeat(32),
    paymentLinkId: newUuid7(new Date()),
    externalId: null,
    value: 5000,
    originalValue: 5000,
    fee: 50,
    creditedValue: 4950,
    status: 'COMPLETED',
    paidLate: false,
    endToEndId: 'E'.repeat(32),
    paidAt: new Date().toISOString(),
  }
  return async (count, now = new Date()) => {
    const event = () => ({ kind: 'DEPOSIT_ASSET_SUCCESS', accountId, subjectId: newUuid7(now), createdAt: now, data })
    const stored = await transact(ctx.pool, (tx) => insertEvents(tx, now, Array.from({ length: count }, event)))
    return stored.map(({ body }) => nameInBody(body))
  }
}

export async function startSink() {
  const [sink] = await startSinks(1, 'answer')
  return sink
}

/** Webhook receivers, all in one other process. */
export async function startSinks(count, kind) {
  const child = fork(new URL('sink.mjs', import.meta.url), [kind, String(count)])
  const [{ ports }] = await once(child, 'message')
  const ask = async (message) => {
    child.send(message)
    const [answer] = await once(child, 'message')
    return answer
  }
  const stop = () => child.connected && child.disconnect()
  return ports.map((port) => {
    const origin = `http://127.0.0.1:${port}`
    return { url: `${origin}/hook`, origin, pid: child.pid, ask, stop }
  })
}

setFlagsFromString('--expose-gc')

/** Keeps garbage of earlier work out of the measurement. */
export const collectGarbage = runInNewContext('gc')
