import { createHash } from 'node:crypto'
import type { BetterAuthOptions } from 'better-auth'
import { newUuid7 } from '../../base/ids.ts'
import { isConnectionFailure } from '../../db/failure.ts'
import { unavailable } from '../../db/tx.ts'
import type { Context } from '../../domain/context.ts'
import { hashRecoveryCodes, hashTypedCode } from '../../domain/users/recovery-codes.ts'
import { auditPasswordChange, findSecondFactor } from '../../domain/users/security-events.ts'
import { sessionLifeMs } from '../../domain/accounts/sessions.ts'
import { hashPassword, isPassword, PASSWORD_LENGTH } from '../../domain/users/users.ts'
import { endOlderResets, storedIdentifier } from '../../domain/users/verifications.ts'
import { readerOf } from '../server/language.ts'
import { confirmationEmail, passwordEmail } from './emails.ts'
import { cookieNames, cookieRules, cookieSecret } from './session-cookie.ts'

// better-auth checks passwords and codes, and creates sessions. It is reached only through sign-in.ts, which lets
// through what we use of it. Accounts and their rights are ours (domain/accounts/sign-up.ts).

export const AUTH_PATH = '/dashboard/api/auth'

/** The caller's address as our server knows it. better-auth reads no other header for it. */
export const ADDRESS_HEADER = 'x-guiche-address'

export type Auth = {
  handle(request: Request): Promise<Response>
  /** For the link in an e-mail. */
  confirmationToken(email: string): Promise<string>
  /**
   * The e-mail that a token confirms; undefined if it was made for something else, or for another service. better-auth
   * verifies the signature.
   */
  emailOfToken(token: string): string | undefined
  /** The secret of an authenticator app, decrypted. */
  totpSecret(sealed: string): Promise<string>
  /** What better-auth gets in place of a recovery code: it compares it with what is stored. */
  storedRecoveryCode(userId: string, code: string): Promise<string>
}

const CONFIRM_WITHIN_SECONDS = 24 * 3600
const RESET_WITHIN_SECONDS = 3600

/** Imported on demand: loading takes a third of a second, and commands never sign in. */
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
  const secret = cookieSecret(ctx.settings)
  // Uses the keys and the format of better-auth, which knows its keys once it is set up.
  const keys: { get: () => Promise<Parameters<typeof symmetricDecrypt>[0]['key']> } = { get: async () => secret }
  const open = async (data: string) => symmetricDecrypt({ key: await keys.get(), data })
  const seal = async (data: string) => symmetricEncrypt({ key: await keys.get(), data })
  const claims = confirmationClaims(publicUrl)
  const confirmationToken = (email: string) =>
    createEmailVerificationToken(secret, email, undefined, CONFIRM_WITHIN_SECONDS, claims)
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
      sendVerificationEmail: async ({ user: { email: to } }, request) =>
        ctx.mailer.send(confirmationEmail(languageOf(request), publicUrl, { to, token: await confirmationToken(to) })),
    },
    plugins: [
      twoFactor({ issuer: 'guiche', schema: SECOND_FACTOR_TABLE, backupCodeOptions: codeOptions({ open, seal }) }),
    ],
    // Ours are in sign-in-limits.ts: they count by e-mail too, and say when to retry.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    // Its spans hold the texts of errors.
    experimental: { instrumentation: { enabled: false } },
    advanced: {
      ...cookieOptions(publicUrl),
      // Our migrations own the schema, and the database may be unreachable while this loads.
      database: { generateId: () => newUuid7(ctx.now()), validateSchema: false },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
    },
    logger: { log: (level, message) => ctx.log[level === 'error' ? 'error' : 'debug']({}, `sign-in: ${message}`) },
    onAPIError: { onError: throwUnlessAnswered },
  })
  keys.get = async () => (await auth.$context).secretConfig
  return {
    totpSecret: open,
    storedRecoveryCode: makeStoredRecoveryCode(ctx, open),
    handle: (request) =>
      auth.handler(request).catch((error: unknown) => {
        throw isConnectionFailure(error) ? unavailable(ctx.pool, error) : error
      }),
    emailOfToken: (token) => confirmedEmail(token, publicUrl),
    confirmationToken,
  }
}

/** An APIError is a response already. Everything else goes to our own error handler. */
function throwUnlessAnswered(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'APIError') throw error
}

// The key signs other things too, so a token says what it is for, and for which service.
function confirmationClaims(publicUrl: string) {
  return { purpose: 'confirm-email', aud: new URL(publicUrl).origin }
}

function confirmedEmail(token: string, publicUrl: string): string | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
    const wanted = confirmationClaims(publicUrl)
    const isOurs = claims['purpose'] === wanted.purpose && claims['aud'] === wanted.aud
    return isOurs && typeof claims['email'] === 'string' ? claims['email'] : undefined
  } catch {
    return undefined
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
      ctx.mailer.send(passwordEmail(languageOf(request), publicUrl, { to: user.email, token }))
    },
    onPasswordReset: ({ user }) => auditPasswordChange(ctx, user.id, 'password.reset'),
  } satisfies BetterAuthOptions['emailAndPassword']
}

type Seal = Record<'open' | 'seal', (text: string) => Promise<string>>

/** Recovery codes are stored hashed and encrypted. */
function codeOptions({ open, seal }: Seal) {
  const encrypt = async (codes: string) => seal(JSON.stringify(await hashRecoveryCodes(JSON.parse(codes) as string[])))
  return { storeBackupCodes: { encrypt, decrypt: open } }
}

function makeStoredRecoveryCode(ctx: Context, open: Seal['open']): Auth['storedRecoveryCode'] {
  return async (userId, code) => {
    const factor = await findSecondFactor(ctx, userId)
    return factor ? hashTypedCode(JSON.parse(await open(factor.recoveryCodes)) as string[], code) : ''
  }
}

/** Our tables and columns, see migrations/0001_baseline.sql. Those that only social sign-in fills are left out. */
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
      // A session is never extended. boundSession sets how long each kind lasts.
      expiresIn: Math.max(...Object.values(ctx.settings.signIn.sessions).map(({ hours }) => hours)) * 3600,
      disableSessionRefresh: true,
      // We decide what needs a recent password; better-auth would refuse to list the sessions after a day.
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
    // Hashed, so that reading the database does not reveal the links in people's mail.
    verification: {
      modelName: 'verifications',
      fields: { expiresAt: 'expires_at', ...times },
      storeIdentifier: { hash: async (identifier: string) => storedIdentifier(identifier) },
    },
  }
}

/** As tableNames, for the table of the plugin. */
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
    // Its own prefix is __Secure-, which other hosts of the domain can set.
    useSecureCookies: false,
    defaultCookieAttributes: { secure: isSecure, httpOnly: true, sameSite: 'lax' as const, path: '/' },
    cookies: {
      session_token: { name: names.session },
      dont_remember: { name: names.untilClosed },
      two_factor: { name: names.secondStep },
    },
  }
}

/** Refuses a session to a disabled operator, and limits how long others last. */
async function boundSession(
  ctx: Context,
  { userId, createdAt, expiresAt }: { userId: string; createdAt: Date; expiresAt: Date },
): Promise<false | { data: { expiresAt: Date } }> {
  const lifeMs = await sessionLifeMs(ctx, userId)
  if (lifeMs === undefined) return false
  return { data: { expiresAt: new Date(Math.min(expiresAt.getTime(), createdAt.getTime() + lifeMs)) } }
}

/** Stored with each encrypted value, so it must identify the key and not its position in the list. */
function versionOf(secret: string): number {
  return createHash('sha256').update(`version ${secret}`).digest().readUInt32BE() >>> 1
}

function languageOf(request: Request | undefined) {
  const wished = request?.headers.get('accept-language') ?? undefined
  return readerOf({ headers: { 'accept-language': wished }, query: undefined }).language
}
