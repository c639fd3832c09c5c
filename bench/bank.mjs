// A minimal bank that speaks API Pix: node:http, maps in memory, texts built once. It runs in its own process and
// answers both the service and the reference. Payers pay by POST /pay.
import { createServer } from 'node:http'
import { once } from 'node:events'
import { answerQuestions } from './questions.mjs'
import { makeCodes } from './br-codes.mjs'

/** The service's Pix key. The bank lists only payments to this key; the reference has another. */
const KEY = 'bench@guiche.example'
const MAX_ITEMS = 1_000
const NOT_FOUND = '{"type":"about:blank","title":"Não encontrado.","status":404}'

/** Charges by txid. */
const charges = new Map()
/** `received` holds the service's Pix in order of time, `receivedById` all Pix. */
const received = []
const receivedById = new Map()
let webhookUrl
let sequence = 0
let lastMs = 0

const emvOf = makeCodes('pix.bench.example/qr/v2/')
const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => send(response, ...answer(request, Buffer.concat(chunks).toString())))
})
server.keepAliveTimeout = 600_000
await once(server.listen(0, '127.0.0.1'), 'listening')

answerQuestions({
  url: () => `http://127.0.0.1:${server.address().port}`,
  webhookUrl: () => webhookUrl,
  pay: ({ txids }) => pay(txids),
  /**
   * Records payments that the books already have. If they were made here first, a sweep of the service would book them.
   */
  record({ payments }) {
    for (const { txid, endToEndId, occurredAt } of payments)
      receive(charges.get(txid), endToEndId, occurredAt.getTime())
    received.sort((a, b) => a.ms - b.ms)
  },
})

/** Returns status and text. */
function answer({ method, url }, body) {
  if (url.startsWith('/cob/')) return method === 'PUT' ? create(url.slice(5), body) : show(charges.get(url.slice(5)))
  if (url.startsWith('/pix?')) return list(new URLSearchParams(url.slice(5)))
  if (url.startsWith('/pix/')) return showPix(receivedById.get(url.slice(5)))
  if (url.startsWith('/webhook/')) return register(body)
  if (url === '/oauth/token') return [200, '{"access_token":"bench","token_type":"Bearer","expires_in":86400}']
  if (url === '/pay') return [200, JSON.stringify(pay(JSON.parse(body).txids))]
  return [404, NOT_FOUND]
}

function send(response, status, text) {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

function create(txid, body) {
  if (!charges.has(txid)) {
    const { calendario, valor, chave } = JSON.parse(body)
    const value = valor.original
    charges.set(txid, {
      head: `{"txid":"${txid}","revisao":0,"calendario":{"criacao":"${new Date().toISOString()}","expiracao":${calendario.expiracao}},"valor":{"original":"${value}"},"chave":"${chave}","status":"`,
      txid,
      key: chave,
      value,
      emv: emvOf(txid, value),
      status: 'ATIVA',
      pix: undefined,
    })
  }
  return show(charges.get(txid), 201)
}

function show(charge, status = 200) {
  if (!charge) return [404, NOT_FOUND]
  const pix = charge.pix ? `,"pix":[${charge.pix}]` : ''
  return [status, `${charge.head}${charge.status}","pixCopiaECola":"${charge.emv}"${pix}}`]
}

function showPix(pix) {
  return pix ? [200, pix] : [404, NOT_FOUND]
}

function list(query) {
  const [from, to] = [query.get('inicio'), query.get('fim')]
  const page = Number(query.get('paginacao.paginaAtual') ?? 0)
  const size = Math.min(MAX_ITEMS, Number(query.get('paginacao.itensPorPagina') ?? 100))
  const first = firstAtOrAfter(Date.parse(from))
  // The window includes its end, as the standard says.
  const count = firstAtOrAfter(Date.parse(to) + 1) - first
  const begin = first + page * size
  const shown = received.slice(begin, Math.min(begin + size, first + count))
  const paging = `{"paginaAtual":${page},"itensPorPagina":${size},"quantidadeDePaginas":${Math.max(1, Math.ceil(count / size))},"quantidadeTotalDeItens":${count}}`
  const pix = shown.map((entry) => entry.json).join(',')
  return [200, `{"parametros":{"inicio":"${from}","fim":"${to}","paginacao":${paging}},"pix":[${pix}]}`]
}

function firstAtOrAfter(ms) {
  let [low, high] = [0, received.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (received[middle].ms < ms) low = middle + 1
    else high = middle
  }
  return low
}

function register(body) {
  webhookUrl = JSON.parse(body).webhookUrl
  return [200, '']
}

function pay(txids) {
  return txids.map((txid) => {
    // Times never go back, so the list stays in order.
    lastMs = Math.max(lastMs, Date.now())
    const at = new Date(lastMs).toISOString()
    const minute = at.replaceAll(/[-:T]/g, '').slice(0, 12)
    const endToEndId = `E00000000${minute}${(++sequence).toString(36).padStart(11, '0')}`
    receive(charges.get(txid), endToEndId, lastMs)
    return { endToEndId, txid, at }
  })
}

function receive(charge, endToEndId, ms) {
  if (charge?.status !== 'ATIVA') throw new Error(`${endToEndId} pays a charge that cannot be paid`)
  const at = new Date(ms).toISOString()
  charge.status = 'CONCLUIDA'
  charge.pix = `{"endToEndId":"${endToEndId}","txid":"${charge.txid}","valor":"${charge.value}","chave":"${charge.key}","horario":"${at}"}`
  if (charge.key === KEY) received.push({ ms, json: charge.pix })
  receivedById.set(endToEndId, charge.pix)
}
