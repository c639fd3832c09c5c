import { Fault } from '../../../base/fault.ts'
import { makePace, makeSlidingWindow, startStopwatch } from '../../../base/pace.ts'
import { currentSpan, inSpan } from '../../../base/tracing.ts'
import type { Core } from '../../core/core.ts'
import type { Provider } from '../../ports/provider.ts'
import type { Settlements } from '../settlements.ts'
import type { Check } from './check-queue.ts'
import { makeListReader, type Answer, type Question } from './list-reader.ts'

/**
 * One question for many. When more than a few checks wait for a provider, its list of received Pix is read, from just
 * before the oldest of them and begun after all of them came, and answers them all. One list is read at a time; who
 * comes meanwhile waits for the next. Every Pix of a list is booked, so a notification that comes later finds it in the
 * books and needs no question. What a list does not show is asked about alone: a list may be behind the charges.
 */
export type ReceivedList = {
  /**
   * For a claimed check. 'ended': its payment is booked, and the check ended with it. 'booked': its payment is booked.
   * 'alone': no list answers it.
   */
  hint(check: Check): Promise<Answer>
  /** For checks that are asked alone: a few at a time, because others share the provider's rate. */
  inTurn<Result>(ask: () => Promise<Result>): Promise<Result | 'stopped'>
  /** Counts a question about one charge or one Pix while it lasts. */
  alone<Result>(ask: () => Promise<Result>): Promise<Result>
  /** Lets go whoever waits. From here on no check is asked. */
  stop(): void
}

export type ReceivedLists = {
  of(provider: Provider): ReceivedList
  /** Lets go whoever waits. No check is asked until start(). */
  stop(): void
  start(): void
}

// Up to this many are asked about alone. Then a list costs less, even if it takes a few pages.
const FEW = 8
// After a list we know how many pages one takes. For this long, more questions than that are a reason for another.
const IN_USE_MS = 10_000
// Lists use at most this part of the provider's rate: creations and questions about single charges share it.
const RATE_SHARE = 1 / 5
// A check must not wait for a list until its lease ends.
const MAX_BUDGET_MS = 10_000
// The more a list repeats of the one before, the later comes the next. Reading a Pix again takes some 10 µs of ours and
// as much of the provider's, so a fifth of the time at most goes into it. At a thousand a second the pause is 50 ms.
const PAUSE_PER_REPEATED_MS = 0.05
const MAX_PAUSE_MS = 1_000
// A Pix that is notified so late is asked about alone.
const MAX_HINT_AGE_MS = 10 * 60_000
// After a list that failed. Twice as long each time.
const FIRST_BACKOFF_MS = 10_000
const MAX_BACKOFF_MS = 10 * 60_000
// Checks that are asked alone at a time: half a second's worth of the rate, so that each gets its turn in time.
const MAX_IN_TURN = 64

/** One for each provider, made when it is first asked for. */
export function makeReceivedLists(core: Core, settlements: Settlements): ReceivedLists {
  const lists = new Map<Provider, ReceivedList>()
  return {
    of(provider) {
      const list = lists.get(provider) ?? makeReceivedList(core, provider, settlements)
      lists.set(provider, list)
      return list
    },
    stop: () => lists.forEach((list) => list.stop()),
    start: () => lists.clear(),
  }
}

function makeReceivedList(core: Core, provider: Provider, settlements: Settlements): ReceivedList {
  const reader = makeListReader(core, { provider, settlements })
  const queue = makeListQueue(core, provider, reader)
  const turns = makeSlidingWindow(
    provider.callsPerSecond > 0 ? Math.min(MAX_IN_TURN, Math.ceil(provider.callsPerSecond / 2)) : MAX_IN_TURN,
  )

  return {
    async hint(check) {
      const { listed, endToEndIds, kind, subject } = check
      const txid = kind === 'charge' ? subject : null
      const missing = new Set(kind === 'payment' ? [subject] : endToEndIds)
      if (listed === null || core.now().getTime() - listed.from.getTime() > MAX_HINT_AGE_MS) return 'alone'
      const question = { check, since: listed.from, txid, missing }
      return reader.hasAnswered(question) ? 'booked' : queue.wait(question)
    },
    inTurn: (ask) => turns.run(async () => (queue.isStopped() ? 'stopped' : ask())),
    alone: queue.alone,
    stop() {
      queue.stop()
      turns.release()
    },
  }
}

/** Decides when a list is read, and for whom. */
function makeListQueue(core: Core, provider: Provider, reader: ReturnType<typeof makeListReader>) {
  // The time between two calls that our share of the rate allows.
  const callMs = provider.callsPerSecond > 0 ? 1_000 / (provider.callsPerSecond * RATE_SHARE) : 0
  const [next, inUse, backoff] = [makePace(), makePace(), makePace()]
  let waiting: Question[] = []
  let aloneCount = 0
  let pages = 1
  let failures = 0
  let isReading = false
  let isStopped = false
  let planned: NodeJS.Timeout | NodeJS.Immediate | undefined

  function plan(inMs: number) {
    // All who come in one turn of the event loop are counted together.
    planned ??= inMs > 0 ? setTimeout(pump, inMs).unref() : setImmediate(pump)
  }

  function pump() {
    planned = undefined
    if (isReading || waiting.length === 0) return
    const waitMs = next.waitMs()
    const few = inUse.waitMs() > 0 ? pages : FEW
    if (backoff.waitMs() > 0 || (waitMs === 0 && aloneCount + waiting.length <= few)) return letGo(() => true)
    if (waitMs === 0) return void readForAll()
    plan(waitMs)
  }

  function letGo(isLetGo: (question: Question) => boolean, answer: Answer = 'alone') {
    const gone = waiting.filter(isLetGo)
    waiting = waiting.filter((question) => !isLetGo(question))
    for (const question of gone) question.answer(answer)
  }

  function readForAll() {
    const causes = waiting.map(({ cause }) => cause)
    return inSpan('ask for many', { causes }, read)
  }

  async function read() {
    isReading = true
    const elapsedMs = startStopwatch()
    const { repeated, error, ...reading } = await reader.read(waiting.splice(0))
    isReading = false
    pages = reading.pages
    const budgetMs = Math.min(MAX_BUDGET_MS, pages * callMs - elapsedMs())
    next.closeFor(Math.max(budgetMs, Math.min(MAX_PAUSE_MS, repeated * PAUSE_PER_REPEATED_MS)))
    inUse.closeFor(IN_USE_MS)
    failures = error ? failures + 1 : 0
    if (error) backOff(error)
    // Their payments were in this list, and it began before they came.
    letGo(reader.hasAnswered, 'booked')
    if (waiting.length > 0) plan(0)
  }

  function backOff(error: unknown) {
    // Our database is down or overloaded, which is no fault of the list.
    if (error instanceof Fault && error.code === 'unavailable') return next.closeFor(MAX_PAUSE_MS)
    backoff.closeFor(Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1)))
    core.log.warn(
      { err: error, provider: provider.name },
      'reading the list of received Pix failed; it is left alone for a while',
    )
  }

  return {
    wait: (question: Omit<Question, 'answer' | 'fail' | 'cause'>) =>
      new Promise<Answer>((answer, fail) => {
        if (isStopped) return answer('alone')
        waiting.push({ ...question, answer, fail, cause: currentSpan() })
        if (!isReading) plan(0)
      }),
    async alone<Result>(ask: () => Promise<Result>): Promise<Result> {
      aloneCount++
      return ask().finally(() => aloneCount--)
    },
    isStopped: () => isStopped,
    stop() {
      isStopped = true
      letGo(() => true)
    },
  }
}
