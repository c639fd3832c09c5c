import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { GuicheError, makeGuiche, verify, type GuicheEvent } from '#sdk'
import { query } from '../../src/db/tx.ts'
import { EVENT_KINDS, type EventKind } from '../../src/domain/webhooks/event-kinds.ts'
import { makeSigningSecret } from '../../src/domain/webhooks/signature.ts'
import { CHARGE_SECRET } from '../databases.ts'
import { makeOperator } from '../operators-client.ts'
import { CLI, startChild, startServer, temporaryHome } from '../process.ts'
import { startReceiver, type Received } from '../receiver.ts'
import { bearer } from '../requests.ts'
import { until, world, type World } from '../world.ts'

// What happens to one account is followed in all five ways: by the list, the stream, a webhook, `guiche listen` and the
// client's `events.consume`. The service runs in a process of its own, and the bank in this one.

const SHIFTED = fileURLToPath(new URL('../shifted-clock.mjs', import.meta.url))
/** A deposit expires after an hour, and a webhook that fails is disabled after five days. */
const AHEAD_MS = 6 * 24 * 3_600_000
const BANK_REFUNDS_AFTER_MS = 200
/** Objects put the keys that are numbers first, and texts need escapes. */
const METADATA = { 'z.last': 'é "7"\n✓ 🙂', '10': 'ten', '2': '","position":1}' }

type Told = { position: number; body: string }
type Charge = { id: string; emv: string; paymentLinkId: string }
type Shop = Awaited<ReturnType<typeof openShop>>
type Followers = Awaited<ReturnType<typeof startFollowers>>

test('a held payment, its release, an expiry, an undone refund and a disabled webhook are followed in five ways: the same bytes in the same order, each once, also over kill -9', async () => {
  const shop = await openShop()
  const early = await startFollowers(shop, { failsAt: 'DEPOSIT_HELD' })
  const broken = await startReceiver((_, response) => void response.writeHead(500).end())
  const { id: brokenId } = (await shop.ask('/api/webhooks', { url: broken.url, events: EVENT_KINDS })).webhook
  const heldAt = await liveUntilKilled(shop, early)
  const program = early.consume.run()
  await liveLater(shop)
  const late = await startFollowers(shop)
  await shop.ask('/api/events/resend', { since: shop.beganAt.toISOString(), webhookId: late.webhook.id })

  const history = await readHistory(shop.w)
  await untilAllKnow(shop, [early, late], history)
  for (const { listen } of [early, late])
    expect(await listen.stop()).toContain(`--from ${shop.historyId}.${history.length}\n`)
  shop.stop()
  await Promise.all([program, late.program])

  judgeKinds(history)
  const disabled = history.map(({ body }) => parse(body)).filter(({ event }) => event === 'WEBHOOK_DISABLED')
  expect(disabled).toMatchObject([{ data: { webhookId: brokenId } }])
  for (const followers of [early, late]) judgeFollowers(followers, history)
  // What a program had handled and not stored when it died is handled again, as what a receiver refused is posted
  // again. Nothing else is.
  const again = [...history.slice(0, heldAt), ...history.slice(heldAt - 1)]
  expect(early.consume.handled).toEqual(again)
  expect(early.listen.posted.map(({ body }) => body)).toEqual(again.map(({ body }) => body))
  expect(late.consume.handled).toEqual(history)
  expect(late.listen.posted).toHaveLength(history.length)
})

/** Until the process dies in the middle of giving a position: the webhook knows the change, and no other follower. */
async function liveUntilKilled(shop: Shop, { list, stream, listen, consume, webhook, program }: Followers) {
  const { w, service } = shop
  const [held, , paid] = [await deposit(shop, 'held'), await deposit(shop, 'unpaid'), await deposit(shop, 'paid')]
  await w.sandbox.pay({ emv: held.emv, amountCents: 40_00 })
  const heldAt = await positionOf(w, 'DEPOSIT_HELD')
  await program
  const toldInOrder = [list, stream, listen.accepted, consume.handled]
  await until('all know of the held payment', async () => {
    shop.requireNoFailure()
    return toldInOrder.every(({ length }) => length === heldAt)
  })
  await until('the other webhook fails', async () => (await w.count('webhooks', 'failing_since is not null')) === 1)

  const letGo = await blockPositions(w)
  await w.sandbox.pay({ emv: paid.emv })
  await webhook.got('DEPOSIT_ASSET_SUCCESS')
  await until('that is recorded', async () => (await w.count('deliveries', `webhook_id = '${webhook.id}'`)) === 0)
  await w.lockWait()
  expect(await service.end('SIGKILL')).toBe('SIGKILL')
  await letGo()
  for (const told of toldInOrder) expect(told).toHaveLength(heldAt)
  return heldAt
}

/** Days later, what was not paid expires, and the webhook that fails is disabled. */
async function liveLater(shop: Shop): Promise<void> {
  const { w } = shop
  await shop.startLater()
  await until('two expire', async () => (await w.count('events', `kind = 'DEPOSIT_EXPIRED'`)) === 2)
  await positionOf(w, 'WEBHOOK_DISABLED')
  await release(shop)
  await undoneRefund(shop, await deposit(shop, 'refunded'))
}

/** Each of the three webhooks is tested once, and gets no test of another one. */
const TESTS_OF_OTHERS = 2

async function untilAllKnow({ w, requireNoFailure }: Shop, all: Followers[], { length }: Told[]): Promise<void> {
  await until('all know all', async () => {
    requireNoFailure()
    return all.every(
      ({ list, stream, listen, consume, webhook }) =>
        [list, stream, listen.accepted, consume.done].every((told) => told.length >= length) &&
        webhook.received.length >= length - TESTS_OF_OTHERS,
    )
  })
  await until('nothing waits for a webhook', async () => (await w.count('deliveries')) === 0)
}

function judgeKinds(history: Told[]): void {
  const kinds = history.map(({ body }) => kindOf(body))
  expect(kinds.slice(0, 4)).toEqual(['WEBHOOK_TEST', 'WEBHOOK_TEST', 'DEPOSIT_HELD', 'DEPOSIT_ASSET_SUCCESS'])
  // These happen at once.
  expect(kinds.slice(4, 7).toSorted()).toEqual(['DEPOSIT_EXPIRED', 'DEPOSIT_EXPIRED', 'WEBHOOK_DISABLED'])
  const refunded = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED', 'REFUND_FAILED']
  expect(kinds.slice(7)).toEqual(['DEPOSIT_RELEASED', ...refunded, 'WEBHOOK_TEST'])
  expect(history.map(({ position }) => position)).toEqual(kinds.map((_, place) => place + 1))
  const aboutDeposits = history.map(({ body }) => parse(body)).filter(({ event }) => /^(DEPOSIT|REFUND)_/.test(event))
  for (const { data } of aboutDeposits)
    expect([data['externalId'], JSON.stringify(data['metadata'])]).toEqual([
      expect.any(String),
      JSON.stringify(METADATA),
    ])
}

function judgeFollowers({ list, stream, listen, consume, webhook }: Followers, history: Told[]): void {
  for (const told of [list, stream, listen.accepted, consume.done]) expect(told).toEqual(history)
  const posted = webhook.received.map(({ body }) => body)
  const own = posted.filter((body) => kindOf(body) === 'WEBHOOK_TEST')
  expect(own).toHaveLength(1)
  const wanted = history.map(({ body }) => body).filter((body) => kindOf(body) !== 'WEBHOOK_TEST' || body === own[0])
  expect(posted.toSorted()).toEqual(wanted.toSorted())
  for (const each of [webhook, listen]) each.requireSignatures()
}

// ---- The service, its account and its clock ----

async function openShop() {
  const w = await world({ at: new Date(), isDirect: true })
  const [account, operator] = [await w.account(), await makeOperator(w)]
  const beganAt = w.clock.now()
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    GUICHE_HOME: temporaryHome(),
    SECRET_KEY: CHARGE_SECRET,
    PORT: String(await freePort()),
    REFUNDS_BY_ACCOUNTS: 'true',
    RECONCILE_SECONDS: '1',
  }
  const stopping = new AbortController()
  const failures: unknown[] = []
  const service = await startServer(env)
  const { url } = service
  // oxlint-disable-next-line typescript/no-explicit-any -- each caller knows what it asked for
  const ask = async (path: string, body?: object, key = account.key): Promise<any> => {
    const headers = { ...bearer(key), ...(body && { 'content-type': 'application/json' }) }
    const answer = await fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
    const text = await answer.text()
    expect([path, answer.ok, text]).toEqual([path, true, expect.any(String)])
    return JSON.parse(text)
  }
  onTestFinished(() => stopping.abort())
  return {
    w,
    url,
    service,
    account,
    beganAt,
    ask,
    asOperator: (path: string, body?: object) => ask(path, body, operator.key),
    historyId: (await ask('/api/events?after=0')).historyId as string,
    signal: stopping.signal,
    failed: (error: unknown) => void (stopping.signal.aborted || failures.push(error)),
    requireNoFailure: () => {
      if (failures.length > 0) throw failures[0]
    },
    stop: () => stopping.abort(),
    /** Sets the clocks of the bank, of the database and of the service ahead, and starts the service again. */
    async startLater() {
      w.clock.advance(AHEAD_MS)
      await setDatabaseAhead(w)
      await startServer({ ...env, NODE_OPTIONS: `--import ${SHIFTED}`, SHIFT_MS: String(AHEAD_MS) })
    },
  }
}

/** For new connections. The service reads the time of the database, and does not start while its own is another. */
async function setDatabaseAhead({ pool }: World): Promise<void> {
  const [row] = await query<{ name: string }>(pool, 'select quote_ident(current_database()) as name')
  await pool.query(`
    create schema later;
    create function later.clock_timestamp() returns timestamptz language sql volatile
      as $$ select pg_catalog.clock_timestamp() + interval '${AHEAD_MS} milliseconds' $$;
    alter database ${row!.name} set search_path = public, later, pg_catalog`)
}

/** Whoever gives positions waits until what this returns is called. */
async function blockPositions({ pool }: World): Promise<() => Promise<void>> {
  const client = await pool.connect()
  await client.query(
    'begin; set local idle_in_transaction_session_timeout = 0; lock table history_runs in exclusive mode',
  )
  return async () => {
    await client.query('rollback')
    client.release()
  }
}

/** Waits until an event of this kind has its position. */
async function positionOf(w: World, kind: EventKind): Promise<number> {
  const sql = 'select h.position from history h join events e on e.id = h.event_id where e.kind = $1'
  return until(`${kind} has a position`, async () => {
    const [row] = await query<{ position: number }>(w.pool, sql, [kind])
    return row?.position
  })
}

/** What is in the database, when all that was told has its position. */
async function readHistory(w: World): Promise<Told[]> {
  await until('all events have positions', async () => (await w.count('unnumbered')) === 0)
  const sql = 'select h.position, e.body from history h join events e on e.id = h.event_id order by h.position'
  return query<Told>(w.pool, sql)
}

function parse(body: string) {
  return JSON.parse(body) as { event: EventKind | 'WEBHOOK_TEST'; data: Record<string, unknown> }
}

function kindOf(body: string) {
  return parse(body).event
}

// ---- What happens ----

async function deposit({ ask }: Shop, externalId: string): Promise<Charge> {
  return (await ask('/api/deposit', { value: 50_00, metadata: METADATA, externalId })).charge
}

async function release({ w, account, asOperator }: Shop): Promise<void> {
  const { exceptions } = await asOperator('/api/operator/exceptions?state=open')
  expect(exceptions).toMatchObject([{ kind: 'wrong_amount' }])
  const decision = { how: 'credit', accountId: account.accountId, reason: 'the shop takes it' }
  await asOperator(`/api/operator/exceptions/${exceptions[0].id}/resolve`, decision)
  await positionOf(w, 'DEPOSIT_RELEASED')
}

async function undoneRefund({ w, ask }: Shop, { emv, paymentLinkId }: Charge): Promise<void> {
  await w.sandbox.pay({ emv })
  await until('it is paid', async () => (await w.count('events', `kind = 'DEPOSIT_ASSET_SUCCESS'`)) === 2)
  await ask(`/api/deposit/${paymentLinkId}/refund`, { value: 10_00 })
  w.clock.advance(BANK_REFUNDS_AFTER_MS)
  await positionOf(w, 'DEPOSIT_REFUNDED')
  await w.sandbox.faults({ refundsFailed: true })
  await positionOf(w, 'REFUND_FAILED')
}

// ---- Followers ----

/** One of each way. At `failsAt` the program of `consume` dies, and the receiver of `listen` refuses once. */
async function startFollowers(shop: Shop, { failsAt }: { failsAt?: EventKind } = {}) {
  const webhook = await addWebhook(shop)
  const listen = await startListen(shop, failsAt)
  const consume = makeConsumer(shop)
  return { list: followList(shop), stream: followStream(shop), listen, consume, webhook, program: consume.run(failsAt) }
}

/** Reads pages. Like the stream below, it goes on after its last position when the service is back. */
function followList(shop: Shop): Told[] {
  const told: Told[] = []
  void keepOn(shop, async () => {
    const after = String(told.at(-1)?.position ?? 0)
    const answer = await open(shop, `/api/events?after=${after}&limit=2&wait=20`)
    told.push(...eventsIn(await answer.text()))
  })
  return told
}

function followStream(shop: Shop): Told[] {
  const told: Told[] = []
  let lastId = '0'
  void keepOn(shop, async () => {
    const answer = await open(shop, '/api/events/stream', { 'last-event-id': lastId })
    let rest = ''
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + piece).split('\n\n')
      rest = frames.pop()!
      for (const frame of frames) {
        const [, id, body] = /^id: (.*)\ndata: (.*)$/m.exec(frame) ?? []
        if (!id || !body) continue
        lastId = id
        told.push({ position: Number(id.split('.')[1]), body })
      }
    }
  })
  return told
}

/** Repeats the work until the test is over. A service that is away is asked again; another failure ends the test. */
async function keepOn({ signal, failed }: Shop, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      // As fetch() calls what the network does to it.
      if (!(error instanceof TypeError)) return failed(error)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

async function open({ url, account, signal }: Shop, path: string, headers: object = {}): Promise<Response> {
  const answer = await fetch(url + path, { headers: { ...bearer(account.key), ...headers }, signal })
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
  return answer
}

/** The exact texts of the events in a page: each is cut where its position begins. */
function eventsIn(page: string): Told[] {
  const { events } = JSON.parse(page) as { events: { position: number }[] }
  let from = page.indexOf('[') + 1
  return events.map(({ position }) => {
    const mark = `,"position":${position}}`
    const end = page.indexOf(mark, from)
    const body = `${page.slice(from, end)}}`
    from = end + mark.length + 1
    return { position, body }
  })
}

/**
 * A program that stores its place, whose process may die. `handled` is what all its processes were given, and `done`
 * what they did: an event is done if the one before it was.
 */
function makeConsumer({ url, account, signal, failed }: Shop) {
  const [handled, done]: [Told[], Told[]] = [[], []]
  let stored: string | undefined
  const run = async (diesAfter?: EventKind): Promise<void> => {
    const death = new Error('it died')
    const work = (event: GuicheEvent, { position }: { position: number }) => {
      const told = { position, body: JSON.stringify(event) }
      handled.push(told)
      if (position === done.length + 1) done.push(told)
    }
    const save = (cursor: string) => {
      if (diesAfter && kindOf(handled.at(-1)!.body) === diesAfter) throw death
      stored = cursor
    }
    const onError = (error: unknown) => {
      if (!(error instanceof GuicheError && error.code === 'network')) throw error
    }
    const { events } = makeGuiche({ url, key: account.key, retryForMs: 0 })
    await events.consume(work, { load: () => stored, save, onError, signal }).catch((error: unknown) => {
      if (error !== death) failed(error)
    })
  }
  return { handled, done, run }
}

/** `posted` is all that `guiche listen` sent, `accepted` what was answered with 200, with positions as it came. */
async function startListen({ url, account }: Shop, refusesOnce?: EventKind) {
  const secret = makeSigningSecret()
  const accepted: Told[] = []
  let hasRefused = false
  const receiver = await startSignedReceiver({ secret: () => secret, now: () => new Date() }, ({ body }) => {
    if (!hasRefused && kindOf(body) === refusesOnce) {
      hasRefused = true
      return 503
    }
    accepted.push({ position: accepted.length + 1, body })
    return 200
  })
  const args = ['listen', '--forward-to', receiver.url, '--from', 'beginning', '--secret', secret]
  const child = startChild(process.execPath, [CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], GUICHE_URL: url, GUICHE_KEY: account.key },
  })
  let output = ''
  for (const from of [child.stdout, child.stderr]) from.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const stop = async () => {
    await until('the last is printed', async () => output.includes(`#${accepted.length} `))
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([0, null])
    return output
  }
  return { posted: receiver.received, accepted, requireSignatures: receiver.requireSignatures, stop }
}

/** A webhook that wants all kinds. */
async function addWebhook({ w, ask }: Shop) {
  let secret = ''
  const receiver = await startSignedReceiver({ secret: () => secret, now: w.clock.now }, () => 200)
  const made = await ask('/api/webhooks', { url: receiver.url, events: EVENT_KINDS })
  secret = made.secret
  const got = (kind: EventKind) =>
    until(`${kind} arrives`, async () => receiver.received.some(({ body }) => kindOf(body) === kind))
  return { ...receiver, id: made.webhook.id as string, got }
}

/** Notes when each post came, because a webhook is first tested, and its secret is known after that. */
async function startSignedReceiver(
  { secret, now }: { secret: () => string; now: () => Date },
  answer: (received: Received) => number,
) {
  const times: Date[] = []
  const { url, received } = await startReceiver((one, response) => {
    times.push(now())
    response.writeHead(answer(one)).end()
  })
  const requireSignatures = () => {
    for (const [index, { id, body, headers }] of received.entries()) {
      const event = verify(body, headers, secret(), { now: () => times[index]! })
      expect([event, event.id]).toEqual([JSON.parse(body), id])
    }
  }
  return { url, received, requireSignatures }
}
