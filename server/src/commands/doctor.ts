import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import type { Config } from '../config/config.ts'
import { readNewestBackup } from '../domain/core/backups.ts'
import { clockText } from '../db/clock.ts'
import { DISK_FULL, explainDatabase, LACKS_PERMISSION, sqlState } from '../db/failure.ts'
import { readRunning, SERVICE_ROLES, type Running } from '../db/presence.ts'
import { databaseTrouble, describeDatabase, missingRights } from '../db/ready.ts'
import type { Context } from '../domain/context.ts'
import type { Provider } from '../domain/ports/provider.ts'
import { readNotificationHealth, silenceText } from '../domain/deposits/notifications.ts'
import { checkSecretKeys } from '../domain/core/secret-keys.ts'
import { readProcessStatus } from '../process-status.ts'
import { findCursorsAhead } from '../domain/reconciliation/sweeps.ts'
import { addCommand } from './arguments.ts'
import { examineMachine, fine, warning, wrong, type Finding } from './doctor-machine.ts'
import { liveCheck, type LiveCheckOptions } from './live-check.ts'
import { withContext, type Terminal } from './terminal.ts'

export function doctorCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'doctor', '', '--provider bank --live-check')
    .description('check configuration, database, clock and providers; exits 1 if something is wrong')
    .option('--provider <name>', 'the provider to try with --live-check')
    .option('--live-check', 'make a charge of one cent at that provider, read it, and withdraw it')
    .option('--yes', 'with --live-check: do not ask before')
    .addHelpText('after', '\n✓ is fine, ! is a warning, ✗ must be fixed.')
    .action(async (options: LiveCheckOptions & { liveCheck?: true }) => {
      if (!options.liveCheck && (options.provider || options.yes)) throw new OperatorError('Add --live-check')
      const findings = await (options.liveCheck ? liveCheck(terminal, options) : examine(terminal))
      for (const { mark, what, text } of findings) terminal.print(`${mark} ${what.padEnd(20)} ${text}`)
      if (findings.some(({ mark }) => mark === '✗')) terminal.setExitCode(1)
    })
}

async function examine(terminal: Terminal): Promise<Finding[]> {
  const config = readConfig(terminal)
  if ('mark' in config) return [config]
  const machine = await examineMachine(config)
  return [...machine, ...(await examineContext(config, terminal, machine))]
}

function readConfig(terminal: Terminal): Config | Finding {
  try {
    return terminal.loadConfig()
  } catch (error) {
    if (error instanceof OperatorError) return wrong('configuration', error.message)
    throw error
  }
}

async function examineContext(config: Config, terminal: Terminal, known: Finding[]): Promise<Finding[]> {
  const findings: Finding[] = []
  const work = async (ctx: Context) => {
    findings.push(...(await examineDatabase(config, ctx)), ...(await examineBackups(config, ctx)))
    const running = await readRunning(ctx.pool)
    findings.push(...examineProcesses(running), ...examineProxy(running), ...examinePurge(running))
    for (const provider of ctx.providers)
      findings.push(...examineCertificate(provider, ctx.now()), await examineProvider(provider))
    findings.push(...(await examineNotifications(config, ctx)))
  }
  try {
    await withContext(terminal, work, config)
  } catch (error) {
    const failure = wrong(topicOf(error), explainDatabase(error) ?? (error as Error).message)
    // An earlier check reported the cause already.
    const isKnown = [...known, ...findings].some(({ mark, what }) => mark === '✗' && what === failure.what)
    if (!isKnown) findings.push(failure)
  }
  return findings
}

/** Not everything that keeps the database from opening is the database. */
function topicOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OperatorError && cause.topic) return cause.topic
    const code = sqlState(cause)
    if (code === LACKS_PERMISSION) return 'permissions'
    if ([DISK_FULL, 'ENOSPC', 'EDQUOT'].includes(code)) return 'disk'
    if (['EACCES', 'EPERM', 'EROFS'].includes(code) && Reflect.get(cause, 'syscall') !== 'connect') return 'home'
  }
  return 'database'
}

const DAY_MS = 86_400_000
// Banks take days to sign a new certificate. The alerts of deploy/prometheus have the same bounds.
const RENEW_DAYS = 30
const URGENT_DAYS = 7

function examineCertificate({ name, certificateExpiresAt }: Provider, now: Date): Finding[] {
  if (!certificateExpiresAt) return []
  const what = `certificate ${name}`
  const days = Math.floor((certificateExpiresAt.getTime() - now.getTime()) / DAY_MS)
  const day = certificateExpiresAt.toISOString().slice(0, 10)
  // Told with the configuration.
  if (days < 0) return []
  if (days >= RENEW_DAYS) return [fine(what, `valid until ${day}`)]
  const text = `expires on ${day}, in ${days} ${days === 1 ? 'day' : 'days'}: get a new one from the bank`
  return [days < URGENT_DAYS ? wrong(what, text) : warning(what, text)]
}

async function examineDatabase(config: Config, ctx: Context): Promise<Finding[]> {
  const { version, migrations } = await describeDatabase(ctx.pool)
  const trouble = await databaseTrouble(ctx.pool)
  const ahead = await findCursorsAhead(ctx)
  const secretKeys = await checkSecretKeys(ctx)
  const rights = await missingRights(ctx.pool)
  const database = `PostgreSQL ${version}${config.databaseUrl ? '' : ' (embedded)'}, ${migrations} migrations`
  return [
    trouble === undefined ? fine('database', database) : wrong('database', `${database}: ${trouble}`),
    ...(rights ? [wrong('permissions', rights)] : []),
    ctx.clock.agrees() ? fine('clock', 'agrees with the database') : wrong('clock', clockText(ctx.clock.offsetMs())),
    ...(secretKeys ? [wrong('SECRET_KEY', secretKeys)] : []),
    ...ahead.map(({ provider, sweptUntil, nextClosing }) => {
      const cursor = `read until ${sweptUntil.toISOString()}, next day to close ${nextClosing}`
      return wrong(
        `reconciliation ${provider}`,
        `its cursor is in the future (${cursor}): the running service resets it`,
      )
    }),
  ]
}

const HOUR_MS = 3_600_000

async function examineBackups({ settings, databaseUrl }: Config, ctx: Context): Promise<Finding[]> {
  const { maxHours, isExpected } = settings.backups
  const newest = await readNewestBackup(ctx)
  if (!newest) {
    const how = databaseUrl ? 'record each with guiche backup --record <place>' : 'run guiche backup <directory>'
    const finding = isExpected ? wrong : warning
    const isAsked = maxHours > 0 && (isExpected || settings.mode === 'live')
    return isAsked ? [finding('backup', `none was ever recorded: ${how}`)] : []
  }
  const { endedAt, place } = newest
  const text = `the newest ended at ${endedAt.toISOString()}, in ${place}`
  const isOld = maxHours > 0 && ctx.now().getTime() - endedAt.getTime() > maxHours * HOUR_MS
  return [isOld ? wrong('backup', `${text}, and one was expected within ${maxHours} hours`) : fine('backup', text)]
}

/** None is fine: developers run this while the service is stopped. */
function examineProcesses(running: Running[]): Finding[] {
  const serving = running.filter(({ role }) => role !== 'command')
  if (serving.length === 0) return []
  const roles = SERVICE_ROLES.filter((role) => serving.some((process) => process.role === role))
  const counts = roles.map((role) => `${serving.filter((process) => process.role === role).length} ${role}`).join(', ')
  if (roles.some((role) => role !== 'api')) return [fine('processes', counts)]
  const text = `${counts}, and no worker: payments are confirmed only by queries, and no webhook is sent`
  return [wrong('processes', `${text}. Start one with guiche start --role worker`)]
}

/** Only a warning: strangers may write these headers too. */
function examineProxy(running: Running[]): Finding[] {
  const ignored = running.map(({ status }) => readProcessStatus(status)?.forwardedIgnored ?? 0)
  const count = ignored.reduce((sum, requests) => sum + requests, 0)
  if (count === 0) return []
  const text = `X-Forwarded-For or Forwarded was in ${count} ${count === 1 ? 'request' : 'requests'} and is ignored`
  const advice = 'Set TRUST_PROXY=true and restart, if exactly one proxy is in front; else a caller wrote the header'
  return [warning('proxy', `${text}: all callers behind a proxy count as one address. ${advice}`)]
}

// The alert in deploy/prometheus also waits an hour.
const PURGE_FAILS_SECONDS = 3_600

/** What one worker cannot delete, another may. */
function examinePurge(running: Running[]): Finding[] {
  const workers = running.filter(({ role }) => role === 'all' || role === 'worker')
  const failing = workers.flatMap(({ status }) => readProcessStatus(status)?.purgeFailing ?? [])
  const steps = [...new Set(failing.map(({ step }) => step))].filter((name) => {
    const seconds = failing.flatMap((failure) => (failure.step === name ? failure.seconds : []))
    return seconds.length === workers.length && Math.max(...seconds) >= PURGE_FAILS_SECONDS
  })
  if (steps.length === 0) return []
  const text = `${steps.join(', ')}: could not be deleted for more than an hour, so the database grows`
  return [wrong('old rows', `${text}. The log says why (deleting old rows failed)`)]
}

async function examineProvider(provider: Provider): Promise<Finding> {
  const what = `provider ${provider.name}`
  try {
    // Asking for a charge that cannot exist proves access and credentials, and changes nothing.
    await provider.check(randomBytes(16).toString('hex'))
    const problem = provider.accessProblem?.()
    return problem ? wrong(what, problem) : fine(what, 'reachable, and accepts our credentials')
  } catch (error) {
    return wrong(what, (error as Error).message)
  }
}

const OPEN_WITHIN_MS = 5_000

/** Also opens the callback URL of each provider as the provider would. */
async function examineNotifications(config: Config, ctx: Context): Promise<Finding[]> {
  const silent = (await readNotificationHealth(ctx)).filter(({ isSilent }) => isSilent)
  const findings = silent.map((health) => wrong(`notifications ${health.provider}`, silenceText(health)))
  if (config.settings.mode === 'test') return findings
  for (const { name } of config.providers) findings.push(await openCallback(ctx, name))
  return findings
}

async function openCallback(ctx: Context, provider: string): Promise<Finding> {
  const what = `callback ${provider}`
  const { publicUrl, callbackSecrets } = ctx.settings
  const shown = `${publicUrl}/callbacks`
  try {
    const url = `${shown}/${provider}/${callbackSecrets(provider)[0]}`
    const answer = await fetch(url, { signal: AbortSignal.timeout(OPEN_WITHIN_MS), redirect: 'manual' })
    await answer.body?.cancel()
    if (answer.status === 200) return fine(what, `answers at ${shown}`)
    return wrong(what, `${shown} answered ${answer.status}: PUBLIC_URL does not lead to this service`)
  } catch (error) {
    const { cause, message } = error as Error
    const why = cause instanceof Error ? cause.message : message
    // Only a warning, because many networks cannot reach their own public address.
    return warning(what, `${shown} cannot be opened from here (${why}): is the service running?`)
  }
}
