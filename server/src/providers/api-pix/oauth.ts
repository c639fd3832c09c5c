import { z } from 'zod'
import type { Credentials } from '../http/calls.ts'
import type { HttpClient } from '../http/client.ts'
import type { Deadline } from '../http/deadline.ts'
import type { Reply } from '../http/guard.ts'
import { parseJson } from '../http/messages.ts'

const SCOPE = 'cob.write cob.read pix.read pix.write webhook.read webhook.write'

const tokenResponse = z.object({
  access_token: z.string().min(1).max(16_384),
  // RFC 6749 only recommends it; some send it as text.
  expires_in: z.coerce.number().positive().default(300),
})

type TokenOptions = {
  http: HttpClient
  tokenUrl: string
  clientId: string
  clientSecret: string
  timings: {
    tokenTimeoutMs: number
    /** A token is renewed this long before its end, or in the last tenth of its life if that is shorter. */
    tokenMarginMs: number
  }
  now: () => Date
}

/** Access tokens by client credentials. A token is kept until shortly before its end; callers share one request. */
export function makeTokenSource(options: TokenOptions): Credentials {
  const { now, clientId, clientSecret, timings } = options
  const url = new URL(options.tokenUrl)
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  let held: { token: string; usableUntilMs: number } | undefined
  let refreshing: Promise<Reply<string>> | undefined

  async function refresh(): Promise<Reply<string>> {
    const askedAtMs = now().getTime()
    const reply = await requestToken(options.http, { url, basic, timeoutMs: timings.tokenTimeoutMs })
    if (reply.kind !== 'ok') return reply
    const lifeMs = reply.body.expires_in * 1000
    const token = reply.body.access_token
    held = { token, usableUntilMs: askedAtMs + lifeMs - Math.min(timings.tokenMarginMs, lifeMs / 10) }
    return { kind: 'ok', body: token }
  }

  return {
    scheme: 'Bearer ',
    secrets: [clientSecret, basic],
    async token(deadline) {
      if (held && now().getTime() < held.usableUntilMs) return { kind: 'ok', body: held.token }
      const isShared = refreshing !== undefined
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      const reply = await within(deadline, refreshing)
      // A failed refresh counts once for the breaker, and not once per caller.
      return reply.kind === 'failed' && isShared ? { ...reply, isProviderFault: false } : reply
    },
    drop(token) {
      if (held?.token === token) held = undefined
    },
  }
}

// A failure here means that the operation itself was not sent.
async function requestToken(
  http: HttpClient,
  { url, basic, timeoutMs }: { url: URL; basic: string; timeoutMs: number },
): Promise<Reply<z.infer<typeof tokenResponse>>> {
  const result = await http.send({
    method: 'POST',
    origin: url.origin,
    path: url.pathname + url.search,
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: SCOPE }).toString(),
    timeoutMs,
  })
  if (result.kind === 'failure') return failed(result.text, result.isProviderFault)
  if (result.status === 429) return failed('too many requests', false)
  if (result.status >= 400 && result.status < 500) {
    const text = `the provider refused our credentials (HTTP ${result.status} at the token URL)`
    return { kind: 'refused', status: 401, isFromProvider: true, text }
  }
  const parsed = result.status < 300 ? tokenResponse.safeParse(parseJson(result.text)) : undefined
  if (!parsed?.success) return failed(`HTTP ${result.status} without a token at the token URL`, true)
  return { kind: 'ok', body: parsed.data }
}

function failed(text: string, isProviderFault: boolean): Reply<never> {
  return { kind: 'failed', wasSent: false, isProviderFault, isRetryable: true, text: `no access token: ${text}` }
}

// Ends the wait of one caller. The shared request continues for the others.
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
