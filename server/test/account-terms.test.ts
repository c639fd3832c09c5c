import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_CENTS } from '../src/base/money.ts'
import { transact } from '../src/db/tx.ts'
import { readAccountTerms, setAccountTerms, type TermsPatch } from '../src/domain/accounts/terms.ts'
import { priceDeposit, TERM_NAMES } from '../src/domain/core/terms.ts'
import { deposit, get } from './requests.ts'
import { ask, CONSOLE, makeOperator } from './operators-client.ts'
import { authenticate, DEFAULT_TERMS, world, type TestAccount, type World } from './world.ts'

const NONE = Object.fromEntries(TERM_NAMES.map((name) => [name, null]))

const set = (w: World, { accountId }: { accountId: string }, patch: TermsPatch, reason = 'contract') =>
  setAccountTerms(w.ctx, CONSOLE, accountId, patch, reason)

async function feeOf(w: World, { key }: TestAccount, value: number): Promise<number | string> {
  const answer = await w.app.inject(deposit(key, JSON.stringify({ value })))
  return answer.statusCode === 201 ? answer.json().charge.fee : answer.json().error
}

test('new terms price deposits within two seconds, in every process, and only those of their account', async () => {
  const w = await world()
  const { ctx: other } = await w.anotherProcess()
  const [ana, bia] = [await w.account(), await w.account()]
  await authenticate(other, ana.key)
  expect([await feeOf(w, ana, 50_00), await feeOf(w, bia, 50_00)]).toEqual([50, 50])
  await set(w, ana, { feeBps: 300, feeFixedCents: 7, valueMaxCents: 60_00 })
  w.clock.advance(1_999)
  expect([await feeOf(w, ana, 50_00), await feeOf(w, bia, 50_00)]).toEqual([157, 50])
  expect(await authenticate(other, ana.key)).toMatchObject({ overrides: { feeBps: 300, feeFixedCents: 7 } })
  expect(await feeOf(w, ana, 60_01)).toBe('value must be at most 6000 (cents)')
  expect(await feeOf(w, bia, 60_01)).toBe(60)
})

test('a charge keeps the terms of its creation: what is credited is what was agreed then', async () => {
  const w = await world()
  const { charge, account } = await w.paidCharge({ valueCents: 100_00 })
  await set(w, account, { feeBps: 5_000, feeBearer: 'payer', valueMaxCents: 10_00 })
  w.clock.advance(2_000)
  const answer = await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  expect(answer.json().charge).toMatchObject({ status: 'COMPLETED', value: 100_00, fee: 1_00 })
  expect(await w.balanceCents(account.accountId)).toBe(99_00)
  expect(await w.differences()).toEqual([])
})

test('a request repeated after the terms changed is answered with the first charge', async () => {
  const w = await world()
  const account = await w.account()
  const again = () => w.app.inject(deposit(account.key, '{"value":5000}', { 'idempotency-key': 'order-1' }))
  const first = (await again()).json()
  await set(w, account, { feeBps: 300 })
  w.clock.advance(1_000)
  const second = await again()
  expect(second.headers['idempotency-replayed']).toBe('true')
  expect(second.json()).toEqual(first)
})

test('the history tells what was agreed from when on, by whom and why, newest first', async () => {
  const w = await world()
  const account = await w.account()
  const { key, email } = await makeOperator(w)
  expect((await readAccountTerms(w.ctx, account.accountId)).history).toEqual([])
  const start = w.clock.now()
  await set(w, account, { feeBps: 80, feeMinCents: 10 }, 'contract of March')
  w.clock.advance(86_400_000)
  const body = { feeBps: null, valueMax: 500_00, reason: 'campaign' }
  const answer = await ask(w, key, 'PATCH', `accounts/${account.accountId}/terms`, body)
  expect(answer.status).toBe(200)

  const { history, overrides, effective } = await readAccountTerms(w.ctx, account.accountId)
  const second = { ...NONE, feeMinCents: 10, valueMaxCents: 500_00 }
  expect(history).toEqual([
    { validFrom: w.clock.now(), overrides: second, setBy: `operator ${email}`, reason: 'campaign' },
    {
      validFrom: start,
      overrides: { ...NONE, feeBps: 80, feeMinCents: 10 },
      setBy: 'console tester',
      reason: 'contract of March',
    },
  ])
  expect([overrides, effective.feeBps, effective.feeMinCents]).toEqual([second, 100, 10])
  expect(answer.body.terms).toEqual((await ask(w, key, 'GET', `accounts/${account.accountId}`)).body.terms)
  expect(answer.body.terms.history[1]).toMatchObject({ own: { feeBps: 80, feeMin: 10, valueMax: null } })
})

test('a clock that steps back does not turn the history round', async () => {
  const w = await world()
  const account = await w.account()
  await set(w, account, { feeBps: 1 })
  const first = w.clock.now()
  w.clock.advance(-60_000)
  await set(w, account, { feeBps: 2 })
  const { history } = await readAccountTerms(w.ctx, account.accountId)
  expect(history.map(({ validFrom, overrides }) => [validFrom, overrides.feeBps])).toEqual([
    [first, 2],
    [first, 1],
  ])
})

test('the history is append only: no row of it is changed or removed', async () => {
  const w = await world()
  await set(w, await w.account(), { feeBps: 1 })
  for (const sql of ['update account_terms set fee_bps = 2', 'delete from account_terms', 'truncate account_terms'])
    await expect(w.pool.query(sql)).rejects.toThrow('account_terms is append only')
})

test('asking for what is so already changes nothing, and the history says nothing of it', async () => {
  const w = await world()
  const account = await w.account()
  await set(w, account, { feeBps: 80, feeMaxCents: null })
  await set(w, account, { feeBps: 80 })
  await set(w, account, { feeBearer: null })
  expect([await w.count('account_terms'), await w.count('audit_log', `action = 'account.terms_changed'`)]).toEqual([
    1, 1,
  ])
})

// The first holds the account's row until the second waits for it, so the second must see what the first changed.
test('of two changes at once, each keeps what the other set', async () => {
  const w = await world()
  const account = await w.account()
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from accounts where id = $1 for no key update', [account.accountId])
    await tx.run(
      `insert into account_terms (account_id, valid_from, fee_bps, set_by_kind, set_by, reason)
       values ($1, $2, 80, 'console', 'ana', 'contract')`,
      [account.accountId, w.clock.now()],
    )
    second = set(w, account, { feeFixedCents: 5 })
    await w.lockWait()
  })
  await second
  expect((await readAccountTerms(w.ctx, account.accountId)).overrides).toEqual({
    ...NONE,
    feeBps: 80,
    feeFixedCents: 5,
  })
})

test('terms that contradict themselves or the deployment’s are refused in words, and nothing is written', async () => {
  const terms = { ...DEFAULT_TERMS, feeMaxCents: 500, valueMinCents: 100, valueMaxCents: 1_000_000 }
  const w = await world({ settings: { terms } })
  const account = await w.account()
  const allOfIt = 'These terms allow no deposit: the fee would take all of it'
  const refused: [TermsPatch, string][] = [
    [{ feeBps: 10_001 }, 'feeBps must be an integer from 0 to 10000, or null'],
    [{ feeBps: -1 }, 'feeBps must be an integer from 0 to 10000, or null'],
    [{ feeBps: 1.5 }, 'feeBps must be an integer from 0 to 10000, or null'],
    [{ feeFixedCents: -1 }, 'feeFixed must be an integer from 0 to 999999999999, or null'],
    [{ valueMinCents: 0 }, 'valueMin must be an integer from 1 to 999999999999, or null'],
    [{ valueMaxCents: MAX_CENTS + 1 }, 'valueMax must be an integer from 1 to 999999999999, or null'],
    [{ feeBearer: JSON.parse('"nobody"') }, 'feeBearer must be account or payer, or null'],
    [{ feeMinCents: 20, feeMaxCents: 10 }, 'The minimum fee (20) must not be above the maximum fee (10)'],
    [{ feeMinCents: 501 }, 'The minimum fee (501) must not be above the maximum fee (500, the deployment’s)'],
    [{ valueMaxCents: 99 }, 'The minimum deposit (100, the deployment’s) must not be above the maximum deposit (99)'],
    [{ valueMinCents: 9, valueMaxCents: 8 }, 'The minimum deposit (9) must not be above the maximum deposit (8)'],
    [{ feeBps: 10_000, feeMaxCents: MAX_CENTS }, allOfIt],
    [{ feeMinCents: 500, valueMaxCents: 500 }, allOfIt],
    [{ feeBearer: 'payer', valueMinCents: MAX_CENTS, valueMaxCents: MAX_CENTS }, allOfIt],
  ]
  for (const [patch, message] of refused) {
    const code = / must be /.test(message) ? 'field_invalid' : 'terms_invalid'
    await expect(set(w, account, patch)).rejects.toMatchObject({ code, message })
  }
  for (const reason of ['', '  ', 'a\nb', 'r'.repeat(501)])
    await expect(set(w, account, { feeBps: 1 }, reason)).rejects.toThrow('reason must be 1 to 500 characters')
  expect([await w.count('account_terms'), await w.count('audit_log', `action = 'account.terms_changed'`)]).toEqual([
    0, 0,
  ])
  // Values exactly at each limit are allowed.
  await set(w, account, { feeMinCents: 500, valueMinCents: 100, valueMaxCents: 501 })
  await set(w, account, { feeBps: 0, feeMinCents: 500, feeMaxCents: 500 })
})

// The rule tries only the lowest and the highest value. This test checks that if both are impossible, so is every value
// between them.
test('if neither the least nor the maximum value can be deposited, none can', () => {
  const amounts = fc.integer({ min: 0, max: 300 })
  const anyTerms = fc.record({
    feeBps: fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.constantFrom(9_900, 10_000)),
    feeFixedCents: amounts,
    feeMinCents: fc.option(amounts),
    feeMaxCents: fc.option(amounts),
    feeBearer: fc.constantFrom('account' as const, 'payer' as const),
    valueMinCents: fc.integer({ min: 1, max: 200 }),
    valueMaxCents: fc.integer({ min: 1, max: 200 }),
    reversalPolicy: fc.constant('charge' as const),
  })
  fc.assert(
    fc.property(anyTerms, fc.boolean(), (drawn, isAtTheTop) => {
      // Half of the runs use bounds just below the largest amount, where the payer's fee meets it.
      const base = isAtTheTop ? MAX_CENTS - 200 : 0
      const terms = {
        ...drawn,
        valueMinCents: base + Math.min(drawn.valueMinCents, drawn.valueMaxCents),
        valueMaxCents: base + Math.max(drawn.valueMinCents, drawn.valueMaxCents),
      }
      const possible = (value: number) => {
        try {
          return priceDeposit(terms, value).feeCents >= 0
        } catch {
          return false
        }
      }
      const length = terms.valueMaxCents - terms.valueMinCents + 1
      const any = Array.from({ length }, (_, index) => terms.valueMinCents + index).some(possible)
      expect([terms.valueMinCents, terms.valueMaxCents].some(possible)).toBe(any)
    }),
    { numRuns: 2_000 },
  )
})

test('by the API a wrong field is named, and a change must say what and why', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { accountId } = await w.account()
  const told = async (body: object) => {
    const answer = await ask(w, key, 'PATCH', `accounts/${accountId}/terms`, body)
    return `${answer.status} ${answer.body.error}`
  }
  const reason = 'why not'
  const nothing = 'Give at least one of feeBps, feeFixed, feeMin, feeMax, feeBearer, valueMin, valueMax, reversalPolicy'
  expect(await told({ feeBps: '80', reason })).toBe('400 feeBps must be an integer from 0 to 10000, or null')
  expect(await told({ valueMin: 0, reason })).toBe('400 valueMin must be an integer from 1 to 999999999999, or null')
  expect(await told({ feeBearer: 'me', reason })).toBe('400 feeBearer must be account or payer, or null')
  expect(await told({ reason })).toBe(`400 ${nothing}`)
  expect(await told({ feeBps: 80 })).toBe(
    '400 reason must be 1 to 500 characters, without control or invisible characters',
  )
  expect(await told({ feeMin: 2, feeMax: 1, reason })).toBe(
    '400 The minimum fee (2) must not be above the maximum fee (1)',
  )
  expect(await w.count('account_terms')).toBe(0)
})
