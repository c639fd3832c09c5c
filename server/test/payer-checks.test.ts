import { expect, test } from 'vitest'
import { readTaxId } from '../src/base/tax-id.ts'
import { connectScripted, E2E, ok, TXID, type Seen } from './scripted-psp.ts'
import { connectWoovi, requestOf } from './woovi-client.ts'

// Whether a bank says who paid, as its adapter understands the answers.

const ANA = { kind: 'CPF', number: '12345678909' } as const
const REQUEST = { payer: ANA, txid: TXID, endToEndId: E2E, occurredAt: new Date('2026-03-01T12:00:30.400Z') }
const PIX = { endToEndId: E2E, txid: TXID, valor: '50.00', horario: '2026-03-01T12:00:30.400Z' }

function listOf(pix: object[], filter: Record<string, string> = {}, pages = 1) {
  const paginacao = { paginaAtual: 0, itensPorPagina: 100, quantidadeDePaginas: pages, quantidadeTotalDeItens: 1 }
  return ok({ parametros: { ...filter, paginacao }, pix })
}

const payerOf = ({ path }: Seen) => new URLSearchParams(path.split('?')[1]).get('cpf')

test('a payer is confirmed by one question, about this Pix, in a window around its time', async () => {
  const { psp, provider } = await connectScripted((asked) => listOf([PIX], { cpf: payerOf(asked)! }))
  expect(await provider.checkPayer!(REQUEST)).toBe('matched')
  const asked = psp.seen.filter(({ method }) => method === 'GET')
  expect(asked.map(({ path }) => decodeURIComponent(path))).toEqual([
    `/pix?inicio=2026-03-01T11:59:30Z&fim=2026-03-01T12:01:30Z&txid=${TXID}&cpf=12345678909&paginacao.paginaAtual=0&paginacao.itensPorPagina=1000`,
  ])
})

test('a CNPJ with letters is asked about as such', async () => {
  const { psp, provider } = await connectScripted(() => listOf([PIX], { cnpj: '12ABC34501DE35' }))
  const payer = { kind: 'CNPJ', number: '12ABC34501DE35' } as const
  expect(await provider.checkPayer!({ ...REQUEST, payer })).toBe('matched')
  expect(psp.seen.at(-1)!.path).toContain('&cnpj=12ABC34501DE35&')
})

test('another person paid only if the list shows the Pix, and not under this number', async () => {
  const { provider } = await connectScripted((asked) => listOf(payerOf(asked) ? [] : [PIX]))
  expect(await provider.checkPayer!(REQUEST)).toBe('mismatched')
})

test.each([
  ['that does not show the Pix to anybody', () => listOf([])],
  ['of which there is more than a page', (asked: Seen) => listOf(payerOf(asked) ? [] : [PIX], {}, 2)],
  ['with an entry that cannot be read', (asked: Seen) => listOf(payerOf(asked) ? [{ valor: 'x' }] : [PIX])],
  [
    'of another Pix of this person',
    (asked: Seen) => listOf(payerOf(asked) ? [{ ...PIX, endToEndId: E2E.replace('E1', 'E2') }] : []),
  ],
])('a list %s says nothing', async (_, script) => {
  const { provider } = await connectScripted(script)
  expect(await provider.checkPayer!(REQUEST)).toBe('unknown')
})

test('a bank that ignores the filter confirms nobody', async () => {
  const { provider } = await connectScripted(() => listOf([PIX]))
  await expect(provider.checkPayer!(REQUEST)).rejects.toThrow(/ignores the number/)
})

test('a bank that does not repeat the filter, and knows it, is tried once', async () => {
  const { psp, provider } = await connectScripted((asked) => listOf(payerOf(asked) === ANA.number ? [PIX] : []))
  for (let nth = 0; nth < 3; nth++) expect(await provider.checkPayer!(REQUEST)).toBe('matched')
  expect(psp.count('GET /pix')).toBe(4)
})

test('no error quotes the number', async () => {
  const { provider, logged } = await connectScripted(() => ({
    status: 400,
    json: { title: 'Inválido', detail: `cpf ${ANA.number} e 12345678909`, status: 400 },
  }))
  const error = await provider.checkPayer!(REQUEST).catch((thrown: Error) => thrown)
  expect(String(error)).toContain('[hidden]')
  expect(`${String(error)} ${logged.join(' ')}`).not.toContain(ANA.number)
})

test('Woovi refuses other payers of a charge that requires one, and its transaction says who paid', async () => {
  const { woovi, provider } = await connectWoovi()
  const request = requestOf({ onlyPayer: ANA })
  await provider.create(request)
  expect(woovi.exchanges.find(({ operation }) => operation === 'POST /charge')!.body).toMatchObject({
    customer: { name: 'CPF ***.***.***-09', taxID: ANA.number },
    ensureSameTaxID: true,
  })
  const endToEndId = await woovi.pay(request.txid)
  const ask = () => provider.checkPayer!({ ...REQUEST, txid: request.txid, endToEndId })
  expect(await ask()).toBe('unknown')
  for (const [taxID, answer] of [
    ['123.456.789-09', 'matched'],
    ['98765432100', 'mismatched'],
    ['***.456.789-**', 'unknown'],
  ]) {
    woovi.changeEntry(endToEndId, { payer: { name: 'Ana', taxID: { taxID, type: 'BR:CPF' } } })
    expect([taxID, await ask()]).toEqual([taxID, answer])
  }
})

test('a deposit that only verifies its payer tells Woovi nothing of it', async () => {
  const { woovi, provider } = await connectWoovi()
  await provider.create(requestOf())
  expect(woovi.exchanges.find(({ operation }) => operation === 'POST /charge')!.body).not.toHaveProperty('customer')
})

test.each([
  ['123.456.789-09', 'CPF', '12345678909'],
  ['12.ABC.345/01DE-35', 'CNPJ', '12ABC34501DE35'],
  ['11222333000181', 'CNPJ', '11222333000181'],
])('%s is a tax id', (text, kind, number) => {
  expect(readTaxId(text)).toEqual({ kind, number })
})

test.each(['', '12345678900', '11111111111', '1234567890', '12ABC34501DE36', '00000000000000', 'a'])(
  '%j is no tax id',
  (text) => {
    expect(readTaxId(text)).toBeUndefined()
  },
)
