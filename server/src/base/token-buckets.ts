import { withTimeLimit } from './time-limit.ts'

export type Rate = { perSecond: number; burst: number }

/** `left`: whole tokens that remain. `waitMs`: until there is one. */
export type Taken = { ok: true; left: number } | { ok: false; waitMs: number }

export type TokenBucket = ReturnType<typeof makeTokenBucket>

export function makeTokenBucket(rate: Rate) {
  let { perSecond, burst } = rate
  let tokens = burst
  let filledAtMs: number | undefined

  function fill(nowMs: number) {
    // A clock that steps back must not drain the bucket.
    const elapsedMs = filledAtMs === undefined ? 0 : Math.max(0, nowMs - filledAtMs)
    tokens = Math.min(burst, tokens + (elapsedMs * perSecond) / 1000)
    filledAtMs = nowMs
  }

  return {
    /** Takes a token if `reserve` others remain. */
    take(nowMs: number, reserve = 0): Taken {
      fill(nowMs)
      if (tokens < 1 + reserve) return { ok: false, waitMs: Math.ceil(((1 + reserve - tokens) * 1000) / perSecond) }
      tokens -= 1
      return { ok: true, left: Math.floor(tokens) }
    },
    nextTokenMs(nowMs: number): number {
      fill(nowMs)
      return Math.max(1, Math.ceil(((Math.floor(tokens) + 1 - tokens) * 1000) / perSecond))
    },
    /** Below zero, so many tokens must flow in first. `missing`: how many fit in. */
    level(nowMs: number) {
      fill(nowMs)
      return { tokens, missing: burst - tokens }
    },
    setLevel(level: number, atMs: number) {
      tokens = level
      filledAtMs = atMs
    },
    /** Makes it one of so many equal parts, of at least one token. */
    divide(parts: number) {
      perSecond = rate.perSecond / parts
      burst = Math.max(1, rate.burst / parts)
      tokens = Math.min(burst, tokens)
    },
  }
}

// ---- Shared by processes ----

/**
 * Token buckets that the processes on one database share. The database has the bucket, and each process a copy from
 * which it takes at once. It reports what it took soon after, and learns what the others took. It takes no more than a
 * lease before the database has its report. So all processes together take at most the burst, what flows in, and a
 * lease each. What was taken too much is a debt in the bucket, which flows in before the next token. A process that is
 * alone reports nothing, and learns of a second one at its next renewal (db/presence.ts). While the database is away, a
 * process keeps to its copy.
 */
export type SharedBuckets = {
  bucket(name: string, rate: Rate, options?: BucketOptions): SharedBucket
  /** Reports now. Never fails. */
  report(): Promise<void>
  close(): void
}

type BucketOptions = {
  /** While the database is away, a process takes its part of the rate instead of the whole. */
  isDivided?: boolean
  /** The breaker of another process opened. */
  onOpen?: (forMs: number) => void
}

export type SharedBucket = {
  /** `waitMs: 0`: there is a token, but not before the next report. */
  take(nowMs: number, reserve?: number): Taken
  /** After take() said `waitMs: 0`: takes a token, which is reported before it is given. */
  takeReported(nowMs: number): Promise<Taken>
  /** After take() said `waitMs: 0`: resolves after the next report. Undefined: nothing to wait for. */
  reported(): Promise<void> | undefined
  nextTokenMs(nowMs: number): number
  announceOpen(forMs: number): void
  /** Reads the bucket soon, although nothing was taken. */
  ask(): void
}

/** `taken` below zero is returned. `openForMs` is 0 unless the breaker opened. */
export type Report = Rate & { name: string; taken: number; openForMs: number }
export type Standing = { name: string; tokens: number; filledAt: Date; openForMs: number }

/** Others hear of an open breaker within this time. */
const REPORT_EVERY_MS = 250
/** A request waits for two reports at most. */
const REPORT_WITHIN_MS = 1_000
const RETRY_AFTER_MS = 1_000
/** A statement of a few milliseconds. The others go with the next. */
const MAX_REPORTED = 500

/** A tenth of a second's worth, and a whole burst in twenty reports. */
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

  /** One at a time. */
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

  /** A late report keeps its connection, so nothing is sent before its answer. */
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
  /** 0: together with the others. Otherwise alone, as one of so many processes. */
  apart(): number
  add(member: Member): void
  report(): Promise<void>
}

type Member = SharedBucket & {
  name: string
  isUrgent(): boolean
  begin(): Report
  end(standing: Standing): void
  /** The report failed: those who wait get what the copy has. */
  keepApart(): void
}

type Answer = (isGiven: boolean) => void

function makeMember({ name, rate, group, isDivided = false, onOpen }: BucketOptions & MemberOptions): Member {
  const copy = makeTokenBucket(rate)
  const lease = leaseOf(rate)
  let apart = 0
  /** Taken, not yet reported. */
  let unreported = 0
  /** Taken, in the report under way. */
  let reporting = 0
  // Each has taken a token, so no more than the burst wait.
  let waiting: Answer[] = []
  let asking: Answer[] = []
  let openForMs = 0

  /** Apart from the others, what was taken flows in again: only what is missing is reported. */
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
      // Tokens that nobody gets go back with the next report.
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
