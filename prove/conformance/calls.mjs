// Makes every call of the adapter, so that the bank gives every kind of answer: success, refusal, a lost answer, and an
// expired token.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

const PIX_KEY = 'caixa@loja.example'
const HOUR_MS = 3_600_000
const UNKNOWN_PIX = 'E00000000202601010000abcdefghijk'
const WAIT_MS = 5_000

/**
 * `bank` is the sandbox: pay, faults, stats, forgetTokens, now. `access` is how the adapter reaches it. Returns
 * unexpected results, and how often each call of the adapter was made.
 */
export async function makeAllCalls({ makeApiPix, bank, access, receiver, skips }) {
  const used = new Map()
  const surprises = []
  const adapters = []
  const connect = (options = {}) => {
    const adapter = makeApiPix({ ...adapterOptions(access), ...options })
    adapters.push(adapter)
    return counted(adapter, used, skips)
  }
  // A failed call is recorded and the next one made: one bad answer must not hide the others.
  const step = async (what, call, isWanted) => {
    const outcome = await outcomeOf(call)
    if (!isWanted(outcome)) surprises.push(`${what}: got ${JSON.stringify(outcome)?.slice(0, 200)}`)
    return outcome
  }
  const parts = { adapter: connect(), bank, receiver, step, connect, surprises }
  await makeCharges(parts)
  await payAndRead(parts)
  await refundThem(parts)
  await listThem(parts)
  await readNotifications(parts)
  await loseAnswers(parts)
  await withoutToken(parts)
  await whileDown(parts)
  // These calls send no request.
  await step('ask for capacity', async () => parts.adapter.hasRoomFor('account'), isExactly(true))
  await step('ask whether it can be called', async () => parts.adapter.isCallable(), isExactly(true))
  await step('ask what is wrong with our access', async () => parts.adapter.accessProblem(), isExactly(undefined))
  await parts.adapter.health()
  for (const adapter of adapters.slice(1)) await adapter.close()
  await parts.adapter.close()
  return { surprises, used }
}

async function makeCharges({ adapter, receiver, step }) {
  await step('register for notifications', () => adapter.registerNotifications(`${receiver.url}/hook`), isDone)
  await step(
    'register an address that is none',
    () => adapter.registerNotifications('ftp://loja.example/hook'),
    isRefused,
  )

  const plain = charge({})
  await step(
    'create a charge',
    () => adapter.create(plain),
    is({ txid: plain.txid, status: 'active', valueCents: 50_00 }),
  )
  const wordy = charge({ description: 'Pedido nº 7: café, pão & “requeijão”'.padEnd(200, '.') })
  await step('create one with a long text', () => adapter.create(wordy), is({ status: 'active' }))
  await step('create the smallest', () => adapter.create(charge({ valueCents: 1 })), is({ valueCents: 1 }))
  const most = charge({ valueCents: 999_999_999_999, expiresInSeconds: 86_400 })
  await step('create the largest', () => adapter.create(most), is({ valueCents: 999_999_999_999 }))
  await step('create one for nothing', () => adapter.create(charge({ valueCents: 0 })), isRefused)
  await step('create one whose txid exists', () => adapter.create(plain), is({ txid: plain.txid, status: 'active' }))
  // The charge can still be paid, so whoever asked withdraws it.
  await step('create another value under its txid', () => adapter.create({ ...plain, valueCents: 7 }), isUnknown)

  await step('check a charge', () => adapter.check(plain.txid), is({ status: 'active', payments: [] }))
  await step('check an unknown txid', () => adapter.check(txid()), isExactly('absent'))
  await step('cancel a charge', () => adapter.cancel(wordy.txid), isExactly('withdrawn'))
  await step('cancel it again', () => adapter.cancel(wordy.txid), isExactly('not_active'))
  await step('check it', () => adapter.check(wordy.txid), is({ status: 'withdrawn' }))
  await step('create it again', () => adapter.create(wordy), isRefused)
  await step('cancel an unknown txid', () => adapter.cancel(txid()), isExactly('absent'))
}

async function payAndRead({ adapter, bank, step }) {
  const paid = charge({})
  await step('create a charge to be paid', () => adapter.create(paid), is({ status: 'active' }))
  const [pix] = await bank.pay({ txid: paid.txid, amountCents: 50_00, infoPagador: 'obrigado' })
  const paidIs = { status: 'paid', payments: [{ endToEndId: pix.endToEndId, txid: paid.txid, amountCents: 50_00 }] }
  await step('check a paid charge', () => adapter.check(paid.txid), is(paidIs))
  await step('cancel a paid charge', () => adapter.cancel(paid.txid), isExactly('not_active'))
  await step('find its Pix', () => adapter.findPayment(pix.endToEndId), is({ amountCents: 50_00, txid: paid.txid }))
  await step('find an unknown Pix', () => adapter.findPayment(UNKNOWN_PIX), isExactly('absent'))

  const odd = charge({ valueCents: 80_00 })
  await step('create a charge to be paid three times', () => adapter.create(odd), is({ status: 'active' }))
  await bank.pay({ txid: odd.txid, amountCents: 79_99, times: 3 })
  await step(
    'check it',
    () => adapter.check(odd.txid),
    ({ payments }) => payments?.length === 3,
  )
  const [stray] = await bank.pay({ txid: txid(), amountCents: 12_34 })
  await step('find a Pix for an unknown txid', () => adapter.findPayment(stray.endToEndId), is({ amountCents: 12_34 }))
  const [counter] = await bank.pay({ txid: 'balcao1', amountCents: 5_00 })
  await step('find a Pix of a static code', () => adapter.findPayment(counter.endToEndId), is({ txid: 'balcao1' }))
}

async function refundThem({ adapter, bank, step }) {
  const refunded = await paidCharge({ adapter, bank, step })
  const { endToEndId } = refunded
  const part = { endToEndId, refundId: 'parte1', amountCents: 20_00 }
  await step('refund a part', () => adapter.refund(part), is({ refundId: 'parte1', amountCents: 20_00 }))
  await step('refund it again', () => adapter.refund(part), is({ refundId: 'parte1', amountCents: 20_00 }))
  await step('refund another amount under its id', () => adapter.refund({ ...part, amountCents: 1 }), isRefused)
  await step('refund too much', () => adapter.refund({ ...part, refundId: 'parte2', amountCents: 30_01 }), isRefused)
  await step('refund nothing', () => adapter.refund({ ...part, refundId: 'parte3', amountCents: 0 }), isRefused)
  await step('refund an unknown Pix', () => adapter.refund({ ...part, endToEndId: UNKNOWN_PIX }), isRefused)
  const asked = () => adapter.checkRefund({ endToEndId, refundId: 'parte1' })
  await step('ask for a refund until it is done', () => until(async () => (await asked()).status === 'done'), isDone)
  await step('ask for an unknown refund', () => adapter.checkRefund({ endToEndId, refundId: 'x' }), isExactly('absent'))
  await step('find a refunded Pix', () => adapter.findPayment(endToEndId), is({ amountCents: 50_00 }))
  await step('check a refunded charge', () => adapter.check(refunded.txid), is({ status: 'paid' }))
}

async function listThem({ adapter, bank, step }) {
  const list = async (fromMs, toMs) => {
    const pages = []
    const window = { from: new Date(fromMs), to: new Date(toMs) }
    for await (const page of adapter.listReceived(window)) pages.push(page)
    return pages
  }
  const now = bank.now().getTime()
  const { payments } = await bank.stats()
  const all = await step(
    'list what was received',
    () => list(now - HOUR_MS, now + HOUR_MS),
    (pages) => pages.flat?.().length === payments,
  )
  if (!(all.length > 1))
    await step(
      'list it over several pages',
      async () => all,
      (pages) => pages.length > 1,
    )
  await step('list an hour in which nothing came', () => list(now - 9 * HOUR_MS, now - 8 * HOUR_MS), isExactly([]))
  await step('list backwards', () => list(now, now - HOUR_MS), isRefused)
}

async function readNotifications({ adapter, bank, receiver, step }) {
  const paid = await paidCharge({ adapter, bank, step })
  const notification = () => receiver.notifications.find(({ body }) => body.includes(paid.endToEndId))
  await step('be notified of a Pix', () => until(async () => notification()), isDone)
  await step(
    'be notified of its refund',
    async () => {
      await adapter.refund({ endToEndId: paid.endToEndId, refundId: 'tudo', amountCents: 50_00 })
      return until(async () => {
        // The bank completes refunds only when it is called.
        await bank.stats()
        return receiver.notifications.some(({ body }) => body.includes('"status":"DEVOLVIDO"'))
      })
    },
    isDone,
  )
  const { headers = {}, body = '' } = notification() ?? {}
  const read = () => adapter.readNotification({ headers, body: Buffer.from(body) })
  const isTold = (hints) => hints.some?.((hint) => hint.endToEndId === paid.endToEndId && hint.txid === paid.txid)
  await step('read a notification', read, isTold)
}

/** The bank does the work and its answer is lost: the adapter looks up the outcome. */
async function loseAnswers({ adapter, bank, step }) {
  const lostOnce = async (operation, call) => {
    const before = (await bank.stats()).calls[operation]
    await bank.faults({ loseAnswerRate: 1 })
    const calling = outcomeOf(call)
    try {
      await until(async () => (await bank.stats()).calls[operation] > before)
    } finally {
      await bank.faults({})
    }
    return calling
  }
  const made = charge({})
  await step(
    'create, and lose the answer',
    () => lostOnce('PUT /cob/:txid', () => adapter.create(made)),
    is({ txid: made.txid }),
  )
  const canceled = () => lostOnce('PATCH /cob/:txid', () => adapter.cancel(made.txid))
  await step('cancel, and lose the answer', canceled, isExactly('withdrawn'))
  const { endToEndId } = await paidCharge({ adapter, bank, step })
  const refund = () => adapter.refund({ endToEndId, refundId: 'perdida', amountCents: 1_00 })
  await step(
    'refund, and lose the answer',
    () => lostOnce('PUT /pix/:e2eid/devolucao/:id', refund),
    is({ amountCents: 1_00 }),
  )
}

/** The bank forgets all tokens before each call. It refuses the call, and the adapter repeats it with a new token. */
async function withoutToken({ adapter, bank, step, connect }) {
  for (const { name, call, isWanted } of await oneOfEach({ adapter, bank, step })) {
    await bank.forgetTokens()
    await step(`${name} with a token that ended`, call, isWanted)
  }
  const stranger = connect({ clientId: '' })
  await step('ask for a token without a client id', () => stranger.check(txid()), isRefused)
}

async function whileDown({ adapter, bank, step }) {
  const calls = await oneOfEach({ adapter, bank, step })
  await bank.faults({ errorRate: 1, seed: 20 })
  for (const { name, call } of calls) await step(`${name} while the bank is down`, call, isUnknown)
  await bank.faults({})
}

async function oneOfEach({ adapter, bank, step }) {
  const { txid: paidTxid, endToEndId } = await paidCharge({ adapter, bank, step })
  const open = charge({})
  await step('create a charge', () => adapter.create(open), is({ status: 'active' }))
  const ask = { endToEndId, refundId: 'r1' }
  const list = async () => {
    for await (const page of adapter.listReceived({ from: bank.now(), to: new Date(bank.now().getTime() + 1) }))
      void page
  }
  return [
    { name: 'create', call: () => adapter.create(charge({})), isWanted: is({ status: 'active' }) },
    { name: 'check', call: () => adapter.check(paidTxid), isWanted: is({ status: 'paid' }) },
    { name: 'cancel', call: () => adapter.cancel(open.txid), isWanted: isExactly('withdrawn') },
    { name: 'find a payment', call: () => adapter.findPayment(endToEndId), isWanted: is({ amountCents: 50_00 }) },
    { name: 'list', call: list, isWanted: isDone },
    { name: 'refund', call: () => adapter.refund({ ...ask, amountCents: 1 }), isWanted: is({ amountCents: 1 }) },
    { name: 'ask for a refund', call: () => adapter.checkRefund(ask), isWanted: is({ amountCents: 1 }) },
    { name: 'register', call: () => adapter.registerNotifications('http://127.0.0.1:9/hook'), isWanted: isDone },
  ]
}

async function paidCharge({ adapter, bank, step }) {
  const made = charge({})
  await step('create a charge', () => adapter.create(made), is({ status: 'active' }))
  const [pix] = await bank.pay({ txid: made.txid, amountCents: 50_00, force: true })
  return { txid: made.txid, endToEndId: pix.endToEndId }
}

// ---- Parts ----

function adapterOptions(access) {
  return {
    name: 'bank',
    ...access,
    clientId: 'conformance',
    clientSecret: 'conformance',
    pixKey: PIX_KEY,
    callsPerSecond: 0,
    now: () => new Date(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    // Small, so that hangs end soon and lists have pages. The breaker must not open.
    timings: { writeTimeoutMs: 400, pageSize: 3, backoffBaseMs: 1, backoffCapMs: 5, breakerFailures: 10_000 },
  }
}

/** Counts the calls of the adapter. `skips` names a call to leave out, which the check must notice. */
function counted(adapter, used, skips) {
  const entries = Object.entries(adapter).filter(([, value]) => typeof value === 'function')
  return Object.fromEntries(
    entries.map(([name, call]) => {
      used.set(name, used.get(name) ?? 0)
      const count = (...args) => {
        used.set(name, used.get(name) + 1)
        return call(...args)
      }
      return [name, name === skips ? async () => 'left out' : count]
    }),
  )
}

const txid = () => randomBytes(16).toString('hex')

const charge = (given) => ({ txid: txid(), valueCents: 50_00, expiresInSeconds: 3600, description: null, ...given })

async function outcomeOf(call) {
  try {
    return await call()
  } catch (error) {
    return { error: error.outcome ?? String(error) }
  }
}

const is = (wanted) => (outcome) => includes(outcome, wanted)
const isExactly = (wanted) => (outcome) => JSON.stringify(outcome) === JSON.stringify(wanted)
const isDone = (outcome) => outcome?.error === undefined
const isRefused = (outcome) => outcome?.error === 'refused'
const isUnknown = (outcome) => outcome?.error === 'unknown'

function includes(value, wanted) {
  if (typeof wanted !== 'object' || wanted === null) return value === wanted
  if (Array.isArray(wanted) && wanted.length !== value?.length) return false
  return Object.entries(wanted).every(([key, below]) => includes(value?.[key], below))
}

async function until(isTrue) {
  const end = Date.now() + WAIT_MS
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`timed out after ${WAIT_MS} ms`)
    await sleep(20)
  }
}
