import { expect, test } from 'vitest'
import { transact, type Tx } from '../src/db/tx.ts'
import { settle, type Settled } from '../src/domain/deposits/settle.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { world, type World } from './world.ts'

// A statement is a round trip, and round trips are most of what a small batch costs. Besides these there are begin and
// commit.

test('a batch is booked with three statements, whatever is in it: locks, what is recorded, the booking', async () => {
  const w = await world({ isDirect: true })
  const paid = [await w.paidCharge(), await w.paidCharge(), await w.paidCharge({ valueCents: 7_00 })]
  const [first, one, other] = paid.map(({ payment }) => payment) as [ReceivedPayment, ReceivedPayment, ReceivedPayment]
  // The first payment of a provider makes its ledger accounts.
  await settleCounting(w, [first])
  const late = await w.paidCharge()
  await w.pool.query(`update charges set status = 'EXPIRED', closed_at = expires_at where id = $1`, [late.charge.id])
  const stray = { ...one, endToEndId: 'E-stray', txid: null }
  const { settled, statements } = await settleCounting(w, [one, other, late.payment, stray])
  expect(settled).toMatchObject({ completed: { length: 3 }, excepted: { length: 1 } })
  expect(statements).toBe(3)
})

test('a batch that is known already costs two statements: locks, what is recorded', async () => {
  const w = await world({ isDirect: true })
  const { payment } = await w.paidCharge()
  await settleCounting(w, [payment])
  const { settled, statements } = await settleCounting(w, [payment])
  expect(settled).toMatchObject({ completed: [], known: 1 })
  expect(statements).toBe(2)
})

async function settleCounting(
  w: World,
  payments: ReceivedPayment[],
): Promise<{ settled: Settled; statements: number }> {
  let statements = 0
  const settled = await transact(w.pool, (tx) => {
    const counting = new Proxy(tx, {
      get(target, name: keyof Tx) {
        statements++
        return target[name]
      },
    })
    return settle(counting, w.clock.now(), payments)
  })
  return { settled, statements }
}
