/**
 * Business days are days in Brazil, as payers, providers and tax offices count them. An account holder may count in
 * another zone: see accounts/time-zone.ts.
 */
export const DAY_ZONE = 'America/Sao_Paulo'

const HOUR_MS = 3_600_000
const QUARTER_MS = HOUR_MS / 4
// No zone is further than 14 hours from UTC.
const MAX_OFFSET_QUARTERS = 14 * 4

// Making one costs more than a thousand uses. There are some 400 zones.
const calendars = new Map<string, Intl.DateTimeFormat>()

function calendarOf(zone: string): Intl.DateTimeFormat {
  let calendar = calendars.get(zone)
  if (!calendar) {
    const digits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
    const shape = { timeZone: zone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' } as const
    calendar = new Intl.DateTimeFormat('en-US', { ...shape, ...digits, year: 'numeric' })
    calendars.set(zone, calendar)
  }
  return calendar
}

/** The clock on the wall, "2026-10-31T23:30:00". */
export function wallTime(at: Date, zone: string): string {
  const parts = new Map(
    calendarOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  )
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type)!
  const day = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`
  return `${day}T${part('hour')}:${part('minute')}:${part('second')}`
}

export function dayOf(at: Date, zone = DAY_ZONE): string {
  return wallTime(at, zone).slice(0, 10)
}

/** The first moment of a day. It is searched for: under summer time a day could begin at one o'clock. */
export function dayStart(day: string, zone = DAY_ZONE): Date {
  const midnightMs = Date.parse(`${day}T00:00:00Z`)
  for (let quarters = -MAX_OFFSET_QUARTERS; quarters <= MAX_OFFSET_QUARTERS; quarters++) {
    const at = new Date(midnightMs + quarters * QUARTER_MS)
    if (dayOf(at, zone) >= day) return at
  }
  throw new Error(`${day} does not begin in ${zone}`)
}

export function dayAfter(day: string): string {
  return addDays(day, 1)
}

/** The last day of the month of a day. */
export function monthEnd(day: string): string {
  const [year, month] = day.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
}

/** Some providers give times in whole seconds, so windows start and end on them. */
export function wholeSecond(at: Date): Date {
  return new Date(Math.floor(at.getTime() / 1000) * 1000)
}

/** `count` days that end with this one, oldest first. */
export function daysUntil(day: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => addDays(day, index + 1 - count))
}

export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * 24 * HOUR_MS).toISOString().slice(0, 10)
}

/** False also for days that the calendar lacks, such as 2026-02-30. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

export type DayPart = { from: Date; to: Date; day: string; isWhole: boolean }

export function* cutIntoDays({ from, to }: { from: Date; to: Date }): Generator<DayPart> {
  for (let start = from; start < to;) {
    const day = dayOf(start)
    const dayEnd = dayStart(dayAfter(day))
    yield { from: start, to: dayEnd < to ? dayEnd : to, day, isWhole: start <= dayStart(day) && dayEnd <= to }
    start = dayEnd
  }
}
