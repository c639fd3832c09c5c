import assert from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { decodeBrCode } from '../src/base/brcode.ts'
import type { Log } from '../src/base/log.ts'
import { newUuid7, hexFromUuid } from '../src/base/ids.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { makeApiPix, type ApiPixOptions, type ApiPixTimings } from '../src/providers/api-pix/adapter.ts'
import { openSandbox, type Sandbox } from '../src/sandbox/server.ts'
import { patient } from './world.ts'

// Tests the adapter against a PSP on a real socket: the sandbox, healthy and with faults.

let home: string
let sandbox: Sandbox
const providers: Provider[] = []

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'guiche-api-pix-'))
  sandbox = await openSandbox({ home, port: 0 })
})

afterAll(async () => {
  await sandbox.stop()
  await rm(home, { recursive: true })
})

beforeEach(() => setFaults({}))

afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close()
})

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

// Small enough that a hang costs a test little, large enough that a busy machine does not look like one.
const QUICK: Partial<ApiPixTimings> = { writeTimeoutMs: 800, backoffBaseMs: 1, breakerFailures: 1_000 }

function connect(options: Partial<ApiPixOptions> = {}): Provider {
  const provider = makeApiPix({
    name: 'sandbox',
    url: `${sandbox.url}/`,
    tokenUrl: `${sandbox.url}/oauth/token`,
    clientId: 'sandbox',
    clientSecret: 'sandbox',
    pixKey: 'chave@example.com',
    callsPerSecond: 0,
    now: () => new Date(),
    log: silent,
    timings: QUICK,
    ...options,
  })
  providers.push(provider)
  return provider
}

async function bank<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${sandbox.url}/bank/${path}`, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const text = await response.text()
  assert(response.ok, text)
  const answer: Answer = JSON.parse(text)
  return answer
}

const setFaults = (faults: Record<string, number>) => bank('PUT', 'faults', faults)
const pay = (order: Record<string, unknown>) =>
  bank<{ pix: { endToEndId: string; horario: string }[] }>('POST', 'pay', order).then(({ pix }) => pix)
const stats = () => bank<{ calls: Record<string, number>; charges: number }>('GET', 'stats')
const callsOf = async (operation: string) => (await stats()).calls[operation] ?? 0

const newTxid = () => hexFromUuid(newUuid7(new Date()))
const request = (changes: Partial<Parameters<Provider['create']>[0]> = {}) => ({
  txid: newTxid(),
  valueCents: 50_00,
  expiresInSeconds: 3_600,
  description: null,
  ...changes,
})

/** Runs `work` while the bank has faults, and removes them once it got `calls` more calls of the operation. */
async function ill<Result>(
  faults: Record<string, number>,
  until: { operation: string; calls: number },
  work: () => Promise<Result>,
): Promise<Result> {
  const before = await callsOf(until.operation)
  await setFaults(faults)
  const result = work()
  await expect.poll(() => callsOf(until.operation), { interval: 5 }).toBeGreaterThanOrEqual(before + until.calls)
  await setFaults({})
  return result
}

async function listAll(provider: Provider, window: { from: Date; to: Date }): Promise<ReceivedPayment[][]> {
  const pages: ReceivedPayment[][] = []
  for await (const page of provider.listReceived(window)) pages.push(page)
  return pages
}

test('a charge is made, with a code that banking apps read', async () => {
  const provider = connect()
  const asked = request({ description: 'Mensalidade de março' })
  const charge = await provider.create(asked)
  expect(charge).toMatchObject({ txid: asked.txid, status: 'active', valueCents: 50_00, payments: [] })
  expect(decodeBrCode(charge.emv)).toMatchObject({ singleUse: true, amountCents: 50_00 })
  expect(Math.abs(charge.expiresAt.getTime() - Date.now() - 3_600_000)).toBeLessThan(10_000)
  expect(await provider.check(asked.txid)).toEqual(charge)
  expect(provider.health()).toMatchObject({
    breaker: 'closed',
    lastError: null,
    lastSuccessAt: expect.any(Date),
  })
})

test('a charge that nobody made is absent', async () => {
  const provider = connect()
  expect(await provider.check(newTxid())).toBe('absent')
  expect(await provider.cancel(newTxid())).toBe('absent')
  expect(await provider.findPayment(`E88888888${'0'.repeat(23)}`)).toBe('absent')
})

test('ids that are none are absent without a call', async () => {
  const provider = connect()
  const before = await stats()
  expect(await provider.check('../../bank/stats')).toBe('absent')
  expect(await provider.cancel('short')).toBe('absent')
  expect(await provider.findPayment('E1?x=/../..')).toBe('absent')
  expect({ ...(await stats()).calls, 'GET /bank/stats': 0 }).toEqual({ ...before.calls, 'GET /bank/stats': 0 })
})

test('a paid charge tells what was paid, which may be another amount', async () => {
  const provider = connect()
  const { txid } = await provider.create(request())
  const [first] = await pay({ txid, amountCents: 30_00 })
  const [second] = await pay({ txid, force: true })
  const charge = await provider.check(txid)
  expect(charge).toMatchObject({ status: 'paid', valueCents: 50_00 })
  const payment = (pix: typeof first, amountCents: number) => ({
    provider: 'sandbox',
    endToEndId: pix!.endToEndId,
    txid,
    amountCents,
    occurredAt: new Date(pix!.horario),
    refunds: [],
  })
  expect(charge !== 'absent' && charge.payments).toEqual([payment(first, 30_00), payment(second, 50_00)])
  expect(await provider.findPayment(first!.endToEndId)).toEqual(payment(first, 30_00))
})

test('an answer that is lost on create leaves one charge, and it is found', async () => {
  const provider = connect()
  const before = await stats()
  const asked = request()
  const charge = await ill({ loseAnswerRate: 1 }, { operation: 'PUT /cob/:txid', calls: 1 }, () =>
    provider.create(asked),
  )
  expect(charge).toMatchObject({ txid: asked.txid, status: 'active', valueCents: 50_00 })
  const after = await stats()
  expect(after.charges).toBe(before.charges + 1)
  expect(after.calls['PUT /cob/:txid']).toBe((before.calls['PUT /cob/:txid'] ?? 0) + 1)
})

test('a create that hangs and does nothing is asked for and then repeated', async () => {
  const provider = connect()
  const before = await stats()
  const asked = request()
  const charge = await ill({ hangRate: 1 }, { operation: 'PUT /cob/:txid', calls: 1 }, () => provider.create(asked))
  expect(charge).toMatchObject({ txid: asked.txid, status: 'active' })
  const after = await stats()
  expect(after.charges).toBe(before.charges + 1)
  expect(after.calls['PUT /cob/:txid']).toBe((before.calls['PUT /cob/:txid'] ?? 0) + 2)
})

test('garbage in answer to a create that was done is not taken for a charge, and the charge is found', async () => {
  const provider = connect({ timings: { ...QUICK, readAttempts: 50, backoffCapMs: 20, backoffBaseMs: 20 } })
  const before = await stats()
  const charge = await ill({ garbageRate: 1 }, { operation: 'PUT /cob/:txid', calls: 1 }, () =>
    provider.create(request()),
  )
  expect(charge.status).toBe('active')
  expect((await stats()).charges).toBe(before.charges + 1)
})

test('a create whose fate cannot be learnt ends as unknown within its deadline', async () => {
  const provider = connect({ timings: { ...QUICK, createDeadlineMs: 600, writeTimeoutMs: 200 } })
  await setFaults({ hangRate: 1 })
  const startedAtMs = performance.now()
  await expect(provider.create(request())).rejects.toMatchObject({ name: 'ProviderError', outcome: 'unknown' })
  expect(performance.now() - startedAtMs).toBeLessThan(patient(2_000))
})

test('only errors in answer to a create end as unknown, because an error may hide a charge', async () => {
  const provider = connect()
  await setFaults({ errorRate: 1 })
  await expect(provider.create(request())).rejects.toMatchObject({ outcome: 'unknown' })
})

test('creating a charge again finds the first one', async () => {
  const provider = connect()
  const asked = request()
  const first = await provider.create(asked)
  expect(await connect().create(asked)).toEqual(first)
  await pay({ txid: asked.txid })
  expect(await provider.create(asked)).toMatchObject({ status: 'paid', payments: [{ amountCents: 50_00 }] })
})

test('a charge of another value or key under our txid may be paid, and one that was withdrawn may not', async () => {
  const provider = connect()
  const asked = request()
  await provider.create(asked)
  await expect(provider.create({ ...asked, valueCents: 50_01 })).rejects.toMatchObject({ outcome: 'unknown' })
  await expect(connect({ pixKey: 'other@example.com' }).create(asked)).rejects.toMatchObject({ outcome: 'unknown' })
  expect(await connect({ pixKey: 'CHAVE@example.com' }).create(asked)).toMatchObject({ status: 'active' })
  await provider.cancel(asked.txid)
  await expect(provider.create(asked)).rejects.toMatchObject({ outcome: 'refused' })
})

test(
  'with a third of all calls failing in every way, charges are still made, once each',
  { timeout: 240_000 * inject('patience') },
  async () => {
    const provider = connect({ timings: { ...QUICK, writeTimeoutMs: patient(400) } })
    const before = await stats()
    await setFaults({ errorRate: 0.1, garbageRate: 0.1, hangRate: 0.05, loseAnswerRate: 0.1, seed: 7 })
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => provider.create(request())))
    await setFaults({})
    const made = results.filter((result) => result.status === 'fulfilled')
    const failed = results.filter((result) => result.status === 'rejected')
    for (const { reason } of failed) expect(reason).toMatchObject({ name: 'ProviderError', outcome: 'unknown' })
    expect(made.length).toBeGreaterThan(20)
    const charges = (await stats()).charges - before.charges
    expect(charges).toBeGreaterThanOrEqual(made.length)
    expect(charges).toBeLessThanOrEqual(40)
    for (const result of made) expect(await provider.check(result.value.txid)).toEqual(result.value)
  },
)

test('a check survives a passing error, and gives up at its deadline', async () => {
  const provider = connect({ timings: { ...QUICK, readAttempts: 50, backoffBaseMs: 20, backoffCapMs: 20 } })
  const { txid } = await provider.create(request())
  const found = await ill({ errorRate: 1 }, { operation: 'GET /cob/:txid', calls: 2 }, () => provider.check(txid))
  expect(found).toMatchObject({ txid, status: 'active' })

  await setFaults({ hangRate: 1 })
  const startedAtMs = performance.now()
  const hurried = connect({ timings: { ...QUICK, checkDeadlineMs: 300, readAttempts: 50, backoffCapMs: 20 } })
  await expect(hurried.check(txid)).rejects.toMatchObject({ outcome: 'unknown' })
  expect(performance.now() - startedAtMs).toBeLessThan(patient(1_500))
  await setFaults({ garbageRate: 1 })
  await expect(hurried.check(txid)).rejects.toMatchObject({ outcome: 'unknown' })
})

test('a charge is withdrawn once; later, and when it is paid, it is not active', async () => {
  const provider = connect()
  const { txid } = await provider.create(request())
  expect(await provider.cancel(txid)).toBe('withdrawn')
  expect(await provider.check(txid)).toMatchObject({ status: 'withdrawn' })
  expect(await provider.cancel(txid)).toBe('not_active')
  const paid = await provider.create(request())
  await pay({ txid: paid.txid })
  expect(await provider.cancel(paid.txid)).toBe('not_active')
})

test('a withdrawal whose answer is lost is learnt from the charge', async () => {
  const provider = connect()
  const { txid } = await provider.create(request())
  const until = { operation: 'PATCH /cob/:txid', calls: 1 }
  expect(await ill({ loseAnswerRate: 1 }, until, () => provider.cancel(txid))).toBe('withdrawn')
})

test('a withdrawal that hangs and does nothing is repeated', async () => {
  const provider = connect()
  const { txid } = await provider.create(request())
  const until = { operation: 'PATCH /cob/:txid', calls: 1 }
  expect(await ill({ hangRate: 1 }, until, () => provider.cancel(txid))).toBe('withdrawn')
  expect(await provider.check(txid)).toMatchObject({ status: 'withdrawn' })
})

test('received Pix are listed page by page, each once', async () => {
  const provider = connect({ timings: { ...QUICK, pageSize: 2 } })
  const at = (text: string) => `2024-05-01T12:00:${text}Z`
  const paid: string[] = []
  for (const time of ['00.499', '00.500', '01.000', '01.700', '02.499', '02.500', '02.501']) {
    const [pix] = await pay({ txid: newTxid(), amountCents: 1_00, at: at(time) })
    paid.push(pix!.endToEndId)
  }
  const pages = await listAll(provider, { from: new Date(at('00.500')), to: new Date(at('02.500')) })
  expect(pages.flat().map((payment) => payment.endToEndId)).toEqual(paid)
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(2)
  expect(await listAll(provider, { from: new Date(at('30.000')), to: new Date(at('40.000')) })).toEqual([])
})

test('a window of more pages than the bound is an error and not a short list', async () => {
  const provider = connect({ timings: { ...QUICK, pageSize: 1, maxPages: 2 } })
  await pay({ txid: newTxid(), amountCents: 1_00, at: '2024-06-01T12:00:00Z', times: 3 })
  const window = { from: new Date('2024-06-01T00:00:00Z'), to: new Date('2024-06-02T00:00:00Z') }
  await expect(listAll(provider, window)).rejects.toMatchObject({ outcome: 'unknown' })
})

test('a refund is made once however often it is asked for, also when its answer is lost', async () => {
  const provider = connect()
  const [pix] = await pay({ txid: newTxid(), amountCents: 10_00 })
  const asked = { endToEndId: pix!.endToEndId, refundId: 'R1', amountCents: 6_00 }
  const until = { operation: 'PUT /pix/:e2eid/devolucao/:id', calls: 1 }
  const refund = await ill({ loseAnswerRate: 1 }, until, () => provider.refund(asked))
  expect(refund).toMatchObject({ refundId: 'R1', amountCents: 6_00, reason: null })
  expect(['processing', 'done']).toContain(refund.status)
  expect(await provider.refund(asked)).toMatchObject({ refundId: 'R1', amountCents: 6_00 })
  // 6.00 of 10.00 are refunded. If the repeat were a second refund, this one of 4.00 would not fit.
  expect(await provider.refund({ ...asked, refundId: 'R2', amountCents: 4_00 })).toMatchObject({ refundId: 'R2' })
  await expect(provider.refund({ ...asked, refundId: 'R3', amountCents: 1 })).rejects.toMatchObject({
    outcome: 'refused',
  })
  await expect(provider.refund({ ...asked, amountCents: 5_00 })).rejects.toMatchObject({ outcome: 'refused' })
})

test('a refund can be asked for later, by its own id and on the payment that it was made of', async () => {
  const provider = connect()
  const [pix] = await pay({ txid: newTxid(), amountCents: 10_00 })
  const { endToEndId } = pix!
  const asked = { endToEndId, refundId: 'R1' }
  expect(await provider.checkRefund(asked)).toBe('absent')
  const made = await provider.refund({ ...asked, amountCents: 6_00 })
  expect(await provider.checkRefund(asked)).toMatchObject({ refundId: 'R1', amountCents: 6_00, reason: null })
  expect(await provider.findPayment(endToEndId)).toMatchObject({ refunds: [{ refundId: made.refundId }] })
  expect(await provider.checkRefund({ ...asked, refundId: '../R1' })).toBe('absent')
  expect(await provider.checkRefund({ endToEndId: 'E'.repeat(32), refundId: 'R1' })).toBe('absent')
})

test('the bank posts to the address that was registered', async () => {
  const provider = connect({ pixKey: '+5561999990000' })
  await provider.registerNotifications('http://127.0.0.1:9/hook/secret')
  const issued = await fetch(`${sandbox.url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('sandbox:sandbox').toString('base64')}` },
    body: 'grant_type=client_credentials',
  })
  const { access_token: token }: { access_token: string } = JSON.parse(await issued.text())
  const answer = await fetch(`${sandbox.url}/webhook/${encodeURIComponent('+5561999990000')}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(await answer.json()).toMatchObject({ webhookUrl: 'http://127.0.0.1:9/hook/secret' })
})
