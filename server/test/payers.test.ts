import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import type { Payer, PayerPolicy } from '../src/domain/core/payers.ts'
import { checkDue } from '../src/workers/check.ts'
import { purge } from '../src/workers/purge.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { openPage } from './pages.ts'
import { OPERATOR } from './refund-steps.ts'
import { bearer, get } from './requests.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const ANA = '12345678909'
const BIA = '98765432100'

function named(policy: PayerPolicy, number = ANA): Payer {
  return { kind: 'CPF', number, policy }
}

/** A deposit that names Ana, which somebody has paid and a query has found. */
async function paidBy(w: World, policy: PayerPolicy, payer?: string) {
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 50_00, payer: named(policy) })
  const { pix } = await w.sandbox.pay({ emv: charge.emv, ...(payer && { payer }) })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  return { account, charge, endToEndId: pix[0]!.endToEndId }
}

async function recordOf(w: World, account: TestAccount, { paymentLinkId }: { paymentLinkId: string }) {
  return (await w.app.inject(get(account.key, `/api/deposits/${paymentLinkId}`))).json().deposit
}

/** Asks until the provider has been asked often enough to be believed. */
async function askForMinutes(w: World) {
  for (let turn = 0; turn < 12; turn++) {
    await checkDue(w.ctx)
    w.clock.advance(64_000)
  }
}

function postBody({ key }: TestAccount, payload: object, idempotencyKey?: string) {
  const headers = { ...bearer(key), ...(idempotencyKey && { 'idempotency-key': idempotencyKey }) }
  return { method: 'POST', url: '/api/deposit', headers, payload } as const
}

async function eventsOf(w: World): Promise<{ event: string; data: Record<string, unknown> }[]> {
  const rows = await query<{ body: string }>(w.pool, 'select body from events order by id')
  return rows.map(({ body }) => JSON.parse(body))
}

test('a deposit that verifies its payer is credited at once, and says who paid after one call', async () => {
  const w = await world()
  const { account, charge } = await paidBy(w, 'verify', ANA)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await recordOf(w, account, charge)).toMatchObject({
    status: 'COMPLETED',
    payer: { taxId: '***.***.***-09', policy: 'verify' },
    payerMatch: 'unknown',
  })
  const before = await w.sandbox.stats()
  await checkDue(w.ctx)
  const after = await w.sandbox.stats()
  expect(after.calls['GET /pix']).toBe((before.calls['GET /pix'] ?? 0) + 1)
  expect(await recordOf(w, account, charge)).toMatchObject({ payerMatch: 'matched' })
  expect(await eventsOf(w)).toMatchObject([
    { event: 'DEPOSIT_ASSET_SUCCESS', data: { payerMatch: 'unknown' } },
    { event: 'DEPOSIT_PAYER_CHECKED', data: { payerMatch: 'matched', transactionId: charge.id } },
  ])
  expect(await w.count('checks', `kind = 'payer'`)).toBe(0)
  expect(await w.count('payer_numbers')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('a payment of somebody else stays credited where the payer is only verified, and is told', async () => {
  const w = await world()
  const { account, charge } = await paidBy(w, 'verify', BIA)
  await checkDue(w.ctx)
  expect(await recordOf(w, account, charge)).toMatchObject({ payerMatch: 'unknown' })
  await askForMinutes(w)
  expect(await recordOf(w, account, charge)).toMatchObject({ status: 'COMPLETED', payerMatch: 'mismatched' })
  expect((await eventsOf(w)).at(-1)).toMatchObject({
    event: 'DEPOSIT_PAYER_CHECKED',
    data: { payerMatch: 'mismatched' },
  })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('payer_numbers')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('a deposit that requires its payer is credited only after the provider has confirmed it', async () => {
  const w = await world()
  const { account, charge } = await paidBy(w, 'require', ANA)
  expect(await w.balanceCents(account.accountId)).toBe(0)
  expect(await recordOf(w, account, charge)).toMatchObject({
    status: 'PENDING',
    heldValue: 50_00,
    payerMatch: 'unknown',
    heldPayments: [{ reason: 'payer_unconfirmed', decision: null }],
  })
  const before = await w.sandbox.stats()
  await checkDue(w.ctx)
  const after = await w.sandbox.stats()
  expect(after.calls['GET /pix']).toBe((before.calls['GET /pix'] ?? 0) + 1)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await recordOf(w, account, charge)).toMatchObject({ status: 'COMPLETED', heldValue: 0, payerMatch: 'matched' })
  expect((await eventsOf(w)).map(({ event }) => event)).toEqual([
    'DEPOSIT_HELD',
    'DEPOSIT_PAYER_CHECKED',
    'DEPOSIT_RELEASED',
    'DEPOSIT_ASSET_SUCCESS',
  ])
  expect((await eventsOf(w)).at(-1)).toMatchObject({ data: { payerMatch: 'matched' } })
  expect(await w.count('checks')).toBe(0)
  expect(await w.count('payer_numbers')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('money of somebody else goes back by itself, once, and nobody can pay the charge any more', async () => {
  const w = await world()
  const { account, charge } = await paidBy(w, 'require', BIA)
  await askForMinutes(w)
  await runDueRefunds(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(0)
  expect(await recordOf(w, account, charge)).toMatchObject({
    status: 'CANCELED',
    payerMatch: 'mismatched',
    heldPayments: [{ reason: 'payer_unconfirmed', decision: 'refunded' }],
  })
  expect(await query(w.pool, 'select status, source, amount_cents from refunds')).toEqual([
    { status: 'DONE', source: 'suspense', amount_cents: 50_00 },
  ])
  const kinds = (await eventsOf(w)).map(({ event }) => event)
  expect(kinds.filter((kind) => kind === 'DEPOSIT_RELEASED')).toHaveLength(1)
  expect(kinds).not.toContain('DEPOSIT_ASSET_SUCCESS')
  expect(await w.count('checks', `kind = 'payer'`)).toBe(0)
  expect(await w.count('payer_numbers')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('a list that lags for less than a minute makes no mismatch', async () => {
  const w = await world()
  await w.sandbox.faults({ payerLagMs: 45_000 })
  const { account, charge } = await paidBy(w, 'require', ANA)
  for (let second = 0; second < 70; second += 2) {
    await checkDue(w.ctx)
    w.clock.advance(2_000)
  }
  expect(await recordOf(w, account, charge)).toMatchObject({ status: 'COMPLETED', payerMatch: 'matched' })
  expect(await w.differences()).toEqual([])
})

test('while the provider cannot say who paid, required money waits, and the operator sees it and may decide', async () => {
  const w = await world()
  await w.sandbox.faults({ payerErrorRate: 1 })
  const { account, charge } = await paidBy(w, 'require', ANA)
  await askForMinutes(w)
  expect(await recordOf(w, account, charge)).toMatchObject({ heldValue: 50_00, payerMatch: 'unknown' })
  expect(await w.count('checks', `kind = 'payer'`)).toBe(1)
  expect(await w.count('payer_numbers')).toBe(1)
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  expect(exceptions).toMatchObject([{ kind: 'payer_unconfirmed', ways: ['credit', 'refund', 'write_off', 'match'] }])
  expect(await w.differences()).toEqual([])
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'match' }, 'the bank confirmed it by telephone')
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  await checkDue(w.ctx)
  expect(await w.count('checks', `kind = 'payer'`)).toBe(0)
  expect(await w.count('payer_numbers')).toBe(0)
  expect(await recordOf(w, account, charge)).toMatchObject({ status: 'COMPLETED', payerMatch: 'unknown' })
  expect(await w.differences()).toEqual([])
})

// The lease of the first one ends while it waits for the lock of the charge with its answer.
test('two processes that have the same answer at once credit once', async () => {
  const w = await world({ isDirect: true })
  const { account, charge } = await paidBy(w, 'require', ANA)
  const other = await w.anotherProcess()
  const waiting = `pid <> pg_backend_pid() and datname = current_database() and wait_event_type = 'Lock'`
  let both: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges where id = $1 for update', [charge.id])
    const first = checkDue(w.ctx)
    await w.lockWait()
    w.clock.advance(31_000)
    both = Promise.all([first, checkDue(other.ctx)])
    await until('both wait', async () => (await w.count('pg_stat_activity', waiting)) === 2)
  })
  await both
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('payer_answers')).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('the schema refuses to complete a charge whose payer nobody confirmed', async () => {
  const w = await world()
  const { charge, endToEndId } = await paidBy(w, 'require', BIA)
  const complete = query(
    w.pool,
    `update charges set status = 'COMPLETED', end_to_end_id = $2, paid_at = $3, closed_at = $3 where id = $1`,
    [charge.id, endToEndId, w.clock.now()],
  )
  await expect(complete).rejects.toThrow(/confirmed payer/)
})

test('the number of a payer is in no table, event, answer or log, whatever becomes of the deposit', async () => {
  const w = await world()
  const account = await w.account()
  const body = { value: 50_00, payer: { taxId: '123.456.789-09', policy: 'require' } }
  const made = await w.app.inject(postBody(account, body))
  expect(made.statusCode).toBe(201)
  const { charge } = made.json()
  const wrong = await w.app.inject(postBody(account, { value: 1, payer: { taxId: '123.456.789-00' } }))
  expect(wrong.json()).toMatchObject({ success: false })
  expect(wrong.body).not.toMatch(/789/)
  await w.sandbox.pay({ emv: charge.emv, payer: BIA })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  await w.sandbox.faults({ payerErrorRate: 0.5, seed: 1 })
  await checkDue(w.ctx)
  const tables = await query<{ name: string }>(
    w.pool,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'public'`,
  )
  expect(await w.count('payer_numbers')).toBe(1)
  for (const { name } of tables) {
    const [row] = await query<{ text: string }>(
      w.pool,
      `select coalesce(string_agg(t::text, ' '), '') as text from ${name} t`,
    )
    const forms = [ANA, '123.456.789-09', Buffer.from(ANA).toString('base64'), Buffer.from(ANA).toString('hex')]
    expect([name, ...forms.filter((form) => row!.text.includes(form))]).toEqual([name])
  }
  expect(JSON.stringify(w.logged)).not.toMatch(/12345678909|123\.456\.789/)
  const full = await w.app.inject(get(account.key, `/api/deposits/${charge.paymentLinkId}`))
  expect(full.body).toContain('***.***.***-09')
  expect(full.body).not.toMatch(/12345678909|123\.456\.789|hash/)
})

test('the number of a payer goes a day after the end of a charge that nobody paid', async () => {
  const w = await world()
  await w.deposit(await w.account(), { payer: named('require') })
  w.clock.advance(3_700_000)
  await checkDue(w.ctx)
  await purge(w.ctx)
  expect(await w.count('payer_numbers')).toBe(1)
  w.clock.advance(25 * 3_600_000)
  await purge(w.ctx)
  expect(await w.count('payer_numbers')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('a repetition with the same key must name the same payer', async () => {
  const w = await world()
  const account = await w.account()
  const ask = (taxId: string, policy?: string) =>
    w.app.inject(postBody(account, { value: 50_00, payer: { taxId, ...(policy && { policy }) } }, 'order-1'))
  const first = await ask('123.456.789-09')
  expect(first.statusCode).toBe(201)
  expect((await ask('12345678909', 'verify')).json().charge.id).toBe(first.json().charge.id)
  expect((await ask(BIA)).statusCode).toBe(422)
  expect((await ask('12345678909', 'require')).statusCode).toBe(422)
})

test('the deposit of an order is replaced when its payer changes, and stays for the same one', async () => {
  const w = await world()
  const account = await w.account()
  const ensure = async (taxId?: string) => {
    const payload = { value: 50_00, ...(taxId && { payer: { taxId, policy: 'require' } }) }
    return w.app.inject({ method: 'PUT', url: '/api/orders/o-1/deposit', headers: bearer(account.key), payload })
  }
  const first = await ensure(ANA)
  expect(first.statusCode).toBe(201)
  const again = await ensure('123.456.789-09')
  expect([again.statusCode, again.json().deposit.id]).toEqual([200, first.json().deposit.id])
  const other = await ensure(BIA)
  expect(other.statusCode).toBe(201)
  expect(other.json().deposit).toMatchObject({ payer: { taxId: '***.***.***-00', policy: 'require' } })
  expect(await recordOf(w, account, first.json().deposit)).toMatchObject({ status: 'CANCELED' })
  expect((await ensure()).statusCode).toBe(201)
  expect(await w.differences()).toEqual([])
})

test('a required payer is refused where no provider tells who paid, and goes to one that does', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  const [first, second] = w.ctx.providers
  Object.assign(first!, { checkPayer: undefined })
  const charge = await w.deposit(account, { payer: named('require') })
  expect(charge.provider).toBe('second')
  expect((await w.deposit(account, { payer: named('verify') })).provider).toBe('sandbox')
  Object.assign(second!, { checkPayer: undefined })
  await expect(w.deposit(account, { payer: named('require') })).rejects.toMatchObject({ code: 'payer_unconfirmable' })
})

test('the payment page says who alone may pay, that the payer is being confirmed, and what became of other money', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 50_00, payer: named('require') })
  const texts = async () =>
    Promise.all(
      ['pt-BR', 'en', 'es'].map(async (language) => {
        const page = await openPage(w, charge.paymentLinkId, { 'accept-language': language })
        expect(page.body).not.toMatch(/12345678909|123\.456/)
        return page.text
      }),
    )
  const expectAll = async (wanted: string[]) => {
    for (const [index, text] of (await texts()).entries()) expect(text).toContain(wanted[index])
  }
  await expectAll([
    'Só pode pagar o titular do CPF ***.***.***-09.',
    'Only the holder of CPF ***.***.***-09 can pay.',
    'Solo puede pagar el titular del CPF ***.***.***-09.',
  ])
  await w.sandbox.pay({ emv: charge.emv, payer: BIA })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  await expectAll(['estamos confirmando quem pagou', 'are confirming who paid', 'estamos confirmando quién pagó'])
  await askForMinutes(w)
  await runDueRefunds(w.ctx)
  await expectAll(['e foi devolvido a quem pagou', 'and was returned to the payer', 'y fue devuelto a quien pagó'])
})

test('a payment that comes late is credited only to its payer too, and a number that is gone leaves it to the operator', async () => {
  const w = await world()
  const account = await w.account()
  const [late, later] = [
    await w.deposit(account, { payer: named('require') }),
    await w.deposit(account, { payer: named('require') }),
  ]
  w.clock.advance(3_700_000)
  await checkDue(w.ctx)
  const payLate = async ({ id }: { id: string }) => {
    await w.sandbox.pay({ txid: id, payer: ANA, force: true })
    const window = { from: new Date(w.clock.now().getTime() - 60_000), to: new Date(w.clock.now().getTime() + 60_000) }
    for await (const page of w.ctx.providers[0]!.listReceived(window)) await w.ctx.settlements.add(page)
    await checkDue(w.ctx)
  }
  await payLate(late)
  expect(await recordOf(w, account, late)).toMatchObject({ status: 'COMPLETED', paidLate: true, payerMatch: 'matched' })
  w.clock.advance(25 * 3_600_000)
  await purge(w.ctx)
  await payLate(later)
  expect(await recordOf(w, account, later)).toMatchObject({
    status: 'EXPIRED',
    heldValue: 50_00,
    payerMatch: 'unknown',
  })
  expect(await w.count('checks', `kind = 'payer'`)).toBe(0)
  expect(await w.differences()).toEqual([])
})
