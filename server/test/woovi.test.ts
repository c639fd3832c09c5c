import { describe, expect, test } from 'vitest'
import { decodeBrCode } from '../src/base/brcode.ts'
import { connectWoovi, listAll, newTxid, requestOf } from './woovi-client.ts'
import type { Failure } from './woovi-server.ts'
import { patient } from './world.ts'

// Tests the adapter against a server that speaks as Woovi does, healthy and with faults.

const HOUR_MS = 3_600_000

describe('create', () => {
  test('a charge is made, with a code that banking apps read', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    const asked = requestOf({ description: 'Mensalidade de março' })
    const charge = await provider.create(asked)
    const expiresAt = new Date(clock.now().getTime() + HOUR_MS)
    expect(charge).toMatchObject({ txid: asked.txid, status: 'active', valueCents: 50_00, expiresAt, payments: [] })
    expect(decodeBrCode(charge.emv)).toMatchObject({ singleUse: true, amountCents: 50_00 })
    expect(await provider.check(asked.txid)).toEqual(charge)
    expect(woovi.exchanges[0]).toMatchObject({
      operation: 'POST /charge',
      path: '/api/v1/charge?return_existing=true',
      body: { correlationID: asked.txid, value: 50_00, expiresIn: 3_600, comment: 'Mensalidade de março' },
    })
    expect(provider.health()).toMatchObject({ breaker: 'closed', lastError: null, lastSuccessAt: clock.now() })
  })

  test('the description is cut to what Woovi takes, and the shortest life is its own', async () => {
    const { woovi, provider } = await connectWoovi()
    await provider.create(requestOf({ description: 'd'.repeat(200), expiresInSeconds: 60 }))
    expect(woovi.exchanges[0]!.body).toMatchObject({ comment: 'd'.repeat(140), expiresIn: 300 })
  })

  test('the same request twice is one charge', async () => {
    const { woovi, provider } = await connectWoovi()
    const asked = requestOf()
    expect(await provider.create(asked)).toEqual(await provider.create(asked))
    expect(woovi.charges.size).toBe(1)
  })

  test.each<Failure>(['lose', 'hang', 'error', 'garbage', 'busy'])(
    'an answer that goes wrong (%s) still leaves one charge, and it is found',
    async (how) => {
      const { woovi, provider } = await connectWoovi()
      const asked = requestOf()
      woovi.fail('POST /charge', how)
      expect(await provider.create(asked)).toMatchObject({ txid: asked.txid, status: 'active' })
      expect(woovi.charges.size).toBe(1)
      // If the charge was made although the answer went wrong, it is found and not made again.
      expect(woovi.count('POST /charge')).toBe(how === 'lose' || how === 'garbage' ? 1 : 2)
    },
  )

  test('a create whose fate cannot be learnt is unknown', async () => {
    const { woovi, provider } = await connectWoovi({ timings: { createDeadlineMs: 500, writeTimeoutMs: 100 } })
    woovi.fail('POST /charge', 'lose', 9)
    woovi.fail('GET /charge/:id', 'hang', 9)
    await expect(provider.create(requestOf())).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('what Woovi refuses is refused, with its reason and without our AppID', async () => {
    const { provider, logged } = await connectWoovi({ appId: 'wrong-app-id' })
    await expect(provider.create(requestOf())).rejects.toMatchObject({
      outcome: 'refused',
      message: 'woovi: create: HTTP 401 appID inválido',
    })
    expect(provider.health().lastError).toBe('create: HTTP 401 appID inválido')
    expect(logged.join()).not.toContain('wrong-app-id')
  })

  test('nobody listening is unreachable', async () => {
    const { woovi, provider } = await connectWoovi()
    await woovi.stop()
    await expect(provider.create(requestOf())).rejects.toMatchObject({ outcome: 'unreachable' })
  })

  test('a charge of another value under our id may be paid, and one that has expired may not', async () => {
    const { provider, clock } = await connectWoovi()
    const asked = requestOf()
    await provider.create(asked)
    const other = { ...asked, valueCents: 51_00 }
    await expect(provider.create(other)).rejects.toMatchObject({
      outcome: 'unknown',
      message: expect.stringMatching(/another value/),
    })
    clock.advance(HOUR_MS)
    await expect(provider.create(asked)).rejects.toMatchObject({
      outcome: 'refused',
      message: expect.stringMatching(/expired/),
    })
  })
})

describe('check', () => {
  test('a paid charge comes with the Pix that paid it, also where type and status are exchanged', async () => {
    for (const asDescribed of [true, false]) {
      const { woovi, provider, clock } = await connectWoovi({ asDescribed })
      const { txid } = await provider.create(requestOf())
      const endToEndId = await woovi.pay(txid)
      expect(await provider.check(txid)).toMatchObject({
        status: 'paid',
        payments: [{ provider: 'woovi', endToEndId, txid, amountCents: 50_00, occurredAt: clock.now() }],
      })
    }
  })

  test('the amount is the one that was paid, and a second payment is told too', async () => {
    const { woovi, provider } = await connectWoovi()
    const { txid } = await provider.create(requestOf())
    await woovi.pay(txid, { value: 49_99 })
    await woovi.pay(txid)
    const amounts = [{ amountCents: 49_99 }, { amountCents: 50_00 }]
    expect(await provider.check(txid)).toMatchObject({ valueCents: 50_00, payments: amounts })
  })

  test('payments of others are not taken for those of the charge', async () => {
    const { woovi, provider } = await connectWoovi()
    const [one, other] = [await provider.create(requestOf()), await provider.create(requestOf())]
    await woovi.pay(one.txid)
    await woovi.payByKey(50_00)
    expect(await provider.check(other.txid)).toMatchObject({ status: 'active', payments: [] })
  })

  test('an unpaid charge whose time is over is still active: its end is for us to say', async () => {
    const { provider, clock } = await connectWoovi()
    const { txid } = await provider.create(requestOf())
    clock.advance(HOUR_MS)
    expect(await provider.check(txid)).toMatchObject({ status: 'active', payments: [] })
  })

  test('money that came after the charge ended is told', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    const { txid } = await provider.create(requestOf())
    clock.advance(2 * HOUR_MS)
    const endToEndId = await woovi.pay(txid)
    expect(await provider.check(txid)).toMatchObject({ status: 'paid', payments: [{ endToEndId }] })
  })

  test('money that came although the charge was withdrawn is told', async () => {
    const { woovi, provider } = await connectWoovi()
    const { txid } = await provider.create(requestOf())
    const endToEndId = await woovi.pay(txid)
    woovi.charges.delete(txid)
    expect(await provider.check(txid)).toMatchObject({ status: 'withdrawn', payments: [{ endToEndId, txid }] })
  })

  test('a charge that nobody made is absent, and an id that is none is not asked for', async () => {
    const { woovi, provider } = await connectWoovi()
    expect(await provider.check(newTxid())).toBe('absent')
    const before = woovi.exchanges.length
    expect(await provider.check('../charge')).toBe('absent')
    expect(woovi.exchanges).toHaveLength(before)
  })

  test('a passing error is survived, in either of its two questions', async () => {
    const { woovi, provider } = await connectWoovi()
    const { txid } = await provider.create(requestOf())
    await woovi.pay(txid)
    woovi.fail('GET /charge/:id', 'error')
    woovi.fail('GET /transaction', 'garbage')
    expect(await provider.check(txid)).toMatchObject({ status: 'paid', payments: [{ txid }] })
  })

  test('a hang ends at the deadline, and is not taken for an unpaid charge', async () => {
    const { woovi, provider } = await connectWoovi({ timings: { checkDeadlineMs: 200 } })
    const { txid } = await provider.create(requestOf())
    await woovi.pay(txid)
    woovi.fail('GET /transaction', 'hang', 9)
    const began = performance.now()
    await expect(provider.check(txid)).rejects.toMatchObject({ outcome: 'unknown' })
    expect(performance.now() - began).toBeLessThan(patient(2_000))
  })
})

describe('cancel', () => {
  test('a charge is withdrawn once; then it is absent, and a paid one is not active', async () => {
    const { woovi, provider } = await connectWoovi()
    const [free, paid] = [await provider.create(requestOf()), await provider.create(requestOf())]
    await woovi.pay(paid.txid)
    expect(await provider.cancel(free.txid)).toBe('withdrawn')
    expect(await provider.check(free.txid)).toBe('absent')
    expect(await provider.cancel(free.txid)).toBe('absent')
    expect(await provider.cancel(paid.txid)).toBe('not_active')
    expect(await provider.cancel('../charge')).toBe('absent')
  })

  test.each<Failure>(['lose', 'hang', 'error', 'garbage'])(
    'an answer that goes wrong (%s) is withdrawn all the same',
    async (how) => {
      const { woovi, provider } = await connectWoovi()
      const { txid } = await provider.create(requestOf())
      woovi.fail('DELETE /charge/:id', how)
      expect(await provider.cancel(txid)).toBe('withdrawn')
      expect(woovi.charges.size).toBe(0)
    },
  )

  test('paid while our withdrawal hung, it is not active', async () => {
    const { woovi, provider } = await connectWoovi()
    const { txid } = await provider.create(requestOf())
    woovi.fail('DELETE /charge/:id', 'hang')
    const outcome = provider.cancel(txid)
    await expect.poll(() => woovi.count('DELETE /charge/:id')).toBe(1)
    await woovi.pay(txid)
    expect(await outcome).toBe('not_active')
  })

  test('a withdrawal whose fate cannot be learnt is unknown', async () => {
    const { woovi, provider } = await connectWoovi({ timings: { cancelDeadlineMs: 500, writeTimeoutMs: 100 } })
    const { txid } = await provider.create(requestOf())
    woovi.fail('DELETE /charge/:id', 'lose', 9)
    woovi.fail('GET /charge/:id', 'error', 9)
    await expect(provider.cancel(txid)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})

describe('received', () => {
  test('a Pix is found by its id, with its charge or without', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    const { txid } = await provider.create(requestOf())
    const [charged, free] = [await woovi.pay(txid), await woovi.payByKey(7_00)]
    const common = { provider: 'woovi', occurredAt: clock.now(), givenBack: 'nothing' }
    expect(await provider.findPayment(charged)).toEqual({ ...common, endToEndId: charged, txid, amountCents: 50_00 })
    expect(await provider.findPayment(free)).toEqual({ ...common, endToEndId: free, txid: null, amountCents: 7_00 })
    expect(await provider.findPayment('E'.repeat(32))).toBe('absent')
    expect(await provider.findPayment('../x')).toBe('absent')
  })

  test('what was received in a window comes in pages, each Pix once', async () => {
    const { woovi, provider } = await connectWoovi({ timings: { pageSize: 2 } })
    const at = (time: string) => new Date(`2026-02-01T12:00:${time}Z`)
    const paid: string[] = []
    for (const time of ['00.499', '00.500', '01.000', '01.700', '02.499', '02.500']) {
      paid.push(await woovi.payByKey(1_00, { time: at(time) }))
    }
    const pages = await listAll(provider, { from: at('00.500'), to: at('02.500') })
    expect(pages.flat().map((payment) => payment.endToEndId)).toEqual(paid)
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(2)
    const later = { from: new Date('2026-02-02T00:00:00Z'), to: new Date('2026-02-03T00:00:00Z') }
    expect(await listAll(provider, later)).toEqual([])
  })

  test('what is no Pix received is passed over', async () => {
    const { woovi, provider, clock } = await connectWoovi({ asDescribed: false })
    const window = { from: clock.now(), to: new Date(clock.now().getTime() + HOUR_MS) }
    const endToEndId = 'E54811417202603021200withdrawal1'
    const kinds = ['WITHDRAW', 'REFUND', 'FEE', 'INTERNAL_TRANSFER', 'BALANCE_BLOCK', 'BALANCE_UNBLOCK', 'REVERSAL']
    for (const type of kinds) woovi.addEntry({ type, status: 'CONFIRMED', endToEndId })
    for (const status of ['CREATED', 'IN_PROCESSING', 'REJECTED'])
      woovi.addEntry({ type: 'PAYMENT', status, endToEndId })
    const received = await woovi.payByKey(1_00)
    expect((await listAll(provider, window)).flat()).toMatchObject([{ endToEndId: received }])
    expect(await provider.findPayment(endToEndId)).toBe('absent')
  })

  test('a kind that nobody knows may be money: the others come first, and then it is an error', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    woovi.addEntry({ type: 'GIFT', endToEndId: 'E54811417202603021200gift0000001' })
    await woovi.payByKey(1_00)
    const pages = provider.listReceived({ from: clock.now(), to: new Date(clock.now().getTime() + HOUR_MS) })
    const reading = pages[Symbol.asyncIterator]()
    expect((await reading.next()).value).toHaveLength(1)
    await expect(reading.next()).rejects.toMatchObject({
      outcome: 'unknown',
      message: expect.stringMatching(/1 transactions cannot be read/),
    })
    await expect(provider.findPayment('E54811417202603021200gift0000001')).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('a window of more pages than the bound is an error and not a short list', async () => {
    const { woovi, provider, clock } = await connectWoovi({ timings: { pageSize: 1, maxPages: 2 } })
    for (let nth = 0; nth < 3; nth++) await woovi.payByKey(1_00)
    const window = { from: clock.now(), to: new Date(clock.now().getTime() + HOUR_MS) }
    await expect(listAll(provider, window)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})

describe('refund', () => {
  test.each<Failure>(['lose', 'hang', 'error', 'garbage'])(
    'it is made once however often it is asked for, also when its answer goes wrong (%s)',
    async (how) => {
      const { woovi, provider } = await connectWoovi()
      const endToEndId = await woovi.payByKey(10_00)
      const asked = { endToEndId, refundId: 'R1', amountCents: 6_00 }
      woovi.fail('POST /refund', how)
      const made = { refundId: 'R1', amountCents: 6_00, status: 'processing', reason: null }
      expect(await provider.refund(asked)).toEqual(made)
      expect(await provider.refund(asked)).toEqual(made)
      // 6.00 of 10.00 are refunded. If the repeat were a second refund, this one of 4.00 would not fit.
      expect(await provider.refund({ ...asked, refundId: 'R2', amountCents: 4_00 })).toMatchObject({ refundId: 'R2' })
      const refused = { outcome: 'refused' }
      await expect(provider.refund({ ...asked, refundId: 'R3', amountCents: 1 })).rejects.toMatchObject(refused)
      await expect(provider.refund({ ...asked, amountCents: 5_00 })).rejects.toMatchObject(refused)
    },
  )

  test('what became of it can be asked for later', async () => {
    const { woovi, provider } = await connectWoovi()
    const endToEndId = await woovi.payByKey(10_00)
    for (const [refundId, end, status] of [
      ['R1', 'REFUNDED', 'done'],
      ['R2', 'NOT_ACCOMPLISHED', 'failed'],
    ] as const) {
      expect(await provider.checkRefund({ endToEndId, refundId })).toBe('absent')
      await provider.refund({ endToEndId, refundId, amountCents: 1_00 })
      expect(await provider.checkRefund({ endToEndId, refundId })).toMatchObject({ status: 'processing' })
      woovi.endRefund(refundId, end)
      expect(await provider.checkRefund({ endToEndId, refundId })).toMatchObject({
        refundId,
        amountCents: 1_00,
        status,
      })
    }
    expect(await provider.checkRefund({ endToEndId, refundId: '../R1' })).toBe('absent')
  })

  test('of a Pix that Woovi does not know it is refused', async () => {
    const { provider } = await connectWoovi()
    const asked = { endToEndId: 'E'.repeat(32), refundId: 'R1', amountCents: 1_00 }
    await expect(provider.refund(asked)).rejects.toMatchObject({
      outcome: 'refused',
      message: expect.stringMatching(/não encontrada/),
    })
  })
})
