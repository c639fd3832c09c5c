import { verify } from '#sdk'
import type { InjectOptions } from 'fastify'
import { expect } from 'vitest'
import type { Context } from '../src/domain/context.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { makeWebhookSender } from '../src/egress/webhook-sender.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import type { Received } from './receiver.ts'
import { bearer } from './requests.ts'
import type { TestAccount, World } from './world.ts'

// An account holder who uses webhooks by the API, for the tests of http/webhooks.ts and http/events.ts.

export const KIND = 'DEPOSIT_ASSET_SUCCESS'
/** The time at which the world's clock begins. */
export const NOW = '2026-03-02T12:00:00.000Z'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

// oxlint-disable-next-line typescript/no-explicit-any -- what an answer holds is what these tests are about
export type Answer = { statusCode: number; headers: Record<string, unknown>; text: string; body: any }

export async function send({ app }: Pick<World, 'app'>, request: InjectOptions): Promise<Answer> {
  const answer = await app.inject(request)
  return { statusCode: answer.statusCode, headers: answer.headers, text: answer.body, body: answer.json() }
}

export function call(
  w: Pick<World, 'app'>,
  { key }: TestAccount,
  method: Method,
  url: string,
  body?: unknown,
): Promise<Answer> {
  if (body === undefined) return send(w, { method, url, headers: bearer(key) })
  const headers = { ...bearer(key), 'content-type': 'application/json' }
  return send(w, { method, url, headers, payload: JSON.stringify(body) })
}

/** The status and the text of a refusal, which has nothing else in it. */
export function told({ statusCode, body }: Answer): string {
  expect(body).toEqual({ success: false, error: expect.any(String) })
  return `${statusCode} ${body.error}`
}

export async function add(
  w: World,
  account: TestAccount,
  url: string,
  fields: object = {},
): Promise<{ webhook: { id: string }; secret: string }> {
  const { statusCode, body } = await call(w, account, 'POST', '/api/webhooks', { url, ...fields })
  expect(statusCode).toBe(201)
  return body
}

export function ofWebhook(id: string): [Method, string, object?][] {
  return [
    ['GET', `/api/webhooks/${id}`],
    ['PATCH', `/api/webhooks/${id}`, { name: 'mine' }],
    ['DELETE', `/api/webhooks/${id}`],
    ['POST', `/api/webhooks/${id}/test`],
    ['GET', `/api/webhooks/${id}/stats`],
    ['POST', `/api/webhooks/${id}/retry`],
    ['POST', `/api/webhooks/${id}/rotate-secret`],
  ]
}

export function ofEvent(id: string): [Method, string][] {
  return [
    ['GET', `/api/events/${id}`],
    ['POST', `/api/events/${id}/resend`],
  ]
}

/** All routes of webhooks and events. The one that removes the webhook comes last. */
export function routes({ webhookId, eventId }: { webhookId: string; eventId: string }): [Method, string, object?][] {
  const all: [Method, string, object?][] = [
    ['GET', '/api/webhooks'],
    ['POST', '/api/webhooks'],
    ...ofWebhook(webhookId),
    ['GET', '/api/events'],
    ['POST', '/api/events/resend'],
    ...ofEvent(eventId),
  ]
  return all.toSorted(([a], [b]) => Number(a === 'DELETE') - Number(b === 'DELETE'))
}

export function encoded(id: string): string {
  return id.includes('%') ? id : encodeURIComponent(id)
}

// ---- The service ----

/** A context that allows no special network. The world allows one, for its receivers. */
export function asInProduction(ctx: Context): Context {
  return { ...ctx, webhookSender: makeWebhookSender({ allowNetworks: [], allowHttp: false }) }
}

/** Runs one round of the worker to its end. */
export async function deliver(w: Pick<World, 'ctx'>): Promise<void> {
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  await sender.claim()
  await sender.stop(10_000)
}

export async function completedCharge(w: World, account: TestAccount) {
  const { charge } = await w.paidCharge({ account })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  return charge
}

export function holds(secret: string, { headers, body }: Received): boolean {
  try {
    return verify(body, headers, secret, { toleranceSeconds: Infinity }) !== undefined
  } catch {
    return false
  }
}

/** The states of each event's deliveries, newest event first. */
export async function statesOf(w: World, account: TestAccount): Promise<string[][]> {
  const { events } = (await call(w, account, 'GET', '/api/events')).body
  return events.map((event: { deliveries: { state: string }[] }) => event.deliveries.map((one) => one.state))
}

/** All rows about webhooks, of all accounts or of one. */
export async function stored(w: World, account?: TestAccount): Promise<string[]> {
  const { rows } = await w.pool.query<{ row: string }>(
    `select e::text as row from webhooks e where $1::uuid is null or account_id = $1
     union all select v::text from events v where $1::uuid is null or account_id = $1
     union all select d::text from deliveries d union all select o::text from delivery_outcomes o
     union all select a::text from attempts a
     union all select l::text from audit_log l where $1::uuid is null or account_id = $1 order by 1`,
    [account?.accountId],
  )
  return rows.map(({ row }) => row)
}
