import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { listDeposits } from '../src/domain/deposits.ts'
import { CSV_PAGE } from '../src/http/dashboard-csv.ts'
import { completedCharge } from './refund-steps.ts'
import { get } from './requests.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const CSV = '/dashboard/api/deposits.csv'

/** Charges as they are stored, many at once. */
async function insertDeposits(
  w: World,
  { accountId }: TestAccount,
  count: number,
  fields = `null, null`,
): Promise<void> {
  await w.pool.query(
    `insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents, emv, created_at,
       expires_at, external_id, description)
     select ('019caea5-7c00-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid(), $1, 'sandbox', 'EXPIRED', n, n, 0, 'x', $2, $2, ${fields}
     from generate_series(1, $3::int) n`,
    [accountId, w.clock.now(), count],
  )
}

const rowsOf = (csv: string) => csv.replace('\u{feff}', '').trimEnd().split('\r\n').slice(1)

test('search finds a deposit by its id, its link, its payment and its external id, and nothing else', async () => {
  const w = await world()
  const { charge, payment, account } = await completedCharge(w)
  await w.deposit(account, { externalId: 'order-1042' })
  const found = async (search: string) => {
    const answer = await w.app.inject(get(account.key, `/api/deposits?search=${encodeURIComponent(search)}`))
    return answer.json().deposits.map((one: { id: string; externalId: string }) => one.externalId ?? one.id)
  }
  for (const text of [charge.id, charge.id.toUpperCase(), ` ${charge.paymentLinkId} `, payment.endToEndId])
    expect(await found(text)).toEqual([charge.id])
  expect(await found('order-1042')).toEqual(['order-1042'])
  for (const text of ['order-104', 'ORDER-1042', charge.id.slice(0, 31), payment.endToEndId.slice(1), '%'])
    expect(await found(text)).toEqual([])
  expect((await w.app.inject(get(account.key, '/api/deposits?search='))).statusCode).toBe(400)

  const other = await w.account()
  for (const text of [charge.id, charge.paymentLinkId, payment.endToEndId, 'order-1042'])
    expect((await listDeposits(w.ctx, other.accountId, { search: text, limit: 10 })).charges).toEqual([])
})

test('a search goes with the other filters, and finds what has ended too', async () => {
  const w = await world()
  const account = await w.account()
  await insertDeposits(w, account, 2, `'again', null`)
  const find = (filter: object) =>
    listDeposits(w.ctx, account.accountId, { search: 'again', limit: 10, ...filter }).then(
      ({ charges }) => charges.length,
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
    listDeposits(w.ctx, account.accountId, { limit: 10, ...filter }).then(({ charges }) => charges.map(({ id }) => id))
  expect(await list({ status: 'PENDING' })).toEqual([old.id])
  expect(await list({ from: createdAt })).toEqual([old.id])
  expect(await list({ to: createdAt })).toEqual([])
  expect(await list({ to: new Date(createdAt.getTime() + 1) })).toEqual([old.id])
  expect(await list({ from: new Date(createdAt.getTime() + 1) })).toEqual([])
})

test('a CSV file has every deposit once, in order, over many pages, also when others are added meanwhile', async () => {
  const w = await world()
  const account = await w.account()
  const count = 2 * CSV_PAGE + 7
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
        // While the first page is out.
        void w.deposit(account).then(() => response.on('data', (text: string) => chunks.push(text)).resume())
      })
      response.on('end', resolve)
    })
      .on('error', reject)
      .end()
  })
  const ids = rowsOf(chunks.join('')).map((row) => row.split(',')[0])
  expect(ids).toEqual(
    Array.from(
      { length: count },
      (_, index) => `019caea57c0070008000${(count - index).toString(16).padStart(12, '0')}`,
    ),
  )
})

test('a reader of a CSV file who goes away ends the reading', async () => {
  const w = await world()
  const account = await w.account()
  await insertDeposits(w, account, 20 * CSV_PAGE, `null, repeat('x', 140)`)
  const session = await w.session(account)
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = w.app.server.address() as AddressInfo
  let pages = 0
  const query = w.pool.query.bind(w.pool)
  w.pool.query = ((...args: Parameters<typeof query>) => {
    if (args[0].includes('order by c.id desc')) pages++
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
  // Longer than several pages would take.
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
  expect(answer.body.startsWith('\u{feff}id,paymentLinkId,status,')).toBe(true)
  const rows = rowsOf(answer.body).toReversed()
  // The last two cells, the second of which may hold commas.
  expect(rows.map((row) => /,([^,]*),("(?:[^"]|"")*"|[^,"]*)$/.exec(row)?.slice(1))).toEqual([
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

test("a statement as CSV has this account's lines of that time, with their signs", async () => {
  const w = await world()
  const { account } = await completedCharge(w, { valueCents: 50_00 })
  await completedCharge(w)
  w.clock.advance(3_600_000)
  await completedCharge(w, { account, valueCents: 10_00 })
  const session = await w.session(account)
  const file = async (query = '') => rowsOf((await session.ask('GET', `/dashboard/api/statement.csv${query}`)).body)
  const amounts = (rows: string[]) => rows.map((row) => row.split(',').slice(4, 6).join(' '))
  expect(amounts(await file())).toEqual(['9.90 59.40', '49.50 49.50'])
  expect(amounts(await file('?from=2026-03-02T12:30:00Z'))).toEqual(['9.90 59.40'])
  expect(amounts(await file('?to=2026-03-02T12:30:00Z'))).toEqual(['49.50 49.50'])
})
