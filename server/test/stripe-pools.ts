import { onTestFinished } from 'vitest'
import { makePool, type Pool } from '../src/db/pool.ts'
import { queryOne } from '../src/db/tx.ts'
import { STRIPE } from '../src/domain/ledger/ledger.ts'
import type { World } from './world.ts'

const QUIET = { debug() {}, info() {}, warn() {}, error() {} }
// Of nine connections, two have the same of eight stripes.
const MAX_CONNECTIONS = 9

/** Two pools of one connection each, whose transactions use the same stripe of the ledger, or two different ones. */
export async function stripePools(w: World, which: 'same' | 'different'): Promise<[Pool, Pool]> {
  const pools: { pool: Pool; stripe: number }[] = []
  while (pools.length < MAX_CONNECTIONS) {
    const pool = makePool(w.directUrl, QUIET, { maxConnections: 1 })
    onTestFinished(() => pool.end())
    const { stripe } = await queryOne<{ stripe: number }>(pool, `select ${STRIPE} as stripe`)
    const mate = pools.find((other) => (other.stripe === stripe) === (which === 'same'))
    if (mate) return [mate.pool, pool]
    pools.push({ pool, stripe })
  }
  throw new Error('all connections have the same stripe')
}
