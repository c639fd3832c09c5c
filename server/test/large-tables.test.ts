import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact, type Tx } from '../src/db/tx.ts'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { storeSubtrees, TREE_SIZE } from '../src/domain/history/stored-tree.ts'
import { eventName, insertEvents } from '../src/domain/webhooks/events.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { checkDue } from '../src/workers/check.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import { ask, makeOperator, type TestOperator } from './operators-client.ts'
import { startReceiver } from './receiver.ts'
import { get } from './requests.ts'
import { recordStatements } from './statements.ts'
import { world, type TestAccount, type World } from './world.ts'

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

const LARGE = new Set([...Object.keys(COPIES), 'history_runs', 'history_leaves'])

// One test, because filling the tables takes longer than all that it asks.
test('no statement reads a large table from end to end', async () => {
  const receiver = await startReceiver()
  const w = await world({ isDirect: true })
  const account = await w.account()
  const operator = await makeOperator(w)
  await createWebhook(w.ctx, account.accountId, {
    name: 'shop',
    url: receiver.url,
    eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
    authorization: null,
  })
  // Leaves a row to copy in each table.
  const { id, pix } = await live(w, account.key)
  const code = await makeCode(w, account.key)
  await w.deposit(account)
  await numberPending(w.ctx, makeNumberingMemory())
  await enlarge(w)
  await enlargeHistory(w, account.accountId)

  await expectNoFullScans(
    w,
    'the way of a deposit, from request to webhook, and of one by a lasting code',
    async () => {
      await live(w, account.key)
      await deliver(w)
      await payCode(w, account.key, code)
    },
  )
  expect(receiver.received).toHaveLength(2)
  await expectNoFullScans(w, 'giving positions and reading a history', () => readHistory(w, account))
  await expectNoFullScans(w, 'the statement of an account', () => readStatement(w, account))
  await expectNoFullScans(w, 'searches and an operator’s lists', () => search(w, { account, operator, id, pix }))
})

async function readHistory(w: World, { accountId, key }: TestAccount): Promise<void> {
  const ask = async (path: string) => {
    const answer = await w.app.inject(get(key, `/api/events${path}`))
    expect([path, answer.statusCode]).toEqual([path, 200])
    return answer
  }
  const tell = async (minutesAgo = 0) => {
    const createdAt = new Date(w.clock.now().getTime() - minutesAgo * 60_000)
    const event = { kind: 'WEBHOOK_TEST', accountId, subjectId: newUuid7(createdAt), createdAt, data: {} } as const
    await transact(w.pool, (tx) => insertEvents(tx, createdAt, [event]))
    await numberPending(w.ctx, makeNumberingMemory())
    return eventName(event)
  }
  await numberPending(w.ctx, makeNumberingMemory())
  const { position } = (await ask('/head')).json()
  const [{ events }] = await Promise.all([ask(`?after=${position}&wait=5`).then((answer) => answer.json()), tell()])
  expect(events).toHaveLength(1)
  await ask(`?after=${ROWS / 2}&limit=100`)
  await ask(`/${events[0].id}/receipt`)
  // Thousands of runs are between it and its own, as after a transaction that stayed open for days.
  await ask(`/${await tell(ROWS)}/receipt`)
  await ask('/export')
}

async function readStatement(w: World, { key }: TestAccount): Promise<void> {
  const period = 'from=2026-02-01&to=2026-02-28'
  for (const path of ['', `?${period}`, `?${period}&cursor=999`, `/export?${period}`, '/export'])
    expect((await w.app.inject(get(key, `/api/statement${path}`))).statusCode).toBe(200)
}

type Sought = { account: TestAccount; operator: TestOperator; id: string; pix: string }

async function search(w: World, { account, operator, id, pix }: Sought): Promise<void> {
  const parts = [id, id.slice(-8), pix, pix.slice(-8), pix.slice(0, 21), 'ped', '50,00']
  const texts = [...parts, `evt_DEPOSIT_ASSET_SUCCESS_${'a'.repeat(32)}`]
  const lists = ['', '?search=zzz', `?accountId=${account.accountId}&search=50,00`]
  for (const path of [...texts.map((q) => `search?q=${q}`), ...lists.map((query) => `deposits${query}`)])
    expect([path, (await ask(w, operator.key, 'GET', path)).status]).toEqual([path, 200])
  const session = await w.session(account)
  for (const q of texts) expect((await session.ask('GET', `/dashboard/api/search?q=${q}`)).statusCode).toBe(200)
}

// Half of the events came one by one, a minute apart, and half of them in runs of a hundred.
const ENLARGE_HISTORY = `
  with newest as (
    select first_position as position, first_leaf as leaf, numbered_at from history_runs where account_id = $1
  ), copied as (
    select id, row_number() over (order by id) as n from events where id not in (select unnest(event_ids) from history_runs)
  ), runs as (
    select array_agg(id order by n) as ids, min(n) as n from copied
    group by case when n <= ${ROWS / 2} then n else ${ROWS} + n / 100 end
  ), inserted as (
    insert into history_runs (account_id, first_position, first_leaf, event_ids, salt, numbered_at)
    select $1, position + n, leaf + n, ids, ids[1], numbered_at - (${ROWS} - n) * interval '1 minute' from runs, newest
  )
  insert into history_leaves (first_leaf, hashes)
  select leaf + n, decode(repeat(encode(sha256(''), 'hex'), cardinality(ids)), 'hex') from runs, newest`

async function enlargeHistory(w: World, accountId: string): Promise<void> {
  const sizeOf = async (tx: Tx) => (await tx.one<{ size: number }>(`select ${TREE_SIZE} as size`)).size
  await transact(w.pool, async (tx) => {
    const before = await sizeOf(tx)
    await tx.run(ENLARGE_HISTORY, [accountId])
    await storeSubtrees(tx, before, await sizeOf(tx))
  })
  // Statistics of a busy moment, when the events of many transactions wait.
  await w.pool.query('delete from unnumbered')
  await w.pool.query(
    `insert into unnumbered (event_ids)
     select array_agg(id) from (select id, row_number() over () as n from events) e group by n / 500`,
  )
  await w.pool.query('analyze')
  await w.pool.query('delete from unnumbered')
}

async function expectNoFullScans(w: World, what: string, work: () => Promise<void>): Promise<void> {
  const recorded = await recordStatements(w.pool, work)
  const statements = recorded.filter(({ text }) => /^\s*(with|select|insert|update|delete)\b/.test(text))
  expect(statements.length).toBeGreaterThan(8)
  const scans = new Set<string>()
  for (const { text, values } of statements) for (const scan of await fullScans(w, text, values)) scans.add(scan)
  expect([what, ...scans]).toEqual([what])
}

/** The ids of the charge and of its Pix. */
async function live(w: World, key: string): Promise<{ id: string; pix: string }> {
  const headers = { 'x-api-key': key, 'idempotency-key': randomUUID() }
  const made = await w.app.inject({ method: 'POST', url: '/api/deposit', headers, payload: { value: 50_00 } })
  expect(made.statusCode).toBe(201)
  const { paymentLinkId, emv } = made.json().charge
  const read = () => w.app.inject({ url: `/api/deposit/${paymentLinkId}`, headers })
  expect((await read()).json().charge.status).toBe('PENDING')
  const { pix } = await w.sandbox.pay({ emv })
  w.clock.advance(60_000)
  await checkDue(w.ctx)
  const { charge } = (await read()).json()
  expect(charge.status).toBe('COMPLETED')
  return { id: charge.id, pix: pix[0]!.endToEndId }
}

async function makeCode(w: World, key: string): Promise<string> {
  const headers = { 'x-api-key': key }
  const made = await w.app.inject({ method: 'PUT', url: '/api/codes/customer-17', headers, payload: {} })
  return made.json().code.emv
}

async function payCode(w: World, key: string, emv: string): Promise<void> {
  const { pix } = await w.sandbox.pay({ emv, amountCents: 7_00 })
  const payment = await w.ctx.providers[0]!.findPayment(pix[0]!.endToEndId)
  if (payment !== 'absent') await w.ctx.settlements.add([payment])
  const { deposits } = (await w.app.inject(get(key, '/api/deposits?code=customer-17'))).json()
  expect(deposits).toHaveLength(1)
  expect((await w.app.inject(get(key, '/api/codes'))).json().codes).toHaveLength(1)
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
  const visit = ({ Plans = [], ...node }: Plan, isLimited = false) => {
    const { 'Node Type': kind, 'Relation Name': table } = node
    const isWhole = node['Index Cond'] === undefined && node['Plan Rows'] > FEW && !isLimited
    const isIndexRead = kind.startsWith('Index') && isWhole
    if ((kind === 'Seq Scan' || isIndexRead) && table && LARGE.has(table))
      found.push(`${kind} of ${table}: ${text.trim().slice(0, 100)}`)
    // The first rows of an index are not all of it.
    for (const plan of Plans) visit(plan, kind === 'Limit')
  }
  visit(rows[0]['QUERY PLAN'][0].Plan)
  return found
}
