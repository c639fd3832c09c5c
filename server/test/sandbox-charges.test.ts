import { describe, expect, test } from 'vitest'
import { decodeBrCode } from '../src/base/brcode.ts'
import { bank, chargeBody, newTxid, sharedBank, statusesOf } from './sandbox-client.ts'

const calmBank = sharedBank()

const ANY_TIME = 'inicio=2000-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z'
const REMOVAL = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }

const errorNamed = (name: string) => `https://pix.bcb.gov.br/api/v2/error/${name}`

describe('PUT /cob', () => {
  test('makes a charge with a BR Code that leads back to it', async () => {
    const { clock, call } = await bank()
    const txid = newTxid()
    const extras = {
      devedor: { cpf: '12345678909', nome: 'Fulano' },
      solicitacaoPagador: 'Obrigado',
      infoAdicionais: [{ nome: 'Pedido', valor: '7' }],
    }
    const { status, body } = await call('PUT', `/cob/${txid}`, { ...chargeBody(), ...extras, unknownField: 1 })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      txid,
      revisao: 0,
      status: 'ATIVA',
      calendario: { criacao: clock.at.toISOString(), expiracao: 3600 },
      valor: { original: '50.00' },
      ...extras,
    })
    expect(body).not.toHaveProperty('unknownField')
    expect(body.location.length).toBeLessThanOrEqual(77)
    expect(body.loc.location).toBe(body.location)
    expect(decodeBrCode(body.pixCopiaECola)).toMatchObject({
      location: body.location,
      amountCents: 50_00,
      singleUse: true,
    })
    expect((await call('GET', `/cob/${txid}`)).body).toEqual(body)
  })

  test('lets a charge live a day unless told otherwise', async () => {
    const { call } = await bank()
    const { body } = await call('PUT', `/cob/${newTxid()}`, { ...chargeBody(), calendario: {} })
    expect(body.calendario.expiracao).toBe(86_400)
  })

  test('refuses a txid that is taken, with the same body too, and leaves the charge alone', async () => {
    const { call, charge } = await bank()
    const { txid } = await charge()
    const before = await call('GET', `/cob/${txid}`)
    const again = await call('PUT', `/cob/${txid}`, chargeBody())
    expect(again).toMatchObject({ status: 400, type: 'application/problem+json' })
    expect(again.body.type).toBe(errorNamed('CobOperacaoInvalida'))
    expect(again.body.violacoes).toMatchObject([{ propriedade: 'cob.txid', valor: txid }])
    expect((await call('GET', `/cob/${txid}`)).body).toEqual(before.body)
  })

  test('of two at once with one txid makes one charge', async () => {
    const { call } = await bank()
    const txid = newTxid()
    const replies = await Promise.all(Array.from({ length: 8 }, () => call('PUT', `/cob/${txid}`, chargeBody())))
    expect(statusesOf(replies)).toEqual([201, 400, 400, 400, 400, 400, 400, 400])
  })

  test.each([
    ['no value', { valor: undefined }, 'cob.valor'],
    ['no key', { chave: undefined }, 'cob.chave'],
    ['no calendar', { calendario: undefined }, 'cob.calendario'],
    ['a value of zero', { valor: { original: '0.00' } }, 'cob.valor.original'],
    ['a value with one decimal', { valor: { original: '5.0' } }, 'cob.valor.original'],
    ['a value that is a number', { valor: { original: 50 } }, 'cob.valor.original'],
    ['a value of eleven digits', { valor: { original: '10000000000.00' } }, 'cob.valor.original'],
    ['a withdrawal', { valor: { original: '1.00', retirada: {} } }, 'cob.valor.retirada'],
    ['an expiry of zero', { calendario: { expiracao: 0 } }, 'cob.calendario.expiracao'],
    ['an expiry that is text', { calendario: { expiracao: '60' } }, 'cob.calendario.expiracao'],
    ['a key of 78 characters', { chave: 'k'.repeat(78) }, 'cob.chave'],
    ['a debtor without a number', { devedor: { nome: 'Fulano' } }, 'cob.devedor'],
    [
      'a debtor with both numbers',
      { devedor: { nome: 'F', cpf: '1'.repeat(11), cnpj: '1'.repeat(14) } },
      'cob.devedor',
    ],
    ['a request of 141 characters', { solicitacaoPagador: 'x'.repeat(141) }, 'cob.solicitacaoPagador'],
    ['notes without a name', { infoAdicionais: [{ valor: 'x' }] }, 'cob.infoAdicionais'],
    ['a location that does not exist', { loc: { id: 7 } }, 'cob.loc.id'],
  ])('refuses %s and says where', async (_, change, property) => {
    const { call } = await calmBank()
    const txid = newTxid()
    const reply = await call('PUT', `/cob/${txid}`, { ...chargeBody(), ...change })
    expect(reply).toMatchObject({ status: 400, body: { type: errorNamed('CobOperacaoInvalida'), status: 400 } })
    expect(reply.body.violacoes).toContainEqual(expect.objectContaining({ propriedade: property }))
    expect((await call('GET', `/cob/${txid}`)).body.type).toBe(errorNamed('CobNaoEncontrado'))
  })

  test.each([
    ['short', 'a'.repeat(25)],
    ['long', 'a'.repeat(36)],
    ['odd', `${'a'.repeat(30)}-`],
  ])('refuses a txid that is too %s', async (_, txid) => {
    const { call } = await calmBank()
    expect((await call('PUT', `/cob/${txid}`, chargeBody())).body.violacoes[0].propriedade).toBe('cob.txid')
  })
})

describe('PATCH /cob', () => {
  test('removes an active charge, once, and it cannot be paid any more', async () => {
    const { call, charge, pay } = await bank()
    const { txid } = await charge()
    expect(await call('PATCH', `/cob/${txid}`, REMOVAL)).toMatchObject({
      status: 200,
      body: { ...REMOVAL, revisao: 1 },
    })
    expect((await call('PATCH', `/cob/${txid}`, REMOVAL)).body.type).toBe(errorNamed('CobOperacaoInvalida'))
    expect(await pay({ txid })).toMatchObject({
      status: 409,
      body: { error: 'The charge was removed by the receiver' },
    })
  })

  test('refuses to remove a charge that is paid', async () => {
    const { call, charge, pay } = await bank()
    const { txid } = await charge()
    await pay({ txid })
    expect((await call('PATCH', `/cob/${txid}`, REMOVAL)).status).toBe(400)
    expect((await call('GET', `/cob/${txid}`)).body.status).toBe('CONCLUIDA')
  })

  test('refuses other states, and a removal together with changes', async () => {
    const { call, charge } = await bank()
    const { txid } = await charge()
    expect((await call('PATCH', `/cob/${txid}`, { status: 'CONCLUIDA' })).status).toBe(400)
    expect((await call('PATCH', `/cob/${txid}`, { ...REMOVAL, chave: 'other' })).status).toBe(400)
    expect((await call('GET', `/cob/${txid}`)).body).toMatchObject({ status: 'ATIVA', revisao: 0 })
  })

  test('revises values, and the code follows', async () => {
    const { call, charge } = await bank()
    const { txid } = await charge()
    const { body } = await call('PATCH', `/cob/${txid}`, { valor: { original: '7.50' }, calendario: { expiracao: 60 } })
    expect(body).toMatchObject({ revisao: 1, valor: { original: '7.50' }, calendario: { expiracao: 60 } })
    expect(decodeBrCode(body.pixCopiaECola).amountCents).toBe(7_50)
    expect((await call('GET', `/cob/${txid}?revisao=1`)).body).toEqual(body)
    expect((await call('GET', `/cob/${txid}?revisao=0`)).body.type).toBe(errorNamed('CobConsultaInvalida'))
  })

  test('answers 404 for an unknown charge', async () => {
    const { call } = await bank()
    expect((await call('PATCH', `/cob/${newTxid()}`, REMOVAL)).body.type).toBe(errorNamed('CobNaoEncontrado'))
  })
})

describe('lists', () => {
  test('of charges are cut by time, state and debtor, and paged', async () => {
    const { clock, call, charge, pay } = await bank()
    const made: string[] = []
    for (let minute = 0; minute < 5; minute++) {
      clock.at = new Date(Date.UTC(2026, 2, 10, 12, minute))
      made.push((await charge(minute === 3 ? { devedor: { cnpj: '1'.repeat(14), nome: 'X' } } : {})).txid)
    }
    await pay({ txid: made[1] })
    const list = async (query: string) => {
      const { body } = await call('GET', `/cob?${query}`)
      return { txids: body.cobs.map((cob: { txid: string }) => cob.txid), page: body.parametros.paginacao }
    }
    const window = 'inicio=2026-03-10T12:01:00Z&fim=2026-03-10T12:03:00Z'
    expect((await list(window)).txids).toEqual(made.slice(1, 4))
    expect((await list(`${ANY_TIME}&status=CONCLUIDA`)).txids).toEqual([made[1]])
    expect((await list(`${ANY_TIME}&cnpj=${'1'.repeat(14)}`)).txids).toEqual([made[3]])
    const paged = await list(`${ANY_TIME}&paginacao.paginaAtual=1&paginacao.itensPorPagina=2`)
    expect(paged).toEqual({
      txids: made.slice(2, 4),
      page: { paginaAtual: 1, itensPorPagina: 2, quantidadeDePaginas: 3, quantidadeTotalDeItens: 5 },
    })
    expect((await list(`${ANY_TIME}&paginacao.paginaAtual=9`)).txids).toEqual([])
  })

  test('of Pix walk through every Pix exactly once', async () => {
    const { call, charge, pay } = await bank()
    const { txid } = await charge()
    const paid = await pay({ txid, times: 25 })
    const seen: string[] = []
    for (let page = 0; ; page++) {
      const { body } = await call('GET', `/pix?${ANY_TIME}&paginacao.paginaAtual=${page}&paginacao.itensPorPagina=10`)
      seen.push(...body.pix.map((pix: { endToEndId: string }) => pix.endToEndId))
      if (page + 1 >= body.parametros.paginacao.quantidadeDePaginas) break
    }
    expect(seen).toEqual(paid.body.pix.map((pix: { endToEndId: string }) => pix.endToEndId))
  })

  test('are empty where nothing matches, and still say so in one page', async () => {
    const { call } = await bank()
    const { body } = await call('GET', `/pix?${ANY_TIME}&txIdPresente=false`)
    expect(body).toMatchObject({ pix: [], parametros: { txIdPresente: false, paginacao: { quantidadeDePaginas: 1 } } })
  })

  test.each([
    ['', 'inicio'],
    ['inicio=2026-03-10&fim=2026-03-11', 'inicio'],
    ['inicio=2026-03-10T12:00:00Z', 'fim'],
    ['inicio=2026-03-10T12:00:00Z&fim=2026-03-10T11:00:00Z', 'fim'],
    [`${ANY_TIME}&paginacao.paginaAtual=-1`, 'paginacao.paginaAtual'],
    [`${ANY_TIME}&paginacao.itensPorPagina=0`, 'paginacao.itensPorPagina'],
    [`${ANY_TIME}&paginacao.itensPorPagina=1001`, 'paginacao.itensPorPagina'],
    [`${ANY_TIME}&cpf=123`, 'cpf'],
  ])('refuse the query "%s" and say where', async (query, property) => {
    const { call } = await calmBank()
    for (const [path, name] of [
      ['/cob', 'CobConsultaInvalida'],
      ['/pix', 'PixConsultaInvalida'],
    ] as const) {
      const reply = await call('GET', `${path}?${query}`)
      expect(reply).toMatchObject({ status: 400, body: { type: errorNamed(name) } })
      expect(reply.body.violacoes).toContainEqual(expect.objectContaining({ propriedade: property }))
    }
  })
})
