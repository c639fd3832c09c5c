import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyListenOptions, InjectOptions, LightMyRequestResponse } from 'fastify'
import { inject, onTestFinished } from 'vitest'
import type { Log } from '../src/base/log.ts'
import { makeMetrics } from '../src/base/metrics.ts'
import { makeSharedBuckets } from '../src/base/token-buckets.ts'
import { joinPresence, type Presence } from '../src/db/presence.ts'
import { makePool, type Pool, type PoolOptions } from '../src/db/pool.ts'
import { reportTaken } from '../src/db/shared-limits.ts'
import { query, transact } from '../src/db/tx.ts'
import { SYSTEM } from '../src/domain/core/audit-log.ts'
import { makeAccount } from '../src/domain/accounts/accounts.ts'
import { audit } from '../src/domain/audit/audit.ts'
import type { Difference } from '../src/domain/audit/books.ts'
import { readBalance } from '../src/domain/ledger/account-statement.ts'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import { deriveNoteKey } from '../src/base/signed-note.ts'
import { makeChargeSeal } from '../src/domain/core/charge-facts.ts'
import { makeContext, type Context } from '../src/domain/context.ts'
import type { Settings } from '../src/domain/core/settings.ts'
import { TERM_NAMES, TERMS, type Terms } from '../src/domain/core/terms.ts'
import { openDeposit, type DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { insertKey } from '../src/domain/accounts/api-keys.ts'
import { requireAccount, SCOPES, type Scope, type Caller, identify } from '../src/domain/accounts/callers.ts'
import type { Email } from '../src/domain/ports/mailer.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { makeSecretBox } from '../src/domain/core/secret-box.ts'
import { makeWebhookSender } from '../src/egress/webhook-sender.ts'
import { buildApp, type App } from '../src/http/app.ts'
import { cookieNames, signToken } from '../src/http/auth/session-cookie.ts'
import { makeApiPix } from '../src/providers/api-pix/adapter.ts'
import { openSandbox } from '../src/sandbox/server.ts'
import { CHARGE_SECRET, SEALER, takeDatabase } from './databases.ts'
import './password-cost.ts'

export const DEFAULT_TERMS = Object.fromEntries(TERM_NAMES.map((name) => [name, TERMS[name].default])) as Terms

/** Settings under which no account is charged for reversals before an operator decides. */
export const OPERATOR_DECIDES = { terms: { ...DEFAULT_TERMS, reversalPolicy: 'operator' as const } }

export type TestAccount = { accountId: string; email: string; key: string; caller: Caller }

/**
 * Somebody who is signed in to the dashboard. `ask` sends the cookie and the right Origin, and gives the answer:
 *
 *     const session = await w.session(await w.account())
 *     const answer = await session.ask('POST', '/dashboard/api/deposit', { value: 5000 })
 *     expect(answer.statusCode).toBe(201)
 *
 * It is fresh until the clock is advanced by 15 minutes. For an operator: `w.session(await makeOperator(w))`, of
 * operators-client.ts.
 */
export type TestSession = {
  sessionId: string
  token: string
  /** `name=value`, as it stands in a Cookie header. */
  cookie: string
  ask(
    method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    url: string,
    payload?: object,
  ): Promise<LightMyRequestResponse>
}

/**
 * What a test works with: a database and a sandbox of its own, an app that is wired as in main.ts, and a clock that
 * only the test moves.
 */
export type World = {
  databaseUrl: string
  /** The same database, without the pooler that GUICHE_TEST_POOLER puts in between. */
  directUrl: string
  pool: Pool
  ctx: Context
  app: App
  clock: { now: () => Date; advance(ms: number): void }
  sandbox: SandboxHandle
  /** A second bank, if the test asked for one: the provider to use when the first one fails. */
  second: SandboxHandle
  /** Warnings and errors that the product logged. */
  logged: { level: string; text: string; fields: object }[]
  /** The emails that were sent, oldest first. */
  letters: Email[]
  account(options?: { scopes?: Scope[] }): Promise<TestAccount>
  session(who: SignedIn): Promise<TestSession>
  deposit(account: TestAccount, request?: Partial<DepositRequest>): Promise<Charge>
  /** A charge that is paid at the bank, and not settled yet. */
  paidCharge(options?: {
    valueCents?: number
    account?: TestAccount
  }): Promise<{ charge: Charge; payment: ReceivedPayment; account: TestAccount }>
  balanceCents(accountId: string): Promise<number>
  count(table: string, where?: string): Promise<number>
  /** Resolves when some session of this database waits for a lock. */
  lockWait(): Promise<void>
  differences(): Promise<Difference[]>
  /**
   * Acts as another process: it has a pool, a presence and caches of its own, on the same database and sandbox. die()
   * does what kill -9 does to a process.
   */
  anotherProcess(options?: {
    databaseUrl?: string
    pool?: PoolOptions
  }): Promise<{ ctx: Context; die(): Promise<void> }>
}

export type SandboxHandle = {
  url: string
  /** Refuses connections, until it comes back at the same address. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
  pay(body: object): Promise<{ pix: { endToEndId: string; txid: string; amountCents: number; horario: string }[] }>
  /** The bank returns a Pix by itself, whole unless `amountCents` says otherwise. It takes 200 ms. */
  reverse(order: { endToEndId: string; nature?: string; amountCents?: number; freezeSeconds?: number }): Promise<void>
  faults(plan: object): Promise<void>
  stats(): Promise<{ calls: Record<string, number>; notifications: Record<string, number> }>
}

/** An account stands for its first owner. */
type SignedIn = { accountId: string; userId?: string } | { operatorId: string }

type Options = {
  settings?: Partial<Settings>
  second?: boolean
  /** How many processes share the limits. Without it, each process takes itself for the only one. */
  processes?: number
  /** Never through a pooler: for tests that count statements, or need a session of their own. */
  isDirect?: boolean
  /** Where the clock begins. It is for commands, which use the machine's clock and compare each day since. */
  at?: Date
}

/** As a file outside the database, for tests that do not look at the file. */
function memoryHeads(): Settings['outsideHeads'] {
  let newest: string | undefined
  return { newest: async () => newest, keep: async (note) => void (newest = note) }
}

export async function world(options: Options = {}): Promise<World> {
  const clock = makeClock(options.at)
  const logged: World['logged'] = []
  const log = recordingLog(logged)
  const { presence, directUrl, pool, ...taken } = await takeDatabase(log)
  const databaseUrl = options.isDirect ? directUrl : taken.databaseUrl
  const sandbox = await startSandbox(clock.now)
  const second = options.second ? await startSandbox(clock.now) : undefined
  const banks = { sandbox: sandbox.url, ...(second && { second: second.url }) }
  const settings: Settings = {
    mode: 'test',
    publicUrl: 'https://guiche.example',
    sandboxBankUrl: `${sandbox.url}/bank`,
    terms: DEFAULT_TERMS,
    chargeExpiresSeconds: 3600,
    chargeMaxExpiresSeconds: 2_592_000,
    reconcileSeconds: 60,
    pendingMaxPerAccount: 0,
    rateLimit: { perSecond: 0, burst: 1 },
    publicRateLimit: { perSecond: 0, burst: 1 },
    isMetricsToken: () => false,
    hstsIncludesSubdomains: false,
    callbackSecrets: (provider) => [`secret-of-${provider}`],
    secretBox: makeSecretBox(() => ['a secret key for tests']),
    chargeSeal: makeChargeSeal(() => [CHARGE_SECRET]),
    headKeys: (name) => [deriveNoteKey('a secret for heads', name)],
    outsideHeads: memoryHeads(),
    witness: null,
    sealer: SEALER,
    signIn: {
      signup: 'open',
      secrets: () => ['a secret for sign-in that only tests know'],
      sessions: { account: { hours: 168, idleMinutes: 0 }, operator: { hours: 12, idleMinutes: 30 } },
      requireSecondFactor: 'off',
    },
    refunds: { byAccounts: false, returnFee: false },
    retention: { attemptsDays: 30, requestsDays: 30, signInsDays: 365 },
    backups: { maxHours: 36, isExpected: false },
    ...options.settings,
  }
  const letters: Email[] = []
  const { processes = 1 } = options
  const parts = { databaseUrl, clock, banks, settings, processes, log, letters }
  const { ctx } = openContext({ ...parts, presence, kept: databaseUrl === taken.databaseUrl ? pool : undefined })
  const app = lazily(() => buildApp(ctx, { checksAnswers: true }))
  onTestFinished(() => app.close())

  const account: World['account'] = async ({ scopes = [...SCOPES] } = {}) => {
    const name = randomBytes(4).toString('hex')
    const email = `${name}@example.com`
    // The account has no password that anybody could type: hashing one takes longer than most tests, and
    // accounts.test.ts covers it.
    const { accountId, text } = await transact(ctx.pool, async (tx) => {
      const fields = { email, name: `Loja ${name}`, passwordHash: 'none' }
      const accountId = await makeAccount(tx, clock.now(), fields, SYSTEM)
      // Its key is in no event, so that the events of a test are those that it makes.
      const key = { accountId, operatorId: null, name: 'test', scopes, expiresAt: null }
      return { accountId, ...(await insertKey(tx, clock.now(), 'test', key, SYSTEM)) }
    })
    return { accountId, email, key: text, caller: await authenticate(ctx, text) }
  }
  const deposit: World['deposit'] = async (holder, request = {}) => {
    const full = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null, ...request }
    return (await openDeposit(ctx, holder.caller, full, null)).charge
  }
  return {
    databaseUrl,
    directUrl,
    pool: ctx.pool,
    ctx,
    app,
    clock,
    sandbox,
    second: second ?? sandbox,
    logged,
    letters,
    account,
    session: (who) => openSession({ ctx, app, who }),
    deposit,
    async paidCharge({ valueCents = 50_00, account: holder } = {}) {
      const owner = holder ?? (await account())
      const charge = await deposit(owner, { valueCents })
      const { pix } = await sandbox.pay({ emv: charge.emv })
      const payment = {
        provider: 'sandbox',
        endToEndId: pix[0]!.endToEndId,
        txid: charge.id,
        amountCents: valueCents,
        occurredAt: new Date(pix[0]!.horario),
      }
      return { charge, payment, account: owner }
    },
    balanceCents: async (accountId) => (await readBalance(ctx, accountId)).balanceCents,
    count: async (table, where = 'true') =>
      (await query<{ count: number }>(ctx.pool, `select count(*) from ${table} where ${where}`))[0]!.count,
    lockWait: () => untilLockWait(ctx.pool),
    differences: async () => (await audit(ctx)).differences,
    anotherProcess: async (other) => {
      const all = { ...parts, ...other }
      return openContext({ ...all, presence: await joinPresence(all.databaseUrl) })
    },
  }
}

/** A time limit, longer where the machine is slow or busy. */
export function patient(ms: number): number {
  return ms * inject('patience')
}

/** Asks until the answer is there; the bound is for a test that would hang otherwise. */
export async function until<Result>(
  what: string,
  ask: () => Promise<Result | undefined | false>,
  boundMs = 60_000,
): Promise<Result> {
  const began = Date.now()
  for (;;) {
    const result = await ask()
    if (result !== undefined && result !== false) return result
    const waitedMs = Date.now() - began
    if (waitedMs > patient(boundMs)) throw new Error(`waited ${patient(boundMs)} ms in vain: ${what}`)
    // What takes long is asked for less often, because each question takes time from it.
    await sleep(Math.min(50, 5 + waitedMs / 10))
  }
}

/** The account holder of this key. */
export async function authenticate(ctx: Context, key: string): Promise<Caller> {
  return requireAccount(await identify(ctx, key))
}

function openContext(parts: {
  databaseUrl: string
  presence: Presence
  clock: World['clock']
  banks: Record<string, string>
  settings: Settings
  processes: number
  log: Log
  letters: Email[]
  pool?: PoolOptions
  /** The pool of the database. It outlives the test, as the presence does. */
  kept?: Pool | undefined
}): { ctx: Context; die(): Promise<void> } {
  const pool = parts.kept ?? makePool(parts.databaseUrl, parts.log, { sealer: SEALER, ...parts.pool })
  const metrics = makeMetrics()
  const limits = makeSharedBuckets({
    report: (reports) => reportTaken(pool, parts.clock.now(), reports),
    processes: () => parts.processes,
    now: parts.clock.now,
    // A slow machine must not look like a database that is away.
    reportWithinMs: 60_000,
  })
  const allowed = { allowNetworks: ['127.0.0.0/8'], allowHttp: false, showsPrivateAnswers: true }
  const webhookSender = makeWebhookSender(allowed)
  const providers = Object.entries(parts.banks).map(([name, url]) =>
    makeApiPix({
      name,
      url,
      tokenUrl: `${url}/oauth/token`,
      clientId: 'sandbox',
      clientSecret: 'sandbox',
      pixKey: 'sandbox@guiche.example',
      callsPerSecond: 0,
      limits,
      now: parts.clock.now,
      log: parts.log,
      metrics,
    }),
  )
  let dead: Promise<void> | undefined
  const die = () =>
    (dead ??= (async () => {
      limits.close()
      await webhookSender.close()
      await Promise.all(providers.map((provider) => provider.close()))
      if (parts.kept) return
      await parts.presence.leave()
      await pool.end()
    })())
  onTestFinished(die)
  return {
    ctx: makeContext({
      pool,
      clock: { now: parts.clock.now, offsetMs: () => 0, agrees: () => true },
      log: parts.log,
      metrics,
      settings: parts.settings,
      providers,
      webhookSender,
      mailer: {
        sendsMail: true,
        send: (letter) => void parts.letters.push(letter),
        deliver: async (letter) => void parts.letters.push({ ...letter, link: '' }),
        close: async () => {},
      },
      instance: parts.presence.instance,
      limits,
    }),
    die,
  }
}

/** Opens a session as signing in does, but without the password, which takes longer than most tests. */
async function openSession({ ctx, app, who }: { ctx: Context; app: App; who: SignedIn }): Promise<TestSession> {
  const isOperator = 'operatorId' in who
  const [table, id] = isOperator ? ['operators', who.operatorId] : ['accounts', who.accountId]
  const token = randomBytes(24).toString('base64url')
  const [row] = await query<{ id: string }>(
    ctx.pool,
    `insert into sessions (id, user_id, token, created_at, expires_at, authenticated_at, account_id)
     select gen_random_uuid(), coalesce($4, user_id), $2, $3, $3::timestamptz + interval '30 years', $3, $5
     from ${table} where id = $1 returning id`,
    [id, token, ctx.now(), isOperator ? null : who.userId, isOperator ? null : who.accountId],
  )
  const { publicUrl, signIn } = ctx.settings
  const value = encodeURIComponent(signToken(token, signIn.secrets()[0]!))
  const cookie = `${cookieNames(publicUrl).session}=${value}`
  const headers = { cookie, origin: new URL(publicUrl).origin }
  return {
    sessionId: row!.id,
    token,
    cookie,
    ask: (method, url, payload) => app.inject({ method, url, headers, ...(payload && { payload }) }),
  }
}

/** Builds the app when it is first used: most tests never use it, and building it takes longer than they do. */
function lazily(build: () => Promise<App>): App {
  let built: App | undefined
  let building: Promise<App> | undefined
  const get = () => (building ??= build().then((app) => (built = app)))
  const app = {
    inject: async (options: InjectOptions) => (await get()).inject(options),
    listen: async (options: FastifyListenOptions) => (await get()).listen(options),
    close: async () => (await building)?.close(),
    leave: () => built!.leave(),
    drain: () => built!.drain(),
    get server() {
      return built!.server
    },
  }
  return app as unknown as App
}

function makeClock(at = new Date('2026-03-02T12:00:00Z')): World['clock'] {
  let ms = at.getTime()
  return {
    now: () => new Date(ms),
    advance: (by) => {
      ms += by
    },
  }
}

function recordingLog(logged: World['logged']): Log {
  const at = (level: string) => (fields: object, text: string) => {
    logged.push({ level, text, fields })
  }
  return { debug: () => {}, info: () => {}, warn: at('warn'), error: at('error') }
}

async function startSandbox(now: () => Date): Promise<SandboxHandle> {
  const home = mkdtempSync(join(tmpdir(), 'guiche-sandbox-'))
  let sandbox = await openSandbox({ home, port: 0, now })
  onTestFinished(async () => {
    await sandbox.stop()
    rmSync(home, { recursive: true, force: true })
  })
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
    return response.json()
  }
  return {
    url: sandbox.url,
    goDown: () => sandbox.stop(),
    comeBack: async () => void (sandbox = await openSandbox({ home, port: sandbox.port, now })),
    pay: (body) => call('POST', '/bank/pay', body) as ReturnType<SandboxHandle['pay']>,
    reverse: async (order) => void (await call('POST', '/bank/reversal', order)),
    faults: async (plan) => void (await call('PUT', '/bank/faults', plan)),
    stats: () => call('GET', '/bank/stats') as ReturnType<SandboxHandle['stats']>,
  }
}

async function untilLockWait(pool: Pool): Promise<void> {
  await until('a session waits for a lock', async () => {
    const rows = await query<{ waiting: boolean }>(
      pool,
      `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waiting`,
    )
    return rows[0]!.waiting
  })
}
