// Credits each paid deposit exactly once, with GUICHE_URL=https://… GUICHE_KEY=gk_test_… and DATABASE_URL=postgres://…

import { makeGuiche } from '@guiche/sdk'
import { Pool } from 'pg'

const { GUICHE_URL = '', GUICHE_KEY = '', DATABASE_URL = '' } = process.env
const guiche = makeGuiche({ url: GUICHE_URL, key: GUICHE_KEY })
const pool = new Pool({ connectionString: DATABASE_URL })
const stopping = new AbortController()
process.once('SIGINT', () => stopping.abort())

await pool.query(`
  create table if not exists credits (transaction_id text primary key, cents bigint not null);
  create table if not exists followed (one boolean primary key default true check (one), cursor text not null, position bigint not null);
  insert into followed (cursor, position) values ('0', 0) on conflict do nothing`)

const load = async () => (await pool.query<{ cursor: string }>('select cursor from followed')).rows[0]?.cursor

await guiche.events.consume(
  async (event, { cursor, position }) => {
    const tx = await pool.connect()
    try {
      // The place and the work are in one transaction: after a crash either both are there, or neither.
      await tx.query('begin')
      // Positions have no gap. If this changes no row, another copy of this program has done the work.
      const moved = await tx.query('update followed set cursor = $1, position = $2 where position = $2 - 1', [
        cursor,
        position,
      ])
      if (moved.rowCount === 1 && event.event === 'DEPOSIT_ASSET_SUCCESS') {
        const { transactionId, creditedValue } = event.data
        await tx.query('insert into credits (transaction_id, cents) values ($1, $2) on conflict do nothing', [
          transactionId,
          creditedValue,
        ])
        process.stdout.write(`${creditedValue} cents credited\n`)
      }
      await tx.query('commit')
      tx.release()
    } catch (error) {
      tx.release(true)
      throw error
    }
  },
  { load, signal: stopping.signal },
)
await pool.end()
