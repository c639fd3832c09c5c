import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { databaseNamed } from './cluster.ts'
import { world } from './world.ts'

const PAYMENT = '0198a0c0-0000-7000-8000-000000000001'
const EXCEPTION = '0198a0c0-0000-7000-8000-000000000002'

// How its requests ended was not written down then, so a refusal must not end it.
test('a refund that was under way before doubt was stored is in doubt afterwards, and one that had ended is as it was', async () => {
  const { client, migrateOn } = await beforeDoubt()
  await client.query(
    `insert into payments (id, provider, end_to_end_id, txid, amount_cents, occurred_at, recorded_at, credited)
     values ($1, 'bank', 'E1', null, 100, now(), now(), false)`,
    [PAYMENT],
  )
  await client.query(
    `insert into exceptions (id, payment_id, kind, opened_at, resolution, resolved_by_kind, resolved_by, reason)
     values ($1, $2, 'unknown_charge', now(), 'refund', 'console', 'ana', 'x')`,
    [EXCEPTION, PAYMENT],
  )
  const insert = (id: string, status: string, source: string) =>
    client.query(
      `insert into refunds (id, payment_id, source, exception_id, provider_refund_id, amount_cents, status, requested_by_kind,
         requested_by, created_at, ended_at, due_at)
       values ($1, $2, $3::text, case when $3 = 'suspense' then $4::uuid end, $5, 100, $6::text, 'console', 'ana', '2026-03-01T00:00:00Z',
         case when $6 <> 'PROCESSING' then now() end, case when $6 = 'PROCESSING' then now() end)`,
      [id, PAYMENT, source, EXCEPTION, id, status],
    )
  await insert('0198a0c0-0000-7000-8000-00000000000a', 'FAILED', 'suspense')
  await insert('0198a0c0-0000-7000-8000-00000000000b', 'PROCESSING', 'suspense')
  await insert('0198a0c0-0000-7000-8000-00000000000c', 'DONE', 'provider')
  await migrateOn()
  const { rows } = await client.query('select status, sent_at, doubted_at from refunds order by id')
  const at = new Date('2026-03-01T00:00:00Z')
  expect(rows).toEqual([
    { status: 'FAILED', sent_at: at, doubted_at: null },
    { status: 'PROCESSING', sent_at: at, doubted_at: at },
    { status: 'DONE', sent_at: null, doubted_at: null },
  ])
  await expect(client.query(`update refunds set reason = 'other' where status = 'FAILED'`)).rejects.toThrow(
    'refunds is append only',
  )
})

/** A database as guiche left it before 0011. */
async function beforeDoubt() {
  const w = await world()
  const name = `before_${randomBytes(6).toString('hex')}`
  await w.pool.query(`create database ${name}`)
  const client = new pg.Client({ connectionString: databaseNamed(inject('clusterUrl'), name) })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await w.pool.query(`drop database ${name} with (force)`)
  })
  const folder = new URL('../migrations/', import.meta.url)
  const files = readdirSync(folder).toSorted()
  const run = async (some: string[]) => {
    for (const file of some) await client.query(readFileSync(new URL(file, folder), 'utf8'))
  }
  await run(files.filter((file) => file < '0011'))
  return { client, migrateOn: () => run(files.filter((file) => file.startsWith('0011'))) }
}
