// A bank that speaks API Pix, as bare as it can be: node:http, maps in memory, texts built once. It runs as a process
// of its own, and answers the service and the reference alike. What happens at it is decided under /control.
import { createServer } from 'node:http'
import { once } from 'node:events'
import { answerQuestions } from './stage/questions.mjs'
import { makeCodes } from './stage/br-codes.mjs'

const KEY = 'bench@guiche.example'
const SECOND_MS = 1_000
// Calls that were sent a tenth of a second apart may arrive together.
const LIMIT_SLACK = 1
const MAX_ITEMS = 1_000

/** By txid. */
let charges = new Map()
/** Pix in the order of their times, and by endToEndId. */
let received = []
let receivedById = new Map()
let calls = {}
/** By txid, if they are wanted: how long the bank took for its PUT, in milliseconds. */
let times
/** A bucket of tokens: a second's worth at once, and then as they come. */
let limit = { perSecond: 0, tokens: 0, filledMs: 0 }
let webhookUrl
/** It takes requests, and answers none. */
let isHanging = false
let sequence = 0
let lastMs = 0

const emvOf = makeCodes('pix.bench.example/qr/v2/')
const server = createServer((request, response) => {
  const beganMs = performance.now()
  if (isHanging) return
  if (request.method === 'GET') return answer(request, response, '', beganMs)
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () =>
    answer(request, response, chunks.length === 1 ? chunks[0].toString() : Buffer.concat(chunks).toString(), beganMs),
  )
})
server.keepAliveTimeout = 600_000
server.requestTimeout = 0
await once(server.listen(0, '127.0.0.1'), 'listening')
const { port } = server.address()
answerQuestions({
  url: () => `http://127.0.0.1:${port}`,
  state: () => ({ webhookUrl, charges: charges.size, received: received.length, calls }),
  reset,
  goDown,
  comeBack,
})

/** Connections are refused, or nothing is answered. */
function goDown({ hangs }) {
  isHanging = hangs
  if (!hangs) server.close()
  server.closeAllConnections()
}

async function comeBack() {
  server.closeAllConnections()
  if (!isHanging) await once(server.listen(port, '127.0.0.1'), 'listening')
  isHanging = false
}

function answer(request, response, body, beganMs) {
  const { method, url } = request
  if (url.startsWith('/control/')) return send(response, 200, JSON.stringify(control(url.slice(9), body)))
  const [operation, run] = routeOf(method, url)
  calls[operation] = (calls[operation] ?? 0) + 1
  if (operation !== 'token' && isOverLimit()) return refuse(response, 429, 'Limite de requisições excedido.')
  run(response, body)
  if (times && operation === 'PUT /cob') times.set(url.slice(5), performance.now() - beganMs)
}

function routeOf(method, url) {
  if (url.startsWith('/cob/')) {
    const txid = url.slice(5)
    if (method === 'PUT') return ['PUT /cob', (response, body) => create(response, txid, body)]
    if (method === 'PATCH') return ['PATCH /cob', (response) => withdraw(response, txid)]
    return ['GET /cob', (response) => show(response, charges.get(txid))]
  }
  if (url.startsWith('/pix?')) return ['GET /pix', (response) => list(response, new URLSearchParams(url.slice(5)))]
  if (url.startsWith('/pix/')) return ['GET /pix/e2eid', (response) => showPix(response, url.slice(5))]
  if (url.startsWith('/webhook/')) return ['PUT /webhook', register]
  if (url === '/oauth/token')
    return [
      'token',
      (response) => send(response, 200, '{"access_token":"bench","token_type":"Bearer","expires_in":86400}'),
    ]
  return ['unknown', (response) => refuse(response, 404, 'Não encontrado.')]
}

// ---- API Pix ----

function create(response, txid, body) {
  const known = charges.get(txid)
  if (known) return show(response, known, 201)
  const { calendario, valor } = JSON.parse(body)
  const charge = addCharge(txid, valor.original, calendario.expiracao)
  show(response, charge, 201)
}

function addCharge(txid, value, expiresInSeconds) {
  const charge = {
    head: `{"txid":"${txid}","revisao":0,"calendario":{"criacao":"${new Date().toISOString()}","expiracao":${expiresInSeconds}},"valor":{"original":"${value}"},"chave":"${KEY}","status":"`,
    txid,
    value,
    emv: emvOf(txid, value),
    status: 'ATIVA',
    pix: undefined,
  }
  charges.set(txid, charge)
  return charge
}

function withdraw(response, txid) {
  const charge = charges.get(txid)
  if (!charge) return show(response, charge)
  if (charge.status !== 'ATIVA') return refuse(response, 400, 'A cobrança não está ativa.')
  charge.status = 'REMOVIDA_PELO_USUARIO_RECEBEDOR'
  show(response, charge)
}

function show(response, charge, status = 200) {
  if (!charge) return refuse(response, 404, 'Não encontrado.')
  const pix = charge.pix ? `,"pix":[${charge.pix}]` : ''
  send(response, status, `${charge.head}${charge.status}","pixCopiaECola":"${charge.emv}"${pix}}`)
}

function showPix(response, endToEndId) {
  const pix = receivedById.get(endToEndId)
  if (!pix) return refuse(response, 404, 'Não encontrado.')
  send(response, 200, pix)
}

function list(response, query) {
  const [from, to] = [query.get('inicio'), query.get('fim')]
  const page = Number(query.get('paginacao.paginaAtual') ?? 0)
  const size = Math.min(MAX_ITEMS, Number(query.get('paginacao.itensPorPagina') ?? 100))
  const first = firstAtOrAfter(Date.parse(from))
  // The end of the window belongs to it, as the standard says.
  const count = firstAtOrAfter(Date.parse(to) + 1) - first
  const begin = first + page * size
  const shown = received.slice(begin, Math.min(begin + size, first + count))
  const paging = `{"paginaAtual":${page},"itensPorPagina":${size},"quantidadeDePaginas":${Math.max(1, Math.ceil(count / size))},"quantidadeTotalDeItens":${count}}`
  const pix = shown.map((entry) => entry.json).join(',')
  send(response, 200, `{"parametros":{"inicio":"${from}","fim":"${to}","paginacao":${paging}},"pix":[${pix}]}`)
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

function register(response, body) {
  webhookUrl = JSON.parse(body).webhookUrl
  send(response, 200, '')
}

function isOverLimit() {
  const { perSecond, tokens, filledMs } = limit
  if (perSecond === 0) return false
  const nowMs = performance.now()
  const filled = Math.min(perSecond + LIMIT_SLACK, tokens + ((nowMs - filledMs) * perSecond) / SECOND_MS)
  const isOver = filled < 1
  limit = { perSecond, tokens: isOver ? filled : filled - 1, filledMs: nowMs }
  return isOver
}

function setLimit(perSecond) {
  limit = { perSecond, tokens: perSecond + LIMIT_SLACK, filledMs: performance.now() }
}

function refuse(response, status, title) {
  const headers = status === 429 ? { 'retry-after': '1' } : {}
  send(response, status, JSON.stringify({ type: 'about:blank', title, status }), headers)
}

function send(response, status, text, headers = {}) {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

// ---- Control ----

function control(name, body) {
  const input = body === '' ? {} : JSON.parse(body)
  switch (name) {
    // Charges that the books have without having asked for them here. Returns their codes.
    case 'charges':
      return input.txids.map((txid) => addCharge(txid, input.value, 86_400).emv)
    // Pays the charges named, or so many of those that are unpaid, or all of them. Returns what paid them.
    case 'pay':
      return pay(input.txids ?? unpaid(input.count ?? Infinity))
    // Payments that the books have already. Were they made here first, a sweep of the service would book them.
    case 'record':
      for (const { txid, endToEndId, at } of input.payments) receive(charges.get(txid), endToEndId, Date.parse(at))
      received.sort((a, b) => a.ms - b.ms)
      return {}
    case 'limit':
      setLimit(input.perSecond)
      return {}
    case 'calls':
      return calls
    case 'reset-calls':
      calls = {}
      return {}
    case 'watch-times':
      times = new Map()
      return {}
    case 'times':
      return Object.fromEntries(times)
    default:
      throw new Error(`the bank has no control ${name}`)
  }
}

function unpaid(count) {
  const found = []
  for (const charge of charges.values()) {
    if (found.length >= count) break
    if (charge.status === 'ATIVA') found.push(charge.txid)
  }
  return found
}

function pay(txids) {
  return txids.map((txid) => {
    // Never before the one before it, so that the list stays in order.
    lastMs = Math.max(lastMs, Date.now())
    const at = new Date(lastMs).toISOString()
    const endToEndId = `E00000000${at.replaceAll(/[-:T]/g, '').slice(0, 12)}${(++sequence).toString(36).padStart(11, '0')}`
    receive(charges.get(txid), endToEndId, lastMs)
    return { endToEndId, txid, at }
  })
}

function receive(charge, endToEndId, ms) {
  if (charge?.status !== 'ATIVA') throw new Error(`${endToEndId} pays a charge that cannot be paid`)
  const at = new Date(ms).toISOString()
  charge.status = 'CONCLUIDA'
  charge.pix = `{"endToEndId":"${endToEndId}","txid":"${charge.txid}","valor":"${charge.value}","chave":"${KEY}","horario":"${at}"}`
  received.push({ ms, json: charge.pix })
  receivedById.set(endToEndId, charge.pix)
}

function reset() {
  charges = new Map()
  received = []
  receivedById = new Map()
  calls = {}
  times = undefined
  setLimit(0)
}
