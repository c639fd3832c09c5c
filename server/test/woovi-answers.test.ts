import { describe, expect, test } from 'vitest'
import { encodeBrCode } from '../src/base/brcode.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { ok, TXID, type Said } from './scripted-psp.ts'
import { connectScripted, listAll, requestOf } from './woovi-client.ts'
import { APP_ID } from './woovi-server.ts'

// How the adapter handles everything that Woovi, or something in between, may answer.

const E2E = 'E54811417202603021200abc123def45'
const AT = '2026-03-02T12:00:00.000Z'
const BR_CODE = encodeBrCode({
  location: 'woovi.example/qr/1',
  merchantName: 'Loja',
  merchantCity: 'Sao Paulo',
  amountCents: 50_00,
})
const ASKED = requestOf({ txid: TXID })
const WINDOW = { from: new Date('2026-03-02T00:00:00Z'), to: new Date('2026-03-03T00:00:00Z') }
const refused = (error: string, status = 400): Said => ({ status, json: { error } })

function charge(changes: Record<string, unknown> = {}) {
  const shown = { correlationID: TXID, status: 'ACTIVE', value: 50_00, brCode: BR_CODE, expiresDate: AT, ...changes }
  return { charge: shown }
}

function pix(changes: Record<string, unknown> = {}) {
  return { type: 'PAYMENT', value: 50_00, time: AT, endToEndId: E2E, charge: { correlationID: TXID }, ...changes }
}

function page(transactions: unknown, pageInfo: object | null = { skip: 0, limit: 100, hasNextPage: false }) {
  return { transactions, ...(pageInfo ? { pageInfo } : {}) }
}

/** Connects to a Woovi that has this charge, COMPLETED, and these transactions. */
const paid = (transactions: unknown[], changes: Record<string, unknown> = {}) =>
  connectScripted(({ path }) =>
    ok(path.startsWith('/api/v1/transaction') ? page(transactions) : charge({ status: 'COMPLETED', ...changes })),
  )

describe('requests', () => {
  test('carry the bare AppID, and ask for JSON', async () => {
    const { psp, provider } = await connectScripted(() => ok(charge()))
    await provider.check(TXID)
    expect(psp.seen[0]).toMatchObject({ method: 'GET', path: `/api/v1/charge/${TXID}` })
    expect(psp.seen[0]!.headers).toMatchObject({ authorization: APP_ID, accept: 'application/json' })
  })

  test('what Woovi quotes back never shows our AppID', async () => {
    const { provider, logged } = await connectScripted(() => refused(`appID ${APP_ID} bloqueado`, 403))
    await expect(provider.check(TXID)).rejects.toMatchObject({
      outcome: 'refused',
      message: 'woovi: check: HTTP 403 appID [hidden] bloqueado',
    })
    expect(logged.join()).not.toContain(APP_ID)
  })

  test('a provider that keeps failing is left alone, until one call finds it well again', async () => {
    const { psp, provider, clock } = await connectScripted((_, nth) => (nth <= 3 ? { status: 500 } : ok(charge())), {
      timings: { breakerFailures: 3 },
    })
    await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
    await expect(provider.create(ASKED)).rejects.toMatchObject({ outcome: 'unreachable' })
    expect([psp.seen.length, provider.health().breaker]).toEqual([3, 'open'])
    clock.advance(5_000)
    expect(await provider.check(TXID)).toMatchObject({ status: 'active' })
  })

  test('no more calls go out than Woovi allows', async () => {
    const timings = { checkDeadlineMs: 250 }
    const { psp, provider } = await connectScripted(() => ok(charge()), { callsPerSecond: 3, timings })
    const outcomes = await Promise.allSettled(Array.from({ length: 9 }, () => provider.check(TXID)))
    expect(psp.seen).toHaveLength(3)
    expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toHaveLength(6)
  })
})

describe('charges', () => {
  test.each([
    ['beside the charge', { brCode: undefined }, { brCode: BR_CODE }],
    ['under its payment methods', { brCode: null, paymentMethods: { pix: { brCode: BR_CODE } } }, {}],
  ])('the code is found %s', async (_, changes, beside) => {
    const { provider } = await connectScripted(() => ok({ ...charge(changes), ...beside }))
    expect(await provider.create(ASKED)).toMatchObject({ emv: BR_CODE })
  })

  test.each([
    ['none', undefined],
    ['one with a wrong checksum', `${BR_CODE.slice(0, -4)}0000`],
  ])('with %s for a code it is not made, as far as we can tell', async (_, brCode) => {
    const { provider } = await connectScripted(() => ok(charge({ brCode })))
    await expect(provider.create(ASKED)).rejects.toMatchObject({ outcome: 'unknown' })
    expect(await provider.check(TXID)).toMatchObject({ status: 'active', emv: '' })
  })

  test.each([
    ['a date', { expiresDate: '2026-03-02T13:00:00.000Z' }],
    ['seconds', { expiresDate: undefined, createdAt: AT, expiresIn: 3_600 }],
    ['seconds as text', { expiresDate: '', createdAt: AT, expiresIn: '3600' }],
  ])('its end is told as %s', async (_, changes) => {
    const { provider } = await connectScripted(() => ok(charge(changes)))
    expect(await provider.create(ASKED)).toMatchObject({ expiresAt: new Date('2026-03-02T13:00:00Z') })
  })

  test.each([
    ['no object', 'x'],
    ['no charge', {}],
    ['another correlationID', charge({ correlationID: 'b'.repeat(32) })],
    ['a status that Woovi does not have', charge({ status: 'PAID' })],
    ['an amount with a fraction', charge({ value: 50.5 })],
    ['an amount as text', charge({ value: '5000' })],
    ['no amount', charge({ value: undefined })],
  ])('%s is malformed', async (_, json) => {
    const { provider } = await connectScripted(() => ok(json))
    await expect(provider.check(TXID)).rejects.toMatchObject({
      outcome: 'unknown',
      message: expect.stringMatching(/malformed response/),
    })
  })

  test('what nothing depends on may be odd or missing', async () => {
    const odd = { brCode: 7, transactionID: {}, createdAt: 'ontem', expiresDate: false, paymentMethods: 'pix', novo: 1 }
    const { provider } = await connectScripted(() => ok(charge(odd)))
    expect(await provider.check(TXID)).toMatchObject({ status: 'active', valueCents: 50_00 })
  })

  test.each([
    [400, { error: 'Cobrança não encontrada' }],
    [404, { error: 'Cobrança não encontrada' }],
  ])('HTTP %i in Woovi’s words says that there is none', async (status, json) => {
    const { provider } = await connectScripted(() => ({ status, json }))
    expect(await provider.check(TXID)).toBe('absent')
  })

  test.each<Said>([
    { status: 404, text: '<html>' },
    { status: 400, text: '<html>' },
    { status: 404, json: { message: 'no Route matched' } },
    { status: 404, json: {} },
    { status: 403, json: { error: 'sem permissão' } },
  ])('another refusal does not (%o)', async (said) => {
    const { provider } = await connectScripted(() => said)
    await expect(provider.check(TXID)).rejects.toThrow(/check/)
    await expect(provider.cancel(TXID)).rejects.toThrow(/cancel/)
  })

  test('a withdrawal that is refused while the charge lives is not one', async () => {
    const { provider } = await connectScripted(({ method }) =>
      method === 'DELETE' ? refused('não pode ser excluída') : ok(charge()),
    )
    expect(await provider.cancel(TXID)).toBe('not_active')
  })

  test('a charge that is refused is asked for, and the refusal is certain only when it is not there', async () => {
    const absent = await connectScripted(({ method }) =>
      refused(method === 'POST' ? 'valor inválido' : 'não encontrada'),
    )
    await expect(absent.provider.create(ASKED)).rejects.toMatchObject({
      outcome: 'refused',
      message: 'woovi: create: HTTP 400 valor inválido',
    })
    const silent = await connectScripted(({ method }) => (method === 'POST' ? refused('x') : { status: 500 }))
    await expect(silent.provider.create(ASKED)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})

describe('payments', () => {
  test.each([
    ['NUL', 'a\u{0}b'],
    ['too much', 'a'.repeat(36)],
    ['another sign', '9134e286-6f71-427a-bf00-241681624586'],
  ])('a Pix of a charge whose correlationID holds %s is of no charge of ours', async (_, correlationID) => {
    const odd = pix({ charge: { correlationID } })
    const { provider } = await connectScripted(({ path }) =>
      ok(path.includes('?') ? page([odd]) : { transaction: odd }),
    )
    expect(await provider.findPayment(E2E)).toMatchObject({ txid: null, amountCents: 50_00 })
    expect(await listAll(provider, WINDOW)).toMatchObject([[{ txid: null, amountCents: 50_00 }]])
  })

  test.each([
    ['CONFIRMED', 'nothing'],
    ['PARTIAL_REFUND', 'part'],
    ['REFUNDED', 'all'],
    [undefined, undefined],
  ])('one that is %s says of what was given back: %s', async (status, givenBack) => {
    const { provider } = await connectScripted(() => ok({ transaction: pix({ status }) }))
    expect(((await provider.findPayment(E2E)) as ReceivedPayment).givenBack).toBe(givenBack)
  })

  test('a Pix that cannot be read opens no breaker, and hides no other of its charge', async () => {
    const bad = pix({ value: 'much' })
    let listed: unknown[] = [bad]
    const { provider, psp } = await connectScripted(
      ({ path }) =>
        ok(
          path.startsWith('/api/v1/charge')
            ? charge({ status: 'COMPLETED' })
            : path.includes('?')
              ? page(listed)
              : { transaction: bad },
        ),
      { timings: { breakerFailures: 2 } },
    )
    for (let nth = 0; nth < 4; nth++) {
      await expect(provider.findPayment(E2E)).rejects.toMatchObject({ outcome: 'unknown' })
      await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
    }
    expect(psp.seen).toHaveLength(12)
    expect(provider.health().breaker).toBe('closed')
    listed = [bad, pix({ endToEndId: `${E2E.slice(0, -1)}6` })]
    expect(await provider.check(TXID)).toMatchObject({ payments: [{ amountCents: 50_00 }] })
  })

  test('paid, and not yet by what: the charge is paid without payments', async () => {
    const { provider } = await paid([])
    expect(await provider.check(TXID)).toMatchObject({ status: 'paid', payments: [] })
  })

  test('a Pix that came while an expired charge ended is told', async () => {
    const { provider } = await paid([pix()], { status: 'EXPIRED' })
    expect(await provider.check(TXID)).toMatchObject({ status: 'active', payments: [{ endToEndId: E2E, txid: TXID }] })
  })

  test.each([
    ['its other spelling', { endToEndId: undefined, endToEndID: E2E }],
    ['the kind that notifications have', { type: 'DYNAMIC' }],
    ['a refund made of it', { status: 'PARTIAL_REFUND' }],
    ['type and status exchanged', { type: 'CONFIRMED', status: 'PAYMENT' }],
  ])('a Pix is read with %s', async (_, changes) => {
    const { provider } = await paid([pix(changes)])
    expect(await provider.check(TXID)).toMatchObject({ payments: [{ endToEndId: E2E, amountCents: 50_00 }] })
  })

  test('the link may be the transactionID instead of the charge', async () => {
    for (const link of [{ transactionID: 'T1' }, { paymentMethods: { pix: { txId: 'T1' } } }]) {
      const { provider } = await paid([pix({ charge: null, transactionID: 'T1' })], link)
      expect(await provider.check(TXID)).toMatchObject({ payments: [{ txid: TXID }] })
    }
  })

  test('a filter that is not heeded brings strangers, who do not pay our charge', async () => {
    const strangers = [
      pix({ charge: { correlationID: 'b'.repeat(32) } }),
      pix({ charge: null }),
      pix({ charge: null, transactionID: 'T2' }),
      pix({ charge: { correlationID: 'b'.repeat(32) }, transactionID: 'T1' }),
    ]
    const { provider } = await paid(strangers, { transactionID: 'T1' })
    expect(await provider.check(TXID)).toMatchObject({ status: 'paid', payments: [] })
  })

  test.each([
    ['no amount', { value: undefined }],
    ['an amount of nothing', { value: 0 }],
    ['no time', { time: undefined }],
    ['a time without a zone', { time: '2026-03-02T12:00:00' }],
    ['no id', { endToEndId: undefined }],
    ['an id of another form', { endToEndId: 'E1' }],
    ['a charge that is not named', { charge: {} }],
    ['no kind', { type: undefined }],
  ])('a Pix with %s is an error wherever it is met, and never silently none', async (_, changes) => {
    const { provider } = await connectScripted(({ path }) => {
      if (path.startsWith('/api/v1/transaction/')) return ok({ transaction: pix(changes) })
      return ok(path.startsWith('/api/v1/transaction') ? page([pix(changes)]) : charge({ status: 'COMPLETED' }))
    })
    const unknown = { outcome: 'unknown' }
    await expect(provider.check(TXID)).rejects.toMatchObject(unknown)
    await expect(provider.findPayment(E2E)).rejects.toMatchObject(unknown)
    await expect(listAll(provider, WINDOW)).rejects.toMatchObject(unknown)
  })

  test('another Pix than the one asked for is garbage', async () => {
    const { provider } = await connectScripted(() => ok({ transaction: pix({ endToEndId: `${E2E.slice(0, -1)}6` }) }))
    await expect(provider.findPayment(E2E)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('a charge that is gone, and whose payments Woovi refuses to list, is absent', async () => {
    const { provider } = await connectScripted(() => refused('não encontrada'))
    expect(await provider.check(TXID)).toBe('absent')
  })

  test('a charge that is gone, and whose payments cannot be asked for, is not known to be unpaid', async () => {
    const { provider } = await connectScripted(({ path }) =>
      path.startsWith('/api/v1/transaction') ? { status: 500 } : refused('não encontrada'),
    )
    await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})

describe('lists', () => {
  test('the window is asked for with a margin, and nothing that is listed for it is left out', async () => {
    const { psp, provider } = await connectScripted(() => ok(page([pix({ time: '2026-03-03T03:00:00.000Z' })])))
    expect((await listAll(provider, WINDOW)).flat()).toMatchObject([{ endToEndId: E2E }])
    const query = new URL(psp.seen[0]!.path, psp.url).searchParams
    expect(Object.fromEntries(query)).toEqual({
      start: '2026-03-01T23:59:00.000Z',
      end: '2026-03-03T00:01:00.000Z',
      skip: '0',
      limit: '100',
    })
  })

  test('a list that does not tell its pages is asked for until one is empty, and tells each Pix once', async () => {
    const { psp, provider } = await connectScripted((_, nth) =>
      ok(page(nth < 4 ? [pix({ endToEndId: `${E2E.slice(0, -1)}${nth % 2}` })] : [], null)),
    )
    expect((await listAll(provider, WINDOW)).flat()).toHaveLength(2)
    expect(psp.seen.map(({ path }) => new URL(path, psp.url).searchParams.get('skip'))).toEqual(['0', '1', '2', '3'])
  })

  test.each([
    ['the first page again', page([pix()], { skip: 0, hasNextPage: true })],
    ['an empty page before the last', page([], { skip: 1, hasNextPage: true })],
    ['a page with errors', page([], { skip: 1, hasNextPage: false, errors: [{ message: 'limit' }] })],
    ['no list', { pageInfo: { skip: 1, hasNextPage: false } }],
    ['an object where the list should be', page(pix(), { skip: 1, hasNextPage: false })],
  ])('%s is malformed and not the end', async (_, second) => {
    const first = page([pix()], { skip: 0, hasNextPage: true })
    const { provider } = await connectScripted(({ path }) => ok(path.includes('skip=0') ? first : second))
    await expect(listAll(provider, WINDOW)).rejects.toMatchObject({
      outcome: 'unknown',
      message: expect.stringMatching(/malformed response/),
    })
  })
})

describe('refunds', () => {
  const asked = { endToEndId: E2E, refundId: 'R1', amountCents: 1_00 }

  test.each([
    ['IN_PROCESSING', 'processing'],
    ['REFUNDED', 'done'],
    ['CONFIRMED', 'done'],
    ['NOT_ACCOMPLISHED', 'failed'],
    ['REJECTED', 'failed'],
    [undefined, 'processing'],
  ])('%s is %s', async (status, expected) => {
    const { provider } = await connectScripted(() =>
      ok({ pixTransactionRefund: { correlationID: 'R1', value: 1_00, status } }),
    )
    expect(await provider.checkRefund(asked)).toMatchObject({ status: expected })
  })

  test.each([
    ['a status that Woovi does not have', { correlationID: 'R1', value: 1_00, status: 'LOST' }],
    ['another refund', { correlationID: 'R2', value: 1_00 }],
    ['no amount', { correlationID: 'R1' }],
    ['nothing', null],
  ])('%s is malformed', async (_, refund) => {
    const { provider } = await connectScripted(() => ok({ refund }))
    await expect(provider.checkRefund(asked)).rejects.toMatchObject({ outcome: 'unknown' })
    await expect(provider.refund(asked)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})
