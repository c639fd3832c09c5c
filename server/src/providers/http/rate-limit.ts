import { makeOwnBuckets, type SharedBucket } from '../../base/shared-buckets.ts'
import type { Rate } from '../../base/token-bucket.ts'

/**
 * Keeps within the rate that a provider allows, and shares it. Calls without capacity wait. Accounts take turns, so a
 * flood of one account delays only its own calls. A call that cannot have a turn before its deadline is refused at
 * once.
 */
export type RateLimit = {
  acquire(call: RateLimitCall): Promise<boolean>
  /** False when acquire() would refuse the call at once. */
  hasRoom(call: RateLimitCall): boolean
  /** Refuses all that wait. */
  close(): void
}

export type RateLimitCall = {
  priority: Priority
  /** Who takes turns within a priority: an account, or in the background an operation. */
  sharer: string
  remainingMs: number
}

/** write: a caller waits for a change. read: a caller waits for an answer. background: nobody waits. */
export type Priority = 'write' | 'read' | 'background'

// Writes come first: a payer waits for the code, and a query can be answered from the database. The others get at least
// every fourth turn each, which keeps settlement, refunds and sweeps going and leaves half of the rate to writes.
const PRIORITIES: Priority[] = ['write', 'read', 'background']
const GUARANTEED_EVERY = 4
// This share of the bucket is for sharers without a recent turn. Without it, every call of a quiet account would wait
// for the next token while another account floods.
const RESERVED_SHARE = 0.2
// A sharer is quiet after this many turns of others. So quiet sharers use no more than the reserve.
const QUIET_TURNS = 5
// Far more than may wait, so the last turn of all who wait is known.
const MAX_REMEMBERED = 1_000

type Waiting = { answer: (granted: boolean) => void }
/** The waiting calls of one sharer and priority, oldest first. */
type Queue = { priority: Priority; key: string; waiting: Waiting[] }

/** A bucket holds the calls of one second, since providers count per second or longer. */
export function rateOf(callsPerSecond: number): Rate {
  return { perSecond: callsPerSecond, burst: Math.max(1, callsPerSecond) }
}

export function makeRateLimit(options: {
  /** 0: no limit. */
  callsPerSecond: number
  /** Without it, the rate is that of one process. */
  bucket?: SharedBucket
  maxWaiting: number
  now: () => Date
  sleep: (ms: number) => Promise<void>
}): RateLimit {
  if (options.callsPerSecond <= 0) return { acquire: () => Promise.resolve(true), hasRoom: () => true, close: () => {} }
  const rate = rateOf(options.callsPerSecond)
  const { bucket = makeOwnBuckets().bucket('', rate) } = options
  const reserved = Math.floor(rate.burst * RESERVED_SHARE)
  const nowMs = () => options.now().getTime()
  const turns = makeTurns(options.callsPerSecond)
  const queues = new Map<string, Queue>()
  let waitingCount = 0
  let pumping = false

  function join(call: RateLimitCall): Promise<boolean> {
    const key = keyOf(call)
    const queue = queues.get(key) ?? { priority: call.priority, key, waiting: [] }
    queues.set(key, queue)
    return new Promise((resolve) => {
      const waiting: Waiting = {
        answer(granted) {
          clearTimeout(timer)
          queue.waiting.splice(queue.waiting.indexOf(waiting), 1)
          if (queue.waiting.length === 0) queues.delete(key)
          waitingCount -= 1
          resolve(granted)
        },
      }
      const timer = setTimeout(() => waiting.answer(false), call.remainingMs)
      queue.waiting.push(waiting)
      waitingCount += 1
    })
  }

  /** The queue that gets the next turn, if the bucket has a token for it. */
  function takeTurn(waiting: Queue[]): Queue | undefined {
    const atMs = nowMs()
    const next = turns.next(waiting, atMs)
    if (!bucket.take(atMs, next.mayUseReserve ? 0 : reserved).ok) return undefined
    turns.record(next.queue, atMs)
    return next.queue
  }

  /** Grants turns as long as the bucket has tokens. */
  function serve() {
    while (queues.size > 0) {
      const queue = takeTurn([...queues.values()])
      if (!queue) return
      queue.waiting[0]!.answer(true)
    }
  }

  async function pump() {
    pumping = true
    while (queues.size > 0) {
      await (bucket.reported() ?? options.sleep(bucket.nextTokenMs(nowMs())))
      serve()
    }
    pumping = false
  }

  /** Past the bound, the longest queue loses its newest call. */
  function keepBound(own: Queue) {
    if (waitingCount > options.maxWaiting) longestOf(own).waiting.at(-1)!.answer(false)
  }

  function longestOf(own: Queue): Queue {
    return [...queues.values()].reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a), own)
  }

  /** The earliest turn of the nth call of this queue: queues of the same priority alternate. */
  function turnInMs(own: Queue, nth: number): number {
    let before = nth - 1
    for (const queue of queues.values()) {
      if (queue !== own && queue.priority === own.priority) before += Math.min(queue.waiting.length, nth - 1)
    }
    return bucket.nextTokenMs(nowMs()) + (before * 1000) / options.callsPerSecond
  }

  return {
    acquire(call) {
      // Where nobody waits, the call needs no place in a queue.
      const isAlone = queues.size === 0
      if (isAlone && takeTurn([{ priority: call.priority, key: keyOf(call), waiting: [] }]))
        return Promise.resolve(true)
      const granted = join(call)
      serve()
      const own = queues.get(keyOf(call))
      if (own && turnInMs(own, own.waiting.length) > call.remainingMs) own.waiting.at(-1)!.answer(false)
      else if (own) keepBound(own)
      if (!pumping && queues.size > 0) void pump()
      return granted
    },
    hasRoom(call) {
      const own = queues.get(keyOf(call))
      // A sharer without a queue may find a token, or replace a call of the longest queue.
      if (!own) return true
      if (turnInMs(own, own.waiting.length + 1) > call.remainingMs) return false
      return waitingCount < options.maxWaiting || longestOf(own).waiting.length > own.waiting.length + 1
    },
    close() {
      for (const queue of queues.values()) while (queue.waiting.length > 0) queue.waiting[0]!.answer(false)
    },
  }
}

function keyOf({ priority, sharer }: RateLimitCall): string {
  return `${priority} ${sharer}`
}

type Next = { queue: Queue; mayUseReserve: boolean }

function makeTurns(perSecond: number) {
  const quietMs = (QUIET_TURNS * 1000) / perSecond
  // By queue, the one with the latest turn last.
  const served = new Map<string, { turn: number; atMs: number }>()
  const priorityTurn: Record<Priority, number> = { write: 0, read: 0, background: 0 }
  let turn = 0

  const lastTurn = ({ key }: Queue) => served.get(key)?.turn ?? -1
  // The absolute distance: a clock that is set back must not make all sharers loud.
  const isQuiet = ({ key }: Queue, atMs: number) => {
    const last = served.get(key)
    return last === undefined || Math.abs(atMs - last.atMs) >= quietMs
  }
  const longestAgo = (queues: Queue[]) =>
    queues.length > 0 ? queues.reduce((a, b) => (lastTurn(b) < lastTurn(a) ? b : a)) : undefined
  const firstOf = (queues: Queue[]) => {
    for (const priority of PRIORITIES) {
      const found = longestAgo(queues.filter((queue) => queue.priority === priority))
      if (found) return found
    }
    return undefined
  }

  return {
    next(queues: Queue[], atMs: number): Next {
      const quiet = firstOf(queues.filter((queue) => isQuiet(queue, atMs)))
      const overdue = longestAgo(
        queues.filter(({ priority }) => priority !== 'write' && turn - priorityTurn[priority] >= GUARANTEED_EVERY - 1),
      )
      return { queue: overdue ?? quiet ?? firstOf(queues)!, mayUseReserve: quiet !== undefined }
    },
    record(queue: Queue, atMs: number) {
      turn += 1
      priorityTurn[queue.priority] = turn
      served.delete(queue.key)
      served.set(queue.key, { turn, atMs })
      if (served.size > MAX_REMEMBERED) served.delete(served.keys().next().value!)
    },
  }
}
