import { createHash } from 'node:crypto'
import type { BetterAuthOptions } from 'better-auth'
import { newUuid7 } from '../../base/ids.ts'
import { isConnectionFailure } from '../../db/failure.ts'
import { unavailable } from '../../db/tx.ts'
import type { Context } from '../../domain/context.ts'
import { auditPasswordChange } from '../../domain/users/security-events.ts'
import { sessionLifeMs } from '../../domain/accounts/sessions.ts'
import { hashPassword, isPassword, PASSWORD_LENGTH } from '../../domain/users/users.ts'
import { endOlderResets, storedIdentifier } from '../../domain/users/verifications.ts'
import { readerOf } from '../server/language.ts'
import { confirmationLetter, passwordLetter } from './emails.ts'
import { cookieNames, cookieRules } from './session-cookie.ts'

// better-auth checks passwords and codes, and keeps sessions. It is asked through http/sign-in.ts alone, which lets through what we use
// of it; who is made, and with which rights, is ours (domain/sign-up.ts).

export const AUTH_PATH = '/dashboard/api/auth'

/** The caller's address, as our own server knows it; what other headers say is not looked at. */
export const ADDRESS_HEADER = 'x-guiche-address'

export type Auth = {
  handle(request: Request): Promise<Response>
  /** For the link in a letter. */
  confirmationToken(email: string): Promise<string>
  /** Whose e-mail a token confirms. It is not checked here: ask only of one that better-auth has accepted. */
  emailOfToken(token: string): string
  /** The secret of an authenticator app, from what the database holds. */
  totpSecret(sealed: string): Promise<string>
}

const CONFIRM_WITHIN_SECONDS = 24 * 3600
const RESET_WITHIN_SECONDS = 3600

/** Loading it takes a third of a second, which nobody should wait for who does not sign in. */
export async function loadAuth(ctx: Context): Promise<Auth> {
  const [{ betterAuth }, { twoFactor }, { createEmailVerificationToken }, { symmetricDecrypt, symmetricEncrypt }] =
    await Promise.all([
      import('better-auth'),
      import('better-auth/plugins/two-factor'),
      import('better-auth/api'),
      import('better-auth/crypto'),
    ])
  const { publicUrl, signIn } = ctx.settings
  const secrets = signIn.secrets()
  // With the keys and in the form that better-auth itself uses. It knows them once it is set up.
  const keys: { get: () => Promise<Parameters<typeof symmetricDecrypt>[0]['key']> } = { get: async () => secrets[0]! }
  const open = async (data: string) => symmetricDecrypt({ key: await keys.get(), data })
  const seal = async (data: string) => symmetricEncrypt({ key: await keys.get(), data })
  const auth = betterAuth({
    appName: 'guiche',
    baseURL: new URL(publicUrl).origin,
    basePath: AUTH_PATH,
    database: ctx.pool,
    secrets: secrets.map((value) => ({ version: versionOf(value), value })),
    ...tableNames(ctx),
    databaseHooks: { session: { create: { before: (session) => boundSession(ctx, session) } } },
    emailAndPassword: passwordOptions(ctx),
    emailVerification: {
      expiresIn: CONFIRM_WITHIN_SECONDS,
      sendVerificationEmail: async ({ user, token }, request) =>
        ctx.mailer.send(confirmationLetter(languageOf(request), publicUrl, { to: user.email, token })),
    },
    plugins: [
      twoFactor({ issuer: 'guiche', schema: SECOND_FACTOR_TABLE, backupCodeOptions: codeOptions({ open, seal }) }),
    ],
    // Our own are in http/sign-in-limits.ts: they count by e-mail too, and tell when to come again.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    advanced: {
      ...cookieOptions(publicUrl),
      // The schema is our migrations' business, and the database may be away while this is loaded.
      database: { generateId: () => newUuid7(ctx.now()), validateSchema: false },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
    },
    logger: { log: (level, message) => ctx.log[level === 'error' ? 'error' : 'debug']({}, `sign-in: ${message}`) },
    onAPIError: {
      onError(error) {
        // A refusal has become an answer already. What else happens is for our own error handler.
        if (error instanceof Error && error.name === 'APIError') return
        throw error
      },
    },
  })
  keys.get = async () => (await auth.$context).secretConfig
  return {
    totpSecret: open,
    handle: (request) =>
      auth.handler(request).catch((error: unknown) => {
        throw isConnectionFailure(error) ? unavailable(ctx.pool, error) : error
      }),
    emailOfToken: (token) =>
      (JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { email: string }).email,
    confirmationToken: (email) => createEmailVerificationToken(secrets[0]!, email, undefined, CONFIRM_WITHIN_SECONDS),
  }
}

function passwordOptions(ctx: Context) {
  const { publicUrl } = ctx.settings
  return {
    enabled: true,
    disableSignUp: true,
    requireEmailVerification: true,
    minPasswordLength: PASSWORD_LENGTH.min,
    maxPasswordLength: PASSWORD_LENGTH.max,
    password: { hash: hashPassword, verify: ({ hash, password }) => isPassword(hash, password) },
    resetPasswordTokenExpiresIn: RESET_WITHIN_SECONDS,
    revokeSessionsOnPasswordReset: true,
    sendResetPassword: async ({ user, token }, request) => {
      await endOlderResets(ctx, user.id, token)
      ctx.mailer.send(passwordLetter(languageOf(request), publicUrl, { to: user.email, token }))
    },
    onPasswordReset: ({ user }) => auditPasswordChange(ctx, user.id, 'password.reset'),
  } satisfies BetterAuthOptions['emailAndPassword']
}

/** Recovery codes are kept as hashes, and encrypted. */
function codeOptions({ open, seal }: Record<'open' | 'seal', (text: string) => Promise<string>>) {
  return {
    storeBackupCodes: {
      encrypt: (codes: string) => seal(hashCodes(codes)),
      decrypt: async (sealed: string) => hashCodes(await open(sealed)),
    },
  }
}

/** Our tables and columns, see migrations/0002_users.sql. Those that only social sign-in fills are left out. */
function tableNames(ctx: Context) {
  const times = { createdAt: 'created_at', updatedAt: 'updated_at' }
  return {
    user: {
      modelName: 'users',
      fields: { emailVerified: 'email_verified', ...times },
      additionalFields: { kind: { type: 'string' as const, required: true, input: false, returned: false } },
    },
    session: {
      modelName: 'sessions',
      fields: {
        userId: 'user_id',
        expiresAt: 'expires_at',
        ipAddress: 'ip_address',
        userAgent: 'user_agent',
        ...times,
      },
      additionalFields: {
        authenticatedAt: {
          type: 'date' as const,
          fieldName: 'authenticated_at',
          input: false,
          returned: false,
          defaultValue: () => ctx.now(),
        },
      },
      // No sliding: who signs in on Monday signs in again next Monday, however busy the week. boundSession
      // says how long each kind of session lasts.
      expiresIn: Math.max(...Object.values(ctx.settings.signIn.sessions).map(({ hours }) => hours)) * 3600,
      disableSessionRefresh: true,
      // What wants a recent password is ours to say; better-auth would not list the sessions to one that is a day old.
      freshAge: 0,
    },
    account: {
      modelName: 'credentials',
      fields: {
        userId: 'user_id',
        accountId: 'account_id',
        providerId: 'provider_id',
        ...times,
      },
    },
    // Who reads the database cannot use the links that are in people's mail.
    verification: {
      modelName: 'verifications',
      fields: { expiresAt: 'expires_at', ...times },
      storeIdentifier: { hash: async (identifier: string) => storedIdentifier(identifier) },
    },
  }
}

/** As tableNames, for the plugin's own. */
const SECOND_FACTOR_TABLE = {
  user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
  twoFactor: {
    modelName: 'second_factors',
    fields: {
      userId: 'user_id',
      backupCodes: 'backup_codes',
      failedVerificationCount: 'failed_verification_count',
      lockedUntil: 'locked_until',
    },
  },
}

function cookieOptions(publicUrl: string) {
  const { isSecure } = cookieRules(publicUrl)
  const names = cookieNames(publicUrl)
  return {
    // Its own prefix would be __Secure-, which other hosts of the domain may set.
    useSecureCookies: false,
    defaultCookieAttributes: { secure: isSecure, httpOnly: true, sameSite: 'lax' as const, path: '/' },
    cookies: {
      session_token: { name: names.session },
      dont_remember: { name: names.untilClosed },
      two_factor: { name: names.secondStep },
    },
  }
}

/** No session for an operator who was disabled, and none that lasts longer than one of its kind may. */
async function boundSession(
  ctx: Context,
  { userId, createdAt, expiresAt }: { userId: string; createdAt: Date; expiresAt: Date },
): Promise<false | { data: { expiresAt: Date } }> {
  const lifeMs = await sessionLifeMs(ctx, userId)
  if (lifeMs === undefined) return false
  return { data: { expiresAt: new Date(Math.min(expiresAt.getTime(), createdAt.getTime() + lifeMs)) } }
}

/**
 * better-auth compares what it decrypts with the code that it is given, so http/sign-in.ts hands it the
 * hash of what was typed. Codes from before that were stored as they are, and become hashes when they are read.
 */
function hashCodes(json: string): string {
  const codes = JSON.parse(json) as string[]
  return JSON.stringify(codes.map((code) => (HASH.test(code) ? code : hashRecoveryCode(code))))
}

// A code is 11 characters long.
const HASH = /^[\da-f]{64}$/

export function hashRecoveryCode(code: string): string {
  return createHash('sha256').update(`recovery code ${code}`).digest('hex')
}

/** Stands beside each encrypted value, so it must be the key's own and not its place in the list. */
function versionOf(secret: string): number {
  return createHash('sha256').update(`version ${secret}`).digest().readUInt32BE() >>> 1
}

function languageOf(request: Request | undefined) {
  const wished = request?.headers.get('accept-language') ?? undefined
  return readerOf({ headers: { 'accept-language': wished }, query: undefined }).language
}
