import { describe, expect, test } from 'vitest'
import { bank, clientOf, send, sharedBank, statusesOf } from './sandbox-client.ts'

const calmBank = sharedBank()

const ANY_TIME = 'inicio=2000-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z'
const REMOVAL = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }

const errorNamed = (name: string) => `https://pix.bcb.gov.br/api/v2/error/${name}`

describe('a payment', () => {
  test('of the code completes its charge and is seen by every way of asking', async () => {
    const { clock, call, charge, pay } = await bank()
    const { txid, pixCopiaECola } = await charge()
    const paid = await pay({ emv: pixCopiaECola, infoPagador: 'obrigado' })
    expect(paid.status).toBe(201)
    const [pix] = paid.body.pix
    expect(pix).toMatchObject({ txid, amountCents: 50_00, valor: '50.00', horario: clock.at.toISOString() })
    expect(pix.endToEndId).toMatch(/^E\d{8}202603101200[a-zA-Z0-9]{11}$/)

    const { amountCents: _, ...facts } = pix
    const seen = await call('GET', `/cob/${txid}`)
    expect(seen.body).toMatchObject({ status: 'CONCLUIDA', pix: [{ infoPagador: 'obrigado' }] })
    expect(seen.body.pix).toEqual([facts])
    expect((await call('GET', `/pix/${pix.endToEndId}`)).body).toEqual(facts)
    expect((await call('GET', `/pix?${ANY_TIME}&txid=${txid}`)).body.pix).toEqual([facts])
  })

  test('of a paid charge is refused, also when two come at once', async () => {
    const { call, charge, pay } = await bank()
    const { txid } = await charge()
    const replies = await Promise.all([pay({ txid }), pay({ txid }), pay({ txid, amountCents: 50_00, times: 1 })])
    expect(statusesOf(replies)).toEqual([201, 409, 409])
    expect((await call('GET', `/cob/${txid}`)).body.pix).toHaveLength(1)
  })

  test('of an expired charge is refused, and the charge stays ATIVA', async () => {
    const { clock, url, charge, pay } = await bank()
    const { txid } = await charge()
    clock.at = new Date('2026-03-10T13:00:00.000Z')
    expect(await pay({ txid })).toMatchObject({ status: 409, body: { error: 'The charge is expired' } })
    const { call } = await clientOf(url)
    expect((await call('GET', `/cob/${txid}`)).body.status).toBe('ATIVA')
  })

  test.each([
    ['late', { at: '2026-03-10T18:00:00Z' }, [50_00]],
    ['twice', { times: 2 }, [50_00, 50_00]],
    ['too much', { amountCents: 50_01 }, [50_01]],
    ['too little', { amountCents: 1 }, [1]],
    ['by force', { force: true }, [50_00]],
  ])('can be made %s, whatever state the charge is in', async (_, order, amounts) => {
    const { call, charge, pay } = await bank()
    const fresh = await charge()
    const removed = await charge()
    const paid = await charge()
    await call('PATCH', `/cob/${removed.txid}`, REMOVAL)
    await pay({ txid: paid.txid })
    for (const { txid } of [fresh, removed, paid]) {
      const reply = await pay({ txid, ...order })
      expect(reply.status).toBe(201)
      expect(reply.body.pix.map((pix: { amountCents: number }) => pix.amountCents)).toEqual(amounts)
      const { body } = await call('GET', `/cob/${txid}`)
      expect(body.status).toBe('CONCLUIDA')
      expect(body.pix).toHaveLength(amounts.length + (txid === paid.txid ? 1 : 0))
    }
  })

  test('carries the time it was given', async () => {
    const { charge, pay } = await bank()
    const { txid } = await charge()
    const { body } = await pay({ txid, at: '2026-03-10T15:00:00-03:00' })
    expect(body.pix[0].horario).toBe('2026-03-10T18:00:00.000Z')
    expect(body.pix[0].endToEndId.slice(9, 21)).toBe('202603101800')
  })

  test('can carry a txid that no charge has', async () => {
    const { call, pay } = await bank()
    const { status, body } = await pay({ txid: 'nobodysTxid', amountCents: 12_34 })
    expect(status).toBe(201)
    const seen = await call('GET', `/pix/${body.pix[0].endToEndId}`)
    expect(seen.body).toMatchObject({ txid: 'nobodysTxid', valor: '12.34' })
  })

  test.each([
    ['no code', {}, 400, /^Give either emv or txid$/],
    ['two codes', { txid: 'a', emv: 'b' }, 400, /^Give either emv or txid$/],
    ['a torn code', { emv: '0002' }, 400, /not a BR Code/],
    ['an unknown txid without an amount', { txid: 'unknown' }, 404, /No charge/],
    ['an amount of zero', { txid: 'a', amountCents: 0 }, 400, /amountCents/],
    ['a broken amount', { txid: 'a', amountCents: 1.5 }, 400, /amountCents/],
    ['an amount as text', { txid: 'a', amountCents: '100' }, 400, /amountCents/],
    ['an amount beyond Pix', { txid: 'a', amountCents: 1e12 }, 400, /amountCents/],
    ['a time without a zone', { txid: 'a', at: '2026-03-10T12:00:00' }, 400, /^Field at: Invalid ISO datetime/],
    ['zero times', { txid: 'a', times: 0 }, 400, /times/],
    ['1001 times', { txid: 'a', times: 1001 }, 400, /times/],
    ['a misspelt field', { txid: 'a', amount: 5 }, 400, /^Unrecognized key: "amount"$/],
    ['a list', [], 400, /expected object/],
  ])('is refused with %s', async (_, order, status, reason) => {
    const { pay, stats } = await calmBank()
    const reply = await pay(order)
    expect(reply.status).toBe(status)
    expect(reply.body.error).toMatch(reason)
    expect((await stats()).payments).toBe(0)
  })

  test('of the code of another bank is refused', async () => {
    const { pay } = await bank()
    const { pixCopiaECola } = await (await bank()).charge()
    expect((await pay({ emv: pixCopiaECola })).status).toBe(404)
  })
})

test('the list is in the order of time and holds both ends of its window, in whichever order Pix were made', async () => {
  const { call, pay } = await bank()
  const at = (minute: number) => `2026-03-10T10:0${minute}:00.000Z`
  for (const minute of [4, 1, 3, 0, 2, 5]) await pay({ txid: 'nobody', amountCents: 1, at: at(minute) })
  const times = async () =>
    (await call('GET', `/pix?inicio=${at(1)}&fim=${at(4)}`)).body.pix.map(({ horario }: { horario: string }) => horario)
  expect(await times()).toEqual([1, 2, 3, 4].map(at))
  await pay({ txid: 'nobody', amountCents: 1, at: at(2) })
  expect(await times()).toEqual([1, 2, 2, 3, 4].map(at))
})

describe('a refund', () => {
  const paidPix = async () => {
    const world = await bank()
    const { txid } = await world.charge()
    const { body } = await world.pay({ txid })
    const path = `/pix/${body.pix[0].endToEndId}/devolucao`
    return { ...world, path, refund: (id: string, valor: string) => world.call('PUT', `${path}/${id}`, { valor }) }
  }

  test('is under way first and then done, and shows on its Pix', async () => {
    const { call, path, refund, clock } = await paidPix()
    const reply = await refund('r1', '20.00')
    expect(reply).toMatchObject({ status: 201, body: { id: 'r1', valor: '20.00', status: 'EM_PROCESSAMENTO' } })
    expect(reply.body.rtrId).toMatch(/^D[a-zA-Z0-9]{31}$/)
    clock.at = new Date(clock.at.getTime() + 199)
    expect((await call('GET', `${path}/r1`)).body.status).toBe('EM_PROCESSAMENTO')
    clock.at = new Date(clock.at.getTime() + 1)
    const { body: done } = await call('GET', `${path}/r1`)
    expect(done).toMatchObject({ status: 'DEVOLVIDO', horario: { liquidacao: clock.at.toISOString() } })
    const pix = await call('GET', path.replace('/devolucao', ''))
    expect(pix.body.devolucoes).toEqual([done])
    expect((await call('GET', `/pix?${ANY_TIME}&devolucaoPresente=true`)).body.pix).toHaveLength(1)
  })

  test('whose lookups are told to lag is made and counts, and shows nowhere until it has caught up', async () => {
    const { call, path, refund, clock, faults } = await paidPix()
    await faults({ refundLagMs: 60_000 })
    await refund('r1', '30.00')
    const pix = path.replace('/devolucao', '')
    const shown = async () => [
      (await call('GET', `${path}/r1`)).status,
      (await call('GET', pix)).body.devolucoes?.length,
    ]
    expect(await shown()).toEqual([404, undefined])
    // A repeat is not recognised yet, and would give back more than was paid.
    expect((await refund('r1', '30.00')).status).toBe(400)
    clock.at = new Date(clock.at.getTime() + 60_000)
    expect(await shown()).toEqual([200, 1])
    expect((await refund('r1', '30.00')).status).toBe(201)
  })

  test('that was made is called failed with its Pix or everywhere, as the bank is told', async () => {
    const { call, path, refund, clock, faults } = await paidPix()
    await refund('r1', '30.00')
    clock.at = new Date(clock.at.getTime() + 200)
    const shown = async () => [
      (await call('GET', `${path}/r1`)).body.status,
      (await call('GET', path.replace('/devolucao', ''))).body.devolucoes[0].status,
      (await call('GET', `/pix?${ANY_TIME}`)).body.pix[0].devolucoes[0].status,
    ]
    await faults({ refundsListedFailed: true })
    expect(await shown()).toEqual(['DEVOLVIDO', 'NAO_REALIZADO', 'NAO_REALIZADO'])
    await faults({ refundsFailed: true })
    expect(await shown()).toEqual(['NAO_REALIZADO', 'NAO_REALIZADO', 'NAO_REALIZADO'])
    await faults({})
    expect(await shown()).toEqual(['DEVOLVIDO', 'DEVOLVIDO', 'DEVOLVIDO'])
  })

  test('asked for twice with the same id and value is made once, and with another value is refused', async () => {
    const { call, path, refund } = await paidPix()
    const first = await refund('r1', '20.00')
    const again = await refund('r1', '20.00')
    expect(again.status).toBe(201)
    expect(again.body.rtrId).toBe(first.body.rtrId)
    expect((await refund('r1', '20.01')).body.type).toBe(errorNamed('PixDevolucaoInvalida'))
    expect((await call('GET', path.replace('/devolucao', ''))).body.devolucoes).toHaveLength(1)
  })

  test('never gives back more than was paid, also when several come at once', async () => {
    const { refund } = await paidPix()
    const replies = await Promise.all(['a', 'b', 'c', 'd'].map((id) => refund(id, '20.00')))
    expect(statusesOf(replies)).toEqual([201, 201, 400, 400])
    expect((await refund('e', '10.01')).status).toBe(400)
    expect((await refund('f', '10.00')).status).toBe(201)
  })

  test('is refused after 90 days', async () => {
    const { clock, url, path } = await paidPix()
    clock.at = new Date(clock.at.getTime() + 90 * 86_400_000 + 1)
    const { call } = await clientOf(url)
    expect((await call('PUT', `${path}/r1`, { valor: '1.00' })).status).toBe(400)
  })

  test('needs a Pix, a sound id and a sound value', async () => {
    const { call, path, refund } = await paidPix()
    const nowhere = `/pix/${'E'.repeat(32)}/devolucao/r1`
    expect((await call('PUT', nowhere, { valor: '1.00' })).body.type).toBe(errorNamed('PixNaoEncontrado'))
    expect((await call('GET', `${path}/none`)).body.type).toBe(errorNamed('PixDevolucaoNaoEncontrada'))
    expect((await refund('a-b', '1.00')).status).toBe(400)
    expect((await refund('r1', '0.00')).status).toBe(400)
    expect((await refund('r1', '1')).status).toBe(400)
  })
})

test('the bank returns a Pix by itself: what it froze before counts, and is shown when it is returned', async () => {
  const { call, charge, pay, clock, url } = await bank()
  const { pix } = (await pay({ txid: (await charge()).txid })).body
  const [{ endToEndId, amountCents }] = pix
  const reverse = (order: object) => send(`${url}/bank/reversal`, { method: 'POST', body: { endToEndId, ...order } })
  const shown = async () => (await call('GET', `/pix/${endToEndId}`)).body.devolucoes ?? []
  expect(await reverse({ nature: 'MED_OPERACIONAL', amountCents: 100 })).toMatchObject({ status: 201 })
  expect(await reverse({ freezeSeconds: 600 })).toMatchObject({ status: 201 })
  expect(await reverse({})).toMatchObject({ status: 409 })
  const refused = await call('PUT', `/pix/${endToEndId}/devolucao/R1`, { valor: '1.00' })
  expect(refused.status).toBe(400)
  clock.at = new Date(clock.at.getTime() + 1_000)
  expect(await shown()).toMatchObject([{ valor: '1.00', natureza: 'MED_OPERACIONAL', status: 'DEVOLVIDO' }])
  clock.at = new Date(clock.at.getTime() + 600_000)
  const [, frozen] = await shown()
  expect(frozen).toMatchObject({ natureza: 'MED_FRAUDE', status: 'DEVOLVIDO' })
  expect(Number(frozen.valor) * 100).toBe(amountCents - 100)
  expect(await reverse({ endToEndId: 'E1' })).toMatchObject({ status: 404 })
  expect(await reverse({ freezeSeconds: 86_400 * 12 })).toMatchObject({ status: 400 })
})
