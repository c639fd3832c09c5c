import { expect, test } from 'vitest'
import { markExpired } from '../src/domain/deposits/charge-states.ts'
import { cancelDeposit } from '../src/domain/deposits/query-deposit.ts'
import { makeCompletedAnswers } from '../src/http/api/completed-answers.ts'
import { get } from './requests.ts'
import { spyOnQueries } from './statements.ts'
import { world, type TestAccount, type World } from './world.ts'

const url = (paymentLinkId: string) => `/api/deposit/${paymentLinkId}`

async function completed(w: World) {
  const { charge, payment, account } = await w.paidCharge()
  await w.ctx.settlements.add([payment])
  return { url: url(charge.paymentLinkId), account }
}

async function statusOf(w: World, account: TestAccount, paymentLinkId: string): Promise<string> {
  return (await w.app.inject(get(account.key, url(paymentLinkId)))).json().charge.status
}

test('a completed charge is read once, and then answered alike without the database', async () => {
  const w = await world()
  const charge = await completed(w)
  const first = await w.app.inject(get(charge.account.key, charge.url))
  const asked = await spyOnQueries(w.pool)
  const second = await w.app.inject(get(charge.account.key, charge.url))
  expect(asked).not.toHaveBeenCalled()

  expect(first.json().charge.status).toBe('COMPLETED')
  expect(second.body).toBe(first.body)
  const { 'x-request-id': _, date: __, ...headers } = first.headers
  expect(second.headers).toMatchObject(headers)
  expect(Object.keys(second.headers).toSorted()).toEqual(Object.keys(first.headers).toSorted())
})

test('a completed charge of another account is not answered from the cache', async () => {
  const w = await world()
  const charge = await completed(w)
  expect((await w.app.inject(get(charge.account.key, charge.url))).statusCode).toBe(200)
  const other = await w.account()
  const answer = await w.app.inject(get(other.key, charge.url))
  expect(answer.statusCode).toBe(404)
  expect(answer.json()).toEqual({ success: false, error: 'Charge not found' })
})

test('a key that lost its right to read gets nothing from the cache', async () => {
  const w = await world()
  const charge = await completed(w)
  expect((await w.app.inject(get(charge.account.key, charge.url))).statusCode).toBe(200)
  await w.pool.query('update api_keys set revoked_at = $1', [w.clock.now()])
  w.clock.advance(1_000)
  expect((await w.app.inject(get(charge.account.key, charge.url))).statusCode).toBe(401)
})

test('an expired or canceled charge that was asked for and is then paid is answered as completed', async () => {
  const w = await world()
  const [expired, canceled] = [await w.paidCharge(), await w.paidCharge()]
  await markExpired(w.ctx, expired.charge.id)
  const withdrawn = await w.deposit(canceled.account)
  await cancelDeposit(w.ctx, canceled.account.accountId, withdrawn.paymentLinkId)
  const late = { ...canceled.payment, txid: withdrawn.id }

  for (const round of [1, 2]) {
    expect([round, await statusOf(w, expired.account, expired.charge.paymentLinkId)]).toEqual([round, 'EXPIRED'])
    expect([round, await statusOf(w, canceled.account, withdrawn.paymentLinkId)]).toEqual([round, 'CANCELED'])
  }
  await w.ctx.settlements.add([expired.payment, late])
  expect(await statusOf(w, expired.account, expired.charge.paymentLinkId)).toBe('COMPLETED')
  expect(await statusOf(w, canceled.account, withdrawn.paymentLinkId)).toBe('COMPLETED')
})

test('the cache is bounded by entries and by length, and drops the oldest first', () => {
  const byEntries = makeCompletedAnswers({ maxEntries: 2, maxCharacters: 100 })
  for (const id of ['a', 'b', 'a', 'c']) byEntries.keep('account', id, `of ${id}`)
  expect(['a', 'b', 'c'].map((id) => byEntries.find('account', id))).toEqual(['of a', undefined, 'of c'])

  const byLength = makeCompletedAnswers({ maxEntries: 100, maxCharacters: 10 })
  for (const id of ['a', 'b', 'c']) byLength.keep('account', id, '12345')
  expect(['a', 'b', 'c'].map((id) => byLength.find('account', id))).toEqual([undefined, '12345', '12345'])
  byLength.keep('account', 'd', 'longer than all of it')
  expect(['a', 'b', 'c', 'd'].map((id) => byLength.find('account', id))).toEqual(Array(4).fill(undefined))
})
