import { describe, expect, test } from 'vitest'
import { openDeposit, type DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { countStatements } from './statements.ts'
import { world } from './world.ts'

// The round trips to the database decide how fast a path is. A test here fails when one is added.

describe('creating a deposit', () => {
  // As in production: the limit must not cost a question.
  const settings = { pendingMaxPerAccount: 10_000 }
  const request: DepositRequest = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }

  test('takes one statement for the intent and one for the acceptance', async () => {
    const w = await world({ settings, isDirect: true })
    const { caller } = await w.account()
    const open = (externalId: string) => openDeposit(w.ctx, caller, { ...request, externalId }, `key of ${externalId}`)
    expect(await countStatements(w.pool, () => open('order-1'))).toBe(2)
  })

  test('takes as many statements for twenty at once as for one', async () => {
    const w = await world({ settings, isDirect: true })
    const { caller } = await w.account()
    const orders = Array.from({ length: 20 }, (_, index) => `order-${index}`)
    // The bank answers all of them before the first is accepted, so that there is one batch of acceptances.
    const answers = gather(w.ctx.providers[0]!.create, orders.length)
    w.ctx.providers[0] = { ...w.ctx.providers[0]!, create: answers }
    const open = (order: string) => openDeposit(w.ctx, caller, { ...request, externalId: order }, order)
    expect(await countStatements(w.pool, () => Promise.all(orders.map(open)))).toBe(2)
    expect(await w.count('charges', `status = 'PENDING'`)).toBe(20)
  })

  test('takes seven statements where the idempotency key is used, which is rare', async () => {
    const w = await world({ settings, isDirect: true })
    const { caller } = await w.account()
    await openDeposit(w.ctx, caller, request, 'order-1')
    expect(await countStatements(w.pool, () => openDeposit(w.ctx, caller, request, 'order-1'))).toBe(7)
  })
})

describe('a deposit that comes to nothing', () => {
  const request: DepositRequest = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }
  const orders = Array.from({ length: 20 }, (_, index) => `order-${index}`)

  test('takes no statement without a key while no provider can be called, and with keys one for all', async () => {
    const w = await world({ isDirect: true })
    const { caller } = await w.account()
    w.ctx.providers = w.ctx.providers.map((provider) => ({ ...provider, isCallable: () => false }))
    const open = (key: string | null) => openDeposit(w.ctx, caller, request, key).catch(() => {})
    expect(await countStatements(w.pool, () => open(null))).toBe(0)
    expect(await countStatements(w.pool, () => open('order-1'))).toBe(1)
    expect(await countStatements(w.pool, () => Promise.all(orders.map(open)))).toBe(1)
  })

  test.each(['refused', 'unreachable', 'unknown'] as const)(
    'takes one statement for the intents and one for their ends when twenty at once are %s',
    async (outcome) => {
      const w = await world({ isDirect: true })
      const { caller } = await w.account()
      const answers = gather(() => Promise.resolve(new ProviderError(outcome, 'no')), orders.length)
      w.ctx.providers[0] = { ...w.ctx.providers[0]!, create: async (asked) => Promise.reject(await answers(asked)) }
      const open = (order: string) =>
        openDeposit(w.ctx, caller, { ...request, externalId: order }, order).catch(() => {})
      expect(await countStatements(w.pool, () => Promise.all(orders.map(open)))).toBe(2)
      const isEnded = outcome === 'unknown' ? `status = 'OPENING'` : `status = 'FAILED' and closed_at is not null`
      expect(await w.count('charges', `${isEnded} and opening_instance is null`)).toBe(20)
      expect(await w.differences()).toEqual([])
    },
  )

  test('takes six statements when it is repeated, however many keys the account has', async () => {
    const w = await world({ isDirect: true })
    const { caller } = await w.account()
    const bank = w.ctx.providers[0]!
    w.ctx.providers[0] = { ...bank, create: () => Promise.reject(new ProviderError('unreachable', 'no')) }
    const open = () => openDeposit(w.ctx, caller, request, 'order-1')
    await expect(open()).rejects.toMatchObject({ code: 'provider_unavailable' })
    w.ctx.providers[0] = bank
    expect(await countStatements(w.pool, open)).toBe(6)
    expect(await w.count('idempotency_keys')).toBe(1)
  })
})

/** Holds all answers back until this many have come. */
function gather<Asked, Answer>(ask: (asked: Asked) => Promise<Answer>, count: number) {
  let release = () => {}
  const all = new Promise<void>((resolve) => (release = resolve))
  let arrived = 0
  return async (asked: Asked) => {
    const answer = await ask(asked)
    if (++arrived === count) release()
    await all
    return answer
  }
}
