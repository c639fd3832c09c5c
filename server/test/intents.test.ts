import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { joinPresence } from '../src/db/presence.ts'
import { transact } from '../src/db/tx.ts'
import { openDeposit, type DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { insertIntents, type Intent } from '../src/domain/deposits/intents.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { checkDue } from '../src/workers/check.ts'
import { changeProvider } from './refund-steps.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const request: DepositRequest = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }

// ---- Idempotency keys ----

test('a repeated request is answered with its charge although prices and limits have changed since', async () => {
  const w = await world()
  const { caller } = await w.account()
  const first = await openDeposit(w.ctx, caller, request, 'order-1')
  w.ctx.settings = { ...w.ctx.settings, terms: { ...w.ctx.settings.terms, valueMaxCents: 10_00 } }
  expect(await openDeposit(w.ctx, caller, request, 'order-1')).toMatchObject({
    replayed: true,
    charge: { id: first.charge.id },
  })
  const another = { ...request, valueCents: 60_00 }
  await expect(openDeposit(w.ctx, caller, another, 'order-1')).rejects.toMatchObject({ code: 'idempotency_mismatch' })
  await expect(openDeposit(w.ctx, caller, request, 'order-2')).rejects.toThrow('value must be at most 1000 (cents)')
  await expect(openDeposit(w.ctx, caller, request, null)).rejects.toThrow('value must be at most 1000 (cents)')
  w.clock.advance(24 * 3_600_000)
  await expect(openDeposit(w.ctx, caller, request, 'order-1')).rejects.toThrow('value must be at most 1000 (cents)')
  expect(await w.count('charges')).toBe(1)
})

test('a repeated request whose first attempt came to nothing is a new one, and is held to the limits of today', async () => {
  const w = await world()
  const { caller } = await w.account()
  changeProvider(w, { create: () => Promise.reject(new ProviderError('refused', 'sandbox: create: no')) })
  await expect(openDeposit(w.ctx, caller, request, 'order-1')).rejects.toMatchObject({ code: 'provider_refused' })
  w.ctx.settings = { ...w.ctx.settings, terms: { ...w.ctx.settings.terms, valueMaxCents: 10_00 } }
  await expect(openDeposit(w.ctx, caller, request, 'order-1')).rejects.toThrow('value must be at most 1000 (cents)')
})

test('an idempotency key is refused with a request that differs in any field, also in one that is new', async () => {
  const w = await world()
  const { caller } = await w.account()
  await openDeposit(w.ctx, caller, request, 'order-1')
  const different = [
    { valueCents: 50_01 },
    { externalId: 'x' },
    { description: 'x' },
    { expiresInSeconds: 600 },
    { aFieldOfTomorrow: 'x' },
  ]
  for (const changes of different) {
    await expect(openDeposit(w.ctx, caller, { ...request, ...changes }, 'order-1')).rejects.toMatchObject({
      code: 'idempotency_mismatch',
    })
  }
  const { valueCents, ...rest } = request
  expect((await openDeposit(w.ctx, caller, { ...rest, valueCents }, 'order-1')).replayed).toBe(true)
})

test('in one batch, a request whose key was given back by another one is opened', async () => {
  const w = await world()
  const account = await w.account()
  const { paymentLinkId } = await w.deposit(account, { externalId: 'taken' })
  const refused = opening(w, account, { externalId: 'taken', hash: 'a' })
  const again = opening(w, account, { externalId: 'taken', hash: 'a' })
  const other = opening(w, account, { externalId: null, hash: 'b' })
  const repeated = opening(w, account, { externalId: null, hash: 'b' })
  const batch = [refused, again, other, repeated]
  const results = await transact(w.pool, (tx) => insertIntents(tx, w.clock.now(), batch))
  expect(results).toMatchObject([
    { kind: 'external_id_taken', holder: { status: 'PENDING', paymentLinkId } },
    { kind: 'external_id_taken', holder: { status: 'PENDING', paymentLinkId } },
    { kind: 'opened' },
    { kind: 'key_used', charge: { id: other.charge.id } },
  ])
  expect(await w.count('charges')).toBe(2)
})

// The first process has stored its intent and not committed. The second waits for it, so the race happens on every run.
test.each([
  { beside: 'no other', neighbours: [] },
  { beside: 'two others', neighbours: ['order-3', 'order-4'] },
])(
  'of two processes that take an external id at once one gets it; the other keeps no key, with $beside in its batch',
  async ({ neighbours }) => {
    const w = await world()
    const account = await w.account()
    const open = (externalId: string | null, key: string) =>
      openDeposit(w.ctx, account.caller, { ...request, externalId }, key)
    let late: Promise<PromiseSettledResult<unknown>[]> | undefined
    await transact(w.pool, async (tx) => {
      await insertIntents(tx, w.clock.now(), [opening(w, account, { externalId: 'one', hash: 'a' })])
      late = Promise.allSettled([open('one', 'order-2'), ...neighbours.map((key) => open(null, key))])
      await w.lockWait()
    })
    const [refused, ...opened] = (await late)!
    expect(refused).toMatchObject({ reason: { code: 'in_flight', retryAfterSeconds: 1 } })
    expect(opened).toMatchObject(neighbours.map(() => ({ value: { charge: { status: 'PENDING' } } })))
    expect(await w.count('idempotency_keys', `key = 'order-2'`)).toBe(0)
    expect((await open(null, 'order-2')).replayed).toBe(false)
  },
)

test.each([
  [
    'commits',
    'refused, as the request is another one',
    { status: 'rejected', reason: { code: 'idempotency_mismatch' } },
  ],
  ['rolls back', 'opened', { status: 'fulfilled', value: { replayed: false, charge: { status: 'PENDING' } } }],
] as const)('of two processes that use a key at once, if the first %s, the second is %s', async (end, _, outcome) => {
  const w = await world()
  const account = await w.account()
  let late: Promise<unknown> | undefined
  const first = transact(w.pool, async (tx) => {
    await insertIntents(tx, w.clock.now(), [opening(w, account, { externalId: null, hash: 'a' })])
    late = Promise.allSettled([openDeposit(w.ctx, account.caller, request, 'order-1')])
    await w.lockWait()
    if (end === 'rolls back') throw new Error('rolled back')
  })
  await first.catch(() => {})
  expect(await late).toMatchObject([outcome])
  expect(await w.count('idempotency_keys')).toBe(1)
})

function opening(
  w: World,
  { accountId }: TestAccount,
  { externalId, hash }: { externalId: string | null; hash: string },
): Intent {
  const createdAt = w.clock.now()
  const charge = {
    id: newUuid7(createdAt).replaceAll('-', ''),
    paymentLinkId: randomUUID(),
    accountId,
    provider: 'sandbox',
    originalValueCents: 50_00,
    valueCents: 50_00,
    feeCents: 50,
    externalId,
    description: null,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + 3_600_000),
    openingInstance: w.ctx.instance,
  }
  return { charge, idempotency: { key: 'order-1', requestHash: Buffer.from(hash) } }
}

// ---- Whose intent it is ----

/**
 * This process is alive, but its lease has ended: no renewal gets through while its bank makes a charge. Another
 * process takes the intent over, and pauses before its bank withdraws the charge.
 */
async function takenOver(w: World) {
  const other = await w.anotherProcess()
  const withdrawn = gate()
  const theirs = other.ctx.providers[0]!
  other.ctx.providers[0] = { ...theirs, cancel: async (txid) => (await withdrawn.passed, theirs.cancel(txid)) }
  const { mine, made, opened } = await openWithoutLease(w, await w.account())
  w.clock.advance(61_000)
  const cleared = checkDue(other.ctx)
  await until('the other process clears up', async () => withdrawn.isReached())
  return { mine, made, withdrawn, opened, cleared }
}

/** Opens a deposit in a process whose lease has ended. The bank answers when `made` is opened. */
async function openWithoutLease(w: World, { caller }: TestAccount) {
  const made = gate()
  const mine = w.ctx.providers[0]!
  changeProvider(w, { create: async (asked) => (await made.passed, mine.create(asked)) })
  const lapsed = await joinPresence(w.databaseUrl, { leaseMs: 0, renewEveryMs: 3_600_000 })
  onTestFinished(lapsed.leave)
  w.ctx.instance = lapsed.instance
  const opened = openDeposit(w.ctx, caller, request, 'order-1')
  opened.catch(() => {})
  await until('the bank is asked', async () => made.isReached())
  return { mine, made, opened }
}

function gate() {
  let isReached = false
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return {
    open: () => open(),
    isReached: () => isReached,
    get passed() {
      isReached = true
      return opened
    },
  }
}

test('a process that was taken for dead answers no code for a charge that another one withdraws', async () => {
  const w = await world()
  const { made, withdrawn, opened, cleared } = await takenOver(w)
  made.open()
  await expect(opened).rejects.toMatchObject({ code: 'provider_unavailable' })
  expect(await w.count('charges', `status = 'OPENING' and opening_instance <> ${w.ctx.instance}`)).toBe(1)
  withdrawn.open()
  await cleared
  expect(await w.count('charges', `status = 'FAILED'`)).toBe(1)
})

test('a process that was taken for dead, and whose bank refuses, does not end an opening that is another’s', async () => {
  const w = await world()
  const { mine, made, withdrawn, opened, cleared } = await takenOver(w)
  mine.create = () => Promise.reject(new ProviderError('refused', 'sandbox: create: no'))
  made.open()
  await expect(opened).rejects.toMatchObject({ code: 'provider_refused' })
  expect(await w.count('charges', `status = 'OPENING' and opening_instance <> ${w.ctx.instance}`)).toBe(1)
  withdrawn.open()
  await cleared
})

test('a process that was taken for dead and the one that continues its request answer with one charge', async () => {
  const w = await world()
  const account = await w.account()
  const other = await w.anotherProcess()
  const { made, opened } = await openWithoutLease(w, account)
  const again = await openDeposit(other.ctx, account.caller, request, 'order-1')
  made.open()
  expect((await opened).charge).toMatchObject({ id: again.charge.id, emv: again.charge.emv, status: 'PENDING' })
  expect([await w.count('charges'), (await w.sandbox.stats()).calls['PUT /cob/:txid']]).toEqual([1, 2])
})
