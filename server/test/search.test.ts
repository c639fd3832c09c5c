import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { hexFromUuid } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { payPayout, requestPayout } from '../src/domain/payouts/payouts.ts'
import { FOUND_KINDS, MAX_NEWEST, type FoundKind } from '../src/domain/search/finders.ts'
import { searchAll } from '../src/domain/search/search.ts'
import { readTyped } from '../src/domain/search/typed-text.ts'
import type { DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { OPERATOR, refund, settleAll, strayPayment } from './refund-steps.ts'
import { join } from './members-client.ts'
import { CHARGE_SECRET } from './databases.ts'
import { ask, makeOperator } from './operators-client.ts'
import { runCli, temporaryHome } from './process.ts'
import { get } from './requests.ts'
import { patient, until, world, type TestAccount, type World } from './world.ts'

type Result = { kind: FoundKind; id: string } & Record<string, unknown>

// ---- What a text can mean ----

/** As the indexes have them. */
const piecesOf = (tail: string, starts: number[]) => starts.map((start) => tail.slice(start, start + 4))

test.each([
  ['E2E id', 11, [0, 4, 7], () => `E1234567820260131120${randomBytes(6).toString('hex')}`, 'endToEndPart'],
  ['id', 12, [0, 4, 8], () => randomBytes(16).toString('hex'), 'idPart'],
] as const)(
  'every part with 7 of the last characters of an %s asks for pieces that it has',
  (_, length, starts, make, name) => {
    const parts = Array.from({ length: 20 }, () => make().toLowerCase()).flatMap((id) => {
      const own = piecesOf(id.slice(-length), [...starts])
      return partsOf(id, length).map((part) => ({ part, own }))
    })
    const asked = (part: string) => readTyped(part)[name]?.pieces ?? []
    const missed = parts.filter(
      ({ part, own }) => !asked(part).some((some) => some.every((piece) => own.includes(piece))),
    )
    expect([parts.length > 1_000, missed]).toEqual([true, []])
  },
)

/** All parts with 7 or more of its last characters. */
function partsOf(id: string, length: number): string[] {
  const parts: string[] = []
  for (let end = id.length - length + 7; end <= id.length; end++)
    for (let start = 0; start <= end - 7; start++) parts.push(id.slice(start, end))
  return parts
}

test('a pasted link means its id, and a shortened id means its end', () => {
  const link = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'
  for (const text of [
    link,
    ` ${link.toUpperCase()} `,
    `https://pay.example.com/payment-link/${link}?a=b`,
    `/qr/${link}.png`,
  ])
    expect(readTyped(text).wholeId).toBe(hexFromUuid(link))
  // The number of a bank is the beginning of its CNPJ, which may have letters.
  expect(readTyped('E12ABC34X202603101200')).toMatchObject({
    endToEndId: { last: `E12ABC34X202603101200${'z'.repeat(12)}` },
  })
  expect(readTyped('0199a3c2…3e2f4a68')).toMatchObject({ id: { first: '3e2f4a68'.padEnd(32, '0') } })
  expect(readTyped('0199a3c2f4b8…').link?.first).toBe('0199a3c2f4b8'.padEnd(32, '0'))
})

// ---- Each kind by each way ----

async function paid(w: World, account: TestAccount, request: Partial<DepositRequest>) {
  const charge = await w.deposit(account, request)
  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  const { endToEndId, txid, amountCents, horario } = pix[0]!
  const payment = { provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }
  await settleAll(w, [payment])
  w.clock.advance(1_000)
  return { charge, payment }
}

/** A shop with one of each, whose values differ, and an operator. */
async function shop() {
  const w = await world()
  const account = await w.account()
  const texts = { externalId: 'Pedido-1042', description: 'Festa de ANIVERSÁRIO' }
  const { charge, payment } = await paid(w, account, { valueCents: 1_199_90, ...texts })
  const refunded = await refund(w, charge, { amountCents: 17_31 })
  const stray = await strayPayment(w, 7_77)
  const [exception] = (await listExceptions(w.ctx, { limit: 10 })).exceptions
  const request = { accountId: account.accountId, valueCents: 33_44, note: 'Março', idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, { kind: 'account', name: account.email }, request)
  await payPayout(w.ctx, OPERATOR, payout.id, { reference: 'TED-889900' })
  const operator = await makeOperator(w)
  const find = async (q: string, limit = 5): Promise<Result[]> => {
    const { status, body } = await ask(w, operator.key, 'GET', `search?q=${encodeURIComponent(q)}&limit=${limit}`)
    expect([q, status]).toEqual([q, 200])
    return body.results
  }
  /** The kinds and ids that a text finds. */
  const found = async (q: string) => (await find(q)).map(({ kind, id }) => `${kind} ${id}`)
  return { w, account, charge, payment, refunded, stray, exception: exception!, payout, operator, find, found }
}

test('a deposit is found by its texts, its amount, its payment, its link, and any part of its id', async () => {
  const { charge, payment, found } = await shop()
  const { id, paymentLinkId } = charge
  const hyphened = id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  const url = `https://guiche.example/payment-link/${paymentLinkId}`
  const tail = payment.endToEndId.slice(-11)
  const ways = [
    'Pedido-1042',
    'edido-10',
    'aniversario',
    'ANIVERSÁRIO',
    '1199,90',
    'R$ 1.199,90',
    '1,199.90',
    id,
    id.toUpperCase(),
    hyphened,
    id.slice(0, 20),
    id.slice(-7),
    id.slice(-10, -2).toUpperCase(),
    `${id.slice(0, 8)}…${id.slice(-8)}`,
    paymentLinkId,
    url,
    payment.endToEndId,
    payment.endToEndId.toLowerCase(),
    tail.slice(2, 9),
    tail.slice(-7).toUpperCase(),
  ]
  for (const q of ways) expect([q, await found(q)]).toEqual([q, expect.arrayContaining([`deposit ${id}`])])
  for (const q of ['Pedido-2042', '1199,91', 'f'.repeat(9), 'zzzzzzz']) expect([q, await found(q)]).toEqual([q, []])
})

test('accounts are found by name, e-mail, those of members, and id', async () => {
  const { w, account, found, find } = await shop()
  await join(w, account.accountId, 'cashier', 'zoe@caixa.example')
  const other = await w.account()
  const name = `Loja ${account.email.split('@')[0]}`
  for (const q of [
    account.email,
    account.email.toUpperCase(),
    name,
    'zoe@CAIXA',
    account.accountId,
    hexFromUuid(account.accountId),
  ])
    expect([q, await found(q)]).toEqual([q, [`account ${account.accountId}`]])
  expect(await found('Lojá ')).toEqual([`account ${other.accountId}`, `account ${account.accountId}`])
  expect((await find(account.email))[0]).toMatchObject({
    title: name,
    detail: account.email,
    accountId: account.accountId,
    accountName: name,
    status: null,
    value: null,
  })
})

test('a payment that completed nothing is found by any part of its E2E id, with its exception', async () => {
  const { stray, exception, find, found, payment, charge } = await shop()
  const { endToEndId } = stray
  for (const q of [
    endToEndId,
    endToEndId.slice(0, 21),
    endToEndId.slice(-7),
    endToEndId.slice(-10, -2).toUpperCase(),
    endToEndId.slice(12),
  ])
    expect([q, await found(q)]).toEqual([
      q,
      expect.arrayContaining([`payment ${endToEndId}`, `exception ${exception.id}`]),
    ])
  expect(await find(endToEndId)).toMatchObject([
    {
      kind: 'payment',
      value: 7_77,
      title: endToEndId,
      paymentLinkId: null,
      exceptionId: exception.id,
      accountId: null,
    },
    { kind: 'exception', value: 7_77, title: endToEndId, detail: 'unknown_charge', status: 'open' },
  ])
  const [, ofDeposit] = await find(payment.endToEndId)
  expect(ofDeposit).toMatchObject({ kind: 'payment', paymentLinkId: charge.paymentLinkId, exceptionId: null })
})

test('refunds, exceptions and payouts are found by id, amount, and what the bank calls them', async () => {
  const { refunded, exception, payout, payment, stray, find, found } = await shop()
  const ways: [string, string[]][] = [
    [
      `refund ${refunded.id}`,
      [
        refunded.id,
        refunded.id.toUpperCase(),
        refunded.id.slice(-9),
        '17,31',
        refunded.providerRefundId,
        payment.endToEndId,
        payment.endToEndId.slice(-7),
      ],
    ],
    [
      `exception ${exception.id}`,
      [exception.id, exception.id.slice(0, 14), exception.id.slice(-9), '7,77', stray.endToEndId],
    ],
    [`payout ${payout.id}`, [payout.id, payout.id.slice(-9), '33,44', 'TED-889900', 'marco']],
  ]
  for (const [wanted, texts] of ways)
    for (const q of texts) expect([q, await found(q)]).toEqual([q, expect.arrayContaining([wanted])])
  expect((await find('17,31'))[0]).toMatchObject({ status: 'PROCESSING', value: 17_31, detail: 'Pedido-1042' })
  expect((await find('33,44'))[0]).toMatchObject({ status: 'PAID', title: 'Março', detail: 'TED-889900' })
})

test('events are found by their name, by the id of what they are about, and by its payment link', async () => {
  const { charge, payout, account, find } = await shop()
  const paid = `evt_DEPOSIT_ASSET_SUCCESS_${charge.id}`
  const events = async (q: string) => (await find(q)).filter(({ kind }) => kind === 'event')
  for (const q of [paid, charge.id, charge.id.toUpperCase(), charge.paymentLinkId])
    expect([q, await events(q)]).toMatchObject([
      q,
      [{ id: paid, title: 'DEPOSIT_ASSET_SUCCESS', detail: 'Pedido-1042' }],
    ])
  expect(await events(payout.id)).toMatchObject([
    { id: `evt_PAYOUT_PAID_${payout.id}`, accountId: account.accountId, paymentLinkId: null },
  ])
  expect(await events(`evt_DEPOSIT_EXPIRED_${charge.id}`)).toEqual([])
})

test('kinds come in their order, each newest first and at most as many as asked for', async () => {
  const { w, account, find } = await shop()
  for (let n = 0; n < 7; n++) {
    await w.deposit(account, { description: `Loja ${n}`, valueCents: 7_77 })
    w.clock.advance(1_000)
  }
  const some = await find('7,77', 3)
  expect(some.map(({ kind }) => kind)).toEqual(['deposit', 'deposit', 'deposit', 'exception'])
  expect(some.slice(0, 3).map(({ title }) => title)).toEqual(['Loja 6', 'Loja 5', 'Loja 4'])
  expect((await find('loja', 20)).map(({ kind }) => kind)).toEqual(['account', ...Array<string>(7).fill('deposit')])
})

test('guiche search prints what a text finds', async () => {
  const { w, charge } = await shop()
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    SECRET_KEY: CHARGE_SECRET,
    GUICHE_HOME: temporaryHome(),
  }
  const { code, stdout, stderr } = await runCli(['search', 'pedido-1042'], env)
  expect([code, stderr]).toEqual([0, ''])
  const rows = stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(rows.map(([kind, , id]) => [kind, id])).toContainEqual(['deposit', charge.id])
  expect(rows[1]).toEqual([
    'deposit',
    '2026-03-02 12:00',
    charge.id,
    'Pedido-1042',
    'COMPLETED',
    'R$ 1.199,90',
    expect.stringMatching(/^Loja /),
  ])
})

// ---- Who finds what ----

test('an account holder finds what is of the account, and nothing of another one by any text', async () => {
  const { w, account, charge, payment, refunded, stray, exception, payout } = await shop()
  const [own, other] = [await w.session(account), await w.session(await w.account())]
  const texts = [
    'Pedido-1042 aniversario 1199,90 17,31 33,44 7,77 TED-889900 Março Loja',
    `${charge.id} ${charge.id.slice(-7)} ${charge.id.slice(0, 6)} ${charge.paymentLinkId} evt_DEPOSIT_ASSET_SUCCESS_${charge.id}`,
    `${payment.endToEndId} ${payment.endToEndId.slice(-7)} ${payment.endToEndId.slice(0, 21)} ${stray.endToEndId}`,
    `${refunded.id} ${refunded.providerRefundId} ${payout.id} ${exception.id} ${account.email} ${account.accountId}`,
  ].flatMap((line) => line.split(' '))
  const kindsOf = async (session: typeof own, q: string) => {
    const answer = await session.ask('GET', `/dashboard/api/search?q=${encodeURIComponent(q)}`)
    expect([q, answer.statusCode]).toEqual([q, 200])
    return answer.json().results.map(({ kind }: Result) => kind)
  }
  const kinds = new Set<string>()
  for (const q of texts) {
    for (const kind of await kindsOf(own, q)) kinds.add(kind)
    expect([q, await kindsOf(other, q)]).toEqual([q, []])
  }
  expect([...kinds].toSorted()).toEqual(['deposit', 'event', 'payout', 'refund'])
  for (const q of [exception.id, stray.endToEndId, '7,77', account.email]) expect(await kindsOf(own, q)).toEqual([])
  const answer = await w.app.inject(get(account.key, '/api/operator/search?q=Pedido'))
  expect(answer.statusCode).toBe(403)
  expect((await w.app.inject(get(account.key, '/api/search?q=Pedido'))).statusCode).toBe(404)
})

test('a cashier finds the deposits of today alone, and a developer no payouts', async () => {
  const { w, account, charge, payment, refunded, payout } = await shop()
  const cashier = await w.session(await join(w, account.accountId, 'cashier'))
  const developer = await w.session(await join(w, account.accountId, 'developer'))
  const foundBy = async (session: typeof cashier, q: string) =>
    (await session.ask('GET', `/dashboard/api/search?q=${q}`)).json().results.map(({ id }: Result) => id)
  const texts = [charge.id, payment.endToEndId, 'Pedido', '1199,90', charge.paymentLinkId]
  for (const q of texts) expect([q, await foundBy(cashier, q)]).toEqual([q, [charge.id]])
  for (const q of [refunded.id, payout.id, '33,44', `evt_DEPOSIT_ASSET_SUCCESS_${charge.id}`])
    expect([q, await foundBy(cashier, q)]).toEqual([q, []])
  expect(await foundBy(developer, refunded.id)).toEqual([refunded.id])
  expect(await foundBy(developer, '33,44')).toEqual([])
  w.clock.advance(15 * 3_600_000)
  for (const q of texts) expect([q, await foundBy(cashier, q)]).toEqual([q, []])
})

// ---- Bounds ----

test('a text has 2 to 200 characters, and a block 1 to 20 results', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const statusOf = async (query: string) => (await ask(w, key, 'GET', `search?${query}`)).status
  for (const query of ['q=ab', `q=${'x'.repeat(200)}`, 'q=%25%25', 'q=%20%20', 'q=ab&limit=1', 'q=ab&limit=20'])
    expect([query, await statusOf(query)]).toEqual([query, 200])
  for (const query of ['', 'q=', 'q=a', `q=${'x'.repeat(201)}`, 'q=ab&limit=0', 'q=ab&limit=21', 'q=a%00b'])
    expect([query, await statusOf(query)]).toEqual([query, 400])
})

test('a part of an id is found however many came since, and a shorter one among the newest', async () => {
  const { w, account, charge, payment } = await shop()
  const count = MAX_NEWEST + 1
  // Behind all others in the order of ids, which is that of their age.
  await w.pool.query(
    `insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents, emv,
       created_at, expires_at)
     select overlay(gen_random_uuid()::text placing 'fffff' from 1)::uuid, gen_random_uuid(), $1, 'sandbox', 'EXPIRED', 1, 1, 0, 'x', $2, $2
     from generate_series(1, $3::int)`,
    [account.accountId, w.clock.now(), count],
  )
  await w.pool.query(
    `insert into payments (id, provider, end_to_end_id, amount_cents, credited, occurred_at, recorded_at)
     select overlay(gen_random_uuid()::text placing 'fffff' from 1)::uuid, 'sandbox', 'E00000000202601010000' || substr(md5(n::text), 1, 11), 1,
       false, $1, $1 from generate_series(1, $2::int) n`,
    [w.clock.now(), count],
  )
  const found = async (q: string) =>
    (await searchAll(w.ctx, q, ['deposit', 'payment'], { accountId: null, since: null, limit: 5 })).map(({ id }) => id)
  const { id } = charge
  const { endToEndId } = payment
  for (const q of [id.slice(-7), id.slice(-12, -4), id.slice(-9, -1), charge.paymentLinkId, '1199,90', 'aniversario'])
    expect([q, await found(q)]).toEqual([q, [id]])
  for (const q of [endToEndId.slice(-7), endToEndId.slice(-11, -4), endToEndId.slice(-9, -1), endToEndId.slice(15, 30)])
    expect([q, await found(q)]).toEqual([q, [id, endToEndId]])
  expect(await found(endToEndId.slice(-5))).toEqual([])
  await w.pool.query(`delete from charges where ctid in (select ctid from charges where status = 'EXPIRED' limit 2)`)
  expect(await found(endToEndId.slice(-5))).toEqual([id])
})

test('a search runs three statements at once, and no more', async () => {
  const { w, payment } = await shop()
  const waiting = () => w.count('pg_stat_activity', `datname = current_database() and wait_event_type = 'Lock'`)
  const { results } = await transact(w.pool, async (tx) => {
    await tx.run('lock table accounts in access exclusive mode')
    // Six kinds have something to look for.
    const scope = { accountId: null, since: null, limit: 5, timeoutMs: patient(60_000) }
    const results = searchAll(w.ctx, payment.endToEndId, FOUND_KINDS, scope)
    await until('three wait', async () => (await waiting()) >= 3)
    // A fourth would have come by now: these statements take longer than it needs.
    for (let asked = 0; asked < 10; asked++) expect(await waiting()).toBe(3)
    return { results }
  })
  await results
})

test('a search that takes too long is refused, and is no outage of the database', async () => {
  const { w } = await shop()
  await transact(w.pool, async (tx) => {
    await tx.run('lock table accounts in access exclusive mode')
    const scope = { accountId: null, since: null, limit: 5, timeoutMs: 20 }
    await expect(searchAll(w.ctx, 'loja', FOUND_KINDS, scope)).rejects.toMatchObject({ code: 'search_too_slow' })
  })
  expect(w.logged).toEqual([])
})
