import { expect, test } from 'vitest'
import { decodeBrCode } from '../src/base/brcode.ts'
import { query, transact } from '../src/db/tx.ts'
import { actorOf } from '../src/domain/accounts/callers.ts'
import { setAccountTerms } from '../src/domain/accounts/terms.ts'
import { SYSTEM } from '../src/domain/core/audit-log.ts'
import { lockCodes } from '../src/domain/deposits/code-payments.ts'
import { closeCode, ensureCode, type Code, type CodeLimits } from '../src/domain/deposits/codes.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { reconcileDue } from '../src/domain/reconciliation/reconcile.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { OPERATOR } from './refund-steps.ts'
import { world, type TestAccount, type World } from './world.ts'

test('each Pix of a code is a deposit of its own, with the value that arrived and its fee', async () => {
  const { w, account, code } = await withCode()
  const [first, second] = [await pay(w, code, 30_00), await pay(w, code, 45_01)]
  await w.ctx.settlements.add([first])
  await w.ctx.settlements.add([second, first])
  const charges = await query<{ status: string; value: number; fee: number; description: string }>(
    w.pool,
    'select status, value_cents as value, fee_cents as fee, description from charges order by id',
  )
  expect(charges).toEqual([
    { status: 'COMPLETED', value: 30_00, fee: 30, description: 'Mesa 7' },
    { status: 'COMPLETED', value: 45_01, fee: 45, description: 'Mesa 7' },
  ])
  expect(await w.balanceCents(account.accountId)).toBe(74_26)
  const events = await query<{ body: string }>(w.pool, `select body from events where kind = 'DEPOSIT_ASSET_SUCCESS' order by id`)
  expect(events.map(({ body }) => JSON.parse(body).data)).toMatchObject([
    { code: 'mesa-7', value: 30_00, originalValue: 30_00, fee: 30, creditedValue: 29_70, paidLate: false, endToEndId: first.endToEndId },
    { code: 'mesa-7', value: 45_01, creditedValue: 44_56 },
  ])
  expect(await w.differences()).toEqual([])
})

// The second waits for the lock of the code, and then reads that the payment is recorded.
test('a payment of a code reported twice at once is one deposit', async () => {
  const { w, account, code } = await withCode()
  const payment = await pay(w, code, 30_00)
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settleIn(w, tx, [payment])
    second = w.ctx.settlements.add([payment])
    await w.lockWait()
  })
  await second
  expect(await w.count('charges')).toBe(1)
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await w.differences()).toEqual([])
})

export { OPERATOR, SYSTEM, actorOf, closeCode, reconcileDue, resolveException, listExceptions, setAccountTerms, decodeBrCode }

// ---- Steps ----

const NONE: CodeLimits = { description: 'Mesa 7', minValueCents: null, maxValueCents: null }

async function withCode(limits: Partial<CodeLimits> = {}): Promise<{ w: World; account: TestAccount; code: Code }> {
  const w = await world()
  const account = await w.account()
  return { w, account, code: await make(w, account, limits) }
}

async function make(w: World, account: TestAccount, limits: Partial<CodeLimits> = {}): Promise<Code> {
  const wanted = { accountId: account.accountId, externalId: 'mesa-7', ...NONE, ...limits }
  return (await ensureCode(w.ctx, actorOf(account.caller), wanted)).code
}

async function pay(w: World, { emv, txid }: Code, amountCents: number): Promise<ReceivedPayment> {
  const { pix } = await w.sandbox.pay({ emv, amountCents })
  const { endToEndId, horario } = pix[0]!
  return { provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }
}

async function settleIn(w: World, tx: Parameters<typeof settle>[0], payments: ReceivedPayment[]) {
  const codes = await lockCodes(tx, w.ctx.settings, w.clock.now(), payments)
  return settle(tx, w.clock.now(), payments, [], codes)
}
