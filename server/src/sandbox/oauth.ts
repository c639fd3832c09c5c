import { randomBytes } from 'node:crypto'
import { isRecord, type Answer, type Call } from './answer.ts'

// After a restart every client must fetch a new one, as with a real bank.
export type Tokens = Map<string, number>

const LIFE_SECONDS = 3600
// A client that fetches a token per call must not fill memory.
const TOKENS_MAX = 10_000
const SCOPES = 'cob.write cob.read pix.write pix.read webhook.write webhook.read'

// Any client id and secret are accepted, but not none.
export function issueToken(tokens: Tokens, now: Date, call: Call): Answer {
  const form = isRecord(call.body) ? call.body : {}
  if (form['grant_type'] !== 'client_credentials') {
    return refusal(400, 'unsupported_grant_type', 'The grant_type must be client_credentials')
  }
  if (!hasCredentials(call.authorization, form)) {
    return refusal(401, 'invalid_client', 'Send a client id and secret, by Basic or in the body')
  }
  const token = randomBytes(24).toString('base64url')
  tokens.set(token, now.getTime() + LIFE_SECONDS * 1000)
  for (const oldest of tokens.keys()) {
    if (tokens.size <= TOKENS_MAX) break
    tokens.delete(oldest)
  }
  const scope = typeof form['scope'] === 'string' && form['scope'] !== '' ? form['scope'] : SCOPES
  return {
    status: 200,
    body: { access_token: token, token_type: 'Bearer', expires_in: LIFE_SECONDS, scope },
    headers: { 'cache-control': 'no-store' },
  }
}

export function hasValidToken(tokens: Tokens, now: Date, authorization: string | undefined): boolean {
  const match = /^Bearer +(\S+)$/i.exec(authorization ?? '')
  if (!match?.[1]) return false
  const expiresAtMs = tokens.get(match[1])
  if (expiresAtMs === undefined) return false
  if (now.getTime() < expiresAtMs) return true
  tokens.delete(match[1])
  return false
}

function hasCredentials(authorization: string | undefined, form: Record<string, unknown>): boolean {
  const basic = /^Basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (basic !== undefined) return /^[^:]+:.+$/s.test(Buffer.from(basic, 'base64').toString())
  const given = (value: unknown) => typeof value === 'string' && value !== ''
  return given(form['client_id']) && given(form['client_secret'])
}

function refusal(status: number, error: string, description: string): Answer {
  return { status, body: { error, error_description: description } }
}
