import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

// Signatures of the Standard Webhooks specification. Receivers can use any of its libraries.

const PREFIX = 'whsec_'

export type Message = { id: string; timestamp: string; body: Buffer | string }

export function makeSigningSecret(): string {
  return PREFIX + randomBytes(32).toString('base64')
}

/** One signature per secret: while a secret is replaced, a receiver may know either. */
export function signMessage(secrets: string[], message: Message): string {
  return secrets.map((secret) => `v1,${digest(secret, message).toString('base64')}`).join(' ')
}

export function signatureHolds(secret: string, message: Message, signatureHeader: string): boolean {
  const expected = digest(secret, message)
  return signatureHeader.split(' ').some((part) => {
    const [version, encoded = ''] = part.split(',')
    const given = Buffer.from(encoded, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
}

function digest(secret: string, { id, timestamp, body }: Message): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
}
