import { createHmac, randomBytes } from 'node:crypto'

// Signatures of the Standard Webhooks specification. Receivers can use any of its libraries.

const PREFIX = 'whsec_'

export type Message = { id: string; timestamp: string; body: Buffer | string }

export function makeSigningSecret(): string {
  return PREFIX + randomBytes(32).toString('base64')
}

export type SigningKey = Buffer

export function signingKey(secret: string): SigningKey {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}

/** One signature per key: while a secret is replaced, a receiver may know either. */
export function signWithKeys(keys: SigningKey[], message: Message): string {
  return keys.map((key) => signatureOf(key, message)).join(' ')
}

function signatureOf(key: SigningKey, { id, timestamp, body }: Message): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}
