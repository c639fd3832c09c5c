// A shop with one product, which is paid on its own page:
//     GUICHE_URL=http://localhost:3000 GUICHE_KEY=gk_test_… WEBHOOK_SECRET=whsec_… node shop.js plain
// The page is a folder: `plain`, or `react/dist` once it is built.

import { makeGuiche, verify, WebhookVerificationError } from '@guiche/sdk'
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'

const { GUICHE_URL = '', GUICHE_KEY = '', WEBHOOK_SECRET = '', STORE = 'shop.jsonl', PORT = '3001' } = process.env
const PRICE_CENTS = 50_00
const MAX_BODY_BYTES = 64 * 1024
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }
// Nothing but this shop and guiche: the element needs no more.
const POLICY = [
  "default-src 'none'",
  `script-src 'self' ${GUICHE_URL}`,
  "style-src 'self'",
  `connect-src 'self' ${GUICHE_URL}`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

const guiche = makeGuiche({ url: GUICHE_URL, key: GUICHE_KEY })
const files = readPage(process.argv[2] ?? 'plain')

// In production: a table whose key is the event's id, written in the transaction that delivers.
/** What was delivered, by order. */
const delivered = new Map()
const seen = new Set()
for (const line of existsSync(STORE) ? readFileSync(STORE, 'utf8').split('\n') : []) if (line !== '') remember(line)

createServer((request, response) => {
  handle(request).then(
    ({ status, type = 'application/json', body = '' }) =>
      response
        .writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': POLICY })
        .end(body),
    (error) => {
      process.stderr.write(`${error.stack}\n`)
      response.writeHead(500).end()
    },
  )
}).listen(Number(PORT), '127.0.0.1')

async function handle(request) {
  const path = new URL(request.url, 'http://shop').pathname
  if (request.method === 'GET' && files.has(path)) return { status: 200, ...files.get(path) }
  if (request.method === 'POST' && path === '/orders') return createOrder()
  const [, order] = /^\/orders\/([\w-]+)$/.exec(path) ?? []
  if (request.method === 'GET' && order) return json(200, { goods: delivered.get(order) ?? null })
  if (request.method === 'POST' && path === '/webhooks') return receive(request)
  return { status: 404 }
}

async function createOrder() {
  // Nobody can guess it, so whoever knows it may see what was delivered.
  const order = randomUUID()
  const { paymentLinkUrl } = await guiche.deposits.ensure({ externalId: order, value: PRICE_CENTS })
  return json(201, { order, paymentLinkUrl })
}

async function receive(request) {
  try {
    deliver(verify(await readBody(request), request.headers, WEBHOOK_SECRET))
    return { status: 204 }
  } catch (error) {
    // After a 500 guiche sends the event again.
    if (error instanceof WebhookVerificationError) return { status: 400 }
    throw error
  }
}

/** Once for each event, however often it arrives. Nothing waits in here, so no second one comes in between. */
function deliver({ id, event, data }) {
  if (event !== 'DEPOSIT_ASSET_SUCCESS' || data.originalValue !== PRICE_CENTS || seen.has(id)) return
  const line = JSON.stringify({ id, order: data.externalId, goods: `coffee-${randomUUID()}` })
  // On the disk before guiche is told that it arrived. A line is a delivery.
  appendFileSync(STORE, `${line}\n`, { flush: true })
  remember(line)
}

function remember(line) {
  const { id, order, goods } = JSON.parse(line)
  seen.add(id)
  delivered.set(order, goods)
}

async function readBody(request) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function json(status, content) {
  return { status, body: JSON.stringify(content) }
}

/** The files of the page, by their paths. `{{guiche}}` is where guiche runs. */
function readPage(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )
  const pages = names.map((name) => {
    const body = readFileSync(join(folder, name), 'utf8').replaceAll('{{guiche}}', GUICHE_URL)
    return [name === 'index.html' ? '/' : `/${name}`, { type: TYPES[extname(name)] ?? 'text/plain', body }]
  })
  return new Map(pages)
}
