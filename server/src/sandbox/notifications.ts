import { Agent, request } from 'undici'
import type { FaultPlan } from './faults.ts'
import { shuffle } from './faults.ts'
import type { Pix } from './book.ts'

// Tells the receiver about Pix, at the URL that it registered for its key. Nothing ever waits for a notification, and
// one that fails only delays itself. The journal knows which are owed, so a restart resumes them.
export type Notifier = {
  notify(pix: Pix): void
  counts: NotificationCounts
  stop(): Promise<void>
}

export type NotificationCounts = {
  // Copies handed to the network, repeats included; each ends as delivered or failed.
  sent: number
  delivered: number
  failed: number
  // Lost on purpose, or owed to a key whose webhook is gone.
  dropped: number
  // Not delivered after the last try.
  abandoned: number
  waiting: number
}

type NotifierOptions = {
  plan: () => FaultPlan
  urlFor: (chave: string) => string | undefined
  bodyFor: (pix: Pix) => unknown
  // Called once for each Pix when nothing more will be sent about it.
  settled: (pix: Pix[]) => void
}

type Notice = { pix: Pix; tries: number; alone: boolean; extraCopy: boolean }

type Lane = { url: string; due: Notice[]; inFlight: number; pumping: boolean }

type Desk = {
  options: NotifierOptions
  agent: Agent
  counts: NotificationCounts
  lanes: Map<string, Lane>
  timers: Set<NodeJS.Timeout>
  // Notices held for a moment to be sent in another order.
  gathered: Notice[]
  stopped: boolean
}

const BODY_MAX_PIX = 100
// Enough that one slow answer does not hold up a busy receiver, few enough that bodies fill up under load.
const IN_FLIGHT_MAX = 4
const ANSWER_TIMEOUT_MS = 5_000
// 0.25 s, 0.5 s … 16 s: a receiver that restarts within half a minute misses nothing, and one that is gone for longer
// must reconcile, as with a real bank.
const TRIES_MAX = 8
const FIRST_WAIT_MS = 250
const WAIT_MAX_MS = 30_000
const GATHER_MS = 100

export function startNotifier(options: NotifierOptions): Notifier {
  const desk: Desk = {
    options,
    agent: new Agent({ connections: IN_FLIGHT_MAX, connectTimeout: ANSWER_TIMEOUT_MS }),
    counts: { sent: 0, delivered: 0, failed: 0, dropped: 0, abandoned: 0, waiting: 0 },
    lanes: new Map(),
    timers: new Set(),
    gathered: [],
    stopped: false,
  }
  return {
    counts: desk.counts,
    notify: (pix) => notify(desk, pix),
    async stop() {
      desk.stopped = true
      for (const timer of desk.timers) clearTimeout(timer)
      await desk.agent.destroy()
    },
  }
}

// The life of a notice: it meets the fault plan once, waits on the lane of its URL, is posted, and is finished or comes
// back after a while.
function notify(desk: Desk, pix: Pix): void {
  const { faults, drawNotice } = desk.options.plan()
  const notice: Notice = { pix, tries: 0, alone: false, extraCopy: false }
  const copies = Array.from({ length: faults.duplicateNotifications }, () => ({ ...notice, extraCopy: true }))
  const notices = [notice, ...copies]
  desk.counts.waiting += notices.length
  if (drawNotice() < faults.dropNotifications) return finish(desk, notices, 'dropped')
  const send = faults.reorderNotifications ? gather : enqueue
  for (const each of notices) {
    if (faults.delayNotificationsMs > 0) later(desk, faults.delayNotificationsMs, () => send(desk, each))
    else send(desk, each)
  }
}

function gather(desk: Desk, notice: Notice): void {
  notice.alone = true
  desk.gathered.push(notice)
  if (desk.gathered.length > 1) return
  later(desk, GATHER_MS, () => {
    const notices = shuffle(desk.gathered, desk.options.plan().drawNotice)
    desk.gathered = []
    for (const held of notices) enqueue(desk, held)
  })
}

function enqueue(desk: Desk, notice: Notice): void {
  const url = desk.options.urlFor(notice.pix.facts.chave)
  if (url === undefined) return finish(desk, [notice], 'dropped')
  const lane = desk.lanes.get(url) ?? { url, due: [], inFlight: 0, pumping: false }
  desk.lanes.set(url, lane)
  lane.due.push(notice)
  if (lane.pumping) return
  // What else becomes due in this turn of the event loop goes into the same body.
  lane.pumping = true
  setImmediate(() => {
    lane.pumping = false
    pump(desk, lane)
  })
}

function pump(desk: Desk, lane: Lane): void {
  if (desk.stopped) return
  while (lane.inFlight < IN_FLIGHT_MAX && lane.due.length > 0) {
    const batch = takeBatch(lane)
    const bodies = batch.map(({ pix }) => desk.options.bodyFor(pix))
    lane.inFlight += 1
    void post(desk.agent, lane.url, bodies).then((accepted) => {
      lane.inFlight -= 1
      noteOutcome(desk, batch, accepted)
      pump(desk, lane)
    })
  }
  if (lane.inFlight === 0 && !lane.pumping) desk.lanes.delete(lane.url)
}

function noteOutcome(desk: Desk, batch: Notice[], accepted: boolean): void {
  desk.counts.sent += batch.length
  if (accepted) return finish(desk, batch, 'delivered')
  // A stop cuts off what is in flight: still owed, and resumed by the next process.
  if (desk.stopped) return
  desk.counts.failed += batch.length
  for (const notice of batch) {
    notice.tries += 1
    if (notice.tries >= TRIES_MAX) finish(desk, [notice], 'abandoned')
    else later(desk, waitMs(notice.tries), () => enqueue(desk, notice))
  }
}

function finish(desk: Desk, notices: Notice[], how: 'delivered' | 'dropped' | 'abandoned'): void {
  desk.counts[how] += notices.length
  desk.counts.waiting -= notices.length
  const originals = notices.filter((notice) => !notice.extraCopy).map((notice) => notice.pix)
  if (originals.length > 0 && !desk.stopped) desk.options.settled(originals)
}

function later(desk: Desk, ms: number, work: () => void): void {
  const timer = setTimeout(() => {
    desk.timers.delete(timer)
    work()
  }, ms).unref()
  desk.timers.add(timer)
}

// Payments that wait for the same URL share a body. A copy of a Pix never shares one with another copy of it, or with
// anything that asked to go alone.
function takeBatch(lane: Lane): Notice[] {
  const seen = new Set<Pix>()
  for (const notice of lane.due) {
    const fits = seen.size === 0 || (!notice.alone && !seen.has(notice.pix))
    if (!fits || seen.size === BODY_MAX_PIX) break
    seen.add(notice.pix)
    if (notice.alone) break
  }
  return lane.due.splice(0, seen.size)
}

async function post(agent: Agent, url: string, pix: unknown[]): Promise<boolean> {
  try {
    const answer = await request(url, {
      method: 'POST',
      dispatcher: agent,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ pix }),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    await answer.body.dump()
    return answer.statusCode >= 200 && answer.statusCode < 300
  } catch {
    return false
  }
}

const waitMs = (tries: number): number => Math.min(WAIT_MAX_MS, FIRST_WAIT_MS * 2 ** (tries - 1))
