import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import type { Context } from '../src/domain/context.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import type { Refund } from '../src/domain/refunds/refund-states.ts'
import { claimRefunds, runRefund, REFUND_ABSENT_MS } from '../src/domain/refunds/run-refund.ts'
import { listRefunds, requestRefund } from '../src/domain/refunds/request-refund.ts'
import { makeApiPix } from '../src/providers/api-pix/adapter.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import {
  bookDifferences,
  changeProvider,
  completedCharge,
  holdings,
  OPERATOR,
  refund,
  wholeOf,
} from './refund-steps.ts'
import { closeAfterTest, notFound, openScriptedPsp, SECRET, type Said } from './scripted-psp.ts'
import { world, type World } from './world.ts'

const LEASE_MS = 60_000
const DAY_MS = 24 * 3_600_000

const RESERVED = { cash: 50_00, balance: 39_50, refunding: 10_00, fees: 50 }
const RELEASED = { cash: 50_00, balance: 49_50, fees: 50 }
const PAID = { cash: 40_00, balance: 39_50, fees: 50 }

const sumExceeded: Said = {
  status: 400,
  json: { status: 400, detail: 'A soma das devoluções passaria do valor do Pix.' },
}
const forbidden: Said = { status: 403, json: { status: 403, detail: 'Sem permissão.' } }

/** What the bank answers to each question. `made` is the refund that it made. */
type Bank = {
  put: (made: object) => Said | 'reset'
  byId: 'shown' | 'not shown'
  onPayment: 'shown' | 'not shown' | 'unreadable'
}

/**
 * A credited deposit of R$ 50,00 at a bank whose answers the test writes, and a second process that asks the same bank.
 */
async function doubtfulBank(first: Bank['put']) {
  const w = await world()
  const { charge, account } = await completedCharge(w)
  const bank: Bank = { put: first, byId: 'not shown', onPayment: 'not shown' }
  const psp = await openScriptedPsp(({ method, path, body }) => {
    const [, , endToEndId, , id] = path.split('/')
    const horario = { solicitacao: w.clock.now().toISOString() }
    const valor = method === 'PUT' ? (JSON.parse(body) as { valor: string }).valor : '10.00'
    const made = { id: id ?? refundIdOf(psp.seen), rtrId: 'D1', valor, horario, status: 'DEVOLVIDO' }
    if (method === 'PUT') return bank.put(made)
    if (id !== undefined) return bank.byId === 'shown' ? { status: 200, json: made } : notFound
    const listed = { ...made, ...(bank.onPayment === 'unreadable' && { status: 'DEVOLVIDA_EM_PARTE' }) }
    const devolucoes = bank.onPayment === 'not shown' ? {} : { devolucoes: [listed] }
    const pix = { endToEndId, txid: charge.id, valor: '50.00', horario: '2026-03-02T12:00:00Z', ...devolucoes }
    return { status: 200, json: pix }
  })
  closeAfterTest(() => psp.stop())
  const connect = (ctx: Context) => {
    const provider = makeApiPix({
      name: 'sandbox',
      url: psp.url,
      tokenUrl: psp.tokenUrl,
      clientId: 'client',
      clientSecret: SECRET,
      pixKey: 'chave@example.com',
      callsPerSecond: 0,
      now: w.clock.now,
      log: ctx.log,
      timings: { backoffBaseMs: 1, backoffCapMs: 1 },
    })
    closeAfterTest(() => provider.close())
    ctx.providers[0] = provider
  }
  connect(w.ctx)
  const other = await w.anotherProcess()
  connect(other.ctx)
  return { w, bank, psp, charge, account, otherCtx: other.ctx }
}

function refundIdOf(seen: { method: string; path: string }[]): string {
  return seen.find(({ method }) => method === 'PUT')?.path.split('/')[4] ?? 'none'
}

async function standing(w: World): Promise<Refund> {
  return (await listRefunds(w.ctx, { limit: 1 })).refunds[0]!
}

/** Runs the refund in this process, as often as it is due in that time. */
async function follow(w: World, ctx: Context, forMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < forMs; passedMs += 5 * 60_000) {
    w.clock.advance(5 * 60_000)
    await runDueRefunds(ctx)
  }
}

const inDoubt = {
  status: 'PROCESSING',
  doubtedAt: expect.any(Date) as Date,
  attention: expect.stringContaining('sandbox') as string,
}

// ---- What the bank made is never called FAILED ----

test('a refund that the bank made and whose answer was lost is not failed because the repeat exceeds the payment', async () => {
  let puts = 0
  const { w, bank, charge, otherCtx } = await doubtfulBank(() => (++puts === 1 ? 'reset' : sumExceeded))
  expect(await refund(w, charge, { amountCents: 10_00 })).toMatchObject(inDoubt)
  expect(await holdings(w)).toEqual(RESERVED)
  await follow(w, otherCtx, 3_600_000)
  expect(puts).toBeGreaterThan(10)
  expect(await standing(w)).toMatchObject(inDoubt)
  expect(await holdings(w)).toEqual(RESERVED)
  bank.byId = 'shown'
  await follow(w, otherCtx, 300_000)
  expect(await standing(w)).toMatchObject({ status: 'DONE', attention: null })
  expect(await holdings(w)).toEqual(PAID)
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that the bank lists in a form that nobody knows is in doubt, and is not asked for again', async () => {
  let puts = 0
  const { w, bank, charge, otherCtx } = await doubtfulBank(() => (++puts === 1 ? 'reset' : sumExceeded))
  bank.onPayment = 'unreadable'
  await refund(w, charge, { amountCents: 10_00 })
  const before = puts
  await follow(w, otherCtx, 8 * 3_600_000)
  expect(puts).toBe(before)
  expect(await standing(w)).toMatchObject(inDoubt)
  bank.onPayment = 'shown'
  await follow(w, otherCtx, 300_000)
  expect(await standing(w)).toMatchObject({ status: 'DONE' })
})

// The payment is days old, so no sweep and no closing ever reads it again.
test('a refund of an old payment whose answer was lost is not failed because a later request is forbidden', async () => {
  let puts = 0
  const { w, bank, charge, otherCtx } = await doubtfulBank(() => (++puts === 1 ? 'reset' : forbidden))
  w.clock.advance(3 * DAY_MS)
  const made = await refund(w, charge, { amountCents: 10_00 })
  expect(made).toMatchObject(inDoubt)
  await follow(w, otherCtx, 3_600_000)
  await follow(w, w.ctx, 3_600_000)
  expect(await standing(w)).toMatchObject(inDoubt)
  expect(await holdings(w)).toEqual(RESERVED)
  // What the bank says about the payment counts as much as what it says about the refund.
  bank.onPayment = 'shown'
  await follow(w, otherCtx, 300_000)
  expect(await standing(w)).toMatchObject({ id: made.id, status: 'DONE' })
  expect(await holdings(w)).toEqual(PAID)
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that was sent by a process that died is in doubt, and a refusal to the next process does not fail it', async () => {
  const { w, charge, otherCtx } = await doubtfulBank(() => sumExceeded)
  const { ctx, die } = await w.anotherProcess()
  let reached = () => {}
  const atTheBank = new Promise<void>((resolve) => (reached = resolve))
  ctx.providers[0] = {
    ...ctx.providers[0]!,
    refund() {
      reached()
      return new Promise(() => {})
    },
  }
  void requestRefund(ctx, OPERATOR, { ...wholeOf(charge), amountCents: 10_00 })
  await atTheBank
  expect(await standing(w)).toMatchObject({ status: 'PROCESSING', sentAt: expect.any(Date), doubtedAt: null })
  await die()
  await follow(w, otherCtx, 3_600_000)
  expect(await standing(w)).toMatchObject(inDoubt)
  expect(await holdings(w)).toEqual(RESERVED)
  expect(await bookDifferences(w)).toEqual([])
})

// Its lease ran out while it waited for the bank, and another process sent the refund meanwhile. That may be why the
// bank refuses it.
test('a worker that was overtaken by another does not fail a refund by the refusal that it got', async () => {
  const { w, charge, otherCtx } = await doubtfulBank(() => sumExceeded)
  const [mine] = [w.ctx.providers[0]!]
  changeProvider(w, {
    async refund(request) {
      w.clock.advance(LEASE_MS)
      otherCtx.providers[0] = {
        ...otherCtx.providers[0]!,
        refund: () => Promise.reject(new ProviderError('unknown', 'sandbox: lost')),
      }
      for (const claimed of await claimRefunds(otherCtx, 1)) await runRefund(otherCtx, claimed)
      return mine.refund(request)
    },
  })
  expect(await refund(w, charge, { amountCents: 10_00 })).toMatchObject({ status: 'PROCESSING' })
  expect(await standing(w)).toMatchObject({ status: 'PROCESSING', doubtedAt: expect.any(Date), absentSince: null })
  expect(await holdings(w)).toEqual(RESERVED)
  expect(await bookDifferences(w)).toEqual([])
})

test('a bank that has said that a refund is under way, and then does not know it, leaves it in doubt', async () => {
  const underWay = (made: object) => ({ status: 201, json: { ...made, status: 'EM_PROCESSAMENTO' } })
  const { w, bank, charge, otherCtx } = await doubtfulBank(underWay)
  expect(await refund(w, charge, { amountCents: 10_00 })).toMatchObject({ status: 'PROCESSING', doubtedAt: null })
  bank.put = () => forbidden
  await follow(w, otherCtx, 600_000)
  expect(await standing(w)).toMatchObject(inDoubt)
  bank.put = underWay
  await follow(w, otherCtx, 300_000)
  expect(await standing(w)).toMatchObject({ status: 'PROCESSING', doubtedAt: null, absentSince: null, attention: null })
  expect(await bookDifferences(w)).toEqual([])
})

test('a bank that does not know the payment any more is no witness: the refund stays in doubt however long', async () => {
  const { w, charge, otherCtx } = await doubtfulBank(() => 'reset')
  await refund(w, charge, { amountCents: 10_00 })
  const { refund: send, checkRefund } = otherCtx.providers[0]!
  otherCtx.providers[0] = {
    ...otherCtx.providers[0]!,
    refund: send,
    checkRefund,
    findPayment: () => Promise.resolve('absent'),
  }
  await follow(w, otherCtx, 2 * REFUND_ABSENT_MS)
  expect(await standing(w)).toMatchObject({
    ...inDoubt,
    attention: expect.stringContaining('does not know the payment'),
  })
  expect(await holdings(w)).toEqual(RESERVED)
  expect(await bookDifferences(w)).toEqual([])
})

// ---- When the bank certainly did not make it, the money comes back ----

test('a refund that the bank neither shows nor takes for six hours on end has failed', async () => {
  let puts = 0
  const { w, charge, otherCtx } = await doubtfulBank(() => (++puts === 1 ? 'reset' : forbidden))
  await refund(w, charge, { amountCents: 10_00 })
  await follow(w, otherCtx, REFUND_ABSENT_MS)
  expect(await standing(w)).toMatchObject({ ...inDoubt, absentSince: expect.any(Date) })
  await follow(w, otherCtx, 600_000)
  expect(await standing(w)).toMatchObject({ status: 'FAILED', failure: expect.stringContaining('Sem permissão') })
  expect(await holdings(w)).toEqual(RELEASED)
  expect(await bookDifferences(w)).toEqual([])
})

test('the six hours begin anew when another request is lost, and when its process dies', async () => {
  let puts = 0
  let lost = 1
  const { w, charge, otherCtx } = await doubtfulBank(() => (++puts === lost ? 'reset' : forbidden))
  await refund(w, charge, { amountCents: 10_00 })
  await follow(w, otherCtx, REFUND_ABSENT_MS - 600_000)
  lost = puts + 1
  await follow(w, otherCtx, 1_200_000)
  expect(await standing(w)).toMatchObject(inDoubt)
  await follow(w, otherCtx, REFUND_ABSENT_MS - 1_800_000)
  const { ctx, die } = await w.anotherProcess()
  const { checkRefund, findPayment } = w.ctx.providers[0]!
  let reached = () => {}
  const atTheBank = new Promise<void>((resolve) => (reached = resolve))
  const refundForever = () => {
    reached()
    return new Promise<never>(() => {})
  }
  ctx.providers[0] = { ...ctx.providers[0]!, checkRefund, findPayment, refund: refundForever }
  w.clock.advance(300_000)
  void runDueRefunds(ctx)
  await atTheBank
  expect(await standing(w)).toMatchObject({ absentSince: null })
  await die()
  await follow(w, otherCtx, 3_600_000)
  expect(await standing(w)).toMatchObject(inDoubt)
  await follow(w, otherCtx, REFUND_ABSENT_MS)
  expect(await standing(w)).toMatchObject({ status: 'FAILED' })
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that is refused at its first request fails at once, also after requests that never left', async () => {
  const { w, charge, otherCtx } = await doubtfulBank(() => forbidden)
  expect(await refund(w, charge, { amountCents: 10_00 })).toMatchObject({ status: 'FAILED', doubtedAt: null })
  const { refund: send } = w.ctx.providers[0]!
  changeProvider(w, { refund: () => Promise.reject(new ProviderError('unreachable', 'sandbox: breaker open')) })
  const unsent = { status: 'PROCESSING', sentAt: null, doubtedAt: null, attention: 'sandbox: breaker open' }
  expect(await refund(w, charge, { amountCents: 10_00 })).toMatchObject(unsent)
  await follow(w, w.ctx, 600_000)
  expect(await standing(w)).toMatchObject(unsent)
  changeProvider(w, { refund: send })
  await follow(w, otherCtx, 300_000)
  expect(await standing(w)).toMatchObject({ status: 'FAILED' })
  expect(await holdings(w)).toEqual(RELEASED)
  expect(await transact(w.pool, (tx) => tx.run('select from refunds where sent_at is null'))).toBe(0)
  expect(await bookDifferences(w)).toEqual([])
})

test('a bank that makes a first refund with another amount has not refused it', async () => {
  const { w, bank, charge } = await doubtfulBank((made) => ({ status: 201, json: { ...made, valor: '9.00' } }))
  changeProvider(w, {
    checkRefund: ({ refundId }) => Promise.resolve({ refundId, amountCents: 9_00, status: 'done', reason: null }),
  })
  bank.byId = 'shown'
  expect(await refund(w, charge, { amountCents: 10_00 })).toMatchObject({
    status: 'PROCESSING',
    doubtedAt: expect.any(Date),
    attention: expect.stringContaining('with 900 cents instead of 1000'),
  })
  expect(await holdings(w)).toEqual(RESERVED)
  expect(await bookDifferences(w)).toEqual([])
})
