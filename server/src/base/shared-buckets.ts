import { withTimeLimit } from './time-limit.ts'
import { makeTokenBucket, type Rate, type Taken } from './token-bucket.ts'

/**
 * Token buckets that the processes on one database share. The database has the bucket, and each process a copy. A
 * process takes tokens from its copy at once. It reports them soon after and learns how the bucket stands, with what
 * the others took. It takes no more than a lease before it knows that the database has its report.
 *
 * So in any time all processes together take at most the burst, what flows in, and a lease each. For the last process
 * that reported knows of every token but those that the others have not reported, a lease each. When it finds the
 * bucket empty it stops, and each of the others stops at its own next report. What was taken too much is a debt in the
 * bucket, which flows in before the next token.
 *
 * A process that is alone reports nothing. It learns of a second one at its next renewal (db/presence.ts): until then
 * the two together may take twice as much. While the database is away, a process keeps to its copy.
 */
export type SharedBuckets = {
  bucket(name: string, rate: Rate, options?: BucketOptions): SharedBucket
  /** Reports now what was taken until now. Never fails. */
  report(): Promise<void>
  close(): void
}

type BucketOptions = {
  /** While the database is away, a process takes its part of the rate and no more, instead of the whole. */
  isDivided?: boolean
  /** The breaker of another process is open, for so long. */
  onOpen?: (forMs: number) => void
}

export type SharedBucket = {
  /** Takes a token. `waitMs: 0`: there is one, but not before the next report; see takeReported() and reported(). */
  take(nowMs: number, reserve?: number): Taken
  /** Takes a token after take() said `waitMs: 0`. The token is reported before it is given. */
  takeReported(nowMs: number): Promise<Taken>
  /** Resolves when a token may be there after take() said `waitMs: 0`. Undefined: there is nothing to wait for. */
  reported(): Promise<void> | undefined
  nextTokenMs(nowMs: number): number
  /** Tells the others that the breaker of this process is open, for so long. */
  announceOpen(forMs: number): void
  /** Asks soon how the bucket stands, although nothing was taken. */
  ask(): void
}

/** What a process took of a bucket; below zero: what it returns. `openForMs` 0: its breaker did not open. */
export type Report = Rate & { name: string; taken: number; openForMs: number }
/** How a bucket stands after the report. */
export type Standing = { name: string; tokens: number; filledAt: Date; openForMs: number }

/** At most this many reports a second in quiet times; others hear of an open breaker within this time. */
const REPORT_EVERY_MS = 250
/** A database that works takes milliseconds. A request waits for two reports at most. */
const REPORT_WITHIN_MS = 1_000
/** After a report that failed. */
const RETRY_AFTER_MS = 1_000
/** Buckets in one report: a statement of a few milliseconds. The others go with the next. */
const MAX_REPORTED = 500

/** A tenth of a second's worth, and enough to give a whole burst in twenty reports. */
export function leaseOf({ perSecond, burst }: Rate): number {
  return Math.max(1, Math.floor(Math.max(perSecond / 10, burst / 20)))
}

export function makeSharedBuckets(options: {
  report: (reports: Report[]) => Promise<Standing[]>
  /** How many processes share the database, this one included. */
  processes: () => number
  now: () => Date
  reportEveryMs?: number
  reportWithinMs?: number
}): SharedBuckets {
  const { processes, now, reportEveryMs = REPORT_EVERY_MS, reportWithinMs = REPORT_WITHIN_MS } = options
  const changed = new Map<string, Member>()
  const sent = new Map<string, Member>()
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isAsking = false
  let isAway = false
  let isClosed = false

  const group: Group = {
    nowMs: () => now().getTime(),
    isAlone: () => processes() === 1,
    apart: () => (isAway || isClosed || processes() === 1 ? processes() : 0),
    add(member) {
      if (isClosed || processes() === 1) return
      changed.set(member.name, member)
      if (!running) schedule(member.isUrgent())
    },
    report,
  }

  function schedule(isUrgent: boolean) {
    if (isUrgent && !isAway) void report()
    else timer ??= setTimeout(() => void report(), isAway ? RETRY_AFTER_MS : reportEveryMs).unref()
  }

  /** One at a time. What is taken meanwhile goes with the next. */
  function report(): Promise<void> {
    if (isClosed || changed.size === 0) return running ?? Promise.resolve()
    return (running ??= send().finally(() => {
      running = undefined
      if (!isClosed && changed.size > 0) schedule([...changed.values()].some((member) => member.isUrgent()))
    }))
  }

  async function send(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    for (const [name, member] of [...changed].slice(0, MAX_REPORTED)) {
      changed.delete(name)
      sent.set(name, member)
    }
    const members = [...sent.values()]
    try {
      const reports = members.map((member) => member.begin())
      const standings = await ask(reports)
      isAway = false
      const byName = new Map(standings.map((standing) => [standing.name, standing]))
      sent.clear()
      for (const member of members) member.end(byName.get(member.name)!)
    } catch {
      // The pool logs why.
      isAway = true
      sent.clear()
      for (const member of members) changed.set(member.name, member)
      for (const member of changed.values()) member.keepApart()
    }
  }

  /** What is late keeps its connection, so nothing is sent before its answer. */
  function ask(reports: Report[]): Promise<Standing[]> {
    if (isAsking) return Promise.reject(new Error('The last report was not answered'))
    isAsking = true
    const answer = options.report(reports).finally(() => (isAsking = false))
    return withTimeLimit(answer, reportWithinMs, () => new Error('The report was not answered in time'))
  }

  return {
    // A bucket of which something is unreported must not be made twice.
    bucket: (name, rate, own = {}) => changed.get(name) ?? sent.get(name) ?? makeMember({ name, rate, group, ...own }),
    async report() {
      await running
      await report()
    },
    close() {
      isClosed = true
      clearTimeout(timer)
      for (const member of [...changed.values(), ...sent.values()]) member.keepApart()
    },
  }
}

/** For one process: nothing is reported. */
export function makeOwnBuckets(): SharedBuckets {
  return makeSharedBuckets({
    processes: () => 1,
    now: () => new Date(0),
    report: () => Promise.reject(new Error('A process that is alone reports nothing')),
  })
}

type Group = {
  nowMs(): number
  isAlone(): boolean
  /** 0: together with the others. Otherwise by itself, as one of so many. */
  apart(): number
  add(member: Member): void
  report(): Promise<void>
}

type Member = SharedBucket & {
  name: string
  /** Something waits for its report. */
  isUrgent(): boolean
  begin(): Report
  end(standing: Standing): void
  /** The report failed: whoever waits for it gets what the copy has. */
  keepApart(): void
}

type Answer = (isGiven: boolean) => void

function makeMember({ name, rate, group, isDivided = false, onOpen }: BucketOptions & MemberOptions): Member {
  const copy = makeTokenBucket(rate)
  const lease = leaseOf(rate)
  let apart = 0
  /** Taken by this process, and not known to be in the database. */
  let unreported = 0
  /** The part of it that is on its way. */
  let reporting = 0
  // Each has taken a token from the copy. So no more than the burst wait.
  let waiting: Answer[] = []
  let asking: Answer[] = []
  let openForMs = 0

  /** Apart from the others, what was taken flows in again, so the database must know only of what is missing. */
  const owed = (nowMs: number) => Math.ceil(copy.level(nowMs).missing / (isDivided ? 1 : apart))

  function follow(nowMs: number) {
    const next = group.apart()
    if (next === apart) return
    const wasApart = apart > 0
    if (wasApart) unreported = owed(nowMs)
    settle(next)
    if (wasApart) group.add(member)
  }

  function settle(next: number) {
    apart = next
    copy.divide(isDivided ? Math.max(1, apart) : 1)
  }

  function waitMs(): number {
    const { tokens } = copy.level(group.nowMs())
    return Math.max(1, Math.ceil(((1 - tokens) * 1000) / rate.perSecond))
  }

  const isDue = () => apart === 0 && unreported >= lease

  const member: Member = {
    name,
    take(nowMs, reserve = 0) {
      follow(nowMs)
      if (isDue() && copy.level(nowMs).tokens >= 1 + reserve) return { ok: false, waitMs: 0 }
      const taken = copy.take(nowMs, reserve)
      if (taken.ok) {
        unreported += 1
        group.add(member)
      }
      return taken
    },
    takeReported(nowMs) {
      const taken = copy.take(nowMs)
      if (!taken.ok) return Promise.resolve(taken)
      return new Promise((resolve) => {
        waiting.push((isGiven) => resolve(isGiven ? taken : { ok: false, waitMs: waitMs() }))
        group.add(member)
      })
    },
    reported() {
      if (!isDue()) return undefined
      group.add(member)
      return group.report()
    },
    nextTokenMs: (nowMs) => copy.nextTokenMs(nowMs),
    announceOpen(forMs) {
      if (group.isAlone()) return
      openForMs = forMs
      group.add(member)
    },
    ask: () => group.add(member),
    isUrgent: () => isDue() || waiting.length > 0 || openForMs > 0,
    begin() {
      if (apart > 0) unreported = owed(group.nowMs())
      ;[asking, waiting] = [waiting, []]
      reporting = unreported
      const report = { name, ...rate, taken: reporting + asking.length, openForMs }
      openForMs = 0
      return report
    },
    end({ tokens, filledAt, openForMs: othersOpenForMs }) {
      settle(0)
      const given = Math.max(0, asking.length - Math.max(0, Math.ceil(-tokens)))
      // The tokens of those who get none go back with the next report.
      unreported += given - asking.length - reporting
      copy.setLevel(tokens - unreported - waiting.length, filledAt.getTime())
      for (const [index, answer] of asking.splice(0).entries()) answer(index < given)
      if (unreported !== 0 || waiting.length > 0) group.add(member)
      if (othersOpenForMs > 0) onOpen?.(othersOpenForMs)
    },
    keepApart() {
      for (const answer of [...asking.splice(0), ...waiting.splice(0)]) answer(true)
      follow(group.nowMs())
    },
  }
  return member
}

type MemberOptions = { name: string; rate: Rate; group: Group }
