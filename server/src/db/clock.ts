import type { Log } from '../base/log.ts'
import type { Pool } from './pool.ts'
import { query } from './tx.ts'

/**
 * The database's time, which all processes share. One process writes cursors, leases and due times and another reads
 * them, so they must not depend on a wrong wall clock.
 */
export type Clock = {
  /**
   * The database's time, continued between measurements by the monotonic clock, which setting the wall clock does not
   * move.
   */
  now(): Date
  /** How many milliseconds the wall clock of this process is ahead of the database's; negative if behind. */
  offsetMs(): number
  /** The wall clock is close enough to the database's for this process to work. */
  agrees(): boolean
}

export type DatabaseClock = Clock & {
  /** Measures once. */
  measure(): Promise<void>
  /** Measures every few seconds, and logs when the clocks start or stop to differ. */
  watch(log: Log): void
  stop(): void
}

// Certificates, tokens and webhook signatures use the wall clock, and some servers refuse a timestamp that is seconds
// off.
export const MAX_CLOCK_OFFSET_MS = 2_000
// A wrong clock is noticed within this time. Times of payments do not depend on it.
const MEASURE_EVERY_MS = 2_000

type Sources = {
  /** The wall clock, in milliseconds since 1970. */
  wallMs?: () => number
  /** Monotonic milliseconds. */
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
    // The database read its clock between our two readings, so only a time outside that span is a difference.
    const earliest = databaseMs - received.monotonic
    const latest = databaseMs - sent.monotonic
    zeroMs = isMeasured ? clamp(zeroMs, earliest, latest) : (earliest + latest) / 2
    isMeasured = true
    offsetMs = Math.round(Math.max(0, sent.wall - databaseMs) - Math.max(0, databaseMs - received.wall))
  }

  function watch(log: Log) {
    let agreed = agrees()
    const look = async () => {
      // Others report that the database is down; the last measurement stays valid.
      await measure().catch(() => {})
      if (agreed !== agrees()) {
        agreed = agrees()
        if (agreed) log.info({ offsetMs }, 'the clock agrees with the database again; workers continue')
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

/** What is wrong and what to do, for the operator. */
export function clockText(offsetMs: number): string {
  const seconds = (Math.abs(offsetMs) / 1000).toLocaleString('en-US', { maximumFractionDigits: 1 })
  const side = offsetMs > 0 ? 'ahead of' : 'behind'
  return `The clock of this machine is ${seconds} s ${side} the database's; at most ${MAX_CLOCK_OFFSET_MS / 1000} s are allowed: synchronize both by NTP`
}

/** With fractions of a millisecond: a Date would cut them off, and the clocks would seem to differ. */
async function readClock(pool: Pool): Promise<number> {
  const [row] = await query<{ ms: string }>(pool, 'select (extract(epoch from clock_timestamp()) * 1000)::text as ms')
  return Number(row!.ms)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
