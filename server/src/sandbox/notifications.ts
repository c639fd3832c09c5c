import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { shuffle, type FaultPlan } from './faults.ts'
import type { Pix } from './book.ts'

export type Notifier = ReturnType<typeof startNotifier>

export type NotificationCounts = {
  sent: number
  delivered: number
  failed: number
  // Or owed to a key whose webhook is gone.
  dropped: number
  abandoned: number
  waiting: number
}

type NotifierOptions = {
  plan: () => FaultPlan
  urlFor: (chave: string) => string | undefined
  bodyFor: (pix: Pix) => unknown
  settled: (pix: Pix[]) => void
}

type Notice = { pix: Pix; tries: number; alone: boolean; extraCopy: boolean }

type Lane = { url: string; due: Notice[]; inFlight: number; pumping: boolean }

// `atMs`: by the notifier's own clock, which `advance` puts forward.
type Waiting = { atMs: number; work: () => void; timer?: NodeJS.Timeout }

type NotifierState = {
  options: NotifierOptions
  agent: Agent
  counts: NotificationCounts
  lanes: Map<string, Lane>
  waiting: Set<Waiting>
  skippedMs: number
  gathered: Notice[]
  stopped: boolean
}

const BODY_MAX_PIX = 100
const IN_FLIGHT_MAX = 4
const ANSWER_TIMEOUT_MS = 5_000
// 0.25 s, 0.5 s … 16 s: a receiver that restarts within half a minute misses nothing.
const TRIES_MAX = 8
const FIRST_WAIT_MS = 250
const WAIT_MAX_MS = 30_000
const GATHER_MS = 100

// Notifies the receiver of Pix. The journal records which notifications are owed, so a restart resumes them.
export function startNotifier(options: NotifierOptions) {
  const state: NotifierState = {
    options,
    agent: new Agent({ connections: IN_FLIGHT_MAX, connectTimeout: ANSWER_TIMEOUT_MS }),
    counts: { sent: 0, delivered: 0, failed: 0, dropped: 0, abandoned: 0, waiting: 0 },
    lanes: new Map(),
    waiting: new Set(),
    skippedMs: 0,
    gathered: [],
    stopped: false,
  }
  return {
    counts: state.counts,
    notify: (pix: Pix) => notify(state, pix),
    skip: (ms: number) => skip(state, ms),
    async stop() {
      state.stopped = true
      for (const { timer } of state.waiting) clearTimeout(timer)
      await state.agent.destroy()
    },
  }
}

// Faults apply to a notice once. Then it waits in the lane of its URL, is posted, and is finished or retried.
function notify(state: NotifierState, pix: Pix): void {
  const { faults, randomNotice } = state.options.plan()
  const notice: Notice = { pix, tries: 0, alone: false, extraCopy: false }
  const copies = Array.from({ length: faults.duplicateNotifications }, () => ({ ...notice, extraCopy: true }))
  const notices = [notice, ...copies]
  state.counts.waiting += notices.length
  if (randomNotice() < faults.dropNotifications) return finish(state, notices, 'dropped')
  const send = faults.reorderNotifications ? gather : enqueue
  for (const copy of notices) {
    if (faults.delayNotificationsMs > 0) later(state, faults.delayNotificationsMs, () => send(state, copy))
    else send(state, copy)
  }
}

function gather(state: NotifierState, notice: Notice): void {
  notice.alone = true
  state.gathered.push(notice)
  if (state.gathered.length > 1) return
  later(state, GATHER_MS, () => {
    const notices = shuffle(state.gathered, state.options.plan().randomNotice)
    state.gathered = []
    for (const held of notices) enqueue(state, held)
  })
}

function enqueue(state: NotifierState, notice: Notice): void {
  const url = state.options.urlFor(notice.pix.facts.chave)
  if (url === undefined) return finish(state, [notice], 'dropped')
  const lane = state.lanes.get(url) ?? { url, due: [], inFlight: 0, pumping: false }
  state.lanes.set(url, lane)
  lane.due.push(notice)
  if (lane.pumping) return
  lane.pumping = true
  setImmediate(() => {
    lane.pumping = false
    pump(state, lane)
  })
}

function pump(state: NotifierState, lane: Lane): void {
  if (state.stopped) return
  while (lane.inFlight < IN_FLIGHT_MAX && lane.due.length > 0) {
    const batch = takeBatch(lane)
    const bodies = batch.map(({ pix }) => state.options.bodyFor(pix))
    lane.inFlight += 1
    void post(state.agent, lane.url, bodies).then((accepted) => {
      lane.inFlight -= 1
      recordOutcome(state, batch, accepted)
      pump(state, lane)
    })
  }
  if (lane.inFlight === 0 && !lane.pumping) state.lanes.delete(lane.url)
}

function recordOutcome(state: NotifierState, batch: Notice[], accepted: boolean): void {
  state.counts.sent += batch.length
  if (accepted) return finish(state, batch, 'delivered')
  // It is still owed, and the next process resumes it.
  if (state.stopped) return
  state.counts.failed += batch.length
  for (const notice of batch) {
    notice.tries += 1
    if (notice.tries >= TRIES_MAX) finish(state, [notice], 'abandoned')
    else later(state, waitMs(notice.tries), () => enqueue(state, notice))
  }
}

function finish(state: NotifierState, notices: Notice[], how: 'delivered' | 'dropped' | 'abandoned'): void {
  state.counts[how] += notices.length
  state.counts.waiting -= notices.length
  const originals = notices.filter((notice) => !notice.extraCopy).map((notice) => notice.pix)
  if (originals.length > 0 && !state.stopped) state.options.settled(originals)
}

function later(state: NotifierState, ms: number, work: () => void): void {
  const waiting = { atMs: timeOf(state) + ms, work }
  state.waiting.add(waiting)
  arm(state, waiting)
}

const timeOf = ({ skippedMs }: NotifierState): number => performance.now() + skippedMs

function arm(state: NotifierState, waiting: Waiting): void {
  clearTimeout(waiting.timer)
  waiting.timer = setTimeout(() => runNow(state, waiting), waiting.atMs - timeOf(state)).unref()
}

function runNow(state: NotifierState, waiting: Waiting): void {
  clearTimeout(waiting.timer)
  if (state.waiting.delete(waiting)) waiting.work()
}

// Does what would happen in this time, one thing after the other: what fails is tried again within it.
async function skip(state: NotifierState, ms: number): Promise<void> {
  const endMs = timeOf(state) + ms
  const jumpTo = (atMs: number) => (state.skippedMs += Math.max(0, atMs - timeOf(state)))
  await allPosted(state)
  for (;;) {
    const [next] = [...state.waiting].toSorted((a, b) => a.atMs - b.atMs)
    if (!next || next.atMs > endMs) break
    jumpTo(next.atMs)
    runNow(state, next)
    await allPosted(state)
  }
  jumpTo(endMs)
  for (const waiting of state.waiting) arm(state, waiting)
}

async function allPosted(state: NotifierState): Promise<void> {
  const untilMs = performance.now() + ANSWER_TIMEOUT_MS
  while (state.lanes.size > 0 && !state.stopped && performance.now() < untilMs) await sleep(1)
}

// Two copies of one Pix never share a body, nor do notices marked `alone`.
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
