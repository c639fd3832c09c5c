import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { begin, inOrder } from '../src/db/pool.ts'
import { preparedTexts } from '../src/db/prepared.ts'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { world, type World } from './world.ts'

// PostgreSQL caches the plans of prepared statements until the table is analyzed again. A full scan is the cheapest
// plan for a table of a few rows, but such a plan must not be cached: a minute later it may have a million rows.

test('no cached plan scans a whole table or index if it was made for new tables', async () => {
  const w = await usedWorld()
  expect(await fullScans(w)).toEqual([])
})

test('no cached plan scans a whole table or index if it was made for tables with a few rows', async () => {
  const w = await usedWorld()
  await w.pool.query('vacuum analyze')
  expect(await fullScans(w)).toEqual([])
})

// Deleted rows stay in the indexes until the snapshot is closed, but the statistics say that the table is empty.
test('no cached plan scans a whole table or index if it was made for empty queues, with an old snapshot open', async () => {
  const w = await usedWorld()
  const client = new pg.Client({ connectionString: w.databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin isolation level repeatable read')
  await client.query('select from checks')
  await w.pool.query(
    `insert into checks (provider, subject, kind, due_at)
     select 'sandbox', number, 'payment', $1 from generate_series(1, 2000) number`,
    [w.clock.now()],
  )
  await w.pool.query(
    `insert into deliveries (event_id, webhook_id, due_at)
     select gen_random_uuid(), gen_random_uuid(), $1 from generate_series(1, 2000)`,
    [w.clock.now()],
  )
  await w.pool.query('delete from checks')
  await w.pool.query('delete from deliveries')
  await w.pool.query('vacuum analyze')
  expect(await fullScans(w)).toEqual([])
})

/** With a paid deposit, and all that is prepared at its first use. */
async function usedWorld(): Promise<World> {
  const w = await world({ isDirect: true })
  const { charge, account } = await w.paidCharge()
  const headers = { 'x-api-key': account.key }
  for (const path of [`deposit/${charge.paymentLinkId}`, 'deposits', 'balance'])
    expect((await w.app.inject({ url: `/api/${path}`, headers })).statusCode).toBe(200)
  // Looks for its key, and stores nothing.
  const providers = w.ctx.providers.map((provider) => ({ ...provider, isCallable: () => false }))
  const request = { valueCents: 1, externalId: null, description: null, expiresInSeconds: null }
  await expect(openDeposit({ ...w.ctx, providers }, account.caller, request, 'order-1')).rejects.toMatchObject({
    code: 'provider_unavailable',
  })
  return w
}

/** The prepared statements that scan a whole table or index, as `statement: index`. */
async function fullScans(w: World): Promise<string[]> {
  const statements = preparedTexts()
  expect(statements.length).toBeGreaterThan(15)
  const found: string[] = []
  for (const sql of statements) {
    const name = sql.replaceAll(/\s+/g, ' ').slice(0, 80)
    for (const scan of fullScansIn(await cachedPlan(w, sql))) found.push(`${name}: ${scan}`)
  }
  return found
}

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  Plans?: Plan[]
}

async function cachedPlan(w: World, sql: string): Promise<Plan> {
  // Statements that claim rows of a queue run on their own connection, with its own settings: see queryInOrder().
  const pool = sql.includes('skip locked') ? inOrder(w.pool) : w.pool
  const client = await pool.connect()
  try {
    await begin(client, 'begin; set local plan_cache_mode = force_generic_plan')
    await client.query(`prepare examined as ${sql}`)
    const count = `select cardinality(parameter_types) as count from pg_prepared_statements where name = 'examined'`
    const params = Array.from({ length: (await client.query(count)).rows[0].count }, () => 'null')
    const plan = await client.query(`explain (format json) execute examined(${params.join(', ')})`)
    await client.query('deallocate examined')
    return plan.rows[0]['QUERY PLAN'][0].Plan
  } finally {
    await client.query('rollback')
    client.release()
  }
}

function fullScansIn(plan: Plan): string[] {
  const { 'Node Type': kind, 'Relation Name': table, 'Index Name': index, 'Index Cond': condition } = plan
  const isFullScan = kind === 'Seq Scan' || (kind.includes('Index') && condition === undefined)
  return [...(isFullScan ? [`${kind} of ${index ?? table}`] : []), ...(plan.Plans ?? []).flatMap(fullScansIn)]
}
