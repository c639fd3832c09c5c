import { createSign, generateKeyPairSync, createHash, randomBytes, randomUUID, type KeyObject } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { encodeBrCode } from '../src/base/brcode.ts'
import { listen } from './scripted-psp.ts'

/**
 * A server on a real port that speaks as Woovi's description says, and can be told to misbehave. It knows nothing of
 * our adapter; the test is its bank and its payer.
 */
export type WooviServer = {
  url: string
  /** Everything that was asked and answered, in order. */
  exchanges: Exchange[]
  /** How often this operation was asked for, such as "POST /charge". */
  count(operation: string): number
  charges: Map<string, WooviCharge>
  webhooks: WooviWebhook[]
  /** What was posted to webhooks, and the status of the answer; 0 if there was none. */
  notified: { url: string; body: string; signature: string; status: number }[]
  /** The next `times` requests of this operation go wrong in this way. */
  fail(operation: string, how: Failure, times?: number): void
  /** Ends all failures. */
  heal(): void
  /** A payer pays the charge. Resolves when all webhooks have answered. */
  pay(correlationID: string, changes?: { value?: number; time?: Date; sent?: boolean }): Promise<string>
  /** Someone sends money to the key, with no charge. */
  payByKey(value: number, changes?: { time?: Date; sent?: boolean }): Promise<string>
  /** Adds an entry of another kind to the transactions. */
  addEntry(changes: Record<string, unknown>): void
  changeEntry(endToEndId: string, changes: Record<string, unknown>): void
  /** By the Pix. */
  disputes: Map<string, WooviDispute>
  /** A payer contests a Pix. With a value it is a contestation at Woovi, otherwise a MED, which has none. */
  contest(endToEndId: string, changes?: { value?: number; reason?: string; sent?: boolean }): Promise<WooviDispute>
  decide(endToEndId: string, status: WooviDispute['status'], options?: { sent?: boolean }): Promise<void>
  endRefund(correlationID: string, status: 'REFUNDED' | 'NOT_ACCOMPLISHED'): void
  sign(body: string): string
  /** Signs with a new key from now on. The old keys stay listed, or not. */
  rotateKey(options: { keepOld: boolean }): void
  stop(): Promise<void>
}

/**
 * `hang` and `error` do nothing. `lose` and `garbage` do what was asked: one never answers, the other answers with a
 * page.
 */
export type Failure = 'hang' | 'error' | 'lose' | 'garbage' | 'busy'
export type Exchange = { operation: string; path: string; body: unknown; status: number; answer: unknown }
export type WooviCharge = {
  correlationID: string
  value: number
  comment: string | undefined
  transactionID: string
  createdAt: Date
  expiresAt: Date
  paidAt: Date | undefined
}
export type WooviDispute = {
  id: string
  endToEndId: string
  status: 'CREATED' | 'ACCEPTED' | 'REJECTED' | 'CANCELED'
  value: number | undefined
  disputeReason: string | undefined
  createdAt: string
  /** What was fetched for each document. */
  evidence: { url: string; correlationID: string; description?: string; bytes: Buffer }[]
}
type WooviWebhook = { id: string; name: string; event: string; url: string; isActive: boolean }
type Refund = {
  value: number
  correlationID: string
  status: string
  refundId: string
  time: string
  endToEndId: string
}
type RefundRequest = { transactionEndToEndId: string; correlationID: string; value: number }
type Answer = { status: number; json: unknown }
type Request = { id: string; query: URLSearchParams; body: Record<string, unknown> }

export const APP_ID = 'Q2xpZW50X0lkX3F1aXRlLXNlY3JldA=='
const MAX_PAGE = 100

export async function openWooviServer(
  options: {
    now?: () => Date
    /** Woovi's description swaps the values of `type` and `status`; Woovi itself does not. */
    asDescribed?: boolean
  } = {},
): Promise<WooviServer> {
  const now = options.now ?? (() => new Date())
  const charges = new Map<string, WooviCharge>()
  const entries: Record<string, unknown>[] = []
  const refunds = new Map<string, Refund>()
  const webhooks: WooviWebhook[] = []
  const notified: WooviServer['notified'] = []
  const exchanges: Exchange[] = []
  const failures: { operation: string; how: Failure }[] = []
  let keys = [makeKey()]

  const refused = (error: string): Answer => ({ status: 400, json: { error } })
  const ok = (json: unknown): Answer => ({ status: 200, json })
  const present = (charge: WooviCharge) => presentCharge(charge, now())

  const disputes: WooviServer['disputes'] = new Map()
  const codes = new Map<string, Record<'correlationID' | 'name' | 'brCode' | 'identifier', string>>()
  const routes: Record<string, (request: Request) => Answer | Promise<Answer>> = {
    'POST /charge'({ query, body }) {
      const { correlationID, value, comment, expiresIn = 86_400 } = body
      if (typeof correlationID !== 'string' || !Number.isInteger(value)) return refused('Dados inválidos')
      if (typeof expiresIn !== 'number' || expiresIn < 300) return refused('A expiração mínima é de 5 minutos')
      const existing = charges.get(correlationID)
      if (existing && query.get('return_existing') !== 'true') return refused('correlationID já utilizado')
      const charge: WooviCharge = existing ?? {
        correlationID,
        value: value as number,
        comment: comment as string | undefined,
        transactionID: randomBytes(16).toString('hex'),
        createdAt: now(),
        expiresAt: new Date(now().getTime() + expiresIn * 1000),
        paidAt: undefined,
      }
      charges.set(correlationID, charge)
      return ok({ charge: present(charge), correlationID, brCode: brCodeOf(charge) })
    },
    'GET /charge/:id'({ id }) {
      const charge = charges.get(id)
      return charge ? ok({ charge: present(charge) }) : refused('Cobrança não encontrada')
    },
    'DELETE /charge/:id'({ id }) {
      const charge = charges.get(id)
      if (!charge) return refused('Cobrança não encontrada')
      if (charge.paidAt) return refused('A cobrança já foi paga')
      charges.delete(id)
      return ok({ status: 'OK', id })
    },
    'POST /qrcode-static'({ body }) {
      const { correlationID, name } = body
      if (typeof correlationID !== 'string' || typeof name !== 'string') return refused('Dados inválidos')
      if (codes.has(correlationID)) return refused('correlationID já utilizado')
      const location = `pix.woovi.example/static/${correlationID}`
      const brCode = encodeBrCode({ location, merchantName: 'Woovi', merchantCity: 'SAO PAULO' })
      codes.set(correlationID, { correlationID, name, brCode, identifier: randomBytes(12).toString('hex') })
      return ok({ pixQrCode: codes.get(correlationID), correlationID, brCode })
    },
    'GET /qrcode-static/:id'({ id }) {
      const pixQrCode = codes.get(id)
      return pixQrCode ? ok({ pixQrCode }) : refused('QR code não encontrado')
    },
    'GET /transaction'({ query }) {
      const wanted = entries.filter((entry) => isWanted(entry, query))
      return ok({ status: 'OK', ...pageOf('transactions', wanted, query) })
    },
    'GET /transaction/:id'({ id }) {
      const transaction = entries.find((entry) => entry.endToEndId === id || entry.transactionID === id)
      return transaction ? ok({ transaction }) : refused('Transação não encontrada')
    },
    'POST /refund'({ body }) {
      const { transactionEndToEndId: endToEndId, correlationID, value } = body as RefundRequest
      const paid = entries.find((entry) => entry.endToEndId === endToEndId)
      if (!paid) return refused('Transação não encontrada')
      if (refunds.has(correlationID)) return refused('Já existe um reembolso com este correlationID')
      const before = [...refunds.values()].filter(
        (one) => one.endToEndId === endToEndId && one.status !== 'NOT_ACCOMPLISHED',
      )
      const left = before.reduce((sum, one) => sum - one.value, paid.value as number)
      if (!Number.isInteger(value) || value > left) return refused('Valor maior que o da transação')
      const refundId = randomBytes(16).toString('hex')
      const refund = { status: 'IN_PROCESSING', value, correlationID, refundId, time: now().toISOString(), endToEndId }
      refunds.set(correlationID, refund)
      return ok({ refund: presentRefund(refund) })
    },
    'GET /refund/:id'({ id }) {
      const refund = refunds.get(id)
      return refund ? ok({ pixTransactionRefund: presentRefund(refund) }) : refused('Reembolso não encontrado')
    },
    'GET /dispute'({ query }) {
      const [start, end] = [query.get('start'), query.get('end')]
      if (start === null || end === null) return refused('Período inválido')
      const wanted = [...disputes.values()].filter(({ createdAt }) => createdAt >= start && createdAt <= end)
      const shown = wanted.map((dispute) => ({ ...presentDispute(dispute), createdAt: dispute.createdAt }))
      return ok(pageOf('disputes', shown, query))
    },
    'GET /dispute/:id'({ id }) {
      const dispute = disputes.get(id)
      return dispute ? ok({ dispute: presentDispute(dispute) }) : refused('Dispute not found')
    },
    async 'POST /dispute/:id'({ id, body }) {
      const dispute = [...disputes.values()].find((one) => `${one.id}/evidence` === id)
      if (!dispute) return refused('Dispute not found')
      if (dispute.status !== 'CREATED')
        return refused(`You cannot send a evidence for a ${dispute.status.toLowerCase()} dispute`)
      const documents = body.documents as { url: string; correlationID: string; description?: string }[]
      for (const document of documents) {
        const file = await fetch(document.url)
        if (!file.ok) return refused('The document cannot be downloaded')
        dispute.evidence.push({ ...document, bytes: Buffer.from(await file.arrayBuffer()) })
      }
      return ok({ documents: documents.map((document) => ({ ...document, url: 'https://woovi.example/document' })) })
    },
    'GET /webhook'({ query }) {
      const wanted = webhooks.filter((webhook) => webhook.url === query.get('url'))
      return ok(pageOf('webhooks', wanted, query))
    },
    async 'POST /webhook'({ body }) {
      const { name, event, url } = body.webhook as WooviWebhook
      await notify([url], { data_criacao: now().toISOString(), evento: 'teste_webhook', event })
      const webhook = { id: randomUUID(), name, event, url, isActive: true }
      webhooks.push(webhook)
      return ok({ webhook: { ...webhook, createdAt: now().toISOString(), updatedAt: now().toISOString() } })
    },
    'GET /webhook/public-keys': () => ok({ public_keys: keys.map(presentKey) }),
  }

  async function answer(raw: IncomingMessage, response: ServerResponse) {
    const url = new URL(raw.url ?? '/', 'http://woovi')
    const body = await readBody(raw)
    const { operation, id } = operationOf(raw.method ?? '', url.pathname, routes)
    const route = routes[operation]
    const exchange: Exchange = { operation, path: raw.url ?? '', body, status: 0, answer: undefined }
    exchanges.push(exchange)
    const how = takeFailure(failures, operation)
    const say = (status: number, json: unknown) => {
      Object.assign(exchange, { status, answer: json })
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    }
    if (how === 'hang') return
    if (how === 'error') return say(503, { error: 'indisponível' })
    if (how === 'busy') return void response.writeHead(429, { 'retry-after': '0' }).end()
    const isOpen = operation === 'GET /webhook/public-keys'
    if (!isOpen && raw.headers.authorization !== APP_ID) {
      return say(401, { data: null, errors: [{ message: 'appID inválido' }] })
    }
    const done = route ? await route({ id, query: url.searchParams, body }) : { status: 404, json: {} }
    if (how === 'lose') return
    if (how === 'garbage') return void response.writeHead(200).end('<html>Em manutenção</html>')
    say(done.status, done.json)
  }

  const server = createServer((raw, response) => void answer(raw, response).catch(() => response.destroy()))
  const url = `http://127.0.0.1:${await listen(server)}`

  const sign = (body: string) => createSign('RSA-SHA256').update(body).sign(keys[0]!.privateKey, 'base64')

  async function notify(urls: string[], content: object) {
    const body = JSON.stringify(content)
    for (const target of urls) {
      const signature = sign(body)
      const headers = { 'content-type': 'application/json', 'x-webhook-signature': signature }
      const status = await fetch(target, { method: 'POST', headers, body }).then(
        (reply) => reply.status,
        () => 0,
      )
      notified.push({ url: target, body, signature, status })
    }
  }

  async function receive(charge: WooviCharge | undefined, paid: { value: number; time?: Date; sent?: boolean }) {
    const { value, time = now(), sent = true } = paid
    const endToEndId = `E54811417${time.toISOString().replaceAll(/\D/g, '').slice(0, 12)}${randomBytes(6).toString('hex').slice(0, 11)}`
    if (charge) charge.paidAt = time
    const link = charge ? { charge: { correlationID: charge.correlationID, status: 'COMPLETED' } } : {}
    const transactionID = charge?.transactionID ?? randomBytes(16).toString('hex')
    const kind = options.asDescribed
      ? { type: 'CONFIRMED', status: 'PAYMENT' }
      : { type: 'PAYMENT', status: 'CONFIRMED' }
    entries.push({ ...link, ...kind, value, time: time.toISOString(), endToEndId, transactionID })
    if (!sent) return endToEndId
    const event = 'OPENPIX:TRANSACTION_RECEIVED'
    const raw = { endToEndId, txid: transactionID, horario: time.toISOString() }
    const shown = charge ? { charge: present(charge) } : {}
    const urls = webhooks.filter((webhook) => webhook.isActive && webhook.event === event).map((webhook) => webhook.url)
    await notify(urls, { event, ...shown, pix: { ...shown, time: time.toISOString(), transactionID, endToEndId, raw } })
    return endToEndId
  }

  async function tellOfDispute(dispute: WooviDispute) {
    const event = `OPENPIX:DISPUTE_${dispute.status}`
    const urls = webhooks.filter((webhook) => webhook.isActive && webhook.event === event).map((webhook) => webhook.url)
    const status = dispute.status === 'CREATED' ? 'OPENED' : dispute.status
    await notify(urls, { event, dispute: { ...presentDispute(dispute), status } })
  }

  return {
    url,
    exchanges,
    count: (operation) => exchanges.filter((exchange) => exchange.operation === operation).length,
    charges,
    webhooks,
    notified,
    fail: (operation, how, times = 1) => {
      for (let nth = 0; nth < times; nth++) failures.push({ operation, how })
    },
    heal: () => void failures.splice(0),
    async pay(correlationID, changes = {}) {
      const charge = charges.get(correlationID)
      if (!charge) throw new Error('there is no such charge')
      return receive(charge, { value: charge.value, ...changes })
    },
    payByKey: (value, changes = {}) => receive(undefined, { value, ...changes }),
    addEntry: (changes) => void entries.push({ time: now().toISOString(), value: 1, ...changes }),
    changeEntry: (endToEndId, changes) =>
      void Object.assign(
        entries.find((entry) => entry['endToEndId'] === endToEndId)!,
        changes,
      ),
    disputes,
    async contest(endToEndId, { value, reason, sent = true } = {}) {
      const id = randomBytes(12).toString('hex')
      const createdAt = now().toISOString()
      const dispute: WooviDispute = {
        id,
        endToEndId,
        status: 'CREATED',
        value,
        disputeReason: reason,
        createdAt,
        evidence: [],
      }
      disputes.set(endToEndId, dispute)
      if (sent) await tellOfDispute(dispute)
      return dispute
    },
    async decide(endToEndId, status, { sent = true } = {}) {
      const dispute = disputes.get(endToEndId)!
      dispute.status = status
      if (sent) await tellOfDispute(dispute)
    },
    endRefund: (correlationID, status) => void (refunds.get(correlationID)!.status = status),
    sign,
    rotateKey: ({ keepOld }) => {
      keys = [makeKey(), ...(keepOld ? keys : [])]
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function operationOf(method: string, pathname: string, routes: object): { operation: string; id: string } {
  const path = pathname.replace('/api/v1', '')
  if (`${method} ${path}` in routes) return { operation: `${method} ${path}`, id: '' }
  const [, id = ''] = /^\/[^/]+\/(.*)$/.exec(path) ?? []
  return { operation: `${method} ${path.replace(/^(\/[^/]+)\/.*$/, '$1/:id')}`, id: decodeURIComponent(id) }
}

function takeFailure(failures: { operation: string; how: Failure }[], operation: string): Failure | undefined {
  const index = failures.findIndex((failure) => failure.operation === operation)
  return index < 0 ? undefined : failures.splice(index, 1)[0]!.how
}

async function readBody(raw: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of raw as AsyncIterable<Buffer>) chunks.push(chunk)
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())
}

function isWanted(entry: Record<string, unknown>, query: URLSearchParams): boolean {
  const [start, end, charge] = [query.get('start'), query.get('end'), query.get('charge')]
  const time = entry.time as string
  if (start !== null && Date.parse(time) < Date.parse(start)) return false
  if (end !== null && Date.parse(time) > Date.parse(end)) return false
  return charge === null || (entry.charge as { correlationID?: string } | undefined)?.correlationID === charge
}

function pageOf(name: string, all: object[], query: URLSearchParams): object {
  const skip = Number(query.get('skip') ?? 0)
  const limit = Math.min(MAX_PAGE, Number(query.get('limit') ?? MAX_PAGE))
  const pageInfo = {
    skip,
    limit,
    totalCount: all.length,
    hasPreviousPage: skip > 0,
    hasNextPage: skip + limit < all.length,
  }
  return { pageInfo, [name]: all.slice(skip, skip + limit) }
}

function presentCharge(charge: WooviCharge, now: Date): object {
  const { correlationID, value, comment, transactionID, createdAt, expiresAt, paidAt } = charge
  const status = paidAt ? 'COMPLETED' : now >= expiresAt ? 'EXPIRED' : 'ACTIVE'
  const brCode = brCodeOf(charge)
  return {
    status,
    value,
    ...(comment === undefined ? {} : { comment }),
    correlationID,
    transactionID,
    identifier: transactionID,
    brCode,
    paymentLinkID: correlationID,
    paymentLinkUrl: `https://woovi.example/pay/${correlationID}`,
    qrCodeImage: `https://woovi.example/image/${correlationID}.png`,
    additionalInfo: [],
    createdAt: createdAt.toISOString(),
    updatedAt: (paidAt ?? createdAt).toISOString(),
    expiresDate: expiresAt.toISOString(),
    ...(paidAt ? { paidAt: paidAt.toISOString() } : {}),
    paymentMethods: { pix: { method: 'PIX_COB', status: 'ACTIVE', value, txId: transactionID, brCode } },
  }
}

function brCodeOf({ transactionID, value }: WooviCharge): string {
  return encodeBrCode({
    location: `woovi.example/qr/${transactionID}`,
    merchantName: 'Loja',
    merchantCity: 'Sao Paulo',
    amountCents: value,
  })
}

function presentDispute({ id, endToEndId, status, value, disputeReason }: WooviDispute): object {
  if (value === undefined) return { type: 'MED', status, endToEndId, id }
  const payer = { name: 'Seu Jorge', email: 'jorge@test.com', phoneNumber: '+551199999999' }
  return { type: 'CHARGEBACK', status, endToEndId, id, value, disputeReason, ...payer }
}

function presentRefund(made: Refund): object {
  const { endToEndId: _, ...refund } = made
  return refund
}

type Key = { privateKey: KeyObject; publicKey: KeyObject }

// A key as short as Woovi's own, which is also quick to make.
function makeKey(): Key {
  return generateKeyPairSync('rsa', { modulusLength: 1024 })
}

function presentKey({ publicKey }: Key, index: number): object {
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return {
    key_identifier: createHash('sha256').update(der).digest('hex'),
    key: publicKey.export({ type: 'spki', format: 'pem' }),
    is_current: index === 0,
  }
}
