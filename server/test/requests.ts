import { once } from 'node:events'
import { connect } from 'node:net'
import type { InjectOptions } from 'fastify'
import { expect, onTestFinished } from 'vitest'
import type { Pool } from '../src/db/pool.ts'
import { makeSharedReads } from '../src/db/shared-reads.ts'
import type { Context } from '../src/domain/context.ts'
import { makeDepositLanes } from '../src/domain/deposits/lanes.ts'
import type { Provider } from '../src/domain/ports/provider.ts'
import { buildApp, type App, type AppOptions } from '../src/http/app.ts'

// Requests that the tests of http/ send, and the ways in which their servers differ.

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** A payment link that nobody has. */
export const UNKNOWN_ID = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'

export function bearer(key: string) {
  return { authorization: `Bearer ${key}` }
}

export function get(key: string, url: string): InjectOptions {
  return { method: 'GET', url, headers: bearer(key) }
}

export function post(key: string, url: string): InjectOptions {
  return { method: 'POST', url, headers: bearer(key) }
}

export function deposit(key: string, payload: string, headers: Record<string, string> = {}): InjectOptions {
  return {
    method: 'POST',
    url: '/api/deposit',
    headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
    payload,
  }
}

export function expectEnvelopeHeaders(answer: { headers: Record<string, unknown> }) {
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.headers['x-request-id']).toMatch(UUID)
}

export async function appWith(ctx: Context, options: AppOptions = {}): Promise<App> {
  const app = await buildApp(ctx, { checksAnswers: true, ...options })
  onTestFinished(() => app.close())
  return app
}

export function withPool(ctx: Context, pool: Pool): Context {
  const core = { ...ctx, pool, readShared: makeSharedReads(pool) }
  return { ...core, hints: makeDepositLanes(core, async () => {}).hints }
}

/** The SQL of a statement that a spied pool.query() was called with, prepared or not. */
export function sentText([statement]: readonly unknown[]): string {
  return typeof statement === 'string' ? statement : (statement as { text: string }).text
}

export function withProvider(ctx: Context, changes: Partial<Provider>): Context {
  return { ...ctx, providers: [{ ...ctx.providers[0]!, ...changes }] }
}

/** Holds every call that creates a charge until the gate is opened, so that it is certainly in flight. */
export function withGate(ctx: Context) {
  const [opened, reached] = [makeSignal(), makeSignal()]
  const gated = withProvider(ctx, {
    async create(request) {
      reached.give()
      await opened.given
      return ctx.providers[0]!.create(request)
    },
  })
  return { ctx: gated, reached: reached.given, open: opened.give }
}

function makeSignal() {
  let give = () => {}
  const given = new Promise<void>((resolve) => (give = resolve))
  return { given, give: () => give() }
}

export function portOf(app: App): number {
  const address = app.server.address()
  if (typeof address !== 'object' || address === null) throw new Error('not listening')
  return address.port
}

/** Sends these bytes, and returns everything the server says until it hangs up. */
export async function exchange(app: App, request: string): Promise<string> {
  const socket = connect(portOf(app), '127.0.0.1')
  socket.write(request)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}
