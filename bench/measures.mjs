// The measures, in the order in which they run. Each compares one thing that the service does with what a user would
// write without it.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProgram } from './children.mjs'
import { withCost } from './cost.mjs'
import { openTpcb } from './tpcb.mjs'
import { compare, takeTurns } from './turns.mjs'

const PROVIDER = 'bank'
const MANY_PER_POST = { perPost: 100, connections: 4 }
const ONE_PER_POST = { perPost: 1, connections: 32 }
const POLL_MS = 20
const CREDITED_WITHIN_MS = 120_000
// Attempts are recorded after they arrive. Recording the last ones of a turn takes less than this.
const RECORDED_WITHIN_MS = 200
const WARM_UP_PAYMENTS = 1_000

/** The keys are the names that --only takes. `run` resolves to our figures, the reference's, and their ratio. */
export const MEASURES = {
  create: {
    says: 'POST /api/deposit with an idempotency key',
    reference: 'one bank call, one INSERT',
    // This measure runs first, on a service that has just started, so it always warms up.
    run: (bench) =>
      beside(
        { ...bench, options: { ...bench.options, warmUp: true } },
        { ours: { path: '/api/deposit' }, reference: { path: '/deposit' }, how: 'post' },
      ),
  },
  pending: {
    says: 'GET of pending charges in turn; each asks the bank',
    reference: 'one SELECT, one bank call',
    async run(bench) {
      const { pending } = await bench.charges()
      return besideGet(bench, pathsOf('/api/deposit', pending), pathsOf('/asked', pending))
    },
  },
  completed: {
    says: 'GET of completed charges in turn',
    reference: 'one SELECT',
    async run(bench) {
      const { completed } = await bench.charges()
      return besideGet(bench, pathsOf('/api/deposit', completed), pathsOf('/deposit', completed))
    },
  },
  list: {
    says: 'GET /api/deposits?limit=50',
    reference: 'one SELECT of 50 rows',
    async run(bench) {
      await bench.charges()
      return besideGet(bench, ['/api/deposits?limit=50'], ['/deposits'])
    },
  },
  // Runs before the measures below, because they make more events.
  deliver: {
    says: 'webhooks resent by POST /api/events/resend',
    reference: 'a loop that signs and posts the same bytes',
    run: deliver,
  },
  credit: {
    says: 'payments credited, one Pix in each notification',
    reference: 'one INSERT for each notification',
    run: (bench) => turnsOf(bench, { ours: () => credit(bench), reference: () => insertEach(bench) }),
  },
  settle: {
    says: 'settle(), one account, batches of 200',
    reference: 'TPC-B by pgbench',
    run: settle,
  },
  life: {
    says: 'whole lives: create, pay, notify, credit, deliver',
    reference: 'bare handlers: INSERT, INSERT, UPDATE, one webhook',
    run: live,
  },
}

async function turnsOf({ options }, sides) {
  return compare(await takeTurns(options, sides))
}

// ---- Requests ----

function beside(bench, { ours, reference, how }) {
  const { stage, options } = bench
  const side = ({ url, headers, pid }, request) =>
    withCost(stage, pid, () => stage.load.ask(how, { url, headers, seconds: options.seconds, ...request }))
  return turnsOf(bench, {
    ours: () => side(stage.service, ours),
    reference: () => side(stage.reference, reference),
  })
}

function besideGet(bench, ours, reference) {
  return beside(bench, { ours: { paths: ours }, reference: { paths: reference }, how: 'get' })
}

function pathsOf(prefix, charges) {
  return charges.map(({ paymentLinkId }) => `${prefix}/${paymentLinkId}`)
}

/** Makes the charges that are queried: the same at the service, the reference and the bank. */
export async function makeCharges({ stage, options }) {
  const since = new Date()
  const completed = await createCharges(stage, options.completed)
  await payAndCredit(stage, completed, MANY_PER_POST)
  const pending = await createCharges(stage, options.pending)
  await stage.reference.ask('fill', { charges: completed, status: 'COMPLETED' })
  await stage.reference.ask('fill', { charges: pending, status: 'PENDING' })
  return { pending, completed, since }
}

function createCharges({ load, service: { url, headers } }, count) {
  return load.ask('create', { url, headers, count })
}

// ---- Deliveries ----

async function deliver(bench) {
  const { stage } = bench
  const { completed, since } = await bench.charges()
  const count = completed.length
  const webhookId = await addWebhook(stage)
  let body
  const ours = async () => {
    const arriving = stage.load.ask('receive', { count })
    const [{ queued }, arrived] = await Promise.all([ask(stage, 'POST', '/api/events/resend', { since }), arriving])
    if (queued !== count) throw new Error(`${queued} events were resent, and not ${count}`)
    body = arrived.body
    await sleep(RECORDED_WITHIN_MS)
    return arrived
  }
  const reference = async () => {
    const arriving = stage.load.ask('receive', { count })
    const sent = await stage.reference.ask('deliver', { body, count })
    await arriving
    return sent
  }
  const result = await turnsOf(bench, {
    ours: () => withCost(stage, stage.service.pid, ours),
    reference: () => withCost(stage, stage.reference.pid, reference),
  })
  await ask(stage, 'DELETE', `/api/webhooks/${webhookId}`)
  return result
}

async function addWebhook(stage) {
  const { webhook } = await ask(stage, 'POST', '/api/webhooks', { url: stage.load.receiverUrl })
  return webhook.id
}

async function ask({ service: { url, headers } }, method, path, body) {
  const sent = body && { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(url + path, { method, headers, ...sent })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`)
  return text === '' ? undefined : JSON.parse(text)
}

// ---- Payments ----

async function credit({ stage, options }) {
  const charges = await createCharges(stage, options.payments)
  return withCost(stage, stage.service.pid, () => payAndCredit(stage, charges, ONE_PER_POST))
}

/** Measures payments per second, from the first notification until the balance includes the last payment. */
async function payAndCredit(stage, charges, posts) {
  const balance = async () => (await ask(stage, 'GET', '/api/balance')).balance
  const [{ value, fee }] = charges
  const wanted = (await balance()) + charges.length * (value - fee)
  const payments = await stage.bank.ask('pay', { txids: charges.map(({ id }) => id) })
  // A sweep of the service may have credited some of them already.
  const requests = (wanted - (await balance())) / (value - fee)
  const beganMs = performance.now()
  const posting = stage.load.ask('notify', { url: stage.service.notifyUrl, payments, ...posts })
  while ((await balance()) < wanted) {
    if (performance.now() - beganMs > CREDITED_WITHIN_MS) throw new Error('Payments were not credited in time')
    await sleep(POLL_MS)
  }
  const perSecond = (requests * 1000) / (performance.now() - beganMs)
  await posting
  return { requests, perSecond }
}

/** Measures the reference: a bare handler with one INSERT for each notification. */
function insertEach({ stage, options }) {
  const url = `${stage.reference.url}/notifications`
  const at = new Date().toISOString()
  const payments = Array.from({ length: options.payments }, () => ({
    endToEndId: `E${randomBytes(16).toString('hex').slice(1)}`,
    txid: randomBytes(16).toString('hex'),
    at,
  }))
  return withCost(stage, stage.reference.pid, () => stage.load.ask('notify', { url, payments, ...ONE_PER_POST }))
}

async function settle(bench) {
  const { stage, options } = bench
  const measureTpcb = await openTpcb(stage.database)
  const program = startProgram('settle.mjs')
  await program.ask('open', { dist: options.dist, databaseUrl: stage.database.url })
  const settleOnce = async (count) => {
    const payments = paymentsOf(await createCharges(stage, count))
    const result = await withCost(stage, program.pid, () => program.ask('settle', { payments }))
    await stage.bank.ask('record', { payments })
    return result
  }
  // A process that has just started is slow.
  await settleOnce(WARM_UP_PAYMENTS)
  return turnsOf(bench, {
    ours: () => settleOnce(options.payments),
    reference: () => measureTpcb(options.seconds),
  })
}

let paid = 0

/** Payments of charges, as settle() takes them. */
function paymentsOf(charges) {
  const occurredAt = new Date()
  const minute = occurredAt.toISOString().replaceAll(/[-:T]/g, '').slice(0, 12)
  return charges.map(({ id, value }) => ({
    provider: PROVIDER,
    endToEndId: `E00000001${minute}${(++paid).toString(36).padStart(11, '0')}`,
    txid: id,
    amountCents: value,
    occurredAt,
    refunds: [],
  }))
}

// ---- Lives ----

async function live(bench) {
  const { stage, options } = bench
  const { service, reference, bank, load } = stage
  const webhookId = await addWebhook(stage)
  const side = ({ url, headers, pid }, rest) =>
    withCost(stage, pid, () =>
      load.ask('live', { url, headers, bankUrl: bank.url, seconds: options.lifeSeconds, ...rest }),
    )
  const result = await turnsOf(bench, {
    ours: () => side(service, { path: '/api/deposit', notifyUrl: service.notifyUrl }),
    reference: () => side(reference, { path: '/deposit', notifyUrl: `${reference.url}/paid` }),
  })
  await ask(stage, 'DELETE', `/api/webhooks/${webhookId}`)
  return result
}
