import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { hide, parseJson, type CallOptions, type Credentials, type Http, type Reply } from '../http/call.ts'
import type { Access } from './banks/bank-profile.ts'
import { readProblem } from './messages.ts'

export type TokenTimings = {
  tokenTimeoutMs: number
  /** Renewed this long before its end. */
  tokenMarginMs: number
}

export type TokenOptions = Pick<CallOptions, 'name' | 'now' | 'log'> & {
  tokenUrl: string
  clientId: string
  clientSecret: string
  access: Access
  timings: TokenTimings
}

export type TokenSource = Credentials & {
  /** Scopes that we asked for and that the newest token lacks. */
  missingScopes(): string[]
}

/** A token is kept until shortly before its end; callers share one request. */
export function makeTokenSource(http: Http, options: TokenOptions): TokenSource {
  const { name, now, log, access, timings } = options
  const request = tokenRequest(options)
  const secrets = [options.clientSecret, basicOf(options), ...Object.values(access.query)].filter(Boolean)
  let held: { token: string; usableUntilMs: number } | undefined
  let refreshing: Promise<Reply<string>> | undefined
  let missing: string[] = []

  async function refresh(): Promise<Reply<string>> {
    const askedAtMs = now().getTime()
    const result = await http.send({ ...request, method: 'POST', timeoutMs: timings.tokenTimeoutMs })
    const reply = readReply(result, secrets)
    if (reply.kind !== 'ok') return reply
    const { access_token: token, expires_in: seconds = access.tokenSeconds, scope } = reply.body
    const lifeMs = seconds * 1000
    held = { token, usableUntilMs: askedAtMs + lifeMs - Math.min(timings.tokenMarginMs, lifeMs / 10) }
    const lacks = missingScopes(access.scope, scope)
    if (lacks.length > 0 && lacks.join() !== missing.join())
      log.warn({ provider: name, scopes: lacks }, `${name}: ${scopeText(lacks)}`)
    missing = lacks
    return { kind: 'ok', body: token }
  }

  return {
    scheme: 'Bearer ',
    secrets,
    missingScopes: () => missing,
    async token(deadline) {
      if (held && now().getTime() < held.usableUntilMs) return { kind: 'ok', body: held.token }
      const isShared = refreshing !== undefined
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      // Ends the wait of this caller. The shared request continues for the others.
      const late = sleep(deadline.remainingMs(), failed('the deadline passed', false), { ref: false })
      const reply = await Promise.race([refreshing, late])
      // Counts once for the breaker, and not once per caller.
      return reply.kind === 'failed' && isShared ? { ...reply, isProviderFault: false } : reply
    },
    drop(token) {
      if (held?.token === token) held = undefined
    },
  }
}

export function scopeText(missing: string[]): string {
  return `the bank did not grant ${missing.join(' ')}: have it granted to this application, or leave it out of SCOPE`
}

/** A bank that does not say has granted what was asked for (RFC 6749, 5.1). */
function missingScopes(asked: string, granted: string | undefined): string[] {
  if (!granted) return []
  const has = new Set(granted.split(/\s+/))
  return asked.split(' ').filter((scope) => scope !== '' && !has.has(scope))
}

function basicOf({ clientId, clientSecret }: TokenOptions): string {
  return Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
}

function tokenRequest(options: TokenOptions) {
  const { clientId, clientSecret, access } = options
  const { auth, scope, tokenQuery } = access
  const url = new URL(options.tokenUrl)
  const form = new URLSearchParams()
  const put = (name: 'grant_type' | 'scope', value: string) =>
    (tokenQuery.includes(name) ? url.searchParams : form).set(name, value)
  put('grant_type', 'client_credentials')
  if (scope !== '') put('scope', scope)
  if (auth !== 'basic') form.set('client_id', clientId)
  if (auth === 'body') form.set('client_secret', clientSecret)
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    headers: {
      ...(auth === 'basic' && { authorization: `Basic ${basicOf(options)}` }),
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: form.toString(),
  }
}

const tokenResponse = z.object({
  access_token: z.string().min(1).max(16_384),
  expires_in: z.coerce.number().positive().optional(),
  scope: z.string().max(16_384).optional().catch(undefined),
})

// The operation itself was not sent.
function readReply(result: Awaited<ReturnType<Http['send']>>, secrets: string[]): Reply<z.infer<typeof tokenResponse>> {
  if (result.kind === 'failed') return failed(result.text, result.isProviderFault)
  const { status } = result
  const json = parseJson(result.text)
  if (status === 429) return failed('too many requests', false)
  if (status >= 400 && status < 500) {
    const problem = readProblem(json)
    const why = problem === undefined ? '' : `: ${problem}`
    const text = hide(`the provider refused our credentials (HTTP ${status} at the token URL${why})`, secrets)
    return { kind: 'refused', status: 401, isFromProvider: true, text }
  }
  const parsed = status < 300 ? tokenResponse.safeParse(json) : undefined
  if (!parsed?.success) return failed(`HTTP ${status} without a token at the token URL`, true)
  return { kind: 'ok', body: parsed.data }
}

function failed(text: string, isProviderFault: boolean): Reply<never> {
  return { kind: 'failed', wasSent: false, isProviderFault, isRetryable: true, text: `no access token: ${text}` }
}
