import { expect, onTestFinished, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { openDeposit, type DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { makeReason } from '../src/domain/ports/delivery-reasons.ts'
import { ProviderError, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import type { WebhookAnswer } from '../src/domain/ports/webhook-sender.ts'
import { claimDeliveries } from '../src/domain/webhooks/delivery-queue.ts'
import { insertEvents } from '../src/domain/webhooks/events.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { checkDue, startCheckWorker } from '../src/workers/check.ts'
import { recordStatements } from './statements.ts'
import { world, type World } from './world.ts'

// The round trips to the database decide how fast a path is. One more is a decision: change the number here.

type Path = {
  what: string
  /** `begin` and `commit` included. */
  statements: number
  /** A worker runs, which looks into its queue twice a second. Those looks do not count. */
  isPolled?: true
  /** Prepares, and returns the work that is measured. */
  prepare: (w: World) => Promise<() => Promise<unknown>>
}

const REQUEST: DepositRequest = { valueCents: 50_00, expiresInSeconds: null }
const EVERYTHING = { default: 100, named: new Map(), total: 1_000 }
const ORDERS = Array.from({ length: 20 }, (_, index) => `order-${index}`)

const PATHS: Path[] = [
  {
    what: 'a deposit: the intent, and its acceptance',
    statements: 2,
    prepare: async (w) => {
      const { caller } = await w.account()
      return () => openDeposit(w.ctx, caller, { ...REQUEST, externalId: 'order-1' }, 'key-1')
    },
  },
  {
    what: 'a deposit of an account whose pages are open',
    statements: 2,
    prepare: async (w) => {
      const { caller, accountId } = await w.account()
      onTestFinished(w.ctx.accountWatch.watch(accountId, () => {}))
      return () => openDeposit(w.ctx, caller, REQUEST, null)
    },
  },
  {
    what: 'twenty deposits at once',
    statements: 2,
    prepare: (w) => openTwenty(w, w.ctx.providers[0]!.create),
  },
  ...(['refused', 'unreachable', 'unknown'] as const).map((outcome) => ({
    what: `twenty deposits at once that come to nothing: ${outcome}`,
    statements: 2,
    prepare: (w: World) => openTwenty(w, () => Promise.reject(new ProviderError(outcome, 'no'))),
  })),
  {
    what: 'a deposit without a key while no provider can be called',
    statements: 0,
    prepare: (w) => openWithoutProvider(w, [null]),
  },
  {
    what: 'twenty deposits with keys while no provider can be called',
    statements: 1,
    prepare: (w) => openWithoutProvider(w, ORDERS),
  },
  {
    what: 'a query of an unpaid charge',
    statements: 1,
    prepare: async (w) => {
      const account = await w.account()
      const { paymentLinkId } = await w.deposit(account)
      return () => queryDeposit(w.ctx, account.accountId, paymentLinkId)
    },
  },
  {
    what: 'twenty notifications at once: a statement that stores them, a read, and the settlement with the end of checks',
    statements: 8,
    isPolled: true,
    prepare: (w) => notify(w, 20),
  },
  {
    what: 'a notification: a statement that stores it, and the settlement with the end of its check',
    statements: 7,
    isPolled: true,
    prepare: (w) => notify(w, 1),
  },
  {
    what: 'a notification of a payment in the books',
    statements: 1,
    isPolled: true,
    prepare: async (w) => {
      const { payment } = await w.paidCharge()
      await w.ctx.settlements.add([payment])
      return () => withWorker(w, () => w.ctx.hints.add({ provider: 'sandbox', hints: [payment] }))
    },
  },
  {
    what: 'checks that find nothing: the claim, and the next due times',
    statements: 2,
    prepare: async (w) => {
      const account = await w.account()
      const charges = await Promise.all(Array.from({ length: 8 }, () => w.deposit(account)))
      await w.ctx.hints.add({ provider: 'sandbox', hints: charges.map(({ id }) => ({ txid: id, endToEndId: null })) })
      const bank = w.ctx.providers[0]!
      w.ctx.providers[0] = { ...bank, check: gather(bank.check, charges.length) }
      return () => checkDue(w.ctx)
    },
  },
  {
    what: 'a batch of payments: locks, what is recorded, the booking',
    statements: 5,
    prepare: async (w) => {
      // The first payment makes the ledger account of its provider.
      await settleIn(w, [await w.paidCharge()])
      const paid = [await w.paidCharge(), await w.paidCharge({ valueCents: 7_00 })]
      return () => settleIn(w, paid)
    },
  },
  {
    what: 'a batch of payments that are known already',
    statements: 4,
    prepare: async (w) => {
      const paid = [await w.paidCharge()]
      await settleIn(w, paid)
      return () => settleIn(w, paid)
    },
  },
  {
    what: 'a claim of deliveries: the claim with its events, and the webhooks',
    statements: 2,
    prepare: async (w) => {
      await queueDeliveries(w)
      return () => claimDeliveries(w.ctx, EVERYTHING)
    },
  },
  {
    what: 'the record of deliveries',
    statements: 1,
    prepare: (w) =>
      recordOf(w, { kind: 'answered', status: 200, latencyMs: 1, retryAfterMs: null, excerpt: '' } as const),
  },
  {
    what: 'the record of failed attempts',
    statements: 3,
    prepare: (w) => recordOf(w, { kind: 'failed', latencyMs: 1, reason: makeReason('no_answer', 'x') } as const),
  },
]

for (const { what, statements, isPolled, prepare } of PATHS)
  test(`${what}: ${statements} statements`, async () => {
    // The limit is set as in production, because it must not cost a round trip.
    const w = await world({ settings: { pendingMaxPerAccount: 10_000 }, isDirect: true })
    const work = await prepare(w)
    const sent = (await recordStatements(w.pool, work)).map(({ text }) => text)
    expect(sent.filter((text) => !(isPolled && text.includes('skip locked')))).toHaveLength(statements)
  })

type Create = World['ctx']['providers'][number]['create']

/** Opens twenty deposits. The bank answers all of them before the first is stored, so that there is one batch. */
async function openTwenty(w: World, create: Create) {
  const { caller } = await w.account()
  const answered = gather((asked: Parameters<Create>[0]) => create(asked).catch((error: unknown) => error), 20)
  w.ctx.providers[0] = {
    ...w.ctx.providers[0]!,
    async create(asked) {
      const answer = await answered(asked)
      if (answer instanceof Error) throw answer
      return answer as Awaited<ReturnType<Create>>
    },
  }
  const open = (order: string) => openDeposit(w.ctx, caller, { ...REQUEST, externalId: order }, order).catch(() => {})
  return () => Promise.all(ORDERS.map(open))
}

async function openWithoutProvider(w: World, keys: (string | null)[]) {
  const { caller } = await w.account()
  w.ctx.providers = w.ctx.providers.map((provider) => ({ ...provider, isCallable: () => false }))
  return () => Promise.all(keys.map((key) => openDeposit(w.ctx, caller, REQUEST, key).catch(() => {})))
}

async function notify(w: World, count: number) {
  // The first payment makes the ledger account of its provider.
  await settleIn(w, [await w.paidCharge()])
  const account = await w.account()
  const paid = await Promise.all(Array.from({ length: count }, () => w.paidCharge({ account })))
  const settled = new Promise<void>((resolve) => w.ctx.deliverWorker.attach({ wake: resolve }))
  return () =>
    withWorker(w, async () => {
      await Promise.all(
        paid.map(({ charge, payment }) => {
          const endToEndId = count > 1 ? payment.endToEndId : null
          return w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId }] })
        }),
      )
      await settled
    })
}

async function withWorker(w: World, work: () => Promise<void>): Promise<void> {
  const worker = startCheckWorker(w.ctx)
  await work()
  await worker.stop()
}

function settleIn(w: World, paid: { payment: ReceivedPayment }[]) {
  const payments = paid.map(({ payment }) => payment)
  return transact(w.pool, (tx) => settle(tx, w.clock.now(), payments))
}

async function recordOf(w: World, answer: WebhookAnswer) {
  await queueDeliveries(w)
  const claimed = await claimDeliveries(w.ctx, EVERYTHING)
  return () => Promise.all(claimed.map((delivery) => w.ctx.attempts.add({ delivery, at: w.clock.now(), answer })))
}

/** Queues twenty events for two webhooks of an account. */
async function queueDeliveries(w: World): Promise<void> {
  const { accountId } = await w.account()
  for (const path of ['one', 'two']) {
    const fields = { name: 'shop', eventKinds: ['DEPOSIT_ASSET_SUCCESS' as const], authorization: null }
    await createWebhook(w.ctx, accountId, { ...fields, url: `http://127.0.0.1:8999/${path}` })
  }
  const createdAt = w.clock.now()
  const events = ORDERS.map(() => {
    return { kind: 'DEPOSIT_ASSET_SUCCESS' as const, accountId, subjectId: newUuid7(createdAt), createdAt, data: {} }
  })
  await transact(w.pool, (tx) => insertEvents(tx, createdAt, events))
}

/** Holds all answers back until this many have come. */
function gather<Asked extends unknown[], Answer>(ask: (...asked: Asked) => Promise<Answer>, count: number) {
  let release = () => {}
  const all = new Promise<void>((resolve) => (release = resolve))
  let arrived = 0
  return async (...asked: Asked) => {
    const answer = await ask(...asked)
    if (++arrived === count) release()
    await all
    return answer
  }
}
