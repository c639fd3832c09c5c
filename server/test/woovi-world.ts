import { onTestFinished } from 'vitest'
import { audit } from '../src/domain/audit/audit.ts'
import { makeContext, type Context } from '../src/domain/context.ts'
import { makeWoovi } from '../src/providers/woovi/adapter.ts'
import { checkDue } from '../src/workers/check.ts'
import { appWith, deposit, get, portOf } from './requests.ts'
import { APP_ID, openWooviServer } from './woovi-server.ts'
import { world } from './world.ts'

/** The whole service with Woovi as its only provider: real sockets in both directions. */
export async function serveWithWoovi() {
  const w = await world()
  const woovi = await openWooviServer({ now: w.clock.now })
  onTestFinished(() => woovi.stop())
  const provider = makeWoovi({
    name: 'woovi',
    url: woovi.url,
    appId: APP_ID,
    callsPerSecond: 0,
    now: w.clock.now,
    log: w.ctx.log,
    metrics: w.ctx.metrics,
    timings: { writeTimeoutMs: 400, registerDeadlineMs: 2_000, backoffBaseMs: 1 },
  })
  onTestFinished(() => provider.close())
  const { pool, clock, log, metrics, webhookSender, instance } = w.ctx
  const settings = { ...w.ctx.settings }
  const ctx: Context = makeContext({
    pool,
    clock,
    log,
    metrics,
    settings,
    providers: [provider],
    webhookSender,
    mailer: w.ctx.mailer,
    instance,
  })
  const app = await appWith(ctx)
  await app.listen({ host: '127.0.0.1', port: 0 })
  settings.publicUrl = `http://127.0.0.1:${portOf(app)}`
  await provider.registerNotifications(`${settings.publicUrl}/callbacks/woovi/secret-of-woovi`)
  const account = await w.account()
  const open = async (value = 50_00) => {
    const answer = await app.inject(deposit(account.key, JSON.stringify({ value })))
    return answer.json().charge as { id: string; paymentLinkId: string; emv: string; status: string }
  }
  const query = async (link: string) => (await app.inject(get(account.key, `/api/deposit/${link}`))).json().charge
  const checkAll = async () => {
    while ((await checkDue(ctx)) === 'more');
  }
  const isClean = async () => (await audit(ctx)).differences
  return { ...w, w, ctx, app, woovi, provider, account, open, query, checkAll, isClean }
}
