import { describe, expect, test } from 'vitest'
import type { Provider, ProviderCharge, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { cob, connectScripted, E2E, notFound, ok, REQUEST, TXID, type Said, type Script } from './scripted-psp.ts'

// How the adapter handles everything that a PSP may answer.

describe('create', () => {
  test('it sends what API Pix wants, and the description within its bound', async () => {
    const { psp, provider } = await connectScripted(() => ({ status: 201, json: cob() }))
    await provider.create({ ...REQUEST, description: 'd'.repeat(200) })
    const put = psp.seen.find(({ method }) => method === 'PUT')!
    expect(put.path).toBe(`/cob/${TXID}`)
    expect(JSON.parse(put.body)).toEqual({
      calendario: { expiracao: 3600 },
      valor: { original: '50.00' },
      chave: 'chave@example.com',
      solicitacaoPagador: 'd'.repeat(140),
    })
  })

  test.each([400, 403, 404, 405, 413, 415, 422])(
    'HTTP %i for a txid that is not there is a refusal, with its reason',
    async (status) => {
      const { psp, provider } = await connectScripted(({ method }) =>
        method === 'PUT' ? { status, json: { title: 'Cobrança inválida.', detail: 'Falta algo.', status } } : notFound,
      )
      await expect(provider.create(REQUEST)).rejects.toMatchObject({
        outcome: 'refused',
        message: `bank: create: HTTP ${status} Cobrança inválida. Falta algo.`,
      })
      expect(psp.count('PUT')).toBe(1)
    },
  )

  test.each([400, 409, 422])('HTTP %i for a txid that is taken by the same charge finds it', async (status) => {
    const { provider } = await connectScripted(({ method }) =>
      method === 'PUT' ? { status, json: { nome: 'txid_duplicado', mensagem: 'já utilizado' } } : ok(),
    )
    expect(await provider.create(REQUEST)).toMatchObject({ txid: TXID, status: 'active' })
  })

  test.each([
    [409, { title: 'Conflito.' }],
    [400, { nome: 'txid_duplicado', mensagem: 'já utilizado' }],
    [422, { title: 'x', detail: 'Já existe uma cobrança com este txid' }],
  ])(
    'HTTP %i for a txid that is taken, by what is not shown to us, is unknown and not refused',
    async (status, json) => {
      for (const look of [notFound, { status: 403, json: { title: 'Acesso negado.' } }]) {
        const { provider } = await connectScripted(({ method }) => (method === 'PUT' ? { status, json } : look))
        await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unknown' })
      }
    },
  )

  test('a refusal that may mean “taken” is unknown when the charge cannot be asked for', async () => {
    const { provider } = await connectScripted(({ method }) =>
      method === 'PUT' ? { status: 400, json: {} } : { status: 500 },
    )
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('once an answer was lost, losing our access leaves it unknown and not refused', async () => {
    const { provider } = await connectScripted((_, nth) =>
      nth === 1 ? 'reset' : { status: 403, json: { title: 'Acesso negado.' } },
    )
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('nobody listening is unreachable, after a bounded number of tries', async () => {
    const { psp, provider } = await connectScripted(() => ok())
    await psp.stop()
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unreachable' })
  })

  test.each<[string, Script]>([
    ['a reset', (_, nth) => (nth === 1 ? 'reset' : ok())],
    ['HTTP 500', (_, nth) => (nth === 1 ? { status: 500 } : ok())],
    ['a redirect', (_, nth) => (nth === 1 ? { status: 302, headers: { location: '/elsewhere' }, json: cob() } : ok())],
    ['a timed-out request', (_, nth) => (nth === 1 ? { status: 408 } : ok())],
    ['no JSON', (_, nth) => (nth === 1 ? { status: 201, text: '<html>' } : ok())],
    ['a charge of another txid', (_, nth) => (nth === 1 ? ok(cob({ txid: 'b'.repeat(32) })) : ok())],
    ['a status that is none', (_, nth) => (nth === 1 ? ok(cob({ status: 'PAGA' })) : ok())],
    ['an amount that is none', (_, nth) => (nth === 1 ? ok(cob({ valor: { original: '50.0' } })) : ok())],
    [
      'a code with a wrong checksum',
      (_, nth) => (nth === 1 ? ok(cob({ pixCopiaECola: `${String(cob()['pixCopiaECola'])}0` })) : ok()),
    ],
    ['neither code nor location', (_, nth) => (nth === 1 ? ok(cob({ pixCopiaECola: undefined })) : ok())],
  ])('%s in answer is not believed: the charge is asked for', async (_, script) => {
    const { psp, provider } = await connectScripted((request, nth) =>
      request.method === 'PUT' ? script(request, nth) : ok(),
    )
    expect(await provider.create(REQUEST)).toMatchObject({ txid: TXID, status: 'active', valueCents: 50_00 })
    expect([psp.count('PUT'), psp.count('GET')]).toEqual([1, 1])
  })

  test('a code that no banking app reads ends as unknown, never as a charge', async () => {
    const { provider } = await connectScripted(() => ok(cob({ pixCopiaECola: '000201garbage' })))
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test.each([
    ['location', { location: 'pix.example.com/qr/v2/1' }],
    ['a location with a scheme', { location: 'https://pix.example.com/qr/v2/1' }],
    ['a location inside loc', { loc: { id: 1, location: 'pix.example.com/qr/v2/1' } }],
  ])('a PSP that gives only %s gets its code made here', async (_, fields) => {
    const { provider } = await connectScripted(() => ok(cob({ pixCopiaECola: undefined, ...fields })), {
      merchant: { name: 'Padaria São João', city: 'São Paulo' },
    })
    const { emv } = await provider.create(REQUEST)
    expect(emv).toContain('pix.example.com/qr/v2/1')
    expect(emv).toContain('Padaria Sao Joao')
    expect(emv).not.toContain('https')
  })

  test('a busy bank is waited for as long as it says', async () => {
    const { psp, provider } = await connectScripted((_, nth) =>
      nth === 1 ? { status: 429, headers: { 'retry-after': '0' }, json: {} } : ok(),
    )
    expect(await provider.create(REQUEST)).toMatchObject({ status: 'active' })
    expect(psp.count('PUT')).toBe(2)
    expect(psp.count('GET')).toBe(0)
  })

  test('a bank that is busy beyond the deadline is unreachable at once', async () => {
    const { psp, provider } = await connectScripted(() => ({ status: 429, headers: { 'retry-after': '60' }, json: {} }))
    await expect(provider.create(REQUEST)).rejects.toMatchObject({ outcome: 'unreachable' })
    expect(psp.count('PUT')).toBe(1)
  })
})

describe('check', () => {
  test.each([
    ['ATIVA', 'active'],
    ['CONCLUIDA', 'paid'],
    ['REMOVIDA_PELO_USUARIO_RECEBEDOR', 'withdrawn'],
    ['REMOVIDA_PELO_PSP', 'withdrawn'],
  ])('%s is %s', async (status, expected) => {
    const { provider } = await connectScripted(() => ok(cob({ status })))
    expect(await provider.check(TXID)).toMatchObject({ status: expected })
  })

  test('a charge whose txid comes back in upper case is the one asked for', async () => {
    const pix = { endToEndId: E2E, valor: '50.00', horario: '2026-03-01T12:30:00Z' }
    const shouting = cob({ txid: TXID.toUpperCase(), status: 'CONCLUIDA', pix: [pix] })
    const { provider } = await connectScripted(() => ok(shouting))
    expect(await provider.check(TXID)).toMatchObject({ txid: TXID, payments: [{ txid: TXID }] })
  })

  const MADE = { id: '1', valor: '1.00', status: 'DEVOLVIDO' }
  const done = { refundId: '1', amountCents: 1_00, status: 'done', reason: null }

  test.each([
    ['as a list', [{ id: '1', rtrId: 'D', valor: '1.00', status: 'DEVOLVIDO' }], [done]],
    ['as an object', { id: '1', rtrId: 'D', valor: '1.00', status: 'DEVOLVIDO' }, [done]],
    ['of a nature that we know', [{ ...MADE, natureza: 'MED_FRAUDE' }], [{ ...done, nature: 'fraud' }]],
    ['of a mistake', [{ ...MADE, natureza: 'MED_OPERACIONAL' }], [{ ...done, nature: 'operational' }]],
    ['of a recurring payment', [{ ...MADE, natureza: 'MED_PIX_AUTOMATICO' }], [{ ...done, nature: 'automatic' }]],
    ['of an ordinary nature', [{ ...MADE, natureza: 'ORIGINAL' }], [{ ...done, nature: 'other' }]],
    ['of a nature that nobody knows', [{ ...MADE, natureza: 'MED_9' }], [{ ...done, nature: 'other' }]],
    ['of no readable nature', [{ ...MADE, natureza: [7] }], [done]],
    ['that are none', [], []],
    ['absent', undefined, []],
    ['null', null, []],
  ])('payments are read with refunds %s and with fields that nobody knows', async (_, devolucoes, refunds) => {
    const pix = { endToEndId: E2E, valor: '70.00', horario: '2026-03-01T09:30:00-03:00', devolucoes, novo: {} }
    const { provider } = await connectScripted(() => ok(cob({ status: 'CONCLUIDA', pix: [pix], campoNovo: 1 })))
    const payment = {
      provider: 'bank',
      endToEndId: E2E,
      txid: TXID,
      amountCents: 70_00,
      occurredAt: new Date('2026-03-01T12:30:00Z'),
    }
    const charge = await provider.check(TXID)
    expect(charge).toMatchObject({ valueCents: 50_00 })
    expect((charge as ProviderCharge).payments).toEqual([{ ...payment, refunds }])
  })

  test('a refund that cannot be read hides no other: it is named, with its id if it has one', async () => {
    const good = { id: '1', rtrId: 'D', valor: '1.00', status: 'DEVOLVIDO' }
    const devolucoes = [{ ...good, id: '2', status: 'DEVOLVIDA_EM_PARTE' }, good, 'x']
    const pix = { endToEndId: E2E, valor: '70.00', horario: '2026-03-01T12:30:00Z', devolucoes }
    const { provider, logged } = await connectScripted(() => ok(cob({ status: 'CONCLUIDA', pix: [pix] })))
    const text = 'does not match API Pix: status'
    const unreadRefunds = [
      { refundId: '2', text },
      { refundId: null, text: 'does not match API Pix: the whole message' },
    ]
    expect(await provider.check(TXID)).toMatchObject({ payments: [{ refunds: [done], unreadRefunds }] })
    await provider.check(TXID)
    expect(logged).toHaveLength(2)
    expect(logged[0]).toContain(`its refund 2 ${text}`)
  })

  test('expiry is creation plus lifetime', async () => {
    const { provider } = await connectScripted(() => ok())
    expect(await provider.check(TXID)).toMatchObject({ expiresAt: new Date('2026-03-01T13:00:00Z') })
  })

  test('a paid charge without a code is still paid', async () => {
    const { provider } = await connectScripted(() => ok(cob({ status: 'CONCLUIDA', pixCopiaECola: undefined })))
    expect(await provider.check(TXID)).toMatchObject({ status: 'paid', emv: '' })
  })

  test('a 404 is believed from the PSP and not from a proxy before it', async () => {
    const psp: Said[] = [
      notFound,
      { status: 404, json: { nome: 'cobranca_nao_encontrada', mensagem: 'não encontrada' } },
    ]
    for (const said of psp) {
      const { provider } = await connectScripted(() => said)
      expect(await provider.check(TXID)).toBe('absent')
    }
    for (const said of [{ status: 404, text: '<h1>404</h1>' }, { status: 404 }]) {
      const { provider } = await connectScripted(() => said)
      await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
    }
  })

  const pix = { endToEndId: E2E, txid: TXID, valor: '50.00', horario: '2026-03-01T12:30:00Z' }
  test.each([
    ['a payment of nothing', { ...pix, valor: '0.00' }],
    ['a negative payment', { ...pix, valor: '-1.00' }],
    ['an amount as a number', { ...pix, valor: 50 }],
    ['an amount with three decimals', { ...pix, valor: '50.000' }],
    ['a time without a zone', { ...pix, horario: '2026-03-01T12:30:00' }],
    ['a day that is none', { ...pix, horario: '2026-13-41T12:30:00Z' }],
    ['an id that is none', { ...pix, endToEndId: 'E1' }],
    ['a payment without an id', { ...pix, endToEndId: undefined }],
  ])('%s is not taken for money, is told, and hides no other payment of the charge', async (_, bad) => {
    let listed: unknown[] = [bad]
    const { provider, logged } = await connectScripted(() => ok(cob({ status: 'CONCLUIDA', pix: listed })))
    await expect(provider.check(TXID)).rejects.toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('1 transactions cannot be read'),
    })
    expect(logged).toEqual([expect.stringContaining('cannot be read')])
    listed = [pix, bad]
    expect(await provider.check(TXID)).toMatchObject({ payments: [{ endToEndId: E2E, amountCents: 50_00 }] })
  })

  test.each([
    ['NUL', 'a\u{0}b'],
    ['too much', 'a'.repeat(36)],
    ['another sign', 'no-txid'],
    ['nothing', ''],
    ['a number', 7],
  ])('a Pix whose txid holds %s names no charge, wherever it is told of', async (_, txid) => {
    const odd = { ...pix, txid }
    const { provider } = await connectScripted(({ path }) =>
      ok(
        path.startsWith('/cob') ? cob({ status: 'CONCLUIDA', pix: [odd] }) : path.includes('?') ? { pix: [odd] } : odd,
      ),
    )
    expect(await provider.findPayment(E2E)).toMatchObject({ txid: null, amountCents: 50_00 })
    for await (const page of provider.listReceived({ from: new Date(0), to: new Date('2027-01-01T00:00:00Z') }))
      expect(page).toMatchObject([{ txid: null, amountCents: 50_00 }])
    // A Pix that is listed with a charge belongs to that charge.
    expect(await provider.check(TXID)).toMatchObject({ payments: [{ txid: TXID }] })
  })

  test('a Pix that cannot be read opens no breaker, however often it is asked for', async () => {
    const { psp, provider } = await connectScripted(
      ({ path }) => ok(path.startsWith('/cob') ? cob({ pix: [{ ...pix, valor: 'much' }] }) : { ...pix, valor: 'much' }),
      { timings: { breakerFailures: 2 } },
    )
    for (let nth = 0; nth < 4; nth++) {
      await expect(provider.findPayment(E2E)).rejects.toMatchObject({ outcome: 'unknown' })
      await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
    }
    expect(psp.count('GET')).toBe(8)
    expect(provider.health().breaker).toBe('closed')
    // An answer about another Pix than the one asked for counts as a failure of the provider.
    await expect(provider.findPayment(`${E2E.slice(0, -1)}6`)).rejects.toMatchObject({
      message: expect.stringMatching(/another Pix/),
    })
    expect(provider.health().breaker).toBe('open')
  })
})

describe('cancel', () => {
  test.each<[number, Said['json'], string]>([
    [400, { title: 'Operação inválida.' }, 'not_active'],
    [409, { nome: 'status_cobranca_invalido', mensagem: 'x' }, 'not_active'],
    [422, { title: 'x' }, 'not_active'],
    [404, { title: 'x' }, 'absent'],
  ])('HTTP %i is told as it is', async (status, json, expected) => {
    const { psp, provider } = await connectScripted(() => ({ status, json }))
    expect(await provider.cancel(TXID)).toBe(expected)
    expect(psp.count('PATCH')).toBe(1)
    expect(JSON.parse(psp.seen.find(({ method }) => method === 'PATCH')!.body)).toEqual({
      status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR',
    })
  })

  test('a charge that was paid while the answer was lost is not active', async () => {
    const { provider } = await connectScripted(({ method }) =>
      method === 'PATCH' ? 'reset' : ok(cob({ status: 'CONCLUIDA' })),
    )
    expect(await provider.cancel(TXID)).toBe('not_active')
  })

  test('a refusal of the repeat is no refusal when the first attempt did it', async () => {
    let status = 'ATIVA'
    const { provider } = await connectScripted(({ method }, nth) => {
      if (method === 'GET') return ok(cob({ status }))
      if (nth === 1) return 'reset'
      status = 'REMOVIDA_PELO_USUARIO_RECEBEDOR'
      return { status: 400, json: { title: 'Operação inválida.' } }
    })
    expect(await provider.cancel(TXID)).toBe('withdrawn')
  })

  test('a withdrawal that nobody tells about is unknown', async () => {
    const { provider } = await connectScripted(() => ({ status: 500 }))
    await expect(provider.cancel(TXID)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('access that is denied is a refusal', async () => {
    const { provider } = await connectScripted(() => ({ status: 403, json: { title: 'Acesso negado.' } }))
    await expect(provider.cancel(TXID)).rejects.toMatchObject({ outcome: 'refused' })
  })
})

describe('lists', () => {
  const listed = (n: number, horario: string) => ({
    endToEndId: `E12345678202603011200${String(n).padStart(11, '0')}`,
    valor: '1.00',
    horario,
  })
  const page = (pix: unknown[], paginaAtual: number, quantidadeDePaginas: number) => ({
    parametros: { paginacao: { paginaAtual, itensPorPagina: 2, quantidadeDePaginas, quantidadeTotalDeItens: 9 } },
    pix,
  })
  const window = { from: new Date('2026-03-01T12:00:00.500Z'), to: new Date('2026-03-01T13:00:00.500Z') }
  async function list(provider: Provider): Promise<ReceivedPayment[]> {
    const all: ReceivedPayment[] = []
    for await (const payments of provider.listReceived(window)) all.push(...payments)
    return all
  }
  const asked = (path: string) => new URL(path, 'http://x').searchParams

  test('a Pix that slips to the next page while we turn it is given once', async () => {
    const [a, b, c] = [1, 2, 3].map((n) => listed(n, '2026-03-01T12:30:00.000Z'))
    const { provider } = await connectScripted((_, nth) => ok(nth === 1 ? page([a, b], 0, 2) : page([b, c], 1, 2)))
    expect((await list(provider)).map(({ endToEndId }) => endToEndId)).toEqual([a, b, c].map((pix) => pix!.endToEndId))
  })

  test('an entry that cannot be read is told after the others, once, and makes an error where nobody listens', async () => {
    const good = [1, 2, 3].map((n) => listed(n, '2026-03-01T12:30:00.000Z'))
    const noAmount = { ...listed(4, '2026-03-01T12:30:00.000Z'), valor: undefined }
    const internal = { ...listed(5, '2026-03-01T12:30:00.000Z'), endToEndId: 'E1234567820260301120000000' }
    const elsewhere = { ...listed(6, '2026-03-01T18:00:00.000Z'), valor: undefined }
    const { provider, logged } = await connectScripted(({ path }) =>
      ok(
        asked(path).get('paginacao.paginaAtual') === '0'
          ? page([good[0], noAmount, internal], 0, 2)
          : page([null, good[1], noAmount, good[2], elsewhere], 1, 2),
      ),
    )
    const [payments, unread]: [string[], unknown[]] = [[], []]
    for await (const some of provider.listReceived(window, (entry) => unread.push(entry)))
      payments.push(...some.map(({ endToEndId }) => endToEndId))
    expect(payments).toEqual(good.map((pix) => pix.endToEndId))
    const isMoney = true
    const occurredAt = new Date('2026-03-01T12:30:00.000Z')
    const text = 'does not match API Pix: valor'
    expect(unread).toEqual([
      { endToEndId: noAmount.endToEndId, isMoney, occurredAt, text },
      {
        endToEndId: null,
        isMoney,
        occurredAt,
        text: 'does not match API Pix: endToEndId (its id is E1234567820260301120000000)',
      },
      { endToEndId: null, isMoney, occurredAt: null, text: 'does not match API Pix: the whole message' },
      { endToEndId: elsewhere.endToEndId, isMoney, occurredAt: new Date('2026-03-01T18:00:00.000Z'), text },
    ])
    expect(logged).toHaveLength(4)
    await expect(list(provider)).rejects.toMatchObject({
      outcome: 'unknown',
      message: expect.stringMatching(/4 transactions cannot be read/),
    })
    expect(logged).toHaveLength(4)
    expect(provider.health().breaker).toBe('closed')
  })

  test('the window is asked for in whole seconds, outwards, and nothing that is listed for it is left out', async () => {
    const pix = [
      listed(1, '2026-03-01T12:00:00.499Z'),
      listed(2, '2026-03-01T13:00:00.500Z'),
      listed(3, '2026-03-01T09:30:00Z'),
    ]
    const { psp, provider } = await connectScripted(() => ok(page(pix, 0, 1)))
    expect((await list(provider)).map(({ endToEndId }) => Number(endToEndId.slice(-2)))).toEqual([1, 2, 3])
    const query = asked(psp.seen.at(-1)!.path)
    expect(Object.fromEntries(query)).toEqual({
      inicio: '2026-03-01T12:00:00Z',
      fim: '2026-03-01T13:00:01Z',
      'paginacao.paginaAtual': '0',
      'paginacao.itensPorPagina': '1000',
    })
  })

  test('a payment by key has no txid', async () => {
    const pix = [listed(1, '2026-03-01T12:30:00Z'), { ...listed(2, '2026-03-01T12:30:00Z'), txid: '' }]
    const { provider } = await connectScripted(() => ok(page(pix, 0, 1)))
    expect((await list(provider)).map(({ txid }) => txid)).toEqual([null, null])
  })

  test('a PSP that does not tell its pages is asked until one brings nothing new', async () => {
    const { psp, provider } = await connectScripted(({ path }) => {
      const n = Number(asked(path).get('paginacao.paginaAtual'))
      return ok({ pix: n < 3 ? [listed(n, '2026-03-01T12:30:00Z')] : [] })
    })
    expect(await list(provider)).toHaveLength(3)
    expect(psp.count('GET /pix')).toBe(4)
  })

  test.each([
    ['another page than the one asked for', page([], 5, 9)],
    ['an object of another kind', { ok: true }],
    ['no list where there should be nine', { parametros: page([], 0, 1).parametros }],
  ])('%s is malformed and not an empty list', async (_, json) => {
    const { provider } = await connectScripted(() => ok(json))
    await expect(list(provider)).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('a page of a thousand Pix fits', async () => {
    const pix = Array.from({ length: 1_000 }, (_, n) => ({
      ...listed(n, '2026-03-01T12:30:00Z'),
      infoPagador: 'i'.repeat(140),
      txid: 't'.repeat(35),
      chave: 'c'.repeat(77),
      devolucoes: [{ id: 'x'.repeat(35), rtrId: 'D'.repeat(32), descricao: 'd'.repeat(140), motivo: 'm'.repeat(140) }],
    }))
    const { provider } = await connectScripted(() => ok(page(pix, 0, 1)))
    expect(await list(provider)).toHaveLength(1_000)
  })
})

test('registering an address is repeated until it is heard', async () => {
  const { psp, provider } = await connectScripted((_, nth) => (nth === 1 ? { status: 503 } : { status: 200 }))
  await provider.registerNotifications('https://guiche.example.com/hook')
  expect(psp.count('PUT /webhook/chave%40example.com')).toBe(2)
  expect(psp.seen.at(-1)).toMatchObject({ body: '{"webhookUrl":"https://guiche.example.com/hook"}' })
})

test('an address that may have been registered is not told as surely not registered', async () => {
  const { psp, provider } = await connectScripted((_, nth) => {
    if (nth === 1) setImmediate(() => void psp.stop())
    return { status: 503, headers: { connection: 'close' } }
  })
  await expect(provider.registerNotifications('https://guiche.example.com/hook')).rejects.toMatchObject({
    outcome: 'unknown',
  })
  expect(psp.count('PUT')).toBe(1)
})

describe('refund', () => {
  const asked = { endToEndId: E2E, refundId: 'R1', amountCents: 1_00 }
  test.each([
    ['EM_PROCESSAMENTO', 'processing'],
    ['DEVOLVIDO', 'done'],
    ['NAO_REALIZADO', 'failed'],
  ])('%s is %s', async (status, expected) => {
    const { psp, provider } = await connectScripted(() => ({
      status: 201,
      json: { id: 'R1', valor: '1.00', status, motivo: 'porque sim' },
    }))
    expect(await provider.refund(asked)).toEqual({
      refundId: 'R1',
      amountCents: 1_00,
      status: expected,
      reason: 'porque sim',
    })
    expect(psp.seen.at(-1)).toMatchObject({ path: `/pix/${E2E}/devolucao/R1`, body: '{"valor":"1.00"}' })
  })

  test('a refund whose fate cannot be learnt is unknown', async () => {
    const { provider } = await connectScripted(() => 'reset')
    await expect(provider.refund(asked)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})
