import { createHmac } from 'node:crypto'

// Signs as guiche does. It shares no code with verify.ts: a mistake in shared code would cancel itself out.

export type Signed = {
  body: string
  headers: { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string }
}

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
export const OTHER_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export const DEPOSIT = {
  id: 'evt_0199a1b2c3d4e5f60718293a4b5c6d7e',
  event: 'DEPOSIT_ASSET_SUCCESS',
  createdAt: '2026-03-10T12:00:01.250Z',
  data: {
    transactionId: '0199a1b2c3d47a5b8c9d0e1f2a3b4c5d',
    paymentLinkId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    externalId: 'pedido-ção-42',
    value: 5000,
    originalValue: 5000,
    fee: 50,
    creditedValue: 4950,
    status: 'COMPLETED',
    paidLate: false,
    endToEndId: 'E1234567820260310120000000000001',
    paidAt: '2026-03-10T12:00:00.000Z',
  },
}

/** An example that somebody sent from the dashboard. */
export const SAMPLE = {
  ...DEPOSIT,
  id: 'evt_test_DEPOSIT_ASSET_SUCCESS_0199a1b2c3d4e5f60718293a4b5c6d7e',
  event: 'TEST_DEPOSIT_ASSET_SUCCESS',
  test: true,
}

export function sign(content: unknown, options: { at: Date; secrets?: string[]; id?: string }): Signed {
  const body = typeof content === 'string' ? content : JSON.stringify(content)
  const { at, secrets = [SECRET], id = DEPOSIT.id } = options
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => `v1,${signatureOf(secret, `${id}.${timestamp}.${body}`)}`)
  return {
    body,
    headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') },
  }
}

function signatureOf(secret: string, text: string): string {
  return createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
    .update(text)
    .digest('base64')
}
