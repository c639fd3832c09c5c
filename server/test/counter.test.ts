import { expect, test } from 'vitest'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { changeTimeZone } from '../src/domain/reports/change-time-zone.ts'
import { join } from './members-client.ts'
import { followToEnd, OPERATOR, refund } from './refund-steps.ts'
import { recordStatements } from './statements.ts'
import { world, type TestAccount, type TestSession, type World } from './world.ts'

const HOUR_MS = 3_600_000
const [MORNING, EVENING] = ['a', 'b'].map((digit) => digit.repeat(32)) as [string, string]
const NOTHING = {
  paid: 0,
  paidValue: 0,
  refunded: 0,
  refundedValue: 0,
  pending: 0,
  pendingValue: 0,
  expired: 0,
  canceled: 0,
}

async function counter(zone?: string) {
  const w = await world({ at: new Date('2026-03-02T15:00:00Z') })
  const account = await w.account()
  if (zone) await changeTimeZone(w.ctx, OPERATOR, account.accountId, zone)
  const session = await w.session(await join(w, account.accountId, 'cashier'))
  return { w, account, session }
}

/** As the page asks for it. */
async function charge(
  session: TestSession,
  value: number,
  metadata: object,
): Promise<{ paymentLinkId: string; emv: string }> {
  const answer = await session.ask('POST', '/dashboard/api/deposit', { value, metadata })
  expect(answer.statusCode).toBe(201)
  return answer.json().charge
}

async function paid(w: World, { accountId }: TestAccount, session: TestSession, value: number, metadata: object) {
  const made = await charge(session, value, metadata)
  await w.sandbox.pay({ emv: made.emv })
  return (await queryDeposit(w.ctx, accountId, made.paymentLinkId)).charge
}

async function takings(session: TestSession, shift?: string) {
  const answer = await session.ask('GET', `/dashboard/api/counter/takings${shift ? `?shift=${shift}` : ''}`)
  expect(answer.statusCode).toBe(200)
  return answer.json()
}

const at = (till: string, shift?: string) => ({ 'counter.till': till, ...(shift && { 'counter.shift': shift }) })

test('the takings are what was paid at the counter; refunds, and what was not paid, stand beside it', async () => {
  const { w, account, session } = await counter()
  const first = await paid(w, account, session, 10_00, at('AAAA'))
  await paid(w, account, session, 5_50, at('BBBB'))
  await followToEnd(w, await refund(w, first, { amountCents: 4_00 }))
  await charge(session, 7_00, at('AAAA'))
  const canceled = await charge(session, 8_00, at('AAAA'))
  await session.ask('POST', `/dashboard/api/deposit/${canceled.paymentLinkId}/cancel`)
  // By API, by the dashboard, and with data of the account's own that looks alike.
  await w.deposit(account)
  await charge(session, 99_00, { till: 'AAAA', note: '"counter.till":"AAAA"' })
  const answer = await takings(session)
  expect(answer.today).toEqual({
    ...NOTHING,
    paid: 2,
    paidValue: 15_50,
    refunded: 1,
    refundedValue: 4_00,
    pending: 1,
    pendingValue: 7_00,
    canceled: 1,
  })
  expect(answer).toMatchObject({ day: '2026-03-02', shift: null, isComplete: true, valueMin: 1 })
  expect(answer.deposits.map(({ value }: { value: number }) => value)).toEqual([8_00, 7_00, 5_50, 10_00])
})

test('two tills of one account do not mix their shifts, and another account sees nothing of them', async () => {
  const { w, account, session } = await counter()
  await paid(w, account, session, 10_00, at('AAAA', MORNING))
  await paid(w, account, session, 20_00, at('BBBB', EVENING))
  expect((await takings(session, MORNING)).shift).toEqual({ ...NOTHING, paid: 1, paidValue: 10_00 })
  expect((await takings(session, EVENING)).shift).toEqual({ ...NOTHING, paid: 1, paidValue: 20_00 })
  expect((await takings(session, EVENING)).today.paidValue).toBe(30_00)
  const stranger = await takings(await w.session(await w.account()), MORNING)
  expect(stranger).toMatchObject({ today: NOTHING, shift: NOTHING, deposits: [] })
})

test('the day begins at midnight of the account, and a shift goes on past it', async () => {
  // 13:00 in Noronha, an hour before Brasilia's time.
  const { w, account, session } = await counter('America/Noronha')
  w.clock.advance(10.5 * HOUR_MS)
  await paid(w, account, session, 10_00, at('AAAA', EVENING))
  expect((await takings(session)).today.paidValue).toBe(10_00)
  w.clock.advance(HOUR_MS)
  // In Brasilia it is still yesterday.
  await paid(w, account, session, 20_00, at('AAAA', EVENING))
  const answer = await takings(session, EVENING)
  expect([answer.day, answer.today.paidValue, answer.shift.paidValue]).toEqual(['2026-03-03', 20_00, 30_00])
  w.clock.advance(23.5 * HOUR_MS)
  expect((await takings(session, EVENING)).shift.paidValue).toBe(20_00)
})

test('money that is held is marked, and is no part of what was received', async () => {
  const { w, account, session } = await counter()
  const made = await charge(session, 10_00, at('AAAA'))
  await w.sandbox.pay({ emv: made.emv, amountCents: 9_00 })
  await queryDeposit(w.ctx, account.accountId, made.paymentLinkId)
  const { today, deposits } = await takings(session)
  expect([today.paidValue, today.pending, deposits[0].heldValue]).toEqual([0, 1, 9_00])
})

test('a row whose metadata was altered does not take the takings away', async () => {
  const { w, account, session } = await counter()
  await paid(w, account, session, 10_00, at('AAAA'))
  const broken = await charge(session, 20_00, at('AAAA'))
  await w.pool.query(`update charges set metadata = '{"other":' where payment_link_id = $1`, [broken.paymentLinkId])
  expect((await takings(session)).today).toEqual({ ...NOTHING, paid: 1, paidValue: 10_00 })
})

// 20,000 older ones of the same account, and 20,000 of today of another one.
test('the takings of a day read the deposits of that day and of that account alone', async () => {
  const { w, account, session } = await counter()
  const { accountId: another } = await w.account()
  await paid(w, account, session, 10_00, at('AAAA', MORNING))
  for (const [accountId, since] of [
    [account.accountId, '2026-01-01T00:00:00Z'],
    [another, '2026-03-02T04:00:00Z'],
  ] as const)
    await w.pool.query(
      `insert into charges
       select copy.* from (select * from charges limit 1) one, generate_series(1, 20000) n,
         lateral (select lpad(to_hex($1::bigint + n * 1000), 12, '0') || right(md5($2 || n), 20) as id) made,
         jsonb_populate_record(null::charges, to_jsonb(one) || jsonb_build_object('id', made.id,
           'payment_link_id', made.id, 'account_id', $2::text, 'created_at', $3::text)) copy`,
      [Date.parse(since), accountId, since],
    )
  await w.pool.query('analyze charges')
  const statements = await recordStatements(w.pool, () => takings(session, MORNING))
  const { text, values } = statements.find((statement) => statement.text.includes('newest'))!
  const { rows } = await w.pool.query(`explain (analyze, format json) ${text}`, values)
  const plan = JSON.stringify(rows[0]['QUERY PLAN'])
  expect(plan).toContain('"Index Name":"charges_by_account"')
  expect(plan).not.toContain('Seq Scan')
  const read = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":([\d.]+)/g)].map(([, count]) =>
    Number(count),
  )
  expect(Math.max(...read)).toBe(1)
})

test('a phone can install the counter: its manifest names pictures of the sizes that they have', async () => {
  const w = await world()
  const manifest = async (language: string) =>
    (await w.app.inject({ url: '/manifest.webmanifest', headers: { 'accept-language': language } })).json()
  expect(await manifest('pt-BR')).toMatchObject({ name: 'guiche Balcão', start_url: '/counter', display: 'standalone' })
  const { name, icons } = await manifest('en')
  expect(name).toBe('guiche Counter')
  expect(icons.filter(({ purpose }: { purpose?: string }) => purpose === 'maskable')).toHaveLength(1)
  for (const { src, sizes } of [...icons, { src: '/apple-touch-icon.png', sizes: '180x180' }]) {
    const answer = await w.app.inject(src)
    expect([src, answer.headers['content-type']]).toEqual([src, 'image/png'])
    const [width, height] = [16, 20].map((offset) => answer.rawPayload.readUInt32BE(offset))
    expect([src, `${width}x${height}`]).toEqual([src, sizes])
  }
})
