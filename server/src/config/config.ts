import { isLocalHost, isLocalUrl, plainHttpNames } from '../base/local-url.ts'
import { OperatorError } from '../base/operator-error.ts'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Systemd } from '../process/systemd.ts'
import { flag, integer, oneOf, origin, refusal, secret, text, url, type Env } from './variables.ts'
import { recordReads, unreadVariables } from './unread-variables.ts'
import { readDatabaseUrl } from '../db/database-url.ts'
import { SERVICE_ROLES } from '../db/presence.ts'
import { columnOf } from '../db/sql-values.ts'
import { deriveNoteKey, isCosignerKey } from '../base/signed-note.ts'
import { makeOutsideHeads } from '../domain/core/outside-heads.ts'
import { EXPIRES_SECONDS, makeChargeSeal } from '../domain/core/charge-facts.ts'
import type { SessionLimits, Settings } from '../domain/core/settings.ts'
import { makeSealer } from '../base/sealer.ts'
import { makeSecretBox } from '../domain/core/secret-box.ts'
import { TERM_NAMES, TERMS, type Terms } from '../domain/core/terms.ts'
import { certificateTroubles } from './certificates.ts'
import { loadProviders, urlsOf, type ProviderConfig } from './providers.ts'
import { callbackSecrets, loadMetricsToken, loadSecretKeys, signInSecret } from './secrets.ts'

export type Config = ReturnType<typeof loadConfig>
export type Remote = NonNullable<ReturnType<typeof loadRemote>>

// With fewer, the lanes wait for each other's connections; with more, a few processes use up PostgreSQL's limit.
const POOL_SIZE = { min: 5, max: 500 }

// One every night, and half a day to notice that it failed. The alert of deploy/prometheus has the same bound.
const BACKUP_HOURS = 36

type Overrides = { port?: number; home?: string }

/** Reads the environment once. A wrong value is refused with what to set instead. */
export function loadConfig(given?: Env, overrides: Overrides = {}) {
  const dotEnv = given ? {} : readDotEnv()
  const env = given ?? { ...dotEnv, ...process.env }
  const asked = new Set<string>()
  const config = parseConfig(recordReads(env, asked), overrides)
  return {
    ...config,
    /** Files that hold a secret: `.env`, and those that a variable NAME_FILE names. */
    secretFiles: filesWithSecrets({ env, dotEnv, asked }),
    /** Probable mistakes, one line each. */
    warnings: [...unreadVariables({ env, dotEnv, asked }), ...exposures(config)],
    certificateTroubles: certificateTroubles(config.providers, new Date()),
  }
}

/** secret() in variables.ts reads the variable and its _FILE. */
function filesWithSecrets({ env, dotEnv, asked }: { env: Env; dotEnv: Env; asked: Set<string> }): string[] {
  const secrets = [...asked].filter((name) => asked.has(`${name}_FILE`))
  return [
    ...(secrets.some((name) => dotEnv[name]) ? [resolve('.env')] : []),
    ...secrets.flatMap((name) => env[`${name}_FILE`] || []),
  ]
}

function parseConfig(env: Env, overrides: Overrides) {
  const host = text(env, 'HOST', '127.0.0.1')
  const port = overrides.port ?? integer(env, 'PORT', 3000, { min: 1, max: 65_535 })
  const home = loadHome(env, overrides.home)
  const providers = loadProviders(env)
  const mode = providers.some((provider) => provider.name === 'sandbox') ? 'test' : 'live'
  const givenDatabase = databaseUrl(env, 'DATABASE_URL')
  const isShared = givenDatabase !== undefined
  const secretKeys = loadSecretKeys(env, { home, isLive: mode === 'live', isShared })
  // Providers and payers use it, so live mode has no default.
  const publicUrl = origin(env, 'PUBLIC_URL', mode === 'test' ? `http://localhost:${port}` : undefined)
  return {
    home,
    role: oneOf(env, 'ROLE', [...SERVICE_ROLES], 'all'),
    host,
    port,
    publicUrl,
    /** Undefined: the embedded PostgreSQL in `home`. */
    databaseUrl: givenDatabase,
    /** A standby for reports. Undefined: they read from the primary. */
    databaseReadUrl: databaseReadUrl(env),
    databasePoolSize: integer(env, 'DATABASE_POOL_SIZE', 20, POOL_SIZE),
    logLevel: oneOf(env, 'LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    /** After a stop signal, how long requests are still answered. */
    drainSeconds: integer(env, 'DRAIN_SECONDS', 0, { min: 0, max: 300 }),
    systemd: loadSystemd(env),
    trustProxy: flag(env, 'TRUST_PROXY'),
    providers,
    sandboxHost: text(env, 'SANDBOX_HOST', '127.0.0.1'),
    sandboxPort: integer(env, 'SANDBOX_PORT', 0, { min: 0, max: 65_535 }),
    webhooks: loadWebhooks(env, { isTrial: mode === 'test' && isLocalHost(host) && isLocalUrl(publicUrl) }),
    /** Variables with a plain http URL beyond this machine in live mode. */
    plainHttp: loadPlainHttp(env, mode === 'test' ? [] : [['PUBLIC_URL', publicUrl], ...providers.flatMap(urlsOf)]),
    /** Undefined: no mail is sent. */
    mail: loadMail(env, { mode, publicUrl }),
    /** Undefined: new passwords are compared with the bundled list alone. */
    breachedPasswordsUrl: env.BREACHED_PASSWORDS_URL ? url(env, 'BREACHED_PASSWORDS_URL') : undefined,
    remote: loadRemote(env),
    settings: loadSettings(env, { home, mode, publicUrl, providers, secretKeys }),
  }
}

type Known = {
  home: string
  mode: Settings['mode']
  publicUrl: string
  providers: ProviderConfig[]
  secretKeys: () => string[]
}

function loadSettings(env: Env, { home, mode, publicUrl, providers, secretKeys }: Known): Settings {
  return {
    mode,
    publicUrl,
    sandboxBankUrl: mode === 'test' ? sandboxBankUrl(providers) : null,
    terms: loadTerms(env),
    ...loadExpiry(env),
    reconcileSeconds: integer(env, 'RECONCILE_SECONDS', 60, { min: 0, max: 86_400 }),
    pendingMaxPerAccount: integer(env, 'PENDING_MAX_PER_ACCOUNT', 10_000, { min: 0, max: 1_000_000 }),
    rateLimit: rateLimit(env, 'RATE_LIMIT', { perSecond: 100, burst: 200 }),
    publicRateLimit: rateLimit(env, 'PUBLIC_RATE_LIMIT', { perSecond: 20, burst: 100 }),
    isMetricsToken: loadMetricsToken(env),
    hstsIncludesSubdomains: flag(env, 'HSTS_INCLUDE_SUBDOMAINS'),
    callbackSecrets: callbackSecrets(secretKeys),
    secretBox: makeSecretBox(secretKeys),
    chargeSeal: makeChargeSeal(secretKeys),
    headKeys: (name) => secretKeys().map((secret) => deriveNoteKey(secret, name)),
    outsideHeads: makeOutsideHeads(home, env.ANCHOR_FILE || undefined),
    witness: loadWitness(env),
    sealer: makeSealer(secretKeys),
    signIn: loadSignIn(env, mode, secretKeys),
    refunds: {
      byAccounts: flag(env, 'REFUNDS_BY_ACCOUNTS'),
      returnFee: flag(env, 'REFUND_RETURNS_FEE'),
    },
    retention: {
      attemptsDays: integer(env, 'RETAIN_ATTEMPTS_DAYS', 30, { min: 1, max: 365 }),
      requestsDays: integer(env, 'RETAIN_REQUESTS_DAYS', 30, { min: 0, max: 90 }),
      signInsDays: integer(env, 'RETAIN_SIGN_INS_DAYS', 365, { min: 0, max: 36_500 }),
    },
    backups: {
      maxHours: integer(env, 'BACKUP_EXPECTED_HOURS', BACKUP_HOURS, { min: 0, max: 8_760 }),
      isExpected: Boolean(env.BACKUP_EXPECTED_HOURS),
    },
  }
}

function loadWitness(env: Env): Settings['witness'] {
  const url = text(env, 'WITNESS_URL', '')
  const key = text(env, 'WITNESS_KEY', '')
  if (url === '' && key === '') return null
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw refusal('WITNESS_URL', 'must be the submission prefix of a C2SP witness, such as https://witness.example')
  if (!isCosignerKey(key))
    throw refusal('WITNESS_KEY', 'must be the verifier key of the witness, such as witness.example+1a2b3c4d+BA…')
  return { url, key }
}

/** Undefined unless a unit of Type=notify started us. */
function loadSystemd(env: Env): Systemd | undefined {
  if (!env.NOTIFY_SOCKET) return undefined
  return { watchdogMs: integer(env, 'WATCHDOG_USEC', 0, { min: 0, max: 1e15 }) / 1000 }
}

/** Commands that use the API need no other setting. */
export function loadRemote(env: Env = withDotEnv(process.env)) {
  const key = secret(env, 'GUICHE_KEY')
  if (!env.GUICHE_URL) return undefined
  const url = origin(env, 'GUICHE_URL')
  if (plainHttpNames([['GUICHE_URL', url]]).length > 0)
    throw refusal('GUICHE_URL', 'must be an https URL, because the key is sent with each request')
  return { url, key }
}

/** The default expiry cannot be refused. */
function loadExpiry(env: Env): Pick<Settings, 'chargeExpiresSeconds' | 'chargeMaxExpiresSeconds'> {
  const max = integer(env, 'CHARGE_MAX_EXPIRES_SECONDS', EXPIRES_SECONDS.max, EXPIRES_SECONDS)
  const bounds = { min: EXPIRES_SECONDS.min, max }
  return {
    chargeExpiresSeconds: integer(env, 'CHARGE_EXPIRES_SECONDS', Math.min(3_600, max), bounds),
    chargeMaxExpiresSeconds: max,
  }
}

function loadSignIn(env: Env, mode: 'test' | 'live', secretKeys: () => string[]): Settings['signIn'] {
  return {
    signup: oneOf(env, 'SIGNUP', ['open', 'invite', 'closed'], mode === 'test' ? 'open' : 'invite'),
    secrets: () => secretKeys().map(signInSecret),
    requireSecondFactor: oneOf(env, 'REQUIRE_SECOND_FACTOR', ['operators', 'everybody', 'off'], 'off'),
    sessions: {
      // A person who comes every day stays signed in for a week.
      account: sessionLimits(env, 'SESSION', { hours: 168, idleMinutes: 24 * 60 }),
      operator: sessionLimits(env, 'OPERATOR_SESSION', { hours: 12, idleMinutes: 30 }),
    },
  }
}

export function loadHome(env: Env = withDotEnv(process.env), given?: string): string {
  const fallback = process.getuid?.() === 0 ? '/var/lib/guiche' : join(homedir(), '.guiche')
  const home = resolve(given ?? text(env, 'GUICHE_HOME', fallback))
  if (statSync(home, { throwIfNoEntry: false })?.isDirectory() === false)
    throw refusal('GUICHE_HOME', `must be a directory, and ${home} is a file`)
  return home
}

/** Of a sandbox elsewhere. wiring.ts adds the URL of one in this process. */
function sandboxBankUrl(providers: ProviderConfig[]): string | null {
  const elsewhere = providers.find((provider) => provider.kind === 'api-pix')
  if (!elsewhere) return null
  // One that behaves as a bank has API Pix below a path, over TLS, and /bank at its root, without.
  return elsewhere.bank ? `http://${new URL(elsewhere.url).host}/bank` : `${elsewhere.url}/bank`
}

function exposures({ host, publicUrl, sandboxHost, providers, settings }: ReturnType<typeof parseConfig>): string[] {
  if (settings.mode !== 'test') return []
  const open = !isLocalHost(host)
    ? `HOST is ${host}`
    : !isLocalUrl(publicUrl)
      ? `PUBLIC_URL is ${publicUrl}`
      : undefined
  const runsBank = providers.some((provider) => provider.kind === 'sandbox')
  return [
    ...(open && settings.signIn.signup === 'open'
      ? [
          `the sandbox is open to other machines (${open}): whoever reaches it can create an account, unless SIGNUP is set`,
        ]
      : []),
    ...(runsBank && !isLocalHost(sandboxHost)
      ? [`SANDBOX_HOST is ${sandboxHost}: whoever reaches the sandbox bank can pay any charge and cause faults`]
      : []),
  ]
}

/**
 * A developer who tries the sandbox runs the webhook's server on this machine, and nobody else reaches the service.
 * Elsewhere strangers sign up, and must not reach the ports of this machine.
 */
function loadWebhooks(env: Env, { isTrial }: { isTrial: boolean }) {
  const allowNetworks = text(env, 'WEBHOOK_ALLOW_NETWORKS', isTrial ? '127.0.0.0/8,::1/128' : 'none')
    .split(',')
    .map((cidr) => cidr.trim())
    .filter((cidr) => cidr !== 'none')
  for (const cidr of allowNetworks) {
    const [address = '', bits = ''] = cidr.split('/')
    const widest = isIP(address) === 6 ? 128 : 32
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > widest) {
      throw refusal(
        'WEBHOOK_ALLOW_NETWORKS',
        `must list networks such as 10.1.0.0/16, or none, not ${JSON.stringify(cidr)}`,
      )
    }
  }
  const proxyUrl = secret(env, 'WEBHOOK_PROXY_URL')
  return {
    allowNetworks,
    allowHttp: flag(env, 'WEBHOOK_ALLOW_HTTP'),
    showsPrivateAnswers: isTrial,
    proxyUrl: proxyUrl ? url({ WEBHOOK_PROXY_URL: proxyUrl }, 'WEBHOOK_PROXY_URL') : undefined,
  }
}

/** Parameters of nodemailer that turn off TLS, or the check of the certificate. */
const WITHOUT_TLS =
  /[?&](ignoreTLS=true|opportunisticTLS=true|requireTLS=false|secure=false|tls\.rejectUnauthorized=false)\b/i

function loadMail(env: Env, { mode, publicUrl }: { mode: 'test' | 'live'; publicUrl: string }) {
  const smtpUrl = secret(env, 'SMTP_URL')
  if (!smtpUrl) {
    if (env.MAIL_FROM) throw refusal('SMTP_URL', 'must be set, since MAIL_FROM is')
    return undefined
  }
  if (!URL.canParse(smtpUrl) || !/^smtps?:\/\/[^/]/.test(smtpUrl))
    throw refusal('SMTP_URL', 'must look like smtps://user:password@mail.example.com:465')
  const from = text(env, 'MAIL_FROM', `guiche <no-reply@${new URL(publicUrl).hostname}>`)
  if (!/^([^<>@]+ <)?[^\s<>@]+@[^\s<>@]+>?$/.test(from) || from.includes(' <') !== from.endsWith('>'))
    throw refusal('MAIL_FROM', `must look like guiche <pix@example.com>, not ${JSON.stringify(from)}`)
  // E-mails carry links that open accounts.
  const requiresTls = mode === 'live' && !isLocalUrl(smtpUrl)
  const weak = requiresTls ? WITHOUT_TLS.exec(smtpUrl)?.[1] : undefined
  if (weak) throw refusal('SMTP_URL', `must use TLS to reach another machine in live mode: remove ${weak}`)
  return { smtpUrl, requiresTls, from }
}

/** `.env` in the working directory supplies what the environment does not set. */
function withDotEnv(env: Env): Env {
  return { ...readDotEnv(), ...env }
}

function readDotEnv(): Env {
  return existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {}
}

function loadTerms(env: Env): Terms {
  const entries = TERM_NAMES.map((name) => [name, loadTerm(env, name)])
  const terms = Object.fromEntries(entries) as Terms
  if (terms.valueMinCents > terms.valueMaxCents)
    throw refusal('VALUE_MIN_CENTS', 'must not be greater than VALUE_MAX_CENTS')
  if (terms.feeMinCents !== null && terms.feeMaxCents !== null && terms.feeMinCents > terms.feeMaxCents) {
    throw refusal('FEE_MIN_CENTS', 'must not be greater than FEE_MAX_CENTS')
  }
  return terms
}

function loadTerm(env: Env, name: keyof Terms): string | number | null {
  const variable = columnOf(name).toUpperCase()
  const term = TERMS[name]
  if (term.choices) return oneOf<string>(env, variable, term.choices.map(String), String(term.default))
  return term.default === null && !env[variable] ? null : integer(env, variable, Number(term.default), term)
}

function rateLimit(env: Env, prefix: string, fallback: Settings['rateLimit']): Settings['rateLimit'] {
  return {
    perSecond: integer(env, `${prefix}_PER_SECOND`, fallback.perSecond, { min: 0, max: 1_000_000 }),
    burst: integer(env, `${prefix}_BURST`, fallback.burst, { min: 1, max: 1_000_000 }),
  }
}

function loadPlainHttp(env: Env, urls: [name: string, url: string][]): string[] {
  const isAllowed = flag(env, 'ALLOW_PLAIN_HTTP')
  const [first, ...others] = plainHttpNames(urls)
  if (first === undefined) return []
  if (!isAllowed) throw refusal(first, 'must be an https URL, or ALLOW_PLAIN_HTTP must be true')
  return [first, ...others]
}

function sessionLimits(env: Env, prefix: string, fallback: SessionLimits): SessionLimits {
  return {
    // Browsers allow cookies of 400 days; a session should end after a month at most.
    hours: integer(env, `${prefix}_HOURS`, fallback.hours, { min: 1, max: 720 }),
    idleMinutes: integer(env, `${prefix}_IDLE_MINUTES`, fallback.idleMinutes, { min: 0, max: 10_080 }),
  }
}

function databaseUrl(env: Env, name: 'DATABASE_URL' | 'DATABASE_READ_URL'): string | undefined {
  const value = secret(env, name)
  if (!value) return undefined
  // Only refuses what cannot work; the parts that connect parse it again.
  readDatabaseUrl(value, name)
  return value
}

function databaseReadUrl(env: Env): string | undefined {
  const value = databaseUrl(env, 'DATABASE_READ_URL')
  // Of several hosts, the one that writes would be used.
  if (value && readDatabaseUrl(value).hosts.length > 0)
    throw new OperatorError('DATABASE_READ_URL must name one address, such as that of HAProxy for the standbys')
  return value
}
