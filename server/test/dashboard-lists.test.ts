import { createHash } from 'node:crypto'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { inTurn, query, READS_AT_ONCE, transact } from '../src/db/tx.ts'
import { listDeposits, type DepositFilter } from '../src/domain/reports/list-deposits.ts'
import { centsIn } from '../src/domain/search/typed-text.ts'
import { EXPORT_PAGE } from '../src/http/server/exports.ts'
import { completedCharge } from './refund-steps.ts'
import { get, sentText } from './requests.ts'
import { spyOnQueries } from './statements.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const CSV = '/dashboard/api/deposits.csv'

/** Inserts many charges at once, as they are stored: the first half of an id is its time, and the rest is random. */
async function insertDeposits(
  w: World,
  { accountId }: TestAccount,
  count: number,
  fields = `null, null`,
  prefix = '019caea5',
  status = 'EXPIRED',
): Promise<void> {
  await w.pool.query(
    `insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents, emv, created_at,
       expires_at, external_id, description)
     select ('${prefix}-' || lpad(to_hex(n), 4, '0') || '-7000-8000-' || left(md5(n::text), 12))::uuid, gen_random_uuid(), $1, 'sandbox', $4, n, n, 0, 'x', $2, $2, ${fields}
     from generate_series(1, $3::int) n`,
    [accountId, w.clock.now(), count, status],
  )
}

const idOf = (n: number) =>
  `019caea5${n.toString(16).padStart(4, '0')}70008000${createHash('md5').update(`${n}`).digest('hex').slice(0, 12)}`

type PlanNode = { 'Actual Rows': number; 'Actual Loops': number; Plans?: PlanNode[] } & Record<string, number>

/**
 * Explains the statements of a list and counts the rows that they read, also those that did not match. PostgreSQL may
 * read whole tables where that is best.
 */
async function countingRows(
  w: World,
  { accountId }: TestAccount,
  filter: Partial<DepositFilter>,
): Promise<{ found: number; rowsRead: number }> {
  const asked = await spyOnQueries(w.pool)
  const { deposits } = await listDeposits(w.ctx, accountId, { limit: 10, ...filter })
  const statements = asked.mock.calls as unknown as [string, unknown[]][]
  asked.mockRestore()
  const rowsRead = await transact(w.pool, async (tx) => {
    await tx.run('set local enable_seqscan = on')
    let sum = 0
    for (const [sql, params] of statements) {
      const [row] = await tx.rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) ${sql}`,
        params,
      )
      sum += rowsIn(row!['QUERY PLAN'][0].Plan)
    }
    return sum
  })
  return { found: deposits.length, rowsRead }
}

function rowsIn(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const own = (node['Actual Rows'] + removed) * node['Actual Loops']
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsIn(child), own)
}

test('a plan that is made for any account reads no charges of others, however many they have', async () => {
  const w = await world({ isDirect: true })
  const [large, small] = [await w.account(), await w.account()]
  await insertDeposits(w, small, 3, 'null, null', '019caea4')
  await insertDeposits(w, large, 5_000)
  await w.pool.query('analyze charges')
  const asked = await spyOnQueries(w.pool)
  expect((await listDeposits(w.ctx, small.accountId, { limit: 50 })).deposits).toHaveLength(3)
  const [{ text: sql, values }] = asked.mock.calls[0]! as unknown as [{ text: string; values: unknown[] }]
  const [accounts, before, limit] = values as [string[], string, number]
  asked.mockRestore()

  const [row] = await transact(w.pool, async (tx) => {
    await tx.run('set local plan_cache_mode = force_generic_plan')
    await tx.run(`prepare page as ${sql}`)
    const execute = `execute page('{${accounts.join()}}', '${before}', ${limit})`
    return tx.rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(`explain (analyze, format json) ${execute}`)
  })
  expect(rowsIn(row!['QUERY PLAN'][0].Plan)).toBeLessThan(20)
})

const rowsOf = (csv: string) => csv.replace('\u{feff}', '').trimEnd().split('\r\n').slice(1)

test('search finds a deposit by part of its reference or description, by the beginning of its ids, by amount and by payment', async () => {
  const w = await world()
  const { charge, payment, account } = await completedCharge(w)
  await w.deposit(account, {
    externalId: 'Order-1042',
    description: 'Maria, two 50%_off tickets',
    valueCents: 1_199_90,
  })
  const found = async (search: string) => {
    const answer = await w.app.inject(get(account.key, `/api/deposits?search=${encodeURIComponent(search)}`))
    return answer.json().deposits.map((one: { id: string; externalId: string }) => one.externalId ?? one.id)
  }
  const byItself = [
    charge.id,
    charge.id.toUpperCase(),
    ` ${charge.paymentLinkId} `,
    payment.endToEndId,
    '50,00',
    'R$ 50',
  ]
  for (const text of byItself) expect([text, await found(text)]).toEqual([text, [charge.id]])
  const inPart = ['Order-1042', 'order-10', 'ORDER', '1042', 'maria', 'TWO 50%', '%_off']
  for (const text of [...inPart, '1199,90', '1.199,90', '1,199.90', 'R$ 1.199,90'])
    expect([text, await found(text)]).toEqual([text, ['Order-1042']])
  // The table shows only the first digits of an id, which are the same for both deposits.
  expect(await found(`${charge.id.slice(0, 12)}…`)).toEqual(['Order-1042', charge.id])
  expect(await found(charge.paymentLinkId.slice(0, 24))).toEqual([charge.id])
  for (const part of [
    charge.id.slice(1, 20),
    charge.id.slice(-9, -2).toUpperCase(),
    `https://a.example/x/${charge.paymentLinkId}?y`,
  ])
    expect([part, await found(part)]).toEqual([part, [charge.id]])
  for (const text of ['order-2042', '%', '_', 'xor', '1.19']) expect([text, await found(text)]).toEqual([text, []])
  expect((await w.app.inject(get(account.key, '/api/deposits?search='))).statusCode).toBe(400)

  const other = await w.account()
  for (const text of [...byItself, ...inPart])
    expect((await listDeposits(w.ctx, other.accountId, { search: text, limit: 10 })).deposits).toEqual([])
})

test.each([
  ['199,90', 19_990],
  ['R$ 1.234.567,89', 123_456_789],
  ['1,234.56', 123_456],
  ['r$50', 5_000],
  ['1.000', 100_000],
  ['0,01', 1],
  ['1,9', null],
  ['12,34,56', null],
  ['9'.repeat(30), null],
  ['abc', null],
])('the amount in %j is %j cents', (text, cents) => {
  expect(centsIn(text)).toBe(cents)
})

test('search finds words with and without their accents, in any case', async () => {
  const w = await world()
  const account = await w.account()
  await w.deposit(account, { description: 'Festa de ANIVERSÁRIO da Conceição', externalId: 'com' })
  w.clock.advance(1)
  await w.deposit(account, { description: 'festa de aniversario da conceicao', externalId: 'sem' })
  for (const search of ['aniversario', 'aniversário', 'ANIVERSÁRIO', 'conceicao', 'Conceição', 'sário da con']) {
    const { deposits } = await listDeposits(w.ctx, account.accountId, { limit: 10, search })
    expect([search, deposits.map(({ externalId }) => externalId)]).toEqual([search, ['sem', 'com']])
  }
})

test('search finds a deposit by part of its endToEndId, and not by the date in it', async () => {
  const w = await world()
  const { charge, payment, account } = await completedCharge(w)
  await insertDeposits(w, account, 1_000)
  // These deposits are newer than the charge, and more than a search reads.
  await insertDeposits(w, account, 2_000, 'null, null', 'ffffffff')
  const found = async (search: string, filter = {}) => {
    const { deposits } = await listDeposits(w.ctx, account.accountId, { limit: 1, search, ...filter })
    return deposits.map(({ id }) => id)
  }
  const { endToEndId } = payment
  const period = { to: new Date(w.clock.now().getTime() + 1) }
  for (const part of [endToEndId.slice(-6), endToEndId.slice(12), endToEndId.slice(1), endToEndId.slice(-9, -2)])
    expect([part, await found(part.toLowerCase(), period)]).toEqual([part, [charge.id]])
  // These parts have an index, however many newer deposits there are.
  for (const part of [endToEndId, endToEndId.slice(0, 24)])
    expect([part, await found(part)]).toEqual([part, [charge.id]])
  const date = endToEndId.slice(9, 17)
  expect(date).toBe('20260302')
  expect(await found(date, period)).toEqual([])
})

test('a search stops when it has enough, and a rare word reads neither all deposits nor those of others', async () => {
  const w = await world()
  const account = await w.account()
  const words = `'order-' || lpad(n::text, 6, '0'), 'Ingresso ' || n || case when n % 4000 = 7 then ' camarote' else '' end`
  await insertDeposits(w, account, 20_000, words)
  await insertDeposits(w, await w.account(), 5_000, `'order-' || lpad(n::text, 6, '0'), null`, '019caea6')
  await query(w.pool, 'analyze charges')
  // For a rare word, a search also reads the newest 100 deposits for each result. A plan counts each of them three
  // times.
  const NEWEST = 3 * 11 * 100
  for (const [search, found, mostRows] of [
    ['ingresso', 10, 200],
    ['order-', 10, 200],
    ['R-004995', 1, NEWEST + 500],
    ['camarote', 5, NEWEST + 500],
    ['ingresso 1999', 10, NEWEST + 500],
    ['199,90', 1, NEWEST + 500],
    ['019caea5-01', 10, NEWEST + 500],
    ['nothing', 0, NEWEST + 500],
  ] as const) {
    const read = await countingRows(w, account, { search })
    expect([search, read.found]).toEqual([search, found])
    expect([search, read.rowsRead]).toEqual([search, expect.toSatisfy((rows: number) => rows <= mostRows)])
  }
})

test('the list of PENDING deposits reads only those, whatever else is stored', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  await insertDeposits(w, account, 300, 'null, null', '019caea4', 'PENDING')
  await insertDeposits(w, account, 5_000, 'null, null', '019caea5')
  await insertDeposits(w, other, 5_000, 'null, null', '019caea3', 'PENDING')
  await w.pool.query(
    `insert into checks (provider, subject, kind, account_id, due_at)
     select provider, replace(id::text, '-', ''), 'charge', account_id, expires_at from charges where status = 'PENDING'`,
  )
  await query(w.pool, 'analyze charges')
  await query(w.pool, 'analyze checks')
  const { found, rowsRead } = await countingRows(w, account, { status: 'PENDING' })
  expect(found).toBe(10)
  expect(rowsRead).toBeLessThan(200)
  const searched = await countingRows(w, account, { status: 'PENDING', search: '1,00' })
  expect(searched.found).toBe(1)
  expect(searched.rowsRead).toBeLessThan(2_000)
})

test('a burst of lists leaves connections for deposits', async () => {
  const w = await world({ isDirect: true })
  const account = await w.account()
  const charge = await w.deposit(account)
  const { lists } = await transact(w.pool, async (tx) => {
    await tx.run('lock table payments in access exclusive mode')
    const lists = Array.from({ length: 40 }, () => listDeposits(w.ctx, account.accountId, { limit: 1 }))
    await w.lockWait()
    // Without a free connection this would fail.
    expect(await query(w.pool, 'select 1 as answer')).toEqual([{ answer: 1 }])
    return { lists }
  })
  for (const { deposits } of await Promise.all(lists)) expect(deposits.map(({ id }) => id)).toEqual([charge.id])
})

test('lists begin in the order in which they came, each when an earlier one has ended or failed', async () => {
  const w = await world()
  const begun: number[] = []
  const ends: (() => void)[] = []
  const read = (index: number) =>
    inTurn(w.pool, async () => {
      begun.push(index)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (index === 0) throw new Error('failed')
    }).catch(() => {})
  const reads = Array.from({ length: READS_AT_ONCE + 3 }, (_, index) => read(index))
  const firstIndexes = (count: number) => Array.from({ length: count }, (_, index) => index)
  for (let ended = 0; ended < 3; ended++) {
    await until('all free turns are taken', async () => begun.length === READS_AT_ONCE + ended)
    expect(begun).toEqual(firstIndexes(READS_AT_ONCE + ended))
    ends[ended]!()
  }
  await until('the last one began', async () => ends.length === reads.length)
  for (const end of ends) end()
  await Promise.all(reads)
})

test('a search goes with the other filters, and finds what has ended too', async () => {
  const w = await world()
  const account = await w.account()
  await insertDeposits(w, account, 2, `'again', null`)
  const find = (filter: object) =>
    listDeposits(w.ctx, account.accountId, { search: 'again', limit: 10, ...filter }).then(
      ({ deposits }) => deposits.length,
    )
  expect(await find({})).toBe(2)
  expect(await find({ status: 'EXPIRED' })).toBe(2)
  expect(await find({ status: 'PENDING' })).toBe(0)
  expect(await find({ limit: 1 })).toBe(1)
})

test('what is PENDING is listed however old it is, and times bound a list to the millisecond', async () => {
  const w = await world()
  const account = await w.account()
  const old = await w.deposit(account)
  const createdAt = w.clock.now()
  w.clock.advance(40 * 24 * 3_600_000)
  const list = (filter: object) =>
    listDeposits(w.ctx, account.accountId, { limit: 10, ...filter }).then(({ deposits }) =>
      deposits.map(({ id }) => id),
    )
  expect(await list({ status: 'PENDING' })).toEqual([old.id])
  expect(await list({ from: createdAt })).toEqual([old.id])
  expect(await list({ to: createdAt })).toEqual([])
  expect(await list({ to: new Date(createdAt.getTime() + 1) })).toEqual([old.id])
  expect(await list({ from: new Date(createdAt.getTime() + 1) })).toEqual([])
})

test('a CSV file has every deposit once, in order, over many pages, also when others are added meanwhile', async () => {
  const w = await world()
  const account = await w.account()
  const count = 2 * EXPORT_PAGE + 7
  await insertDeposits(w, account, count)
  const session = await w.session(account)
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = w.app.server.address() as AddressInfo
  const chunks: string[] = []
  await new Promise<void>((resolve, reject) => {
    request({ port, path: CSV, headers: { cookie: session.cookie } }, (response) => {
      response.setEncoding('utf8')
      response.once('data', (first: string) => {
        chunks.push(first)
        response.pause()
        // This deposit is made while the first page is sent, and is newer than all others.
        w.clock.advance(24 * 3_600_000)
        void w.deposit(account).then(() => response.on('data', (text: string) => chunks.push(text)).resume())
      })
      response.on('end', resolve)
    })
      .on('error', reject)
      .end()
  })
  const ids = rowsOf(chunks.join('')).map((row) => row.split(',')[0])
  expect(ids).toEqual(Array.from({ length: count }, (_, index) => idOf(count - index)))
})

test('a reader of a CSV file who goes away ends the reading', async () => {
  const w = await world()
  const account = await w.account()
  await insertDeposits(w, account, 20 * EXPORT_PAGE, `null, repeat('x', 140)`)
  const session = await w.session(account)
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = w.app.server.address() as AddressInfo
  let pages = 0
  const query = w.pool.query.bind(w.pool)
  w.pool.query = ((...args: Parameters<typeof query>) => {
    if (sentText(args).includes('order by c.id desc')) pages++
    return query(...args)
  }) as typeof query
  await new Promise<void>((resolve) => {
    const sent = request({ port, path: CSV, headers: { cookie: session.cookie } }, (response) => {
      response.once('data', () => {
        response.destroy()
        resolve()
      })
    })
    sent.on('error', () => {})
    sent.end()
  })
  await until('the connection is gone', async () => (await connectionsOf(w)) === 0)
  const before = pages
  // This takes longer than several pages.
  for (let made = 0; made < 10; made++) await w.deposit(account)
  expect(before).toBeLessThan(20)
  expect(pages).toBeLessThanOrEqual(before + 1)
})

function connectionsOf(w: World): Promise<number> {
  return new Promise((resolve) => w.app.server.getConnections((_, count) => resolve(count)))
}

test('a CSV file is a download in UTF-8, and its cells cannot be formulas', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  const texts = ['=1+1', '+1', '-1', '@SUM(A1)', 'ação, "hoje"', '\u{ff1d}1', 'plain']
  for (const description of texts) {
    await w.deposit(account, { description, externalId: `=${texts.indexOf(description)}` })
    w.clock.advance(1)
  }
  const answer = await session.ask('GET', `${CSV}?status=PENDING&limit=1`)
  expect(answer.statusCode).toBe(200)
  expect(answer.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="deposits-2026-03-02.csv"',
    'cache-control': 'no-store',
  })
  expect(answer.body.startsWith('id,paymentLinkId,status,')).toBe(true)
  const rows = rowsOf(answer.body).toReversed()
  // Matches the two cells before the last two, which are empty. The second one may hold commas.
  expect(rows.map((row) => /,([^,]*),("(?:[^"]|"")*"|[^,"]*),,$/.exec(row)?.slice(1))).toEqual([
    [`"'=0"`, `"'=1+1"`],
    [`"'=1"`, `"'+1"`],
    [`"'=2"`, `"'-1"`],
    [`"'=3"`, `"'@SUM(A1)"`],
    [`"'=4"`, `"ação, ""hoje"""`],
    [`"'=5"`, `"'\u{ff1d}1"`],
    [`"'=6"`, 'plain'],
  ])
  expect(rows[0]).toContain(',50.00,50.00,0.50,')
  expect((await session.ask('GET', `${CSV}?status=NONE`)).json()).toMatchObject({ success: false })
})

test('a file for spreadsheets in Brazil has semicolons, decimal commas, local times and Portuguese titles', async () => {
  const w = await world()
  const account = await w.account()
  const { charge } = await completedCharge(w, { account, valueCents: 1_234_56 })
  const session = await w.session(account)
  const ask = async (path: string) => (await session.ask('GET', `/dashboard/api/${path}`)).body
  const deposits = await ask('deposits.csv?format=csv-br')
  expect(deposits.startsWith('\u{feff}ID;Link de pagamento;Situação;Criado em;')).toBe(true)
  expect(rowsOf(deposits)[0]).toContain(`${charge.paymentLinkId};Pago;02/03/2026 09:00:00;`)
  expect(rowsOf(deposits)[0]).toContain(';não;1234,56;1234,56;12,35;1222,21;0,00;')
  // The two files have different names, so both fit in one folder.
  const fileName = async (path: string) =>
    /filename="(.+)"$/.exec(
      String((await session.ask('GET', `/dashboard/api/${path}`)).headers['content-disposition']),
    )?.[1]
  expect(await fileName('deposits.csv')).toBe('deposits-2026-03-02.csv')
  expect(await fileName('deposits.csv?format=csv-br')).toBe('deposits-2026-03-02-br.csv')
  expect(await ask('deposits.csv?format=xls')).toContain('format must be one of csv, csv-br')
})
