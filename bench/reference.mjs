// What a user would write without the service: Fastify handlers with one prepared statement each, and connection pools
// to the database, the bank and the webhook receiver. No key, no idempotency, no ledger, no second attempt.
import { createHmac, randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import pg from 'pg'
import { Pool as HttpPool } from 'undici'
import { answerQuestions } from './questions.mjs'

// The service's defaults.
const DATABASE_CONNECTIONS = 20
const BANK_CONNECTIONS = 64
const DELIVERIES_AT_ONCE = 128
const ACCOUNT = '00000000-0000-4000-8000-000000000001'
const PUBLIC_URL = 'https://pay.example.com'
const SECRET = 'a secret of the bench that signs webhooks'

const SCHEMA = `
  create table charges (
    id uuid primary key, payment_link_id uuid not null unique, account_id uuid not null, status text not null,
    value_cents bigint not null, original_value_cents bigint not null, fee_cents bigint not null, emv text not null,
    created_at timestamptz not null, expires_at timestamptz not null, paid_at timestamptz, end_to_end_id text
  );
  create index charges_by_account on charges (account_id, id desc);
  create table notifications (
    end_to_end_id text primary key, txid text not null, value_cents bigint not null, occurred_at timestamptz not null,
    received_at timestamptz not null
  );`

const COLUMNS = `id, payment_link_id, status, value_cents, original_value_cents, fee_cents, emv, created_at`
const STATEMENTS = {
  insert: `insert into charges (id, payment_link_id, account_id, status, value_cents, original_value_cents, fee_cents,
      emv, created_at, expires_at) values ($1, $2, $3, 'PENDING', $4, $4, $5, $6, $7, $8)`,
  select: `select ${COLUMNS} from charges where payment_link_id = $1 and account_id = $2`,
  list: `select ${COLUMNS}, expires_at, paid_at, end_to_end_id from charges where account_id = $1 order by id desc limit 50`,
  notify: `insert into notifications (end_to_end_id, txid, value_cents, occurred_at, received_at)
    values ($1, $2, $3, $4, $5) on conflict do nothing`,
  complete: `update charges set status = 'COMPLETED', end_to_end_id = $2, paid_at = $3
    where id = $1 and status = 'PENDING' returning ${COLUMNS}, expires_at, paid_at, end_to_end_id`,
}

const typed = (type, names) => Object.fromEntries(names.map((name) => [name, { type }]))
const charge = {
  type: 'object',
  properties: {
    ...typed('string', ['id', 'emv', 'qrCodeLink', 'paymentLinkId', 'paymentLinkUrl', 'status', 'createdAt']),
    ...typed('integer', ['value', 'originalValue', 'fee']),
  },
}
const CHARGE = { type: 'object', properties: { success: { type: 'boolean' }, charge } }
/** With schemas, Fastify checks requests and compiles the serializers of responses. This is its normal way. */
const SCHEMAS = {
  create: {
    body: { type: 'object', required: ['value'], properties: { value: { type: 'integer', minimum: 1 } } },
    response: { 201: CHARGE },
  },
  get: { response: { 200: CHARGE } },
}

let pool
let bank
let receiver

answerQuestions({
  async open({ connection, bankUrl, receiverUrl }) {
    pool = new pg.Pool({ ...connection, max: DATABASE_CONNECTIONS })
    bank = new HttpPool(bankUrl, { connections: BANK_CONNECTIONS })
    receiver = new HttpPool(new URL(receiverUrl).origin, { connections: DELIVERIES_AT_ONCE })
    await pool.query(SCHEMA)
    const app = buildApp()
    await app.listen({ host: '127.0.0.1', port: 0 })
    return `http://127.0.0.1:${app.server.address().port}`
  },
  /** Stores the charges that the service also has. */
  async fill({ charges, status }) {
    await pool.query(
      `insert into charges (id, payment_link_id, account_id, status, value_cents, original_value_cents, fee_cents, emv,
         created_at, expires_at)
       select id, link, $3, $4, 5000, 5000, 50, repeat('0', 180), now(), now() + interval '1 hour'
       from unnest($1::uuid[], $2::uuid[]) as n (id, link)`,
      [charges.map(({ id }) => id), charges.map(({ paymentLinkId }) => paymentLinkId), ACCOUNT, status],
    )
    await pool.query('analyze charges')
  },
  /** Signs and posts `count` copies of a body in a bare loop. */
  async deliver({ body, count }) {
    let left = count
    const line = async () => {
      while (left-- > 0) await deliver(`evt_${String(left).padStart(32, '0')}`, body)
    }
    const beganMs = performance.now()
    await Promise.all(Array.from({ length: DELIVERIES_AT_ONCE }, line))
    return { perSecond: (count * 1000) / (performance.now() - beganMs), requests: count }
  },
})

function run(name, values) {
  return pool.query({ name, text: STATEMENTS[name], values })
}

async function askBank(method, path, body) {
  const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }
  const answer = await bank.request({ method, path, headers, body: body && JSON.stringify(body) })
  return answer.body.json()
}

/** Signs as Standard Webhooks requires. */
async function deliver(id, body) {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', SECRET).update(`${id}.${timestamp}.${body}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
  const answer = await receiver.request({ path: '/hook', method: 'POST', headers, body })
  await answer.body.dump()
}

function buildApp() {
  const app = Fastify()
  app.post('/deposit', { schema: SCHEMAS.create }, async (request, reply) => {
    reply.code(201)
    return { success: true, charge: present(await create(request.body.value)) }
  })
  app.get('/deposit/:id', { schema: SCHEMAS.get }, async (request) => {
    const [row] = (await run('select', [request.params.id, ACCOUNT])).rows
    return { success: true, charge: present(row) }
  })
  app.get('/asked/:id', { schema: SCHEMAS.get }, async (request) => {
    const [row] = (await run('select', [request.params.id, ACCOUNT])).rows
    const cob = await askBank('GET', `/cob/${row.id.replaceAll('-', '')}`)
    return { success: true, charge: present({ ...row, status: cob.status === 'ATIVA' ? 'PENDING' : 'COMPLETED' }) }
  })
  app.get('/deposits', async (_request, reply) => {
    const { rows } = await run('list', [ACCOUNT])
    reply.type('application/json; charset=utf-8')
    return JSON.stringify({ success: true, deposits: rows.map(presentListed), nextCursor: null })
  })
  app.post('/notifications', async (request) => {
    await Promise.all(request.body.pix.map(record))
    return { success: true }
  })
  app.post('/paid', async (request) => {
    await Promise.all(request.body.pix.map(complete))
    return { success: true }
  })
  return app
}

async function create(value) {
  const id = randomUUID()
  const createdAt = new Date()
  const cob = await askBank('PUT', `/cob/${id.replaceAll('-', '')}`, {
    calendario: { expiracao: 3600 },
    valor: { original: (value / 100).toFixed(2) },
    chave: 'reference@guiche.example',
  })
  const row = {
    id,
    payment_link_id: randomUUID(),
    status: 'PENDING',
    value_cents: value,
    original_value_cents: value,
    fee_cents: Math.ceil(value / 100),
    emv: cob.pixCopiaECola,
    created_at: createdAt,
  }
  const expiresAt = new Date(createdAt.getTime() + 3_600_000)
  await run('insert', [id, row.payment_link_id, ACCOUNT, value, row.fee_cents, row.emv, createdAt, expiresAt])
  return row
}

function record({ endToEndId, txid, valor, horario }) {
  return run('notify', [endToEndId, txid, Math.round(Number(valor) * 100), horario, new Date()])
}

/** Sends the webhook once, without waiting for it. */
async function complete(pix) {
  await record(pix)
  const [row] = (await run('complete', [pix.txid, pix.endToEndId, pix.horario])).rows
  const { id: transactionId, ...data } = presentListed(row)
  const id = `evt_${transactionId}`
  const createdAt = new Date().toISOString()
  const event = { id, event: 'DEPOSIT_ASSET_SUCCESS', createdAt, data: { transactionId, ...data } }
  deliver(id, JSON.stringify(event)).catch(console.error)
}

function present(row) {
  return {
    id: row.id.replaceAll('-', ''),
    emv: row.emv,
    qrCodeLink: `${PUBLIC_URL}/qr/${row.payment_link_id}.png`,
    paymentLinkId: row.payment_link_id,
    paymentLinkUrl: `${PUBLIC_URL}/payment-link/${row.payment_link_id}`,
    value: Number(row.value_cents),
    originalValue: Number(row.original_value_cents),
    fee: Number(row.fee_cents),
    status: row.status,
    createdAt: row.created_at.toISOString(),
  }
}

function presentListed(row) {
  const isPaid = row.status === 'COMPLETED'
  return {
    ...present(row),
    expiresAt: row.expires_at.toISOString(),
    paidAt: row.paid_at?.toISOString() ?? null,
    receivedValue: null,
    creditedValue: isPaid ? Number(row.value_cents) - Number(row.fee_cents) : null,
    refundedValue: 0,
    heldValue: 0,
    keptValue: 0,
    endToEndId: row.end_to_end_id,
    paidLate: false,
    externalId: null,
    description: null,
  }
}
