import type { Log } from '../base/log.ts'
import type { Pool } from './pool.ts'
import { query } from './tx.ts'

/**
 * The database's time, which all processes share: cursors, leases and due times must not depend on a wrong wall clock.
 */
export type Clock = {
  /** Continued between measurements by the monotonic clock. */
  now(): Date
  /** How far the wall clock is ahead of the database's; negative if behind. */
  offsetMs(): number
  agrees(): boolean
}

export type DatabaseClock = Clock & {
  measure(): Promise<void>
  /** Measures every few seconds, and logs when the clocks start or stop to differ. */
  watch(log: Log): void
  stop(): void
}

// Certificates, tokens and webhook signatures use the wall clock.
export const MAX_CLOCK_OFFSET_MS = 2_000
const MEASURE_EVERY_MS = 2_000

type Sources = {
  wallMs?: () => number
  monotonicMs?: () => number
}

export function makeDatabaseClock(
  pool: Pool,
  { wallMs = () => Date.now(), monotonicMs = () => performance.now() }: Sources = {},
): DatabaseClock {
  let zeroMs = wallMs() - monotonicMs()
  let offsetMs = 0
  let timer: NodeJS.Timeout | undefined
  let isMeasured = false

  const agrees = () => Math.abs(offsetMs) <= MAX_CLOCK_OFFSET_MS

  async function measure() {
    const sent = { wall: wallMs(), monotonic: monotonicMs() }
    const databaseMs = await readClock(pool)
    const received = { wall: wallMs(), monotonic: monotonicMs() }
    // The database read its clock between our two readings, so only a time outside of them is a difference.
    const earliest = databaseMs - received.monotonic
    const latest = databaseMs - sent.monotonic
    zeroMs = isMeasured ? clamp(zeroMs, earliest, latest) : (earliest + latest) / 2
    isMeasured = true
    offsetMs = Math.round(Math.max(0, sent.wall - databaseMs) - Math.max(0, databaseMs - received.wall))
  }

  function watch(log: Log) {
    let agreed = agrees()
    const look = async () => {
      // The last measurement stays valid while the database is down.
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

export function clockText(offsetMs: number): string {
  const seconds = (Math.abs(offsetMs) / 1000).toLocaleString('en-US', { maximumFractionDigits: 1 })
  const side = offsetMs > 0 ? 'ahead of' : 'behind'
  return `The clock of this machine is ${seconds} s ${side} the database's; at most ${MAX_CLOCK_OFFSET_MS / 1000} s are allowed: synchronize both by NTP`
}

async function readClock(pool: Pool): Promise<number> {
  const [row] = await query<{ ms: string }>(pool, 'select (extract(epoch from clock_timestamp()) * 1000)::text as ms')
  return Number(row!.ms)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
