import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { join } from 'node:path'
import { requireListen } from '../base/listen.ts'
import type { Config } from '../config.ts'
import { clockText } from '../db/clock.ts'
import { explainDatabase } from '../db/failure.ts'
import { databaseTrouble, describeDatabase } from '../db/ready.ts'
import type { Context } from '../domain/context.ts'
import type { Provider } from '../domain/ports/provider.ts'
import { readNotificationHealth, silenceText } from '../domain/deposits/notifications.ts'
import { checkSecretKeys } from '../domain/core/secret-keys.ts'
import { findCursorsAhead } from '../domain/reconciliation/sweeps.ts'
import { NO_MAIL } from '../mail/none.ts'
import { findRunning } from '../sandbox/address.ts'
import { examples } from './arguments.ts'
import { withContext, type Terminal } from './terminal.ts'

/** A warning does not change the exit code. */
type Finding = { ok: boolean | 'warning'; what: string; text: string }

export function doctorCommand(program: Command, terminal: Terminal): void {
  program
    .command('doctor')
    .description('check configuration, database, clock and providers; exits 1 if something is wrong')
    .addHelpText(...examples(['doctor'], '✓ is fine, ! is a warning, ✗ must be fixed.'))
    .action(() => examine(terminal))
}

async function examine(terminal: Terminal): Promise<void> {
  const config = terminal.loadConfig()
  const findings: Finding[] = [
    {
      ok: true,
      what: 'configuration',
      text: `${config.settings.mode} mode, PUBLIC_URL ${config.publicUrl}, GUICHE_HOME ${config.home}`,
    },
    ...config.warnings.map((text) => ({ ok: 'warning' as const, what: 'configuration', text })),
    ...(await examineHost(config)),
    ...(await examineSandbox(config)),
  ]
  if (config.plainHttp.length > 0) {
    const text = `${config.plainHttp.join(', ')}: traffic is not encrypted, because ALLOW_PLAIN_HTTP is set`
    findings.push({ ok: 'warning', what: 'plain http', text })
  }
  if (config.settings.mode === 'live')
    findings.push({
      ok: config.mail ? true : 'warning',
      what: 'mail',
      text: config.mail ? 'sent through SMTP_URL' : NO_MAIL,
    })
  try {
    const examineContext = async (ctx: Context) => {
      findings.push(...(await examineDatabase(config, ctx)))
      for (const provider of ctx.providers) findings.push(await examineProvider(provider))
      findings.push(...(await examineNotifications(config, ctx)))
    }
    await withContext(terminal, examineContext, config)
  } catch (error) {
    findings.push({ ok: false, what: 'database', text: explainDatabase(error) ?? (error as Error).message })
  }
  const mark = (ok: Finding['ok']) => (ok === 'warning' ? '!' : ok ? '✓' : '✗')
  for (const { ok, what, text } of findings) terminal.print(`${mark(ok)} ${what.padEnd(20)} ${text}`)
  if (findings.some((finding) => !finding.ok)) terminal.setExitCode(1)
}

/** On any free port, because the running service holds its own. */
async function examineHost(config: Config): Promise<Finding[]> {
  return requireListen({ host: config.host, port: 0 }).then(
    () => [],
    (error: Error) => [{ ok: false, what: 'configuration', text: error.message }],
  )
}

/** Comes before the providers: withContext starts a sandbox if none is running. */
async function examineSandbox(config: Config): Promise<Finding[]> {
  const home = join(config.home, 'sandbox')
  const isOurs = config.providers.some((provider) => provider.kind === 'sandbox')
  if (!isOurs || (await findRunning(home))) return []
  const text = `the sandbox of ${home} is not running: run guiche start or guiche sandbox`
  return [{ ok: 'warning', what: 'sandbox', text }]
}

async function examineDatabase(config: Config, ctx: Context): Promise<Finding[]> {
  const { version, migrations } = await describeDatabase(ctx.pool)
  const trouble = await databaseTrouble(ctx.pool)
  const ahead = await findCursorsAhead(ctx)
  const secretKeys = await checkSecretKeys(ctx)
  return [
    {
      ok: trouble === undefined,
      what: 'database',
      text: `PostgreSQL ${version}${config.databaseUrl ? '' : ' (embedded)'}, ${migrations} migrations${trouble ? `: ${trouble}` : ''}`,
    },
    {
      ok: ctx.clock.agrees(),
      what: 'clock',
      text: ctx.clock.agrees() ? 'agrees with the database' : clockText(ctx.clock.offsetMs()),
    },
    ...(secretKeys ? [{ ok: false, what: 'SECRET_KEY', text: secretKeys }] : []),
    ...ahead.map(({ provider, sweptUntil, nextClosing }) => ({
      ok: false,
      what: `reconciliation ${provider}`,
      text: `its cursor is in the future (read until ${sweptUntil.toISOString()}, next day to close ${nextClosing}): the running service resets it`,
    })),
  ]
}

async function examineProvider(provider: Provider): Promise<Finding> {
  const what = `provider ${provider.name}`
  try {
    // Asking for a charge that cannot exist proves access and credentials, and changes nothing.
    await provider.check(randomBytes(16).toString('hex'))
    return { ok: true, what, text: 'reachable, and accepts our credentials' }
  } catch (error) {
    return { ok: false, what, text: (error as Error).message }
  }
}

// Long enough for a slow proxy, short enough to wait for.
const OPEN_WITHIN_MS = 5_000

/** Checks that notifications arrive, and opens the callback URL of each provider as the provider would. */
async function examineNotifications(config: Config, ctx: Context): Promise<Finding[]> {
  const health = await readNotificationHealth(ctx)
  const silent = health.filter(({ isSilent }) => isSilent)
  const findings = silent.map((provider): Finding => {
    return { ok: false, what: `notifications ${provider.provider}`, text: silenceText(provider) }
  })
  // A sandbox needs no proxy, and developers run this while the service is stopped.
  if (config.settings.mode === 'test') return findings
  for (const { name } of config.providers) findings.push(await openCallback(ctx, name))
  return findings
}

async function openCallback(ctx: Context, provider: string): Promise<Finding> {
  const what = `callback ${provider}`
  const { publicUrl, callbackSecrets } = ctx.settings
  try {
    const url = `${publicUrl}/callbacks/${provider}/${callbackSecrets(provider)[0]}`
    const answer = await fetch(url, { signal: AbortSignal.timeout(OPEN_WITHIN_MS), redirect: 'manual' })
    await answer.body?.cancel()
    if (answer.status === 200) return { ok: true, what, text: `answers at ${publicUrl}/callbacks` }
    const text = `${publicUrl}/callbacks answered ${answer.status}: PUBLIC_URL does not lead to this service`
    return { ok: false, what, text }
  } catch (error) {
    // Only a warning, because many networks cannot reach their own public address.
    const { cause, message } = error as Error
    const why = cause instanceof Error ? cause.message : message
    const text = `${publicUrl}/callbacks cannot be opened from here (${why}): is the service running?`
    return { ok: 'warning', what, text }
  }
}
