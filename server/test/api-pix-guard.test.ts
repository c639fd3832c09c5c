import assert from 'node:assert'
import { describe, expect, test } from 'vitest'
import { ProviderError } from '../src/domain/ports/provider.ts'
import {
  connectScripted,
  E2E,
  notFound,
  ok,
  REQUEST,
  SECRET,
  TXID,
  type Said,
  type Script,
  type ScriptedPsp,
} from './scripted-psp.ts'
import { patient } from './world.ts'

// What surrounds every call: tokens, breaker, rate limit, and secrets that must not leak.

const authorizations = (psp: ScriptedPsp) =>
  psp.seen.filter(({ path }) => path !== '/oauth/token').map(({ headers }) => headers.authorization)

describe('tokens', () => {
  test('a token is asked for with the credentials, once, and kept until shortly before it ends', async () => {
    const { psp, provider, clock } = await connectScripted(() => ok())
    await provider.check(TXID)
    await provider.check(TXID)
    clock.ms += 3_539_000
    await provider.check(TXID)
    expect(psp.count('POST /oauth/token')).toBe(1)
    clock.ms += 1_000
    await provider.check(TXID)
    expect(psp.count('POST /oauth/token')).toBe(2)
    expect(authorizations(psp)).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
    const asked = psp.seen[0]!
    expect(asked.headers.authorization).toBe(`Basic ${Buffer.from(`client-1:${SECRET}`).toString('base64')}`)
    expect(new URLSearchParams(asked.body).get('grant_type')).toBe('client_credentials')
  })

  // The token endpoint answers only once all callers wait for it, so they are certainly concurrent.
  test('callers who need a token at once share one request for it', async () => {
    let letGo: () => void = () => {}
    const held = new Promise<void>((resolve) => (letGo = resolve))
    const { psp, provider } = await connectScripted(() => ok(), {
      token: async () => {
        await held
        return { status: 200, json: { access_token: 'shared', expires_in: 3600 } }
      },
    })
    const checks = Array.from({ length: 20 }, () => provider.check(TXID))
    await expect.poll(() => psp.count('POST /oauth/token')).toBe(1)
    letGo()
    await Promise.all(checks)
    expect(psp.count('POST /oauth/token')).toBe(1)
    expect(psp.count('GET /cob')).toBe(20)
  })

  test('a token that is refused is replaced once', async () => {
    const { psp, provider } = await connectScripted(({ headers }) =>
      headers.authorization === 'Bearer token-1' ? { status: 401, json: { title: 'Não autorizado.' } } : ok(),
    )
    expect(await provider.check(TXID)).toMatchObject({ status: 'active' })
    expect(authorizations(psp)).toEqual(['Bearer token-1', 'Bearer token-2'])
    await provider.check(TXID)
    expect(psp.count('POST /oauth/token')).toBe(2)
  })

  test('a second refusal is meant, and is not asked a third time', async () => {
    const { psp, provider } = await connectScripted(() => ({ status: 401, json: { title: 'Não autorizado.' } }))
    await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'refused' })
    expect(psp.count('POST /oauth/token')).toBe(2)
    expect(psp.count('GET /cob')).toBe(2)
    expect(provider.health().lastError).toContain('401')
  })

  test('credentials that are refused are a refusal, and nothing of the operation is sent', async () => {
    const { psp, provider } = await connectScripted(() => ok(), {
      token: () => ({ status: 401, json: { error: 'invalid_client' } }),
    })
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'refused' })
    expect(psp.count('PUT')).toBe(0)
  })

  test.each<[string, Said | 'hang' | 'reset']>([
    ['an error', { status: 500 }],
    ['garbage', { status: 200, text: '<html>' }],
    ['no token in it', { status: 200, json: { token_type: 'Bearer' } }],
    ['silence', 'hang'],
    ['a reset', 'reset'],
  ])('%s instead of a token leaves a create surely undone', async (_, said) => {
    const { psp, provider } = await connectScripted(() => ok(), { token: () => said, timings: { tokenTimeoutMs: 50 } })
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unreachable' })
    expect(psp.count('PUT')).toBe(0)
  })
})

describe('breaker', () => {
  const timings = { breakerFailures: 3, breakerCoolDownMs: 5_000, readAttempts: 1 }

  test('faults open it, calls then fail at once, one probe after the cool-down closes it', async () => {
    let ill = true
    const { psp, provider, clock } = await connectScripted(() => (ill ? { status: 503 } : ok()), { timings })
    for (let i = 0; i < 3; i++) await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
    expect(provider.health()).toMatchObject({ breaker: 'open', lastError: 'check: HTTP 503', lastSuccessAt: null })

    clock.ms += 4_999
    await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unreachable' })
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unreachable' })
    expect(psp.count('GET /cob') + psp.count('PUT')).toBe(3)

    clock.ms += 1
    expect(provider.health().breaker).toBe('half-open')
    await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
    await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unreachable' })
    expect(psp.count('GET /cob')).toBe(4)

    ill = false
    clock.ms += 5_000
    expect(await provider.check(TXID)).toMatchObject({ status: 'active' })
    expect(provider.health()).toMatchObject({ breaker: 'closed', lastSuccessAt: new Date(clock.ms) })
  })

  test('an outage is logged at most once per cause in ten seconds with its failures, its probes are not, and its end once', async () => {
    let isIll = true
    const { provider, clock, logged } = await connectScripted(() => (isIll ? { status: 503 } : ok()), { timings })
    const lines = () => logged.splice(0).filter((line) => !line.startsWith('debug '))
    for (let nth = 0; nth < 50; nth++) await provider.check(TXID).catch(() => {})
    expect(lines()).toEqual([
      'warn provider call failed {"provider":"bank","operation":"check","text":"HTTP 503","failures":1}',
      'warn provider breaker is open {"provider":"bank","breaker":"open","lastError":"check: HTTP 503"}',
      'warn provider call failed {"provider":"bank","operation":"check","text":"held back by the breaker","failures":1}',
    ])
    // Two of these calls are probes of the breaker; the others come between them.
    for (let nth = 0; nth < 20; nth++) {
      if (nth % 10 === 0) clock.ms += 5_000
      await provider.check(TXID).catch(() => {})
    }
    expect(lines()).toEqual([
      'warn provider call failed {"provider":"bank","operation":"check","text":"HTTP 503","failures":4}',
      'warn provider call failed {"provider":"bank","operation":"check","text":"held back by the breaker","failures":56}',
    ])
    isIll = false
    clock.ms += 5_000
    await provider.check(TXID)
    expect(lines()).toEqual([
      'info the provider works again {"provider":"bank","failures":70,"unsaid":8,"seconds":10}',
      'warn provider breaker is closed {"provider":"bank","breaker":"closed","lastError":"check: HTTP 503"}',
    ])
  })

  test('while it is open nothing is waited for', async () => {
    const { provider } = await connectScripted(() => ({ status: 500 }), {
      timings: { ...timings, breakerFailures: 1, backoffBaseMs: 3_000, backoffCapMs: 3_000 },
      random: () => 1,
    })
    await provider.check(TXID).catch(() => {})
    const startedAtMs = performance.now()
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unreachable' })
    expect(performance.now() - startedAtMs).toBeLessThan(patient(2_000))
  })

  test('while the probe is out, others do not follow it', async () => {
    let letGo: (said: Said) => void = () => {}
    const held = new Promise<Said>((resolve) => (letGo = resolve))
    const { psp, provider, clock } = await connectScripted((_, nth) => (nth <= 3 ? { status: 500 } : held), { timings })
    for (let i = 0; i < 3; i++) await provider.check(TXID).catch(() => {})
    clock.ms += 5_000
    const probe = provider.check(TXID)
    await expect.poll(() => psp.count('GET /cob')).toBe(4)
    await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unreachable' })
    letGo(ok())
    expect(await probe).toMatchObject({ status: 'active' })
    expect(psp.count('GET /cob')).toBe(4)
  })

  test.each<[string, Script, 'open' | 'closed']>([
    ['errors', () => ({ status: 500 }), 'open'],
    ['garbage', () => ({ status: 200, text: 'null' }), 'open'],
    ['resets', () => 'reset', 'open'],
    ['silence', () => 'hang', 'open'],
    ['refusals', () => ({ status: 403, json: {} }), 'closed'],
    ['absences', () => notFound, 'closed'],
    ['being busy', () => ({ status: 429, headers: { 'retry-after': '9' }, json: {} }), 'closed'],
  ])('%s leave it as they should', async (_, script, expected) => {
    const { provider } = await connectScripted(script, { timings: { ...timings, checkDeadlineMs: 60 } })
    for (let i = 0; i < 4; i++) await provider.check(TXID).catch(() => {})
    expect(provider.health().breaker).toBe(expected)
  })

  test('a caller who gave it no time does not open it', async () => {
    const { provider } = await connectScripted(() => 'hang', {
      timings: { ...timings, fairTimeoutMs: 1_000, checkDeadlineMs: 20 },
    })
    for (let i = 0; i < 4; i++) await provider.check(TXID).catch(() => {})
    expect(provider.health().breaker).toBe('closed')
  })

  test('one failed refresh of the token is one fault, however many waited for it', async () => {
    let letGo: () => void = () => {}
    const held = new Promise<void>((resolve) => (letGo = resolve))
    const { provider, psp } = await connectScripted(() => ok(), {
      timings,
      token: async () => {
        await held
        return { status: 500 }
      },
    })
    const checks = Array.from({ length: 10 }, () => provider.check(TXID))
    await expect.poll(() => psp.count('POST')).toBe(1)
    letGo()
    for (const result of await Promise.allSettled(checks)) expect(result.status).toBe('rejected')
    expect(provider.health().breaker).toBe('closed')
  })
})

test('calls over the rate limit fail as unreachable without reaching the bank', async () => {
  const { psp, provider } = await connectScripted(() => ok(), { callsPerSecond: 0.2 })
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => provider.check(TXID)))
  const refused = results.filter((result) => result.status === 'rejected')
  expect(refused).toHaveLength(9)
  for (const { reason } of refused) {
    expect(reason).toMatchObject({ outcome: 'unreachable', message: expect.stringContaining('rate limit') })
  }
  expect(psp.count('GET /cob')).toBe(1)
  expect(provider.health().breaker).toBe('closed')
})

test('calls that waited for their turn while the provider failed are not sent', async () => {
  const { psp, provider, clock } = await connectScripted(() => ({ status: 503 }), {
    callsPerSecond: 5,
    timings: { breakerFailures: 3, breakerCoolDownMs: 60_000, readAttempts: 1 },
  })
  const checks = Array.from({ length: 8 }, () => provider.check(TXID).catch((error: unknown) => error))
  await Promise.all(checks.slice(0, 4))
  expect(provider.health().breaker).toBe('open')
  clock.ms += 1_000
  expect(await Promise.all(checks.slice(4))).toEqual(Array(4).fill(expect.objectContaining({ outcome: 'unreachable' })))
  expect(psp.count('GET /cob')).toBe(4)
})

test('no secret shows in an error, a log line or the health, even when the bank quotes it', async () => {
  const url = 'https://guiche.example.com/callbacks/bank/knock-knock-4711'
  const quoting: Script = ({ headers, body }) => ({
    status: 400,
    json: {
      title: `You sent ${headers.authorization ?? ''}`,
      detail: `secret ${SECRET} body ${body}`,
      violacoes: [{ razao: 'ruim', propriedade: 'webhookUrl', valor: url }],
    },
  })
  const { provider, logged } = await connectScripted(quoting)
  const texts: string[] = []
  for (const work of [
    () => provider.create(REQUEST),
    () => provider.check(TXID),
    () => provider.refund({ endToEndId: E2E, refundId: 'R1', amountCents: 1 }),
    () => provider.registerNotifications(url),
  ]) {
    const error = await work().catch((error: unknown) => error)
    assert(error instanceof ProviderError)
    expect(error.outcome).toBe('refused')
    texts.push(String(error), JSON.stringify(error), error.stack ?? '')
  }
  const denied = await connectScripted(quoting, { token: quoting })
  texts.push(String(await denied.provider.check(TXID).catch((error: unknown) => error)))
  texts.push(...logged, ...denied.logged, JSON.stringify(provider.health()), JSON.stringify(denied.provider.health()))
  const basic = Buffer.from(`client-1:${SECRET}`).toString('base64')
  for (const text of texts) {
    for (const secret of [SECRET, basic, 'token-1', 'knock-knock']) expect(text).not.toContain(secret)
  }
  expect(texts.join()).toContain('[hidden]')
})

test('closing ends what is under way, quickly', async () => {
  const { psp, provider } = await connectScripted(() => 'hang', {
    timings: { writeTimeoutMs: 60_000, createDeadlineMs: 60_000 },
  })
  const creating = provider.create(REQUEST).catch((error: unknown) => error)
  await expect.poll(() => psp.count('PUT')).toBe(1)
  const startedAtMs = performance.now()
  await provider.close()
  expect(await creating).toMatchObject({ outcome: 'unknown' })
  expect(performance.now() - startedAtMs).toBeLessThan(patient(1_000))
  await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unreachable' })
})
