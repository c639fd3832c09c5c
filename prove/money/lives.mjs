// What the account holders and their payers do. A life is one deposit: it is asked for with an idempotency key until it is answered, then paid, or
// not, in one of many ways, and looked at meanwhile.

import { setTimeout as sleep } from 'node:timers/promises'

// A caller who has tried this long gives up. Some of these try again when the bank is well.
const OPEN_WITHIN_MS = 45_000
const INSIST_WITHIN_MS = 20_000
const RETRY_MS = 300
const MAX_VALUE_CENTS = 900_000_000_000
/** Answers that tell a caller to try again. 0: there was none. */
const AGAIN = new Set([0, 409, 502, 503])

const WAYS = {
  exact: { weight: 16, go: payExactly },
  // Nobody looks afterwards: the shop relies on being told.
  exactUnseen: { weight: 10, go: payExactly, looks: false },
  twice: { weight: 7, go: payTwice },
  tooMuch: { weight: 6, go: (w, life) => payAnother(w, life, life.random.int(1, 500)) },
  tooLittle: { weight: 6, go: (w, life) => payAnother(w, life, -life.random.int(1, life.valueCents - 1)) },
  littleThenExact: { weight: 6, go: payLittleThenExactly },
  stranger: { weight: 6, go: payStranger },
  cancel: { weight: 6, go: cancel },
  cancelThenPay: { weight: 8, go: cancelThenPay },
  cancelWhilePaying: { weight: 8, go: (w, life) => Promise.all([cancel(w, life), payExactly(w, life)]) },
  lie: { weight: 8, go: lieAboutIt },
  unpaid: { weight: 8, go: query },
  late: { weight: 7, go: async (w, life) => void w.paysLater.push(life) },
}

/** From the first request to the last look. */
export async function live(w, key) {
  const life = beginLife(w, key)
  if (!(await open(w, life))) return
  if (life.random.chance(0.3)) await query(w, life)
  const way = life.random.weighted(Object.fromEntries(Object.entries(WAYS).map(([name, { weight }]) => [name, weight])))
  w.ways.set(way, (w.ways.get(way) ?? 0) + 1)
  await WAYS[way].go(w, life)
  if (WAYS[way].looks === false) return
  for (let looks = life.random.int(0, 3); looks > 0; looks--) await query(w, life)
  if (life.random.chance(0.25)) await ask(w, life)
}

/** Asks until there is an answer. */
export async function open(w, life, withinMs = OPEN_WITHIN_MS) {
  const end = Date.now() + withinMs
  while (Date.now() < end) {
    // Two at once: a caller whose first request seems to hang sends it again.
    const copies = life.random.chance(0.25) ? 2 : 1
    await Promise.all(Array.from({ length: copies }, () => ask(w, life)))
    if (life.charge) return true
    await sleep(life.random.int(100, 1_000))
  }
  return false
}

export async function payLate(w, life) {
  await pay(w, life, { txid: life.charge.id, amountCents: life.valueCents, force: true })
}

function beginLife(w, key) {
  const random = w.random.stream(key)
  const valueCents = random.weighted({ small: 4, usual: 8, huge: 1 })
  const life = {
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
  w.lives.set(key, life)
  return life
}

async function ask(w, life) {
  const body = { value: life.valueCents, description: life.key }
  w.counts.asked += 1
  const { status, json } = await w.api(life.account, 'POST', '/api/deposit', { body, key: life.key })
  if (status !== 201) {
    if (!AGAIN.has(status)) w.note('answers', `${life.key}: asking was answered with ${status} ${JSON.stringify(json)}`)
    return
  }
  const { charge } = json
  const { feeCents } = w.priceOf(life.valueCents)
  if (charge.value !== life.valueCents || charge.originalValue !== life.valueCents || charge.fee !== feeCents) {
    w.note('answers', `${life.key}: asked for ${life.valueCents}, got ${charge.value} with a fee of ${charge.fee}`)
  }
  if (life.charge) w.counts.replayed += 1
  if (life.charge && (life.charge.id !== charge.id || life.charge.emv !== charge.emv)) {
    w.note('one-code', `${life.key} was answered with two codes: ${life.charge.id} and ${charge.id}`)
  }
  life.charge ??= charge
}

/** Again while there is no answer, or one that asks for it: a caller who means it does not stop at the first. */
async function insist(ask, isWorthRepeating) {
  const end = Date.now() + INSIST_WITHIN_MS
  for (;;) {
    const answer = await ask()
    if (!isWorthRepeating(answer.status) || Date.now() > end) return answer
    await sleep(RETRY_MS)
  }
}

/** A look at the deposit. What the bank has confirmed before it began must be in an answer that calls itself fresh. */
async function query(w, life) {
  const wasPaid = life.isPaid
  const look = () => w.api(life.account, 'GET', `/api/deposit/${life.charge.paymentLinkId}`)
  const { status, headers, json } = await insist(look, (status) => status === 0)
  if (AGAIN.has(status)) return
  if (status !== 200) return w.note('answers', `${life.key} was answered and is now ${status} ${JSON.stringify(json)}`)
  const isFresh = headers.get('guiche-provider-check') === 'fresh'
  w.counts[isFresh ? 'fresh' : 'stored'] += 1
  if (isFresh && wasPaid && json.charge.status !== 'COMPLETED') {
    w.note('fresh', `${life.key} was paid before a query that called itself fresh and answered ${json.charge.status}`)
  }
  see(w, life, json.charge.status)
}

/** Nothing is ever open again, and nothing that was paid is ever unpaid. */
function see(w, life, status) {
  const mayBe = { PENDING: ['PENDING', 'COMPLETED', 'CANCELED', 'EXPIRED'], COMPLETED: ['COMPLETED'] }
  const allowed = mayBe[life.seen] ?? [life.seen, 'COMPLETED']
  if (!allowed.includes(status)) w.note('fresh', `${life.key} was ${life.seen} and then ${status}`)
  life.seen = status
}

async function cancel(w, life) {
  life.cancels += 1
  const path = `/api/deposit/${life.charge.paymentLinkId}/cancel`
  const { status, json } = await insist(
    () => w.api(life.account, 'POST', path),
    (status) => status !== 409 && AGAIN.has(status),
  )
  if (status === 200) life.canceled = true
  else if (!AGAIN.has(status))
    w.note('answers', `${life.key}: canceling was answered with ${status} ${JSON.stringify(json)}`)
}

// ---- At the bank ----

async function pay(w, life, order) {
  const made = await w.bank.pay(order)
  if (made?.some((pix) => pix.txid === life.charge.id && pix.amountCents === life.valueCents)) life.isPaid = true
  return made !== undefined
}

async function payExactly(w, life) {
  const order = life.random.chance(0.5) ? { emv: life.charge.emv } : { txid: life.charge.id }
  // Refused when its time is over or it was withdrawn. Some banks let it through all the same.
  if (!(await pay(w, life, order))) await pay(w, life, { ...order, amountCents: life.valueCents, force: true })
}

async function payTwice(w, life) {
  const twice = { txid: life.charge.id, amountCents: life.valueCents, force: true }
  if (life.random.chance(0.5)) return pay(w, life, { ...twice, times: 2 })
  await Promise.all([pay(w, life, twice), pay(w, life, twice)])
}

async function payAnother(w, life, differenceCents) {
  await pay(w, life, { txid: life.charge.id, amountCents: life.valueCents + differenceCents })
}

async function payLittleThenExactly(w, life) {
  await payAnother(w, life, -1)
  if (life.random.chance(0.5)) await query(w, life)
  await pay(w, life, { txid: life.charge.id, amountCents: life.valueCents, force: true })
}

/** A txid that is nobody's. */
async function payStranger(w, life) {
  await w.bank.pay({ txid: life.random.hex(32), amountCents: life.random.int(1, 100_000) })
}

async function cancelThenPay(w, life) {
  await cancel(w, life)
  await pay(w, life, { txid: life.charge.id, amountCents: life.valueCents, force: true })
}

/** A notification that says what is not so: of a Pix that nobody made, or of another amount. Anybody who learns the address can send one. */
async function lieAboutIt(w, life) {
  const { random } = life
  const lie = (endToEndId) => ({
    endToEndId,
    txid: life.charge.id,
    chave: 'sandbox@guiche.example',
    valor: `${Math.floor(life.valueCents / 100)}.${String(life.valueCents % 100).padStart(2, '0')}`,
    horario: w.clock.now().toISOString(),
  })
  const pix = [lie(`E88888888202601010000${random.hex(11)}`)]
  if (random.chance(0.5)) {
    const made = await w.bank.pay({ txid: life.charge.id, amountCents: life.valueCents + 1 })
    pix.push(lie(made[0].endToEndId))
  }
  w.counts.lies += 1
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ pix }) }
  const tell = () =>
    fetch(w.notificationUrl, { ...post, signal: AbortSignal.timeout(5_000) }).catch(() => ({ status: 0 }))
  await insist(tell, (status) => status !== 200)
  if (random.chance(0.3)) await payExactly(w, life)
}
