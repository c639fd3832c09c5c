import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { checkDue } from '../src/workers/check.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import { startReceiver } from './receiver.ts'
import { recordStatements } from './statements.ts'
import { world, type World } from './world.ts'

const ROWS = 20_000
// A partial index may be read whole: it holds the few rows that are open.
const FEW = 100

const ID = 'md5(n::text)::uuid'

// The columns, by table, in which a copied row differs.
const COPIES: Record<string, Record<string, string>> = {
  charges: { id: ID, payment_link_id: ID, external_id: 'null' },
  payments: { id: ID, end_to_end_id: ID, charge_id: ID },
  transfers: { id: '1000000 + n', payment_id: ID },
  events: { id: ID, subject_id: ID },
  checks: { subject: ID, due_at: `'2999-01-01'` },
  deliveries: { event_id: ID, due_at: `'2999-01-01'` },
}

test('no statement on the way of a deposit, from request to webhook, reads a large table from end to end', async () => {
  const receiver = await startReceiver()
  const w = await world({ isDirect: true })
  const account = await w.account()
  await createWebhook(w.ctx, account.accountId, {
    name: 'shop',
    url: receiver.url,
    eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
    authorization: null,
  })
  // Leaves a row to copy in each table.
  await live(w, account.key)
  await w.deposit(account)
  await enlarge(w)
  const recorded = await recordStatements(w.pool, async () => {
    await live(w, account.key)
    await deliver(w)
  })
  expect(receiver.received).toHaveLength(2)
  const statements = recorded.filter(({ text }) => /^\s*(with|select|insert|update|delete)\b/.test(text))
  expect(statements.length).toBeGreaterThan(8)

  const scans: string[] = []
  for (const { text, values } of statements) scans.push(...(await fullScans(w, text, values)))
  expect(scans).toEqual([])
})

async function live(w: World, key: string): Promise<void> {
  const headers = { 'x-api-key': key, 'idempotency-key': randomUUID() }
  const made = await w.app.inject({ method: 'POST', url: '/api/deposit', headers, payload: { value: 50_00 } })
  expect(made.statusCode).toBe(201)
  const { paymentLinkId, emv } = made.json().charge
  const read = () => w.app.inject({ url: `/api/deposit/${paymentLinkId}`, headers })
  expect((await read()).json().charge.status).toBe('PENDING')
  await w.sandbox.pay({ emv })
  w.clock.advance(60_000)
  await checkDue(w.ctx)
  expect((await read()).json().charge.status).toBe('COMPLETED')
}

async function deliver(w: World): Promise<void> {
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  await sender.claim()
  await sender.stop(10_000)
}

async function enlarge(w: World): Promise<void> {
  for (const [table, own] of Object.entries(COPIES)) {
    const fields = Object.entries(own).map(([column, value]) => `'${column}', ${value}`)
    await w.pool.query(
      `insert into ${table} overriding system value
       select copy.* from (select * from ${table} limit 1) one, generate_series(1, ${ROWS}) n,
         jsonb_populate_record(null::${table}, to_jsonb(one) || jsonb_build_object(${fields.join(', ')})) copy`,
    )
  }
  await w.pool.query('analyze')
}

type Plan = {
  'Node Type': string
  'Plan Rows': number
  'Relation Name'?: string
  'Index Cond'?: string
  Plans?: Plan[]
}

/** The large tables that the service's plan of this statement reads without a condition. */
async function fullScans(w: World, text: string, values: unknown[]): Promise<string[]> {
  const { rows } = await w.pool.query(`explain (format json) ${text}`, values)
  const found: string[] = []
  const visit = ({ Plans = [], ...node }: Plan) => {
    const { 'Node Type': kind, 'Relation Name': table } = node
    const isIndexRead = kind.startsWith('Index') && node['Index Cond'] === undefined && node['Plan Rows'] > FEW
    if ((kind === 'Seq Scan' || isIndexRead) && table && table in COPIES)
      found.push(`${kind} of ${table}: ${text.trim().slice(0, 100)}`)
    Plans.forEach(visit)
  }
  visit(rows[0]['QUERY PLAN'][0].Plan)
  return found
}
