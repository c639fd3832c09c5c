// The package test compiles this as a user's program, in a folder where the package is installed.

/** Uses every entry. The last line fails to compile unless the types were found. */
export const CONSUMER = `
import { GuicheError, makeGuiche, verify, verifyAsync, type Created, type Deposit, type GuicheEvent, type NewCharge } from '@guiche/sdk'
import { receiveWebhooks as inExpress, type Receiver } from '@guiche/sdk/express'
import { receiveWebhooks as inFastify } from '@guiche/sdk/fastify'
import { receiveWebhooks as inHono } from '@guiche/sdk/hono'
import { receiveWebhooks as inNext } from '@guiche/sdk/next'

export const guiche = makeGuiche({ url: 'https://pay.example.com', key: 'gk_test_1', retryForMs: 1_000 })

export async function buy(externalId: string): Promise<Deposit | undefined> {
  const charge: Created<NewCharge> = await guiche.deposits.create({ value: 50_00, externalId })
  try {
    return await guiche.deposits.waitUntilPaid(charge.paymentLinkId)
  } catch (error) {
    if (error instanceof GuicheError && error.code === 'payment_held') return error.deposit
    throw error
  }
}

export function handle(event: GuicheEvent): number {
  switch (event.event) {
    case 'DEPOSIT_ASSET_SUCCESS':
      return event.data.creditedValue
    case 'DEPOSIT_REFUNDED':
      return -event.data.refundedValue
    default:
      return 0
  }
}

export async function catchUp(body: Uint8Array, headers: Headers): Promise<void> {
  for await (const event of guiche.events.list({ order: 'asc' })) handle(event)
  handle(verify(body, headers, 'whsec_AAAA'))
  handle(await verifyAsync(body, headers, ['whsec_AAAA']))
}

const receiver: Receiver = { secret: () => 'whsec_AAAA', onEvent: (event) => void handle(event) }
export const handlers = [inExpress(receiver), inFastify({ path: '/', ...receiver }), inHono(receiver), inNext(receiver)]
// @ts-expect-error
export const wrong: number = guiche.deposits.get('')
`

/** The ways in which programs resolve a package. Those that tell ES modules from CommonJS compile both. */
export const RESOLUTIONS = [
  { moduleResolution: 'node10', module: 'commonjs', files: ['consumer.ts'] },
  { moduleResolution: 'node16', module: 'node16', files: ['consumer.mts', 'consumer.cts'] },
  { moduleResolution: 'nodenext', module: 'nodenext', files: ['consumer.mts', 'consumer.cts'] },
  { moduleResolution: 'bundler', module: 'esnext', files: ['consumer.ts'] },
]

/** The declarations of the package are checked too. */
export const STRICT = {
  noEmit: true,
  strict: true,
  skipLibCheck: false,
  target: 'es2022',
  lib: ['es2022', 'webworker'],
  types: [],
}

/** The part of Express's types that the guide uses: we do not depend on them. */
export const EXPRESS_TYPES = `declare module 'express' {
  import type { IncomingMessage, ServerResponse } from 'node:http'
  type Answer = ServerResponse & { status(code: number): Answer; send(body: unknown): Answer }
  type Handler = (request: IncomingMessage & { body?: any }, response: Answer, next: (error?: unknown) => void) => unknown
  export default function express(): { post(path: string, handler: Handler): unknown }
}
`
