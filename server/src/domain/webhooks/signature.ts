import { createHmac, randomBytes, timingSafeEqual, type Hmac } from 'node:crypto'

// Signatures of the Standard Webhooks specification. Receivers can use any of its libraries.

const PREFIX = 'whsec_'

export type Message = { id: string; timestamp: string; body: Buffer | string }

export function makeSigningSecret(): string {
  return PREFIX + randomBytes(32).toString('base64')
}

/** A secret, decoded once for many messages. */
export type SigningKey = Buffer

export function signingKey(secret: string): SigningKey {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}

export function signMessage(secrets: string[], message: Message): string {
  return signWithKeys(secrets.map(signingKey), message)
}

/** One signature per key: while a secret is replaced, a receiver may know either. */
export function signWithKeys(keys: SigningKey[], message: Message): string {
  return keys.map((key) => `v1,${hmacOf(key, message).digest('base64')}`).join(' ')
}

export function signatureHolds(secret: string, message: Message, signatureHeader: string): boolean {
  const expected = hmacOf(signingKey(secret), message).digest()
  return signatureHeader.split(' ').some((part) => {
    const [version, encoded = ''] = part.split(',')
    const given = Buffer.from(encoded, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
}

function hmacOf(key: SigningKey, { id, timestamp, body }: Message): Hmac {
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body)
}
