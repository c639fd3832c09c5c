import { describe, expect, test } from 'vitest'
import { shuffle } from '../src/sandbox/faults.ts'
import { bank, chargeBody, eventually, newTxid, send, sharedBank } from './sandbox-client.ts'
import { patient } from './world.ts'

const calmBank = sharedBank()

const GIVE_UP_MS = 150

// Resolves to true if the request gets no answer within GIVE_UP_MS.
async function unanswered(url: string, sending: { method: string; token: string; body?: unknown }): Promise<boolean> {
  const signal = AbortSignal.timeout(GIVE_UP_MS)
  return send(url, { ...sending, signal }).then(
    () => false,
    () => true,
  )
}

describe('a fault plan', () => {
  test('is replaced as a whole, and {} heals', async () => {
    const { url, call, faults, charge } = await bank()
    const { txid } = await charge()
    expect((await faults({ errorRate: 1, latencyMs: 5 })).body).toMatchObject({ errorRate: 1, latencyMs: 5 })
    expect((await call('GET', `/cob/${txid}`)).status).toBeGreaterThanOrEqual(500)
    expect((await faults({ duplicateNotifications: 1 })).body).toMatchObject({ errorRate: 0, latencyMs: 0 })
    await faults({ errorRate: 1 })
    await faults({})
    expect((await call('GET', `/cob/${txid}`)).status).toBe(200)
    expect((await send(`${url}/bank/faults`, { method: 'GET' })).body).toMatchObject({ errorRate: 0 })
  })

  test('puts a malformed entry on every page of received Pix, beside what the page holds', async () => {
    const { call, faults, pay } = await bank()
    await pay({ txid: 'nobody', amountCents: 1, times: 3 })
    const page = async () =>
      (await call('GET', '/pix?inicio=2026-03-10T00:00:00Z&fim=2026-03-11T00:00:00Z&paginacao.itensPorPagina=2')).body
    await faults({ malformedEntry: true })
    const ids: string[] = (await page()).pix.map(({ endToEndId }: { endToEndId: string }) => endToEndId)
    expect(ids.map((id) => id.length)).toEqual([26, 32, 32])
    expect((await page()).parametros.paginacao).toMatchObject({ quantidadeDePaginas: 2, quantidadeTotalDeItens: 3 })
    await faults({})
    expect((await page()).pix).toHaveLength(2)
  })

  test.each([
    ['an unknown name', { errorsRate: 1 }, /^Unrecognized key: "errorsRate"$/],
    ['a percent text', { errorRate: '50%' }, /^Field errorRate: .*expected number/],
    ['a percent number', { hangRate: 50 }, /^Field hangRate: .*<=1$/],
    ['a negative rate', { garbageRate: -0.1 }, /garbageRate/],
    ['a rate that is null', { loseAnswerRate: null }, /loseAnswerRate/],
    ['a delay of over a minute', { latencyMs: 60_001 }, /^Field latencyMs: .*<=60000$/],
    ['a broken delay', { delayNotificationsMs: 1.5 }, /delayNotificationsMs/],
    ['too many copies', { duplicateNotifications: 21 }, /duplicateNotifications/],
    ['a seed that is text', { seed: 'abc' }, /seed/],
    ['a number for a switch', { reorderNotifications: 1 }, /^Field reorderNotifications: .*expected boolean/],
    ['a list', [], /expected object/],
  ])('with %s is refused and changes nothing', async (_, plan, reason) => {
    const { url, faults } = await calmBank()
    await faults({ latencyMs: 1 })
    const reply = await faults(plan)
    expect(reply.status).toBe(400)
    expect(reply.body.error).toMatch(reason)
    expect((await send(`${url}/bank/faults`, { method: 'GET' })).body.latencyMs).toBe(1)
  })

  test('with a seed meets the same requests with the same fates', async () => {
    const fates = async (seed: number) => {
      const { call, charge, faults } = await bank()
      const { txid } = await charge()
      await faults({ errorRate: 0.5, seed })
      const seen: number[] = []
      for (let i = 0; i < 24; i++) seen.push((await call('GET', `/cob/${txid}`)).status)
      return seen
    }
    const first = await fates(7)
    expect(await fates(7)).toEqual(first)
    expect(await fates(8)).not.toEqual(first)
    expect(new Set(first).has(200)).toBe(true)
    expect(first.some((status) => status >= 500)).toBe(true)
  })
})

describe('a shuffle', () => {
  test('keeps all, and always changes the order of two or more', () => {
    const items = [1, 2, 3, 4, 5]
    for (const draw of [() => 0, () => 0.5, Math.random]) {
      const shuffled = shuffle(items, draw)
      expect(shuffled).not.toEqual(items)
      expect(shuffled.toSorted((a, b) => a - b)).toEqual(items)
    }
    expect(shuffle([1], Math.random)).toEqual([1])
  })
})

describe('the bank, told to', () => {
  test('fail, answers 5xx in problem+json and does nothing', async () => {
    const { call, faults } = await bank()
    const txid = newTxid()
    await faults({ errorRate: 1 })
    const reply = await call('PUT', `/cob/${txid}`, chargeBody())
    expect([500, 503, 504]).toContain(reply.status)
    expect(reply.type).toBe('application/problem+json')
    await faults({})
    expect((await call('GET', `/cob/${txid}`)).status).toBe(404)
  })

  test('hang, does nothing and never answers', async () => {
    const { url, token, call, faults } = await bank()
    const txid = newTxid()
    await faults({ hangRate: 1 })
    expect(await unanswered(`${url}/cob/${txid}`, { method: 'PUT', token, body: chargeBody() })).toBe(true)
    await faults({})
    expect((await call('GET', `/cob/${txid}`)).status).toBe(404)
  })

  test('lose answers, does the work and never answers', async () => {
    const { url, token, call, faults } = await bank()
    const txid = newTxid()
    await faults({ loseAnswerRate: 1 })
    expect(await unanswered(`${url}/cob/${txid}`, { method: 'PUT', token, body: chargeBody() })).toBe(true)
    await faults({})
    expect((await call('GET', `/cob/${txid}`)).body).toMatchObject({ txid, status: 'ATIVA' })
  })

  test('answer garbage, does the work and never answers with the charge', async () => {
    const { url, token, call, faults } = await bank()
    await faults({ garbageRate: 1, seed: 1 })
    const made: string[] = []
    for (let i = 0; i < 20; i++) {
      const txid = newTxid()
      const response = await fetch(`${url}/cob/${txid}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify(chargeBody()),
      })
      expect(response.status).toBe(200)
      expect(await response.text()).not.toContain(txid)
      made.push(txid)
    }
    await faults({})
    for (const txid of made) expect((await call('GET', `/cob/${txid}`)).status).toBe(200)
  })

  test('be slow, answers no sooner than it was told', async () => {
    const { call, faults, charge } = await bank()
    const { txid } = await charge()
    await faults({ latencyMs: 120 })
    const from = performance.now()
    expect((await call('GET', `/cob/${txid}`)).status).toBe(200)
    // Timers may fire a millisecond early.
    expect(performance.now() - from).toBeGreaterThan(118)
  })

  test('misbehave in every way, still gives tokens and keeps its own side straight', async () => {
    const { url, faults, charge, pay, stats } = await bank()
    const { txid } = await charge()
    await faults({ errorRate: 1, hangRate: 1, loseAnswerRate: 1, garbageRate: 1, latencyMs: 60_000 })
    expect((await pay({ txid })).status).toBe(201)
    expect((await stats()).payments).toBe(1)
    const token = await send(`${url}/oauth/token`, {
      method: 'POST',
      body: { grant_type: 'client_credentials', client_id: 'a', client_secret: 'b' },
    })
    expect(token.status).toBe(200)
  })

  test('hang, can still be stopped within a second', async () => {
    const { url, token, faults, sandbox, stats } = await bank()
    await faults({ hangRate: 1 })
    const held = Array.from({ length: 5 }, () =>
      send(`${url}/cob/${newTxid()}`, { method: 'GET', token }).catch((error: Error) => error),
    )
    await eventually(async () => (await stats()).calls['GET /cob/:txid'] === 5)
    const from = performance.now()
    await sandbox.stop()
    expect(performance.now() - from).toBeLessThan(patient(1000))
    for (const reply of await Promise.all(held)) expect(reply).toBeInstanceOf(Error)
  })
})
