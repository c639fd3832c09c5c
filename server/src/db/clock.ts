import type { Log } from '../base/log.ts'
import type { Pool } from './pool.ts'
import { query } from './tx.ts'

/**
 * The time that all processes share: the database's. Cursors, leases and due times are written by one process and read by another, so they must
 * not depend on whose wall clock is wrong.
 */
export type Clock = {
  /** The database's time. Between measurements, this process's monotonic clock carries it on, which setting the wall clock does not move. */
  now(): Date
  /** How far this process's wall clock is ahead of the database's, in milliseconds. Negative: behind. Zero: no difference could be measured. */
  offsetMs(): number
  /** The wall clock is close enough to the database's for this process to work. */
  agrees(): boolean
}

export type DatabaseClock = Clock & {
  /** Asks the database once. */
  measure(): Promise<void>
  /** Measures from now on, every few seconds, and logs when the clocks part and when they agree again. */
  watch(log: Log): void
  stop(): void
}

// Certificates, tokens and signatures of webhooks go by the wall clock, and some receivers refuse a timestamp that is seconds away.
export const MAX_CLOCK_OFFSET_MS = 2_000
// A clock that is set wrong is noticed within this; the time that money goes by does not depend on it.
const MEASURE_EVERY_MS = 2_000

type Sources = {
  /** The wall clock, in milliseconds since 1970. */
  wallMs?: () => number
  /** Milliseconds since some moment; never set. */
  monotonicMs?: () => number
}

export function makeDatabaseClock(
  pool: Pool,
  { wallMs = () => Date.now(), monotonicMs = () => performance.now() }: Sources = {},
): DatabaseClock {
  /** The database's time when the monotonic clock was zero. */
  let zeroMs = wallMs() - monotonicMs()
  let offsetMs = 0
  let timer: NodeJS.Timeout | undefined
  let isMeasured = false

  const agrees = () => Math.abs(offsetMs) <= MAX_CLOCK_OFFSET_MS

  async function measure() {
    const sent = { wall: wallMs(), monotonic: monotonicMs() }
    const databaseMs = await readClock(pool)
    const received = { wall: wallMs(), monotonic: monotonicMs() }
    // The database looked at its clock at some moment between the two readings of ours; only what lies outside that span is a difference.
    const earliest = databaseMs - received.monotonic
    const latest = databaseMs - sent.monotonic
    zeroMs = isMeasured ? clamp(zeroMs, earliest, latest) : (earliest + latest) / 2
    isMeasured = true
    offsetMs = Math.round(Math.max(0, sent.wall - databaseMs) - Math.max(0, databaseMs - received.wall))
  }

  function watch(log: Log) {
    let agreed = agrees()
    const look = async () => {
      // A database that is away is told of by whoever needs it; the last measurement stands.
      await measure().catch(() => {})
      if (agreed !== agrees()) {
        agreed = agrees()
        if (agreed) log.info({ offsetMs }, 'the clock agrees with the database again: workers go on')
        else log.error({ offsetMs }, `workers stopped: ${clockText(offsetMs)}`)
      }
      if (timer) again()
    }
    const again = () => {
      timer = setTimeout(() => void look(), MEASURE_EVERY_MS).unref()
    }
    again()
  }

  return {
    now: () => new Date(zeroMs + monotonicMs()),
    offsetMs: () => offsetMs,
    agrees,
    measure,
    watch,
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}

/** For people: what is wrong, and what to do. */
export function clockText(offsetMs: number): string {
  const seconds = (Math.abs(offsetMs) / 1000).toLocaleString('en-US', { maximumFractionDigits: 1 })
  const side = offsetMs > 0 ? 'ahead of' : 'behind'
  return `the clock of this machine is ${seconds} s ${side} the database's; at most ${MAX_CLOCK_OFFSET_MS / 1000} s are allowed: synchronize both by NTP`
}

/** In milliseconds and their fractions: a Date would cut the fraction off, and the clocks would seem to differ by it. */
async function readClock(pool: Pool): Promise<number> {
  const [row] = await query<{ ms: string }>(pool, 'select (extract(epoch from clock_timestamp()) * 1000)::text as ms')
  return Number(row!.ms)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
