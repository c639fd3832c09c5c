/**
 * Keeps within the rate that a provider allows, and shares it out. Calls that find no capacity wait. Accounts take turns, so a flood of one
 * account delays its own calls and not those of others. A call that cannot have a turn before its deadline is refused at once.
 */
export type Budget = {
  take(call: BudgetCall): Promise<boolean>
  /** False when take() would refuse such a call at once. */
  hasRoom(call: BudgetCall): boolean
  /** Sends the waiting away. */
  close(): void
}

export type BudgetCall = {
  lane: Lane
  /** Who takes turns in the lane: an account, or in the background a kind of work. */
  sharer: string
  remainingMs: number
}

/** write: a caller waits for a change. read: a caller waits for an answer. background: nobody waits. */
export type Lane = 'write' | 'read' | 'background'

// Writes come first, because a payer waits for the code; a query can be answered from the database. The other lanes get at least every fourth
// turn each: a quarter keeps settlement, refunds and sweeps going through any flood, and half of the rate is left for writes.
const LANES: Lane[] = ['write', 'read', 'background']
const GUARANTEED_EVERY = 4
// This share of the bucket is kept for whoever had no turn lately. Without it, every call of a quiet account would wait for the next token
// while another account floods.
const RESERVED_SHARE = 0.2
// Who had no turn during this many tokens' time uses at most as much as is reserved.
const QUIET_TURNS = 5
// Turns that are remembered. Far more than may wait, so that those who wait are told apart.
const MAX_REMEMBERED = 1_000

type Waiting = { answer: (granted: boolean) => void }
/** Who waits in one lane, oldest call first. */
type Queue = { lane: Lane; key: string; waiting: Waiting[] }

export function makeBudget(options: {
  /** 0: no limit. */
  callsPerSecond: number
  maxWaiting: number
  now: () => Date
  sleep: (ms: number) => Promise<void>
}): Budget {
  if (options.callsPerSecond <= 0) return { take: () => Promise.resolve(true), hasRoom: () => true, close: () => {} }
  const bucket = makeReservingBucket(options.callsPerSecond)
  const nowMs = () => options.now().getTime()
  const turns = makeTurns(options.callsPerSecond)
  const queues = new Map<string, Queue>()
  let waitingCount = 0
  let pumping = false

  function join(call: BudgetCall): Promise<boolean> {
    const key = keyOf(call)
    const queue = queues.get(key) ?? { lane: call.lane, key, waiting: [] }
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

  /** Lets out whom the bucket allows now. */
  function serve() {
    while (queues.size > 0) {
      const atMs = nowMs()
      const next = turns.next([...queues.values()], atMs)
      if (!bucket.take(atMs, next)) return
      turns.note(next.queue, atMs)
      next.queue.waiting[0]!.answer(true)
    }
  }

  async function pump() {
    pumping = true
    while (queues.size > 0) {
      await options.sleep(bucket.nextTokenMs(nowMs()))
      serve()
    }
    pumping = false
  }

  /** Past the bound, whoever has most calls waiting gives up the newest of them. */
  function keepBound(own: Queue) {
    if (waitingCount > options.maxWaiting) longestOf(own).waiting.at(-1)!.answer(false)
  }

  function longestOf(own: Queue): Queue {
    return [...queues.values()].reduce((a, b) => (b.waiting.length > a.waiting.length ? b : a), own)
  }

  /** When the nth of this queue can have its turn at the earliest, if nobody else comes: the others of its lane take turns with it. */
  function turnInMs(own: Queue, nth: number): number {
    let before = nth - 1
    for (const queue of queues.values()) {
      if (queue !== own && queue.lane === own.lane) before += Math.min(queue.waiting.length, nth - 1)
    }
    return bucket.nextTokenMs(nowMs()) + (before * 1000) / options.callsPerSecond
  }

  return {
    take(call) {
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
      // Whoever does not wait yet may find a token, or take the place of another.
      if (!own) return true
      if (turnInMs(own, own.waiting.length + 1) > call.remainingMs) return false
      return waitingCount < options.maxWaiting || longestOf(own).waiting.length > own.waiting.length + 1
    },
    close() {
      for (const queue of queues.values()) while (queue.waiting.length > 0) queue.waiting[0]!.answer(false)
    },
  }
}

function keyOf({ lane, sharer }: BudgetCall): string {
  return `${lane} ${sharer}`
}

type Next = { queue: Queue; mayUseReserve: boolean }

/** Whose turn it is. */
function makeTurns(perSecond: number) {
  const quietMs = (QUIET_TURNS * 1000) / perSecond
  // By queue, the one with the latest turn last.
  const served = new Map<string, { turn: number; atMs: number }>()
  const laneTurn: Record<Lane, number> = { write: 0, read: 0, background: 0 }
  let turn = 0

  const lastTurn = ({ key }: Queue) => served.get(key)?.turn ?? -1
  // The distance and not the difference: a clock that was set back must not make everybody loud.
  const isQuiet = ({ key }: Queue, atMs: number) => {
    const last = served.get(key)
    return last === undefined || Math.abs(atMs - last.atMs) >= quietMs
  }
  const longestAgo = (queues: Queue[]) =>
    queues.length > 0 ? queues.reduce((a, b) => (lastTurn(b) < lastTurn(a) ? b : a)) : undefined
  const firstOf = (queues: Queue[]) => {
    for (const lane of LANES) {
      const found = longestAgo(queues.filter((queue) => queue.lane === lane))
      if (found) return found
    }
    return undefined
  }

  return {
    next(queues: Queue[], atMs: number): Next {
      const quiet = firstOf(queues.filter((queue) => isQuiet(queue, atMs)))
      const overdue = longestAgo(
        queues.filter(({ lane }) => lane !== 'write' && turn - laneTurn[lane] >= GUARANTEED_EVERY - 1),
      )
      return { queue: overdue ?? quiet ?? firstOf(queues)!, mayUseReserve: quiet !== undefined }
    },
    note(queue: Queue, atMs: number) {
      turn += 1
      laneTurn[queue.lane] = turn
      served.delete(queue.key)
      served.set(queue.key, { turn, atMs })
      if (served.size > MAX_REMEMBERED) served.delete(served.keys().next().value!)
    },
  }
}

/** A token bucket of one second's worth, as providers count per second or longer. A part of it is for those who may use the reserve. */
function makeReservingBucket(perSecond: number) {
  const burst = Math.max(1, perSecond)
  const reserved = Math.floor(burst * RESERVED_SHARE)
  let tokens = burst
  let filledAtMs: number | undefined

  function fill(nowMs: number) {
    // A clock that steps back must not drain the bucket.
    const elapsedMs = filledAtMs === undefined ? 0 : Math.max(0, nowMs - filledAtMs)
    tokens = Math.min(burst, tokens + (elapsedMs * perSecond) / 1000)
    filledAtMs = nowMs
  }

  return {
    take(nowMs: number, { mayUseReserve }: { mayUseReserve: boolean }): boolean {
      fill(nowMs)
      if (tokens < 1 + (mayUseReserve ? 0 : reserved)) return false
      tokens -= 1
      return true
    },
    nextTokenMs(nowMs: number): number {
      fill(nowMs)
      return Math.max(1, Math.ceil(((Math.floor(tokens) + 1 - tokens) * 1000) / perSecond))
    },
  }
}
