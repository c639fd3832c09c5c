import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Log } from './base/log.ts'
import { makeIsBreached } from './base/breached-passwords.ts'
import { makeMetrics, type Metrics } from './base/metrics.ts'
import { makeSharedBuckets, type SharedBuckets } from './base/token-buckets.ts'
import { flushSpans } from './base/tracing.ts'
import type { Config } from './config/config.ts'
import { makeDatabaseClock } from './db/clock.ts'
import { prepareHome } from './db/embedded/home.ts'
import { joinPresence, type Role } from './db/presence.ts'
import { reportTaken } from './db/shared-limits.ts'
import { openStandby } from './domain/reports/read-report.ts'
import { makeContext } from './domain/context.ts'
import { makeWebhookSender } from './egress/webhook-sender.ts'
import { makeWitness } from './egress/witness.ts'
import type { Provider } from './domain/ports/provider.ts'
import { makeSmtpMailer } from './mail/smtp.ts'
import { makeUnsentMailer } from './mail/unsent.ts'
import type { ProviderConfig } from './config/providers.ts'
import { makeApiPix } from './providers/api-pix/adapter.ts'
import { makeWoovi } from './providers/woovi/adapter.ts'
import { openDatabase, type OpenOptions, type Say } from './open-database.ts'
import { openSandbox } from './sandbox/server.ts'

type Common = { now: () => Date; log: Log; metrics: Metrics; limits: SharedBuckets }

type ContextOptions = OpenOptions & { role?: Role }

/** A sandbox runs in this process, or in another one with the same home. */
async function openSandboxOf(config: Config, log: Log, isBrief: boolean) {
  await prepareHome(config.home)
  return openSandbox({
    home: join(config.home, 'sandbox'),
    host: config.sandboxHost,
    port: config.sandboxPort,
    isBrief,
    say: (line) => log.info({}, line),
  })
}

function makeProvider(provider: ProviderConfig, sandboxUrl: string | undefined, common: Common): Provider {
  switch (provider.kind) {
    case 'woovi':
      return makeWoovi({ ...common, ...provider })
    case 'api-pix': {
      const { kind: _, tls, caPem, ...options } = provider
      return makeApiPix({ ...common, ...options, ...(tls && { tls }), ...(caPem && { caPem }) })
    }
    case 'sandbox':
      assert(sandboxUrl, 'The sandbox is opened first')
      return makeApiPix({
        ...common,
        name: provider.name,
        url: sandboxUrl,
        tokenUrl: `${sandboxUrl}/oauth/token`,
        clientId: 'sandbox',
        clientSecret: 'sandbox',
        pixKey: 'sandbox@guiche.example',
        callsPerSecond: 0,
      })
  }
}

export async function openContext(
  config: Config,
  log: Log,
  say: Say,
  { role = 'command', ...options }: ContextOptions = {},
) {
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    const database = await openDatabase(config, log, say, options)
    closers.push(database.close)
    const standby = config.databaseReadUrl ? openStandby(config.databaseReadUrl) : undefined
    closers.push(async () => standby?.pool.end())
    const presence = await joinPresence(database.value.databaseUrl, { role })
    closers.push(presence.leave)
    const clock = makeDatabaseClock(database.value.pool)
    closers.push(async () => clock.stop())
    await clock.measure()
    const { pool } = database.value
    const limits = makeSharedBuckets({
      report: (reports) => reportTaken(pool, clock.now(), reports),
      processes: presence.running,
      now: clock.now,
    })
    closers.push(async () => limits.close())
    const metrics = makeMetrics()
    // After all that makes spans, and before the database, which may take long.
    closers.push(flushSpans)
    const common = { now: clock.now, log, metrics, limits }
    const runsBank = config.providers.some((provider) => provider.kind === 'sandbox')
    const sandbox = runsBank ? await openSandboxOf(config, log, role === 'command') : undefined
    closers.push(async () => sandbox?.stop())
    const sandboxUrl = sandbox?.url
    const providers = config.providers.map((provider) => makeProvider(provider, sandboxUrl, common))
    closers.push(async () => void (await Promise.all(providers.map((provider) => provider.close()))))
    const { proxyUrl, ...webhooks } = config.webhooks
    const webhookSender = makeWebhookSender({ ...webhooks, now: clock.now, ...(proxyUrl && { proxyUrl }) })
    closers.push(() => webhookSender.close())
    const { mail, settings } = config
    const mailer = mail ? makeSmtpMailer({ ...mail, log }) : makeUnsentMailer(log, settings.mode)
    closers.push(() => mailer.close())
    const ctx = makeContext({
      pool,
      standby,
      clock,
      log,
      metrics,
      settings: sandboxUrl ? { ...settings, sandboxBankUrl: `${sandboxUrl}/bank` } : settings,
      providers,
      webhookSender,
      mailer,
      witness: settings.witness ? makeWitness(settings.witness.url) : undefined,
      instance: presence.instance,
      limits,
      ...(config.breachedPasswordsUrl && { isBreached: makeIsBreached(config.breachedPasswordsUrl, log) }),
    })
    return { value: ctx, sandboxUrl, clock, presence, close }
  } catch (error) {
    await close()
    throw error
  }
}
