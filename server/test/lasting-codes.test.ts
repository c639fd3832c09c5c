import { expect, test } from 'vitest'
import { decodeBrCode } from '../src/base/brcode.ts'
import { query, transact } from '../src/db/tx.ts'
import { actorOf, type Scope } from '../src/domain/accounts/callers.ts'
import { whyNotErasable } from '../src/domain/accounts/erase-account.ts'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import { setAccountTerms } from '../src/domain/accounts/terms.ts'
import { lockCodes } from '../src/domain/deposits/code-payments.ts'
import { cancelOpenCharges } from '../src/domain/deposits/cancel-open-charges.ts'
import { requireCharge } from '../src/domain/deposits/charge-reads.ts'
import {
  closeCode,
  closeCodesOf,
  ensureCode,
  findPublicCode,
  readCode,
  type Code,
  type CodeLimits,
} from '../src/domain/deposits/codes.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { ProviderError, type Provider, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { checkDue } from '../src/workers/check.ts'
import { reconcileDue } from '../src/workers/reconcile.ts'
import { followToEnd, OPERATOR, refund } from './refund-steps.ts'
import { world, type TestAccount, type World } from './world.ts'

test('each Pix of a code is a deposit of its own, with the value that arrived and its fee', async () => {
  const { w, account, code } = await withCode()
  const [first, second] = [await pay(w, code, 30_00), await pay(w, code, 45_01)]
  await w.ctx.settlements.add([first])
  await w.ctx.settlements.add([second, first])
  const charges = await query<{ status: string; value: number; fee: number; description: string }>(
    w.pool,
    'select status, value_cents as value, fee_cents as fee, description from charges order by id',
  )
  expect(charges).toEqual([
    { status: 'COMPLETED', value: 30_00, fee: 30, description: 'Mesa 7' },
    { status: 'COMPLETED', value: 45_01, fee: 45, description: 'Mesa 7' },
  ])
  expect(await w.balanceCents(account.accountId)).toBe(74_26)
  const events = await query<{ body: string }>(
    w.pool,
    `select body from events where kind = 'DEPOSIT_ASSET_SUCCESS' order by id`,
  )
  expect(events.map(({ body }) => JSON.parse(body).data)).toMatchObject([
    {
      code: 'mesa-7',
      value: 30_00,
      originalValue: 30_00,
      fee: 30,
      creditedValue: 29_70,
      paidLate: false,
      endToEndId: first.endToEndId,
    },
    { code: 'mesa-7', value: 45_01, creditedValue: 44_56 },
  ])
  expect(await w.differences()).toEqual([])
})

// The second waits for the lock of the code, and then reads that the payment is recorded.
test('a payment of a code reported twice at once is one deposit', async () => {
  const { w, account, code } = await withCode()
  const payment = await pay(w, code, 30_00)
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settleIn(w, tx, [payment])
    second = w.ctx.settlements.add([payment])
    await w.lockWait()
  })
  await second
  expect(await w.count('charges')).toBe(1)
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await w.differences()).toEqual([])
})

test('payments of a code in one batch are each a deposit, with those of charges', async () => {
  const { w, account, code } = await withCode()
  const { payment } = await w.paidCharge({ account })
  const payments = [await pay(w, code, 1_00), payment, await pay(w, code, 2_00), await pay(w, code, 3_00)]
  const settled = await transact(w.pool, (tx) => settleIn(w, tx, [...payments, ...payments]))
  expect([settled.completed.length, settled.excepted]).toEqual([4, []])
  expect(await w.count('payments', 'credited')).toBe(4)
  expect(await w.differences()).toEqual([])
})

// The settlement holds the lock of the code, so the code is closed after it, or before it.
test('a payment that is booked while its code is closed is a deposit, and the next one is held', async () => {
  const { w, account, code } = await withCode()
  const [first, second] = [await pay(w, code, 30_00), await pay(w, code, 40_00)]
  let closing: Promise<Code> | undefined
  await transact(w.pool, async (tx) => {
    await settleIn(w, tx, [first])
    closing = closeCode(w.ctx, actorOf(account.caller), account.accountId, 'mesa-7')
    await w.lockWait()
  })
  expect((await closing)?.closedAt).not.toBeNull()
  await w.ctx.settlements.add([second])
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await exceptions(w)).toMatchObject([
    { kind: 'code_closed', amountCents: 40_00, code: { externalId: 'mesa-7', email: account.email }, charge: null },
  ])
  expect(await w.differences()).toEqual([])
})

test('a payment that waits while its code is closed is held', async () => {
  const { w, account, code } = await withCode()
  const payment = await pay(w, code, 30_00)
  let settling: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await closeCodesOf(tx, w.clock.now(), OPERATOR, account.accountId)
    settling = w.ctx.settlements.add([payment])
    await w.lockWait()
  })
  await settling
  expect(await exceptions(w)).toMatchObject([{ kind: 'code_closed' }])
  expect(await w.differences()).toEqual([])
})

test('a payment outside the limits of the code, or not above its fee, is held, and can be credited or refunded', async () => {
  const { w, account, code } = await withCode({ minValueCents: 10_00, maxValueCents: 50_00 })
  const change = { feeFixedCents: 20_00 }
  for (const cents of [9_99, 50_01]) await w.ctx.settlements.add([await pay(w, code, cents)])
  for (const cents of [10_00, 50_00]) await w.ctx.settlements.add([await pay(w, code, cents)])
  expect(await w.count('charges')).toBe(2)
  await setAccountTerms(w.ctx, OPERATOR, account.accountId, change, 'a dearer plan')
  await w.ctx.settlements.add([await pay(w, code, 20_00)])
  await w.ctx.settlements.add([await pay(w, code, 30_00)])
  expect(await query(w.pool, 'select value_cents as value, fee_cents as fee from charges order by id')).toEqual([
    { value: 10_00, fee: 10 },
    { value: 50_00, fee: 50 },
    { value: 30_00, fee: 20_30 },
  ])
  const held = await exceptions(w)
  expect(held).toMatchObject([20_00, 50_01, 9_99].map((amountCents) => ({ kind: 'code_limits', amountCents })))
  expect(held[0]!.ways).toEqual(['credit', 'refund', 'write_off'])
  await resolveException(w.ctx, OPERATOR, held[0]!.id, { how: 'refund' }, 'too little')
  await resolveException(w.ctx, OPERATOR, held[1]!.id, { how: 'credit', accountId: account.accountId }, 'agreed')
  expect(await w.differences()).toEqual([])
})

test('limits that change while a payment is booked hold for the next one', async () => {
  const { w, account, code } = await withCode({ maxValueCents: 50_00 })
  const [first, second] = [await pay(w, code, 40_00), await pay(w, code, 40_00)]
  let changing: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settleIn(w, tx, [first])
    changing = make(w, account, { maxValueCents: 30_00 })
    await w.lockWait()
  })
  await changing
  await w.ctx.settlements.add([second])
  expect(await query(w.pool, 'select code_version as version from charges')).toEqual([{ version: 1 }])
  expect(await exceptions(w)).toMatchObject([{ kind: 'code_limits' }])
  expect(await w.differences()).toEqual([])
})

test('who bears the fee is the account, whatever its terms say: the payer chose the amount', async () => {
  const { w, account, code } = await withCode()
  await setAccountTerms(w.ctx, OPERATOR, account.accountId, { feeBearer: 'payer' }, 'payers bear it')
  await w.ctx.settlements.add([await pay(w, code, 30_00)])
  expect(await query(w.pool, 'select value_cents, original_value_cents, fee_cents from charges')).toEqual([
    { value_cents: 30_00, original_value_cents: 30_00, fee_cents: 30 },
  ])
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
})

test('a payment whose txid is reported later becomes a deposit of its code, once', async () => {
  const { w, account, code } = await withCode()
  const payment = await pay(w, code, 30_00)
  await w.ctx.settlements.add([{ ...payment, txid: null }])
  expect(await w.balanceCents(account.accountId)).toBe(0)
  const shouted = { ...payment, txid: code.txid.toUpperCase() }
  await w.ctx.settlements.add([shouted])
  await w.ctx.settlements.add([shouted])
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await exceptions(w)).toMatchObject([{ state: 'resolved', resolution: { how: 'match' } }])
  expect(await w.differences()).toEqual([])
})

// Another transaction books the payment without its txid after this one has read what is recorded.
test('a payment that is booked without its txid meanwhile leaves no charge behind', async () => {
  const { w, account, code } = await withCode()
  const payment = await pay(w, code, 30_00)
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [{ ...payment, txid: null }])
    second = w.ctx.settlements.add([payment])
    await w.lockWait()
  })
  await second
  expect(await w.count('charges')).toBe(0)
  await w.ctx.settlements.add([payment])
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await w.differences()).toEqual([])
})

test('a closed code is open again with the same code, and what was held stays held', async () => {
  const { w, account, code } = await withCode()
  await closeCode(w.ctx, actorOf(account.caller), account.accountId, 'mesa-7')
  const payment = await pay(w, code, 30_00)
  await w.ctx.settlements.add([payment])
  const again = await make(w, account)
  expect([again.emv, again.closedAt, again.version]).toEqual([code.emv, null, 3])
  await w.ctx.settlements.add([payment])
  await w.ctx.settlements.add([await pay(w, code, 40_00)])
  expect(await w.balanceCents(account.accountId)).toBe(39_60)
  expect(await exceptions(w)).toMatchObject([{ kind: 'code_closed', state: 'open' }])
  expect(await w.differences()).toEqual([])
})

test('a notification is only a hint: the Pix is credited as the provider answers, also to a new code', async () => {
  const { w, account, code } = await withCode()
  const { endToEndId } = await pay(w, code, 30_00)
  const pix = [{ endToEndId, txid: code.txid, valor: '9999.00', horario: '2026-03-02T12:00:00.000Z' }]
  const url = '/callbacks/sandbox/secret-of-sandbox/pix'
  const invented = { ...pix[0], endToEndId: 'E0000000020260302120000000000001' }
  await w.app.inject({ method: 'POST', url, payload: { pix: [...pix, invented] } })
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await w.count('charges')).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('with every notification lost, the sweep finds each payment of a code once, also those that the list shows late', async () => {
  const w = await world()
  await w.sandbox.faults({ dropNotifications: true })
  const account = await w.account()
  const code = await make(w, account)
  const early = await pay(w, code, 1_00)
  // Longer than a sweep reads back from its beginning.
  w.clock.advance(14 * 60_000)
  const paid = [early, await pay(w, code, 2_00), await pay(w, code, 3_00)]
  w.clock.advance(60_000)
  // No charge was ever made at this provider: its sweep begins with its first code.
  const late = listWithout(w, new Set([paid[1]!.endToEndId]))
  await reconcileDue(w.ctx, late)
  expect(await w.count('charges')).toBe(2)
  w.clock.advance(120_000)
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  expect(await w.count('charges')).toBe(3)
  expect(await w.balanceCents(account.accountId)).toBe(5_94)
  expect(await w.differences()).toEqual([])
})

test('a code stays with its provider when another one is preferred, and the same txid elsewhere names nothing', async () => {
  const w = await world({ second: true })
  const account = await w.account()
  const code = await make(w, account)
  w.ctx.providers.reverse()
  const again = await make(w, account, { maxValueCents: 90_00 })
  expect([again.provider, again.emv]).toEqual(['sandbox', code.emv])
  await w.ctx.settlements.add([await pay(w, code, 30_00)])
  const stray = { ...(await pay(w, code, 40_00)), provider: 'second' }
  await w.ctx.settlements.add([stray])
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await exceptions(w)).toMatchObject([{ kind: 'unknown_charge' }])
})

test('a deposit of a code is refunded as any other', async () => {
  const { w, account, code } = await withCode()
  await w.ctx.settlements.add([await pay(w, code, 30_00)])
  await w.ctx.settlements.add([await pay(w, code, 30_00)])
  const [link] = await query<{ id: string }>(w.pool, 'select payment_link_id as id from charges order by id limit 1')
  const charge = await requireCharge(w.ctx, account.accountId, link!.id)
  const { id, endToEndId } = await refund(w, charge)
  await followToEnd(w, { id, endToEndId })
  expect(await w.balanceCents(account.accountId)).toBe(29_40)
  expect(await w.differences()).toEqual([])
})

test('the schema refuses a second charge of a code for a Pix, another key in a code, and a version that goes back', async () => {
  const { w, code } = await withCode()
  await w.ctx.settlements.add([await pay(w, code, 30_00)])
  for (const sql of [
    `insert into payments (id, provider, end_to_end_id, txid, amount_cents, charge_id, account_id, credited, occurred_at, recorded_at)
     select gen_random_uuid(), provider, end_to_end_id || 'x', txid, amount_cents, charge_id, account_id, true, occurred_at, recorded_at from payments`,
    `update codes set emv = 'other', version = version + 1`,
    `update codes set provider = 'other', version = version + 1`,
    `update codes set min_value_cents = 1`,
    `update charges set status = 'PENDING', end_to_end_id = null, paid_at = null`,
    'delete from codes',
  ])
    await expect(query(w.pool, sql)).rejects.toThrow(/append only|violates|unique/)
})

test('the key and the txid are in the code, which has no amount and can be paid again and again', async () => {
  const { code } = await withCode()
  expect(decodeBrCode(code.emv)).toEqual({
    singleUse: false,
    pixKey: 'sandbox@guiche.example',
    merchantName: 'sandbox',
    merchantCity: 'SAO PAULO',
    label: code.txid,
  })
})

test('a code that somebody altered in the database is shown to nobody, and the audit names it', async () => {
  const { w, account, code } = await withCode()
  await query(w.pool, 'alter table codes disable trigger codes_fixed')
  await query(w.pool, 'update codes set emv = replace(emv, $1, $2)', ['sandbox@', 'someone@'])
  await expect(readCode(w.ctx, account.accountId, 'mesa-7')).rejects.toMatchObject({ code: 'code_altered' })
  await expect(findPublicCode(w.ctx, code.txid)).rejects.toMatchObject({ code: 'code_altered' })
  expect((await w.differences()).map(({ check }) => check)).toContain('row')
})

test('of an account that is suspended, canceling its charges closes its codes, and it can be erased', async () => {
  const { w, account, code } = await withCode()
  await suspendAccount(w.ctx, OPERATOR, account.accountId, 'asked for it')
  w.clock.advance(120_000)
  expect(await whyNotErasable(w.ctx, { accountId: account.accountId })).toContain('codes that can still be paid')
  await cancelOpenCharges(w.ctx, OPERATOR, account.accountId, 'closed by request')
  expect(await whyNotErasable(w.ctx, { accountId: account.accountId })).toBeUndefined()
  await w.ctx.settlements.add([await pay(w, code, 30_00)])
  expect(await exceptions(w)).toMatchObject([{ kind: 'code_closed' }])
})

// ---- By HTTP ----

test('PUT makes a code, changes it, and is safe to repeat; DELETE closes it, and PUT opens it again', async () => {
  const { w, ask } = await withKey()
  const made = await ask('PUT', '/api/codes/loja%2F7', { description: 'Loja 7', minValue: 500 })
  const { txid } = made.json.code
  expect(made).toMatchObject({
    status: 201,
    location: '/api/codes/loja%2F7',
    json: {
      success: true,
      code: {
        externalId: 'loja/7',
        status: 'OPEN',
        description: 'Loja 7',
        minValue: 500,
        maxValue: null,
        qrCodeLink: `https://guiche.example/code/${txid}.png`,
        codeUrl: `https://guiche.example/code/${txid}`,
        closedAt: null,
      },
    },
  })
  const same = await ask('PUT', '/api/codes/loja%2F7', { description: 'Loja 7', minValue: 500 })
  expect([same.status, same.json]).toEqual([200, made.json])
  expect(await w.count('audit_log', `action like 'code.%'`)).toBe(1)
  const changed = await ask('PUT', '/api/codes/loja%2F7', {})
  expect([changed.status, changed.json.code]).toEqual([200, { ...made.json.code, description: null, minValue: null }])
  const closed = await ask('DELETE', '/api/codes/loja%2F7')
  expect([closed.status, closed.json.code.status, closed.json.code.closedAt]).toEqual([
    200,
    'CLOSED',
    '2026-03-02T12:00:00.000Z',
  ])
  expect((await ask('DELETE', '/api/codes/loja%2F7')).json).toEqual(closed.json)
  expect((await ask('GET', '/api/codes/loja%2F7')).json).toEqual(closed.json)
  const reopened = await ask('PUT', '/api/codes/loja%2F7', {})
  expect([reopened.status, reopened.json]).toEqual([200, changed.json])
  expect(await w.differences()).toEqual([])
})

test('wrong fields, scopes and references are refused, and other accounts find nothing', async () => {
  const { w, ask } = await withKey()
  const refusals = [
    [{ minValue: 0 }, 'minValue must be an integer from 1 to 999999999999 (cents), or null'],
    [{ maxValue: '5' }, 'maxValue must be an integer from 1 to 999999999999 (cents), or null'],
    [{ minValue: 2, maxValue: 1 }, 'minValue must not be above maxValue'],
    [{ description: 'x'.repeat(141) }, 'description must be at most 140 characters'],
  ] as const
  for (const [body, error] of refusals) {
    const { status, json } = await ask('PUT', '/api/codes/a', body)
    expect([status, json.error]).toEqual([400, expect.stringContaining(error)])
  }
  expect((await ask('PUT', `/api/codes/${'x'.repeat(65)}`, {})).status).toBe(400)
  await ask('PUT', '/api/codes/a', {})
  const other = await withKey(w)
  for (const [method, path] of [
    ['GET', '/api/codes/a'],
    ['DELETE', '/api/codes/a'],
  ] as const)
    expect((await other.ask(method, path)).json).toEqual({ success: false, error: 'Code not found' })
  expect((await other.ask('GET', '/api/codes')).json.codes).toEqual([])
  const reader = await withKey(w, ['deposits:read'])
  expect((await reader.ask('PUT', '/api/codes/a', {})).status).toBe(403)
  expect((await reader.ask('GET', '/api/codes/a')).status).toBe(404)
})

test('lists of codes have pages and a status, and lists of deposits know the code', async () => {
  const { w, ask } = await withKey()
  for (const name of ['a', 'b', 'c']) {
    const { emv } = (await ask('PUT', `/api/codes/${name}`, {})).json.code
    await w.sandbox.pay({ emv, amountCents: 700 })
    w.clock.advance(1)
  }
  await ask('DELETE', '/api/codes/b')
  const first = (await ask('GET', '/api/codes?limit=2')).json
  const rest = (await ask('GET', `/api/codes?limit=2&cursor=${first.nextCursor}`)).json
  const names = (answer: { codes: { externalId: string }[] }) => answer.codes.map(({ externalId }) => externalId)
  expect([names(first), names(rest), rest.nextCursor]).toEqual([['c', 'b'], ['a'], null])
  expect(names((await ask('GET', '/api/codes?status=OPEN')).json)).toEqual(['c', 'a'])
  w.clock.advance(60_000)
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  const deposits = (await ask('GET', '/api/deposits')).json.deposits
  expect(deposits.map((deposit: { code: string }) => deposit.code).toSorted()).toEqual(['a', 'c'])
  const ofA = (await ask('GET', '/api/deposits?code=a')).json.deposits
  expect(ofA).toMatchObject([{ code: 'a', value: 700, status: 'COMPLETED', emv: '', paidLate: false }])
  expect((await ask('GET', '/api/deposits?code=none')).json.deposits).toEqual([])
  const { lines } = (await ask('GET', '/api/statement')).json
  expect(lines.map((line: { externalId: string }) => line.externalId).toSorted()).toEqual(['a', 'c'])
  const { paymentLinkId } = ofA[0]
  expect((await ask('GET', `/api/deposits/${paymentLinkId}`)).json.deposit).toMatchObject({
    code: 'a',
    heldPayments: [],
  })
  expect(Object.keys((await ask('GET', `/api/deposit/${paymentLinkId}`)).json.charge)).not.toContain('code')
  expect((await w.app.inject(`/payment-link/${paymentLinkId}/receipt`)).statusCode).toBe(200)
})

test('where no provider has lasting codes, or it cannot be reached, the answer says so', async () => {
  const { w, ask } = await withKey()
  const [provider] = w.ctx.providers
  const createCode = provider!.createCode
  Object.assign(provider!, { createCode: undefined })
  expect(await ask('PUT', '/api/codes/a', {})).toMatchObject({
    status: 409,
    error: 'codes_not_offered',
    json: { error: 'No payment provider of this service has lasting codes' },
  })
  const failing = async () => {
    throw new ProviderError('unknown', 'no answer')
  }
  Object.assign(provider!, { createCode: failing })
  expect(await ask('PUT', '/api/codes/a', {})).toMatchObject({ status: 503, error: 'provider_unavailable' })
  expect((await ask('GET', '/api/codes/a')).status).toBe(404)
  Object.assign(provider!, { createCode })
  expect((await ask('PUT', '/api/codes/a', { minValue: 5 })).json.code).toMatchObject({ minValue: 5, status: 'OPEN' })
  expect(await w.differences()).toEqual([])
})

test('two requests at once make one code', async () => {
  const { w, ask } = await withKey()
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask('PUT', '/api/codes/a', {})))
  expect(new Set(answers.map(({ json }) => json.code.emv)).size).toBe(1)
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(await w.count('codes')).toBe(1)
})

test('the page of a code is in three languages, says what may be paid, and its QR code is that of the code', async () => {
  const { w, ask } = await withKey()
  const { code } = (await ask('PUT', '/api/codes/a', { description: '<Mesa> 7', minValue: 5_00 })).json
  const page = async (lang: string) => w.app.inject(`/code/${code.txid}?lang=${lang}`)
  for (const [lang, title, limits] of [
    ['pt-BR', 'Pague com Pix', 'Você escolhe o valor, a partir de R$ 5,00.'],
    ['en', 'Pay by Pix', 'You choose the amount, from R$5.00.'],
    ['es', 'Pague con Pix', 'Usted elige el monto, a partir de R$ 5,00.'],
  ] as const) {
    const { statusCode, body } = await page(lang)
    expect(statusCode).toBe(200)
    for (const text of [title, limits, code.emv, '&lt;Mesa&gt; 7'])
      expect(body.replaceAll('\u00a0', ' ')).toContain(text)
  }
  expect((await w.app.inject(`/code/${code.txid}.png`)).headers['content-type']).toBe('image/png')
  expect((await w.app.inject(`/code/${code.txid.toUpperCase()}.svg`)).body).toContain('<svg')
  await ask('DELETE', '/api/codes/a')
  const closed = await page('en')
  expect([closed.body.includes('Code closed'), closed.body.includes(code.emv)]).toEqual([true, false])
  expect((await w.app.inject(`/code/${code.txid}.svg`)).statusCode).toBe(404)
  expect((await w.app.inject('/code/unknown')).statusCode).toBe(404)
})

// ---- Steps ----

const NONE: CodeLimits = { description: 'Mesa 7', minValueCents: null, maxValueCents: null }

async function withCode(limits: Partial<CodeLimits> = {}): Promise<{ w: World; account: TestAccount; code: Code }> {
  const w = await world()
  const account = await w.account()
  return { w, account, code: await make(w, account, limits) }
}

async function make(w: World, account: TestAccount, limits: Partial<CodeLimits> = {}): Promise<Code> {
  const wanted = { accountId: account.accountId, externalId: 'mesa-7', ...NONE, ...limits }
  return (await ensureCode(w.ctx, actorOf(account.caller), wanted)).code
}

async function exceptions(w: World) {
  return (await listExceptions(w.ctx, { limit: 50 })).exceptions
}

/** The list of the provider does not show these payments yet. */
function listWithout(w: World, hidden: Set<string>): Provider {
  const provider = w.ctx.providers[0]!
  return {
    ...provider,
    async *listReceived(window, onUnread) {
      for await (const page of provider.listReceived(window, onUnread))
        yield page.filter(({ endToEndId }) => !hidden.has(endToEndId))
    },
  }
}

async function withKey(given?: World, scopes?: Scope[]) {
  const w = given ?? (await world())
  const account = await w.account(scopes && { scopes })
  const ask = async (method: 'GET' | 'PUT' | 'DELETE', url: string, payload?: object) => {
    const headers = { authorization: `Bearer ${account.key}` }
    const answer = await w.app.inject({ method, url, headers, ...(payload && { payload }) })
    const { location, 'guiche-error': error } = answer.headers
    return { status: answer.statusCode, location, error, json: answer.json() }
  }
  return { w, account, ask }
}

async function pay(w: World, { emv, txid }: Code, amountCents: number): Promise<ReceivedPayment> {
  const { pix } = await w.sandbox.pay({ emv, amountCents })
  const { endToEndId, horario } = pix[0]!
  return { provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }
}

async function settleIn(w: World, tx: Parameters<typeof settle>[0], payments: ReceivedPayment[]) {
  const codes = await lockCodes(tx, w.ctx.settings, w.clock.now(), payments)
  return settle(tx, w.clock.now(), payments, [], codes)
}
