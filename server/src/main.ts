import closeWithGrace from 'close-with-grace'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { explainListen, requireListen } from './process/listen.ts'
import { measureProcess } from './base/metrics.ts'
import { OperatorError } from './base/operator-error.ts'
import { onStopSignal } from './process/stop-signals.ts'
import { isSpokesman, isSupervised } from './process/supervise.ts'
import { makeSystemdNotifier } from './process/systemd.ts'
import { VERSION } from './base/version.ts'
import type { Config } from './config/config.ts'
import { clockText } from './db/clock.ts'
import type { Context } from './domain/context.ts'
import { FAILOVER_WITHIN_MS } from './domain/deposits/open-deposit.ts'
import { makeDemoAccount, type DemoAccount } from './domain/demo/demo-account.ts'
import { checkSecretKeys, recordSecretKey } from './domain/core/secret-keys.ts'
import { signHead } from './domain/history/heads.ts'
import { makeProcessStatus } from './process-status.ts'
import { buildApp, buildWorkerApp, type App } from './http/app.ts'
import type { Say } from './open-database.ts'
import { NO_MAIL } from './mail/unsent.ts'
import { DEFAULT_TIMINGS } from './providers/http/limits.ts'
import { openContext } from './wiring.ts'
import { makeLog, type Logger } from './log.ts'
import { startCheckWorker } from './workers/check.ts'
import { startDeliverWorker } from './workers/deliver.ts'
import { startDisputeWorker } from './workers/dispute.ts'
import { startNumberWorker } from './workers/number.ts'
import { startPurgeWorker } from './workers/purge.ts'
import { startRequestLog } from './workers/record-requests.ts'
import { startReconcileWorker } from './workers/reconcile.ts'
import { signLastHead, startHeadWorker } from './workers/sign-heads.ts'
import { startRefundWorker } from './workers/refund.ts'
import type { Loop } from './workers/loop.ts'
import { startTellWorker } from './workers/tell.ts'
import { startRegistration } from './workers/register.ts'

// The longest deposit: a provider fails, the charge is withdrawn there, and the last one makes it.
const REQUESTS_WITHIN_MS = FAILOVER_WITHIN_MS + DEFAULT_TIMINGS.cancelDeadlineMs + DEFAULT_TIMINGS.createDeadlineMs
// Workers, e-mail and the embedded database have limits of 9 s in all.
const FINISH_WITHIN_MS = 12_000
/** The units of systemd, compose and the chart wait for longer. */
export const STOP_WITHIN_MS = REQUESTS_WITHIN_MS + FINISH_WITHIN_MS
const OPEN_WITHIN_MS = 60_000

// V8's default is up to four times the live data.
const HEAP_GROWS_BY_PERCENT = 60

/** Resolves when the service listens. */
export async function start(config: Config, print: Say): Promise<void> {
  // Of several processes, the first speaks.
  let isQuiet = isSupervised() && !isSpokesman()
  const say: Say = (line) => isQuiet || print(line)
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWS_BY_PERCENT}`)
  const log = makeLog(config.logLevel)
  const systemd = makeSystemdNotifier(isSupervised() ? undefined : config.systemd, log)
  const stoppers: (() => Promise<void>)[] = []
  const stopAll = async () => {
    for (const stop of stoppers.splice(0).toReversed()) await stop()
  }
  let opening: Promise<App> | undefined
  const stopping = new AbortController()
  let received: NodeJS.Signals | undefined
  // Installed first, so that Ctrl-C during a slow first start leaves nothing running.
  const graceful = closeWithGrace(
    {
      delay: OPEN_WITHIN_MS + config.drainSeconds * 1000 + STOP_WITHIN_MS,
      logger: false,
      skip: ['SIGINT', 'SIGTERM'],
      onSecondError: (err) => log.fatal({ err }, 'an unexpected error while the service stopped'),
    },
    async ({ err, signal }) => {
      if (err) log.fatal({ err }, 'the service stops after an unexpected error')
      else say(`\n${signal ?? received ?? 'stop'}: finishing requests in flight…`)
      void systemd.stopping()
      const app = await opening?.catch(() => undefined)
      if (app && !err) await leave(app, config.drainSeconds, say)
      setTimeout(() => {
        log.fatal({}, 'the service did not stop in time: the next start picks up what is left')
        process.exit(1)
      }, STOP_WITHIN_MS).unref()
      await stopAll().catch((stopError: unknown) => {
        log.fatal({ err: stopError }, 'the service could not be stopped in order')
        throw stopError
      })
      if (!err) say('Stopped.')
    },
  )
  const unlisten = onStopSignal(
    (signal) => {
      received = signal
      stopping.abort()
      graceful.close()
    },
    // The terminal signals the parent too.
    () => isSupervised() || process.exit(1),
  )
  opening = open(config, { log, say, stoppers, signal: stopping.signal })
  try {
    await opening
    isQuiet = isSupervised()
    await systemd.ready()
  } catch (error) {
    // The signal handler ends the process.
    if (stopping.signal.aborted) return
    await stopAll()
    // Otherwise close-with-grace ends with exit code 0.
    graceful.uninstall()
    unlisten()
    throw error
  }
}

/** Load balancers keep sending requests until they notice that this process is not ready. */
async function leave(app: App, drainSeconds: number, say: Say): Promise<void> {
  app.leave()
  if (drainSeconds === 0) return
  say(`Draining: requests are answered for ${drainSeconds} s more (DRAIN_SECONDS). A second signal stops at once.`)
  await sleep(drainSeconds * 1000)
}

type Start = { log: Logger; say: Say; stoppers: (() => Promise<void>)[]; signal: AbortSignal }

async function open(config: Config, { log, say, stoppers, signal }: Start): Promise<App> {
  if (!isSupervised()) await requireListen(config)
  for (const warning of config.warnings) log.warn({}, warning)
  for (const { provider, text } of config.certificateTroubles)
    log.warn({ provider }, `the client certificate for ${provider} ${text}`)
  const options = { migrates: true, role: config.role, signal }
  const { value: ctx, sandboxUrl, clock, presence, close } = await openContext(config, log, say, options)
  stoppers.push(close)
  if (!clock.agrees()) throw new OperatorError(clockText(clock.offsetMs()))
  clock.watch(log)
  const otherKeys = await checkSecretKeys(ctx)
  if (otherKeys) throw new OperatorError(otherKeys)
  await recordSecretKey(ctx)
  stoppers.push(async () => {
    await Promise.all([
      ctx.intents.drained(),
      ctx.acceptances.drained(),
      ctx.endedIntents.drained(),
      ctx.settlements.drained(),
      ctx.hints.drained(),
      ctx.finishedChecks.drained(),
      ctx.attempts.drained(),
    ])
    await signLastHead(ctx)
  })
  const demo = config.settings.mode === 'test' && config.role !== 'worker' ? await makeDemoAccount(ctx) : undefined
  // Before anything gets a position: a database that was restored from an older backup begins another history.
  await signHead(ctx)
  measureProcess(ctx.metrics)
  ctx.metrics.buildInfo.set({ version: VERSION, node: process.version }, 1)
  presence.describe(makeProcessStatus(ctx))
  signal.throwIfAborted()
  const isWorker = config.role === 'worker'
  const home = config.databaseUrl ? undefined : config.home
  const app = isWorker ? buildWorkerApp(ctx, { home }) : await buildApp(ctx, { trustProxy: config.trustProxy, home })
  await app.listen({ host: config.host, port: config.port }).catch((error: unknown) => {
    throw explainListen(error, config)
  })
  const workers = startWorkers(config, ctx)
  stoppers.push(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    ctx.receivedLists.stop()
  })
  // Last in, first out: requests end before the workers and the database do.
  stoppers.push(async () => {
    app.drain()
    const overdue = setTimeout(() => app.server.closeAllConnections(), REQUESTS_WITHIN_MS)
    await app.close()
    clearTimeout(overdue)
  })
  if (!config.mail && config.settings.mode === 'live') log.warn({}, NO_MAIL)
  say(welcome(config, ctx, { sandboxUrl, demo }))
  return app
}

/** Divided among all processes that run them, by claims in the database. */
function startWorkers({ role, ...config }: Config, ctx: Context): Loop[] {
  // A worker does not answer notifications of the sandbox in its process.
  const registration = role === 'worker' ? [] : [startRegistration(ctx, callbackBase(config))]
  const always = [...registration, startNumberWorker(ctx)]
  if (role === 'api') return [...always, startRequestLog(ctx)]
  return [
    ...always,
    ...(role === 'all' ? [startRequestLog(ctx)] : []),
    startCheckWorker(ctx),
    startDeliverWorker(ctx),
    startRefundWorker(ctx),
    startDisputeWorker(ctx),
    startPurgeWorker(ctx),
    startHeadWorker(ctx),
    startTellWorker(ctx),
    ...(ctx.settings.reconcileSeconds > 0 ? [startReconcileWorker(ctx)] : []),
  ]
}

/** The sandbox in this process needs no proxy, and uses the port. */
function callbackBase(config: Pick<Config, 'host' | 'port' | 'publicUrl' | 'providers'>): (provider: string) => string {
  const everywhere = ['0.0.0.0', '::'].includes(config.host)
  const host = everywhere ? '127.0.0.1' : config.host.includes(':') ? `[${config.host}]` : config.host
  return (name) =>
    config.providers.find((provider) => provider.name === name)?.kind === 'sandbox'
      ? `http://${host}:${config.port}`
      : config.publicUrl
}

function welcome(
  config: Config,
  ctx: Context,
  { sandboxUrl, demo }: { sandboxUrl: string | undefined; demo: DemoAccount | undefined },
): string {
  const { publicUrl } = config
  if (config.role === 'worker')
    return `guiche works: /livez, /readyz and /metrics are at http://${config.host}:${config.port}`
  const lines = [
    '',
    `guiche is ready${ctx.settings.mode === 'test' ? ', in sandbox mode: no real money moves' : ''}.`,
    '',
    `  Dashboard     ${publicUrl}/`,
    `  API docs      ${publicUrl}/docs`,
    ...(sandboxUrl ? [`  Sandbox bank  ${sandboxUrl}`] : []),
    ...(config.role === 'api' ? ['', 'It runs no workers: run guiche start --role worker beside it.'] : []),
  ]
  if (demo?.made) {
    lines.push(
      '',
      'A demo account was created. Its password and key are shown only this once:',
      '',
      `E-mail: ${demo.email}`,
      `Password: ${demo.made.password}`,
      `API key: ${demo.made.key}`,
    )
  }
  if (demo) {
    const bearer = demo.made?.key ?? `$(npx guiche key create --email ${demo.email} --name curl)`
    lines.push(
      '',
      'Create a deposit of R$ 50,00:',
      '',
      `curl ${publicUrl}/api/deposit -H "Authorization: Bearer ${bearer}" -H "Content-Type: application/json" -d '{"value":5000}'`,
      '',
      'Pay it as the payer would: npx guiche pay <paymentLinkId>',
    )
  }
  return [...lines, ''].join('\n')
}
