import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { changeTimeZone } from '../src/domain/reports/change-time-zone.ts'
import { findPeriod, readTotals } from '../src/domain/ledger/account-statement.ts'
import { LINE_KIND_NAMES } from '../src/domain/ledger/line-kinds.ts'
import { transact } from '../src/db/tx.ts'
import { endDispute } from '../src/domain/disputes/dispute-states.ts'
import { payPayout, rejectPayout, requestPayout } from '../src/domain/payouts/payouts.ts'
import type { Resolution } from '../src/domain/exceptions/exception-states.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { EXPORT_PAGE } from '../src/http/server/exports.ts'
import { contest } from './dispute-steps.ts'
import { isInstalled } from './programs.ts'
import {
  changeProvider,
  completedCharge,
  hearOf,
  OPERATOR,
  refund,
  refundAtBank,
  settleAll,
  strayPayment,
  untilMade,
} from './refund-steps.ts'
import { get } from './requests.ts'
import { world, type TestAccount, type World } from './world.ts'

type Line = { id: string; kind: string; gross: number; fee: number; net: number; amount: number; balance: number }
type Statement = {
  lines: Line[]
  timeZone: string
  openingBalance: number
  closingBalance: number
  totals: { kind: string; count: number; gross: number; fee: number; net: number }[]
}

const MONTH = 'from=2026-03-01&to=2026-03-31'

async function statement(w: World, account: TestAccount, query: string): Promise<Statement> {
  return (await w.app.inject(get(account.key, `/api/statement?limit=100&${query}`))).json()
}

async function file(w: World, account: TestAccount, query: string) {
  const { statusCode, headers, rawPayload } = await w.app.inject(get(account.key, `/api/statement/export?${query}`))
  expect(statusCode).toBe(200)
  return { bytes: rawPayload, text: rawPayload.toString('utf8'), name: String(headers['content-disposition']) }
}

function sum(amounts: number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}

/** An account with every kind of line in March, and a deposit before and after. */
async function everyKind(): Promise<{ w: World; account: TestAccount }> {
  const w = await world({
    settings: { refunds: { byAccounts: false, returnFee: true } },
    at: new Date('2026-02-20T12:00:00Z'),
  })
  const account = await w.account()
  const resolve = async (resolution: Resolution) => {
    const [open] = (await listExceptions(w.ctx, { state: 'open', limit: 10 })).exceptions
    await resolveException(w.ctx, OPERATOR, open!.id, resolution, 'as the test says')
  }
  await completedCharge(w, { account, valueCents: 80_00 })
  w.clock.advance(10 * 24 * 3_600_000)
  const { charge, payment } = await completedCharge(w, { account, valueCents: 50_00 })
  const late = await w.paidCharge({ account, valueCents: 33_33 })
  await settleAll(w, [{ ...late.payment, txid: null }])
  await settleAll(w, [late.payment])
  await refund(w, charge, { amountCents: 20_00 })
  const { refund: send } = w.ctx.providers[0]!
  changeProvider(w, { refund: () => Promise.reject(new ProviderError('refused', 'no')) })
  const failed = await refund(w, charge, { amountCents: 10_00 })
  changeProvider(w, { refund: send })
  // The bank made it after all.
  await send({ endToEndId: payment.endToEndId, refundId: failed.id, amountCents: 10_00 })
  await untilMade(w, { endToEndId: payment.endToEndId, refundId: failed.id })
  await hearOf(w, payment.endToEndId)
  await resolve({ how: 'charge_account' })
  await strayPayment(w, 7_00)
  await resolve({ how: 'credit', accountId: account.accountId })
  await refundAtBank(w, payment.endToEndId, 5_00)
  await hearOf(w, payment.endToEndId)
  const ask = { accountId: account.accountId, note: null, idempotencyKey: null }
  const paid = await requestPayout(w.ctx, OPERATOR, { ...ask, valueCents: 40_00 })
  await payPayout(w.ctx, OPERATOR, paid.payout.id, { reference: 'PIX 123' })
  const rejected = await requestPayout(w.ctx, OPERATOR, { ...ask, valueCents: 9_00 })
  await rejectPayout(w.ctx, OPERATOR, rejected.payout.id, 'the account is another one')
  const dispute = await contest(w, { account, charge, payment })
  await transact(w.pool, (tx) => endDispute(tx, w.clock.now(), dispute.id, 'REJECTED'))
  const rest = await requestPayout(w.ctx, OPERATOR, { ...ask, valueCents: await w.balanceCents(account.accountId) })
  await payPayout(w.ctx, OPERATOR, rest.payout.id, { reference: 'PIX 124' })
  await refundAtBank(w, late.payment.endToEndId, 33_33)
  await hearOf(w, late.payment.endToEndId)
  await completedCharge(w, { account, valueCents: 40_00 })
  w.clock.advance(31 * 24 * 3_600_000)
  await completedCharge(w, { account, valueCents: 11_00 })
  return { w, account }
}

test('every kind of line tells gross, fee and net, and their sums are those of the ledger', async () => {
  const { w, account } = await everyKind()
  const all = await statement(w, account, 'from=2026-01-01')
  const march = await statement(w, account, MONTH)
  expect(new Set(march.lines.map(({ kind }) => kind))).toEqual(new Set(LINE_KIND_NAMES))
  for (const { gross, fee, net, amount } of all.lines) expect([net, amount]).toEqual([gross - fee, gross - fee])

  // What all transfers of the balance and all fees of this account add up to, whatever lines are made of them.
  const { rows } = await w.pool.query(
    `select sum(case when t.credit_id = l.id then t.amount_cents when t.debit_id = l.id then -t.amount_cents else 0 end)::int as net,
       sum(case when c.kind = 'fees' then t.amount_cents when d.kind = 'fees' then -t.amount_cents else 0 end)::int as fee
     from transfers t join ledger_accounts c on c.id = t.credit_id join ledger_accounts d on d.id = t.debit_id,
       ledger_accounts l where l.account_id = $1 and l.kind = 'balance'`,
    [account.accountId],
  )
  expect({ net: sum(all.lines.map(({ net }) => net)), fee: sum(all.lines.map(({ fee }) => fee)) }).toEqual(rows[0])
  expect(all.closingBalance).toBe(await w.balanceCents(account.accountId))

  expect([march.openingBalance, march.closingBalance]).toEqual([79_20, all.closingBalance - 10_89])
  let balance = march.openingBalance
  for (const line of march.lines.toReversed()) expect(line.balance).toBe((balance += line.net))
  expect(balance).toBe(march.closingBalance)
  for (const { kind, ...totals } of march.totals) {
    const lines = march.lines.filter((line) => line.kind === kind)
    const sumOf = (name: 'gross' | 'fee' | 'net') => sum(lines.map((line) => line[name]))
    expect(totals).toEqual({ count: lines.length, gross: sumOf('gross'), fee: sumOf('fee'), net: sumOf('net') })
  }
  expect(sum(march.totals.map(({ count }) => count))).toBe(march.lines.length)
  expect(await w.differences()).toEqual([])
})

test('all files of a month have the same lines, and add up to the ledger', async () => {
  const { w, account } = await everyKind()
  const { lines, closingBalance, openingBalance } = await statement(w, account, MONTH)
  const nets = lines.toReversed().map(({ net }) => net)
  expect(sum(nets)).toBe(closingBalance - openingBalance)
  const rowsOf = (text: string) => text.trim().split('\r\n').slice(1)
  const csv = (await file(w, account, `format=csv&${MONTH}`)).text
  const brazilian = (await file(w, account, `format=csv-br&${MONTH}`)).text
  const jsonl = (await file(w, account, `format=jsonl&${MONTH}`)).text
  expect(
    jsonl
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text)),
  ).toEqual(lines.toReversed())
  expect(rowsOf(csv).map((row) => cents(row.split(',')[9]!))).toEqual(nets)
  expect(rowsOf(brazilian).map((row) => cents(row.split(';')[9]!.replace(',', '.')))).toEqual(nets)
  for (const format of ['ofx', 'ofx2']) {
    const { bytes } = await file(w, account, `format=${format}&${MONTH}`)
    const read = readOfx(bytes)
    expect(read.lines.map(({ TRNAMT }) => cents(TRNAMT!))).toEqual(nets)
    expect(new Set(read.lines.map(({ FITID }) => FITID)).size).toBe(nets.length)
    expect(cents(read.values['BALAMT']!)).toBe(closingBalance)
  }
})

test.skipIf(!isInstalled('ofxdump'))('libofx reads both forms of OFX and finds no error in them', async () => {
  const { w, account } = await everyKind()
  const { lines, closingBalance } = await statement(w, account, MONTH)
  const folder = mkdtempSync(join(tmpdir(), 'guiche-ofx-'))
  try {
    for (const format of ['ofx', 'ofx2']) {
      const path = join(folder, `march.${format}`)
      writeFileSync(path, (await file(w, account, `format=${format}&${MONTH}`)).bytes)
      // What it complains of goes to stderr, and its exit code is 0 all the same.
      const dump = execFileSync('sh', ['-c', 'exec ofxdump "$0" 2>&1', path], { encoding: 'utf8' })
      // It warns of every XML file that is UTF-8.
      expect(dump).not.toMatch(format === 'ofx' ? /^LibOFX (ERROR|WARNING)/m : /^LibOFX ERROR/m)
      const amounts = [...dump.matchAll(/Total money amount: (-?[\d.]+)/g)].map(([, amount]) => cents(amount!))
      expect(amounts).toEqual(lines.toReversed().map(({ net }) => net))
      expect(dump).toContain(`Ledger balance: ${(closingBalance / 100).toFixed(2)}`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** Another reader: SGML and XML alike, by the names of the values and of the lines around them. */
function readOfx(bytes: Buffer): { values: Record<string, string>; lines: Record<string, string>[] } {
  const isSgml = bytes.toString('latin1').startsWith('OFXHEADER:100')
  // The only letters that Latin-1 lacks and the tests use.
  const latin = () => bytes.toString('latin1').replaceAll('\x93', '“').replaceAll('\x94', '”')
  const text = isSgml ? latin() : new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  const values: Record<string, string> = {}
  const lines: Record<string, string>[] = []
  let into = values
  for (const [, name, content] of text.slice(text.indexOf('<OFX>')).matchAll(/<(\/?[A-Z0-9]+)>([^<]*)/g)) {
    if (name === 'STMTTRN') lines.push((into = {}))
    else if (name === '/STMTTRN') into = values
    else if (content!.trim() !== '') into[name!] = unescaped(content!.trim())
  }
  return { values, lines }
}

function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

function cents(decimal: string): number {
  const [, sign, whole, part] = /^(-?)(\d+)\.(\d\d)$/.exec(decimal)!
  return Number(`${sign}${whole}${part}`)
}

test('texts of other people reach accounting programs whole, and spreadsheets as text', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { externalId: '=1+1', description: 'Pão & <b>“queijo”</b> ★ Łódź' })
  await w.sandbox.pay({ emv: charge.emv })
  await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  const { endToEndId } = (await w.app.inject(get(account.key, '/api/statement'))).json().lines[0]
  expect((await file(w, account, 'format=csv')).text).toContain(`,deposit,"'=1+1",`)
  expect((await file(w, account, 'format=csv-br')).text).toContain(`;Depósito;"'=1+1";`)
  const memo = (told: string) => `Depósito | bruto 50,00, tarifa 0,50 | ${endToEndId} | =1+1 | ${told}`
  const [sgml] = readOfx((await file(w, account, 'format=ofx')).bytes).lines
  expect(sgml).toMatchObject({ NAME: 'Depósito =1+1', FITID: endToEndId, MEMO: memo('Pão & <b>“queijo”</b> ? ?ódz') })
  const [xml] = readOfx((await file(w, account, 'format=ofx2')).bytes).lines
  expect(xml).toMatchObject({ MEMO: memo('Pão & <b>“queijo”</b> ★ Łódź') })
})

test('a day begins and ends in the zone of the account, also where clocks change', async () => {
  const w = await world({ at: new Date('2026-03-01T02:30:00Z') })
  const account = await w.account()
  const amounts = async (query: string) => (await statement(w, account, query)).lines.map(({ gross }) => gross)
  // 23:30 on the last day of February in São Paulo, and 00:30 on the first of March.
  await completedCharge(w, { account, valueCents: 1_00 })
  w.clock.advance(3_600_000)
  await completedCharge(w, { account, valueCents: 2_00 })
  expect(await amounts('from=2026-02-01&to=2026-02-28')).toEqual([1_00])
  expect(await amounts('from=2026-03-01&to=2026-03-01')).toEqual([2_00])
  const february = await file(w, account, 'format=ofx&from=2026-02-01&to=2026-02-28')
  expect(february.name).toMatch(/filename="extrato-loja-[0-9a-f]{8}-2026-02\.ofx"$/)
  expect(readOfx(february.bytes)).toMatchObject({
    values: { DTSTART: '20260201000000[-3:BRT]', DTEND: '20260228235959[-3:BRT]' },
    lines: [{ DTPOSTED: '20260228233000[-3:BRT]' }],
  })

  await changeTimeZone(w.ctx, OPERATOR, account.accountId, 'America/New_York')
  expect(await amounts('from=2026-02-01&to=2026-02-28')).toEqual([2_00, 1_00])
  // On 8 March 2026 New York had only 23 hours: from 05:00 UTC to 04:00 UTC.
  for (const [at, valueCents] of [
    ['2026-03-08T04:59:00Z', 3_00],
    ['2026-03-08T05:01:00Z', 4_00],
    ['2026-03-09T03:59:00Z', 5_00],
    ['2026-03-09T04:01:00Z', 6_00],
  ] as const) {
    w.clock.advance(Date.parse(at) - w.clock.now().getTime())
    await completedCharge(w, { account, valueCents })
  }
  expect(await amounts('from=2026-03-08&to=2026-03-08')).toEqual([5_00, 4_00])
  expect((await statement(w, account, 'from=2026-03-08')).timeZone).toBe('America/New_York')
  const day = readOfx((await file(w, account, 'format=ofx2&from=2026-03-08&to=2026-03-08')).bytes)
  expect(day.values).toMatchObject({ DTSTART: '20260308000000[-5]', DTEND: '20260308235959[-4]' })
  const brazilian = (await file(w, account, 'format=csv-br&from=2026-03-08&to=2026-03-08')).text
  expect(brazilian).toContain('08/03/2026 00:01:00')
  expect(brazilian).toContain('08/03/2026 23:59:00')
  expect(await w.differences()).toEqual([])
})

test('a closing balance is the next opening balance, also if clocks disagreed about two neighbours', async () => {
  const w = await world({ at: new Date('2026-03-02T02:59:59.990Z') })
  const account = await w.account()
  // The second has waited for the balance, and its time is that of before.
  w.clock.advance(20)
  await completedCharge(w, { account, valueCents: 1_00 })
  w.clock.advance(-20)
  await completedCharge(w, { account, valueCents: 2_00 })
  w.clock.advance(3_600_000)
  await completedCharge(w, { account, valueCents: 3_00 })
  const days = [await statement(w, account, 'to=2026-03-01'), await statement(w, account, 'from=2026-03-02')]
  expect(days[0]!.closingBalance).toBe(days[1]!.openingBalance)
  expect(days.flatMap(({ lines }) => lines.toReversed()).map(({ gross }) => gross)).toEqual([1_00, 2_00, 3_00])
  for (const { openingBalance, closingBalance, lines } of days)
    expect(openingBalance + sum(lines.map(({ net }) => net))).toBe(closingBalance)
})

/** Copies the newest transfer of the account's balance, as if the same deposit had come again and again. */
async function copyLines(w: World, accountId: string, count: number): Promise<void> {
  await w.pool.query(
    `insert into payments select p.* from (select * from payments limit 1) one, generate_series(1, $1) n,
       jsonb_populate_record(null::payments, to_jsonb(one) || jsonb_build_object('id', md5(n::text)::uuid, 'end_to_end_id', 'copy' || n,
         'credited', false)) p`,
    [count],
  )
  await w.pool.query(
    `insert into transfers overriding system value
     select t.* from (select * from transfers where kind = 'deposit' and account_id = $2 order by id desc limit 1) one,
       generate_series(1, $1) n,
       jsonb_populate_record(null::transfers, to_jsonb(one) || jsonb_build_object('id', 1000000 + n, 'payment_id', md5(n::text)::uuid,
         'credit_after_cents', one.credit_after_cents + n * one.amount_cents)) t`,
    [count, accountId],
  )
  await w.pool.query('analyze transfers, payments')
}

test('a period with too many lines has balances and no totals', async () => {
  const w = await world()
  const { account } = await completedCharge(w, { valueCents: 50_00 })
  await completedCharge(w, { account, valueCents: 30_00 })
  const period = await findPeriod(w.ctx, account.accountId, {})
  expect(await readTotals(w.ctx, account.accountId, period, { maxLines: 2 })).toMatchObject([
    { kind: 'deposit', count: 2 },
  ])
  expect(await readTotals(w.ctx, account.accountId, period, { maxLines: 1 })).toBeUndefined()
})

test('a statement of amounts has the lines of a period between both, by their gross, their totals, and pages', async () => {
  const { w, account } = await everyKind()
  const all = await statement(w, account, MONTH)
  const of = (query: string) => statement(w, account, `${MONTH}&${query}`)
  const [smallest, ...others] = all.lines.map(({ gross }) => Math.abs(gross)).toSorted((a, b) => a - b)
  const largest = others.at(-1)!
  expect(smallest).toBeLessThan(largest)
  for (const [minValue, maxValue] of [
    [smallest, smallest],
    [smallest! + 1, largest],
    [0, largest - 1],
    [largest, largest],
  ]) {
    const some = await of(`minValue=${minValue}&maxValue=${maxValue}`)
    const expected = all.lines.filter(({ gross }) => Math.abs(gross) >= minValue! && Math.abs(gross) <= maxValue!)
    expect(some.lines).toEqual(expected)
    expect(expected.length).toBeGreaterThan(0)
    expect(sum(some.totals.map(({ count }) => count))).toBe(expected.length)
    expect(sum(some.totals.map(({ net }) => net))).toBe(sum(expected.map(({ net }) => net)))
    // The balances are of the period, whatever is shown of it.
    expect([some.openingBalance, some.closingBalance]).toEqual([all.openingBalance, all.closingBalance])
  }
  expect((await of(`minValue=${largest + 1}`)).lines).toEqual([])
  expect((await of(`maxValue=${smallest}`)).lines.length).toBeGreaterThan(0)

  const inPages: Line[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const url: string = `/api/statement?${MONTH}&minValue=${smallest! + 1}&limit=2${cursor && `&cursor=${cursor}`}`
    const page: { lines: Line[]; nextCursor: string | null } = (await w.app.inject(get(account.key, url))).json()
    inPages.push(...page.lines)
    cursor = page.nextCursor
  }
  expect(inPages).toEqual(all.lines.filter(({ gross }) => Math.abs(gross) > smallest!))
})

test('amounts need a period, and must be in order', async () => {
  const w = await world()
  const { key } = await w.account()
  const month = (query: string) => `${MONTH}&${query}`
  const refused = [
    'minValue=1',
    ...['minValue=2&maxValue=1', 'minValue=-1', 'maxValue=1.5', 'maxValue=1000000000000'].map(month),
  ]
  for (const query of refused) {
    const answer = await w.app.inject(get(key, `/api/statement?${query}`))
    expect([query, answer.statusCode]).toEqual([query, 400])
    expect(answer.json().error).toMatch(/need from or to|must not be below|must be an integer from 0/)
  }
})

test('a month with ten thousand lines is read and sent in pages, so that no more than one is in memory', async () => {
  const w = await world()
  const { account } = await completedCharge(w, { valueCents: 50_00 })
  const count = 10_000
  await copyLines(w, account.accountId, count)
  const rowsRead: number[] = []
  const query = w.pool.query.bind(w.pool)
  w.pool.query = (async (...args: Parameters<typeof query>) => {
    const result = await (query(...args) as unknown as Promise<{ rows: unknown[] }>)
    rowsRead.push(result.rows.length)
    return result
  }) as unknown as typeof query
  const { text } = await file(w, account, `format=ofx2&${MONTH}`)
  expect(Math.max(...rowsRead)).toBe(EXPORT_PAGE + 1)
  expect(text.match(/<STMTTRN>/g)).toHaveLength(count + 1)
  expect(text).toContain(`<BALAMT>${((count + 1) * 49.5).toFixed(2)}</BALAMT>`)
})

test('a file that does not end at its closing balance breaks off, and cannot be taken for a whole one', async () => {
  const w = await world()
  const { account } = await completedCharge(w)
  const query = w.pool.query.bind(w.pool)
  w.pool.query = (async (...args: Parameters<typeof query>) => {
    const result = await (query(...args) as unknown as Promise<{ rows: unknown[] }>)
    return JSON.stringify(args[0]).includes('order by l.id asc') ? { ...result, rows: [] } : result
  }) as unknown as typeof query
  const url = await w.app.listen({ port: 0, host: '127.0.0.1' })
  const answer = await fetch(`${url}/api/statement/export?${MONTH}`, { headers: { 'x-api-key': account.key } })
  await expect(answer.text()).rejects.toThrow('terminated')
})

test('the export needs the scope of the balance, and the zone is one of the zone database', async () => {
  const w = await world()
  const { key } = await w.account({ scopes: ['deposits:read'] })
  expect((await w.app.inject(get(key, '/api/statement/export'))).statusCode).toBe(403)
  const { accountId } = await w.account()
  await expect(changeTimeZone(w.ctx, OPERATOR, accountId, 'Mars/Olympus')).rejects.toMatchObject({
    code: 'field_invalid',
  })
})

test('today is the same day on every page: that of the zone that the account has chosen', async () => {
  // 23:30 in São Paulo on the first of March, and 22:30 in Manaus.
  const w = await world({ at: new Date('2026-03-02T02:30:00Z') })
  const { account } = await completedCharge(w, { valueCents: 7_00 })
  // Half an hour past midnight in São Paulo.
  w.clock.advance(3_600_000)
  await completedCharge(w, { account, valueCents: 1_00 })
  const session = await w.session(account)
  const today = async () => {
    const overview = (await session.ask('GET', '/dashboard/api/overview')).json()
    return [overview.today.paidValue, overview.yesterdaySoFar, overview.days.at(-1).day]
  }
  expect(await today()).toEqual([1_00, 0, '2026-03-02'])
  const change = await session.ask('PUT', '/dashboard/api/account/time-zone', { timeZone: 'America/Manaus' })
  expect(change.json()).toEqual({ success: true, timeZone: 'America/Manaus' })
  expect(await today()).toEqual([8_00, 0, '2026-03-01'])
  expect((await session.ask('GET', '/dashboard/api/me')).json().me.timeZone).toBe('America/Manaus')
  expect(await w.differences()).toEqual([])
  const lines = await w.count('audit_log', `action = 'account.time_zone_changed' and rows is not null`)
  expect(lines).toBe(1)
})
