import { expect, test } from 'vitest'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { world } from './world.ts'

test('a deposit that surely came to nothing leaves no question for the provider, but keeps one that a notification asks', async () => {
  const w = await world()
  const account = await w.account()
  const bank = w.ctx.providers[0]!
  w.ctx.hintFollower.room = () => 100
  const notify = (txid: string) => w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid, endToEndId: null }] })
  w.ctx.providers[0] = { ...bank, create: () => fail('refused') }
  await expect(w.deposit(account, { externalId: 'order-1' })).rejects.toMatchObject({ code: 'provider_refused' })
  expect([await w.count('checks'), await w.count('external_ids')]).toEqual([0, 0])
  w.ctx.providers[0] = { ...bank, create: async ({ txid }) => (await notify(txid), fail('refused')) }
  await expect(w.deposit(account)).rejects.toMatchObject({ code: 'provider_refused' })
  expect([await w.count('checks'), await w.count('charges', `status = 'FAILED'`)]).toEqual([1, 2])
  expect(await w.differences()).toEqual([])
})

function fail(outcome: ProviderError['outcome']): Promise<never> {
  return Promise.reject(new ProviderError(outcome, `sandbox: create: ${outcome}`))
}
