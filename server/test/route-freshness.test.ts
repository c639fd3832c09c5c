import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { createKey } from '../src/domain/accounts/api-keys.ts'
import { SCOPES } from '../src/domain/accounts/callers.ts'
import { transact } from '../src/db/tx.ts'
import { requireSession } from '../src/http/auth/session.ts'
import { apiRoutesOf, makeOperator } from './operators-client.ts'
import { appWith, bearer } from './requests.ts'
import { world } from './world.ts'

// What an open browser may do without the password, and what it may not. Both lists are complete: a new route fails the
// test until it is in one.

const STALE_IS_ENOUGH = [
  'DELETE /dashboard/api/codes/:externalId',
  'POST /dashboard/api/auth/change-password',
  'POST /dashboard/api/auth/invitation',
  'POST /dashboard/api/auth/membership/invitation',
  'POST /dashboard/api/auth/membership/join',
  'POST /dashboard/api/auth/membership/sign-up',
  'POST /dashboard/api/auth/membership/switch',
  'POST /dashboard/api/auth/passkey/begin',
  'POST /dashboard/api/auth/passkeys',
  'POST /dashboard/api/auth/request-password-reset',
  'POST /dashboard/api/auth/reset-password',
  'POST /dashboard/api/auth/send-verification-email',
  'POST /dashboard/api/auth/sign-in/email',
  'POST /dashboard/api/auth/sign-in/passkey',
  'POST /dashboard/api/auth/sign-out',
  'POST /dashboard/api/auth/sign-up/email',
  'POST /dashboard/api/auth/two-factor/enable',
  'POST /dashboard/api/auth/two-factor/generate-backup-codes',
  'POST /dashboard/api/auth/two-factor/verify-backup-code',
  'POST /dashboard/api/auth/two-factor/verify-totp',
  'POST /dashboard/api/deposit',
  'POST /dashboard/api/deposit/:paymentLinkId/cancel',
  'POST /dashboard/api/events/:eventId/resend',
  'POST /dashboard/api/events/resend',
  'POST /dashboard/api/notices/seen',
  'POST /dashboard/api/operator/exceptions/:exceptionId/notes',
  'POST /dashboard/api/operator/notices/seen',
  'POST /dashboard/api/reauthenticate',
  'POST /dashboard/api/webhooks/:webhookId/retry',
  'POST /dashboard/api/webhooks/:webhookId/test',
  'PUT /dashboard/api/account/time-zone',
  'PUT /dashboard/api/codes/:externalId',
  'PUT /dashboard/api/orders/:externalId/deposit',
]
const WANTS_PASSWORD = [
  'DELETE /dashboard/api/keys/:keyId',
  'DELETE /dashboard/api/members/:userId',
  'DELETE /dashboard/api/members/invitations/:id',
  'DELETE /dashboard/api/operator/invitations/:id',
  'DELETE /dashboard/api/shop/logo',
  'DELETE /dashboard/api/webhooks/:webhookId',
  'PATCH /dashboard/api/members/:userId',
  'PATCH /dashboard/api/operator/accounts/:accountId/terms',
  'PATCH /dashboard/api/webhooks/:webhookId',
  'POST /dashboard/api/auth/membership/leave',
  'POST /dashboard/api/auth/passkeys/begin',
  'POST /dashboard/api/auth/passkeys/remove',
  'POST /dashboard/api/auth/revoke-other-sessions',
  'POST /dashboard/api/auth/revoke-session',
  'POST /dashboard/api/auth/two-factor/disable',
  'POST /dashboard/api/deposit/:paymentLinkId/refund',
  'POST /dashboard/api/disputes/:disputeId/evidence',
  'POST /dashboard/api/keys',
  'POST /dashboard/api/members/invitations',
  'POST /dashboard/api/members/invitations/:id/resend',
  'POST /dashboard/api/operator/accounts',
  'POST /dashboard/api/operator/accounts/:accountId/resume',
  'POST /dashboard/api/operator/accounts/:accountId/sign-out',
  'POST /dashboard/api/operator/accounts/:accountId/suspend',
  'POST /dashboard/api/operator/deposits/:paymentLinkId/refund',
  'POST /dashboard/api/operator/disputes/:disputeId/evidence',
  'POST /dashboard/api/operator/exceptions/:exceptionId/resolve',
  'POST /dashboard/api/operator/exceptions/resolve',
  'POST /dashboard/api/operator/invitations',
  'POST /dashboard/api/operator/payouts',
  'POST /dashboard/api/operator/payouts/:payoutId/pay',
  'POST /dashboard/api/operator/payouts/:payoutId/reject',
  'POST /dashboard/api/operator/reconcile',
  'POST /dashboard/api/operator/refunds/:refundId/end',
  'POST /dashboard/api/payouts',
  'POST /dashboard/api/webhooks',
  'POST /dashboard/api/webhooks/:webhookId/rotate-secret',
  'PUT /dashboard/api/members/second-factor',
  'PUT /dashboard/api/notices/choices',
  'PUT /dashboard/api/operator/notices/choices',
  'PUT /dashboard/api/shop',
  'PUT /dashboard/api/shop/logo',
]

test('every route of the dashboard that changes something wants a recent password, or is known not to', async () => {
  const w = await world({ settings: { refunds: { byAccounts: true, returnFee: false } } })
  const account = await w.session(await w.account())
  const operator = await w.session(await makeOperator(w))
  w.clock.advance(15 * 60_000)
  const [stale, wanting]: [string[], string[]] = [[], []]
  for (const { method, url } of apiRoutesOf(await appWith(w.ctx), '/dashboard/api')) {
    if (method === 'GET') continue
    const who = url.startsWith('/dashboard/api/operator') ? operator : account
    const filled = url.replaceAll(/:\w+/g, '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57')
    // Signing out is left out: it would end the session that the next routes need.
    const answer = url === '/dashboard/api/auth/sign-out' ? undefined : await who.ask(method, filled)
    const isWanted = answer?.json().code === 'reauthentication_required'
    ;(isWanted ? wanting : stale).push(`${method} ${url}`)
  }
  expect(wanting.toSorted()).toEqual(WANTS_PASSWORD)
  expect(stale.toSorted()).toEqual(STALE_IS_ENOUGH)
})

test('a refund from the dashboard wants a recent password, and by key it does not', async () => {
  const w = await world({ settings: { refunds: { byAccounts: true, returnFee: false } } })
  const account = await w.account()
  const { charge } = await w.paidCharge({ account })
  const session = await w.session(account)
  await session.ask('GET', `/dashboard/api/deposit/${charge.paymentLinkId}`)
  w.clock.advance(15 * 60_000)
  const refund = `/deposit/${charge.paymentLinkId}/refund`
  const refused = await session.ask('POST', `/dashboard/api${refund}`, { value: 100 })
  expect([refused.statusCode, refused.json().code]).toEqual([403, 'reauthentication_required'])
  expect(await w.count('refunds')).toBe(0)
  const { text } = await transact(w.pool, (tx) =>
    createKey(tx, w.clock.now(), 'test', {
      accountId: account.accountId,
      name: 'all',
      scopes: [...SCOPES],
      expiresAt: null,
    }),
  )
  const byKey = { method: 'POST', url: `/api${refund}`, headers: bearer(text), payload: { value: 100 } } as const
  expect((await w.app.inject(byKey)).statusCode).toBe(201)
})

test('the server does not start with a route of the dashboard that leaves it open whether it wants a recent password', async () => {
  const { ctx } = await world()
  const app = Fastify()
  requireSession(app, ctx, async () => undefined)
  const handler = async () => ({})
  const config = { scope: 'balance:read' } as const
  expect(() => app.post('/dashboard/api/x', { config }, handler)).toThrow('must say fresh: true or fresh: false')
  expect(() => app.post('/dashboard/api/y', { config: { ...config, fresh: false } }, handler)).not.toThrow()
  expect(() => app.get('/dashboard/api/z', { config }, handler)).not.toThrow()
})
