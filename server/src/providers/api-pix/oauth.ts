import { z } from 'zod'
import type { Deadline } from '../http/deadline.ts'
import type { Reply } from '../http/guard.ts'
import type { HttpClient } from '../http/client.ts'

/** Access tokens by client credentials. One is kept until shortly before it ends, and however many callers need a new one, it is asked for once. */
export type TokenSource = {
  get(deadline: Deadline): Promise<Reply<string>>
  /** This one was not accepted: the next call to get() asks for another. */
  drop(token: string): void
}

const tokenAnswer = z.object({
  access_token: z.string().min(1).max(16_384),
  // RFC 6749 only recommends it; some send it as text.
  expires_in: z.coerce.number().positive().default(300),
})

export function makeTokenSource(options: {
  http: HttpClient
  tokenUrl: string
  clientId: string
  clientSecret: string
  scope: string
  timeoutMs: number
  /** A token is renewed this long before its end, or in the last tenth of its life if that is shorter. */
  marginMs: number
  now: () => Date
}): TokenSource {
  const { now } = options
  let held: { token: string; usableUntilMs: number } | undefined
  let refreshing: Promise<Reply<string>> | undefined

  async function refresh(): Promise<Reply<string>> {
    const askedAtMs = now().getTime()
    const reply = await requestToken(options)
    if (reply.kind !== 'ok') return reply
    const lifeMs = reply.body.expires_in * 1000
    const token = reply.body.access_token
    held = { token, usableUntilMs: askedAtMs + lifeMs - Math.min(options.marginMs, lifeMs / 10) }
    return { kind: 'ok', body: token }
  }

  return {
    async get(deadline) {
      if (held && now().getTime() < held.usableUntilMs) return { kind: 'ok', body: held.token }
      const shared = refreshing !== undefined
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      const reply = await within(deadline, refreshing)
      // A failed refresh is one fault of the provider, not one for every caller who waited for it.
      return reply.kind === 'failed' && shared ? { ...reply, fault: false } : reply
    },
    drop(token) {
      if (held?.token === token) held = undefined
    },
  }
}

/** The header's value; the caller keeps it out of texts. */
export function basicCredentials(id: string, secret: string): string {
  return Buffer.from(`${id}:${secret}`).toString('base64')
}

// Whatever goes wrong here, the operation that needed the token was not sent.
async function requestToken(options: {
  http: HttpClient
  tokenUrl: string
  clientId: string
  clientSecret: string
  scope: string
  timeoutMs: number
}): Promise<Reply<z.infer<typeof tokenAnswer>>> {
  const result = await options.http.exchange({
    method: 'POST',
    url: options.tokenUrl,
    headers: {
      authorization: `Basic ${basicCredentials(options.clientId, options.clientSecret)}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: options.scope }).toString(),
    timeoutMs: options.timeoutMs,
  })
  if (result.kind === 'failure') return failed(result.text, result.whose === 'theirs')
  if (result.status === 429) return failed('too many requests', false)
  if (result.status >= 400 && result.status < 500) {
    const text = `the provider refused our credentials (HTTP ${result.status} at the token URL)`
    return { kind: 'refused', status: 401, isFromProvider: true, text }
  }
  const parsed = result.status < 300 ? tokenAnswer.safeParse(parseJson(result.text)) : undefined
  if (!parsed?.success) return failed(`HTTP ${result.status} without a token at the token URL`, true)
  return { kind: 'ok', body: parsed.data }
}

function failed(text: string, fault: boolean): Reply<never> {
  return { kind: 'failed', sent: false, fault, again: true, text: `no access token: ${text}` }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// The shared refresh goes on for the others when one caller's time is up.
async function within(deadline: Deadline, refreshing: Promise<Reply<string>>): Promise<Reply<string>> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Reply<string>>((resolve) => {
    timer = setTimeout(() => resolve(failed('the deadline passed', false)), deadline.remainingMs())
  })
  try {
    return await Promise.race([refreshing, late])
  } finally {
    clearTimeout(timer)
  }
}
