// What account holders and payers do. A scenario is one deposit: requested under an idempotency key until it is
// answered, then paid or not in one of many ways, and queried meanwhile.

import { setTimeout as sleep } from 'node:timers/promises'

// A caller gives up after this long. Some try again when the bank is healthy.
const OPEN_WITHIN_MS = 45_000
const RETRY_WITHIN_MS = 20_000
const RETRY_MS = 300
const MAX_VALUE_CENTS = 900_000_000_000
/** Statuses that tell a caller to retry. 0: no answer. */
const RETRYABLE = new Set([0, 409, 502, 503])

const WAYS = {
  exact: { weight: 16, go: payExactly },
  // Never queried: the shop relies on its webhook.
  exactUnqueried: { weight: 10, go: payExactly, isQueried: false },
  twice: { weight: 7, go: payTwice },
  tooMuch: { weight: 6, go: (w, scenario) => payAnother(w, scenario, scenario.random.int(1, 500)) },
  tooLittle: {
    weight: 6,
    go: (w, scenario) => payAnother(w, scenario, -scenario.random.int(1, scenario.valueCents - 1)),
  },
  littleThenExact: { weight: 6, go: payLittleThenExactly },
  unknownTxid: { weight: 6, go: payUnknownTxid },
  cancel: { weight: 6, go: cancel },
  cancelThenPay: { weight: 8, go: cancelThenPay },
  cancelWhilePaying: { weight: 8, go: (w, scenario) => Promise.all([cancel(w, scenario), payExactly(w, scenario)]) },
  forge: { weight: 8, go: forgeNotification },
  unpaid: { weight: 8, go: query },
  late: { weight: 7, go: async (w, scenario) => void w.paysLater.push(scenario) },
}

export async function runScenario(w, key) {
  const scenario = makeScenario(w, key)
  if (!(await open(w, scenario))) return
  if (scenario.random.chance(0.3)) await query(w, scenario)
  const way = scenario.random.weighted(
    Object.fromEntries(Object.entries(WAYS).map(([name, { weight }]) => [name, weight])),
  )
  w.ways.set(way, (w.ways.get(way) ?? 0) + 1)
  await WAYS[way].go(w, scenario)
  if (WAYS[way].isQueried === false) return
  for (let queries = scenario.random.int(0, 3); queries > 0; queries--) await query(w, scenario)
  if (scenario.random.chance(0.25)) await request(w, scenario)
}

/** Requests the deposit until there is an answer. */
export async function open(w, scenario, withinMs = OPEN_WITHIN_MS) {
  const end = Date.now() + withinMs
  while (Date.now() < end) {
    // Two at once: a caller may repeat a request that seems to hang.
    const copies = scenario.random.chance(0.25) ? 2 : 1
    await Promise.all(Array.from({ length: copies }, () => request(w, scenario)))
    if (scenario.charge) return true
    await sleep(scenario.random.int(100, 1_000))
  }
  return false
}

/**
 * The bank makes a charge and its answer is lost. The second attempt does not reach the bank, so it made nothing, but
 * the first did. The third must find that charge.
 */
export async function loseFirstAttempt(w) {
  // A success closes the breaker first, so that it lets the second attempt through.
  await open(w, makeScenario(w, 'before-a-lost-attempt'))
  const scenario = makeScenario(w, 'lost-attempt')
  await w.bank.faults({ loseAnswerRate: 1 })
  await request(w, scenario)
  await w.bank.faults({ isUnreachable: true })
  await request(w, scenario)
  await w.bank.faults({})
  await open(w, scenario)
}

export async function payLate(w, scenario) {
  await pay(w, scenario, { txid: scenario.charge.id, amountCents: scenario.valueCents, force: true })
}

function makeScenario(w, key) {
  const random = w.random.stream(key)
  const valueCents = random.weighted({ small: 4, usual: 8, huge: 1 })
  const scenario = {
    key,
    random,
    account: random.pick(w.accounts),
    valueCents: {
      small: random.int(10, 999),
      usual: random.int(1_000, 500_000),
      huge: random.int(1_000_000_000, MAX_VALUE_CENTS),
    }[valueCents],
    charge: undefined,
    seen: 'PENDING',
    isPaid: false,
    cancels: 0,
    canceled: false,
  }
  w.scenarios.set(key, scenario)
  return scenario
}

async function request(w, scenario) {
  const body = { value: scenario.valueCents, description: scenario.key }
  w.counts.requests += 1
  const { status, json } = await w.api(scenario.account, 'POST', '/api/deposit', { body, key: scenario.key })
  if (status !== 201) {
    if (!RETRYABLE.has(status))
      w.note('answers', `${scenario.key}: the request was answered with ${status} ${JSON.stringify(json)}`)
    return
  }
  const { charge } = json
  const { feeCents } = w.priceOf(scenario.valueCents)
  if (charge.value !== scenario.valueCents || charge.originalValue !== scenario.valueCents || charge.fee !== feeCents) {
    w.note(
      'answers',
      `${scenario.key}: requested ${scenario.valueCents}, got ${charge.value} with a fee of ${charge.fee}`,
    )
  }
  if (scenario.charge) w.counts.replayed += 1
  if (scenario.charge && (scenario.charge.id !== charge.id || scenario.charge.emv !== charge.emv)) {
    w.note('one-code', `${scenario.key} was answered with two codes: ${scenario.charge.id} and ${charge.id}`)
  }
  scenario.charge ??= charge
}

/** Repeats a call until its status is final or time is up. */
async function retry(call, isRetried) {
  const end = Date.now() + RETRY_WITHIN_MS
  for (;;) {
    const answer = await call()
    if (!isRetried(answer.status) || Date.now() > end) return answer
    await sleep(RETRY_MS)
  }
}

/** A fresh answer must show what the bank confirmed before the query began. */
async function query(w, scenario) {
  const wasPaid = scenario.isPaid
  const call = () => w.api(scenario.account, 'GET', `/api/deposit/${scenario.charge.paymentLinkId}`)
  const { status, headers, json } = await retry(call, (status) => status === 0)
  if (RETRYABLE.has(status)) return
  if (status !== 200) return w.note('answers', `${scenario.key} existed and is now ${status} ${JSON.stringify(json)}`)
  const isFresh = headers.get('guiche-provider-check') === 'fresh'
  w.counts[isFresh ? 'fresh' : 'stored'] += 1
  if (isFresh && wasPaid && json.charge.status !== 'COMPLETED') {
    w.note('fresh', `${scenario.key} was paid before a fresh query that answered ${json.charge.status}`)
  }
  recordStatus(w, scenario, json.charge.status)
}

/** No deposit ever reopens, and no paid deposit becomes unpaid. */
function recordStatus(w, scenario, status) {
  const NEXT = { PENDING: ['PENDING', 'COMPLETED', 'CANCELED', 'EXPIRED'], COMPLETED: ['COMPLETED'] }
  const allowed = NEXT[scenario.seen] ?? [scenario.seen, 'COMPLETED']
  if (!allowed.includes(status)) w.note('fresh', `${scenario.key} was ${scenario.seen} and then ${status}`)
  scenario.seen = status
}

async function cancel(w, scenario) {
  scenario.cancels += 1
  const path = `/api/deposit/${scenario.charge.paymentLinkId}/cancel`
  const { status, json } = await retry(
    () => w.api(scenario.account, 'POST', path),
    (status) => status !== 409 && RETRYABLE.has(status),
  )
  if (status === 200) scenario.canceled = true
  else if (!RETRYABLE.has(status))
    w.note('answers', `${scenario.key}: the cancellation was answered with ${status} ${JSON.stringify(json)}`)
}

// ---- At the bank ----

async function pay(w, scenario, order) {
  const made = await w.bank.pay(order)
  if (made?.some((pix) => pix.txid === scenario.charge.id && pix.amountCents === scenario.valueCents))
    scenario.isPaid = true
  return made !== undefined
}

async function payExactly(w, scenario) {
  const order = scenario.random.chance(0.5) ? { emv: scenario.charge.emv } : { txid: scenario.charge.id }
  // The bank refuses it if the charge has expired or was withdrawn. Some banks accept it anyway.
  if (!(await pay(w, scenario, order)))
    await pay(w, scenario, { ...order, amountCents: scenario.valueCents, force: true })
}

async function payTwice(w, scenario) {
  const twice = { txid: scenario.charge.id, amountCents: scenario.valueCents, force: true }
  if (scenario.random.chance(0.5)) return pay(w, scenario, { ...twice, times: 2 })
  await Promise.all([pay(w, scenario, twice), pay(w, scenario, twice)])
}

async function payAnother(w, scenario, differenceCents) {
  await pay(w, scenario, { txid: scenario.charge.id, amountCents: scenario.valueCents + differenceCents })
}

async function payLittleThenExactly(w, scenario) {
  await payAnother(w, scenario, -1)
  if (scenario.random.chance(0.5)) await query(w, scenario)
  await pay(w, scenario, { txid: scenario.charge.id, amountCents: scenario.valueCents, force: true })
}

async function payUnknownTxid(w, scenario) {
  await w.bank.pay({ txid: scenario.random.hex(32), amountCents: scenario.random.int(1, 100_000) })
}

async function cancelThenPay(w, scenario) {
  await cancel(w, scenario)
  await pay(w, scenario, { txid: scenario.charge.id, amountCents: scenario.valueCents, force: true })
}

/** Sends a false notification: of a Pix that was never made, or with another amount. Anybody who knows the URL can. */
async function forgeNotification(w, scenario) {
  const { random } = scenario
  const falsePix = (endToEndId) => ({
    endToEndId,
    txid: scenario.charge.id,
    chave: 'sandbox@guiche.example',
    valor: `${Math.floor(scenario.valueCents / 100)}.${String(scenario.valueCents % 100).padStart(2, '0')}`,
    horario: w.clock.now().toISOString(),
  })
  const pix = [falsePix(`E88888888202601010000${random.hex(11)}`)]
  if (random.chance(0.5)) {
    const made = await w.bank.pay({ txid: scenario.charge.id, amountCents: scenario.valueCents + 1 })
    pix.push(falsePix(made[0].endToEndId))
  }
  w.counts.forged += 1
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ pix }) }
  const send = () =>
    fetch(w.notificationUrl, { ...post, signal: AbortSignal.timeout(5_000) }).catch(() => ({ status: 0 }))
  await retry(send, (status) => status !== 200)
  if (random.chance(0.3)) await payExactly(w, scenario)
}
