import { randomBytes } from 'node:crypto'
import { isRecord, type Answer, type Call } from './answer.ts'
import type { Demands } from './banks.ts'
import { whyNoToken } from './strict.ts'

export type Token = { endsAtMs: number; clientId: string; scopes: string[] }
// After a restart every client must fetch a new one, as with a real bank.
export type Tokens = Map<string, Token>

const LIFE_SECONDS = 3600
// A client that fetches a token per call must not fill memory.
const TOKENS_MAX = 10_000
const SCOPES = 'cob.write cob.read pix.write pix.read webhook.write webhook.read'

type Issuer = { tokens: Tokens; bank: Demands | undefined; now: () => Date }

// Any client id and secret are accepted, but not none.
export function issueToken({ tokens, bank, now }: Issuer, call: Call): Answer {
  const { authorization, isCertified } = call
  const form = isRecord(call.body) ? call.body : {}
  const query = new URLSearchParams(call.query)
  const why = bank && whyNoToken(bank, { query, form, authorization, isCertified })
  if (why !== undefined) return refusal(401, 'invalid_client', why)
  const parameter = (name: string) => {
    const value = bank?.tokenQuery.includes(name) ? query.get(name) : form[name]
    return typeof value === 'string' ? value : ''
  }
  if (parameter('grant_type') !== 'client_credentials') {
    return refusal(400, 'unsupported_grant_type', 'The grant_type must be client_credentials')
  }
  const clientId = clientOf(call.authorization, form, bank?.login === 'certificate')
  if (clientId === undefined) {
    return refusal(401, 'invalid_client', 'Send a client id and secret, by Basic or in the body')
  }
  const token = randomBytes(24).toString('base64url')
  const scope = parameter('scope') || SCOPES
  tokens.set(token, { endsAtMs: now().getTime() + LIFE_SECONDS * 1000, clientId, scopes: scope.split(' ') })
  for (const oldest of tokens.keys()) {
    if (tokens.size <= TOKENS_MAX) break
    tokens.delete(oldest)
  }
  return {
    status: 200,
    body: { access_token: token, token_type: 'Bearer', expires_in: LIFE_SECONDS, scope },
    headers: { 'cache-control': 'no-store' },
  }
}

export function findToken(tokens: Tokens, now: Date, authorization: string | undefined): Token | undefined {
  const text = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? ''
  const token = tokens.get(text)
  if (token && now.getTime() < token.endsAtMs) return token
  tokens.delete(text)
  return undefined
}

function clientOf(authorization: string | undefined, form: Record<string, unknown>, isSecretFree: boolean) {
  const basic = /^Basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (basic !== undefined) return /^([^:]+):.+$/s.exec(Buffer.from(basic, 'base64').toString())?.[1]
  const given = (value: unknown): value is string => typeof value === 'string' && value !== ''
  const id = form['client_id']
  return given(id) && (isSecretFree || given(form['client_secret'])) ? id : undefined
}

function refusal(status: number, error: string, description: string): Answer {
  return { status, body: { error, error_description: description } }
}
