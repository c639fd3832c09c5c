/** The days of the books are days in Brazil, where payers, providers and tax offices count them so. */
export const DAY_ZONE = 'America/Sao_Paulo'

const HOUR_MS = 3_600_000
const HALF_HOUR_MS = HOUR_MS / 2
// No zone is further than 14 hours from UTC.
const MAX_OFFSET_HALF_HOURS = 28

const calendar = new Intl.DateTimeFormat('en-US', {
  timeZone: DAY_ZONE,
  calendar: 'gregory',
  numberingSystem: 'latn',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
})

/** '2026-01-31' */
export function dayOf(at: Date): string {
  const parts = new Map(calendar.formatToParts(at).map(({ type, value }) => [type, value]))
  return `${parts.get('year')!.padStart(4, '0')}-${parts.get('month')}-${parts.get('day')}`
}

/**
 * The first moment of a day. Searched for and not calculated from an offset: Brazil had summer time, in which a day could begin at one o'clock, and may have it
 * again.
 */
export function dayStart(day: string): Date {
  const midnightMs = Date.parse(`${day}T00:00:00Z`)
  for (let halfHours = -MAX_OFFSET_HALF_HOURS; halfHours <= MAX_OFFSET_HALF_HOURS; halfHours++) {
    const at = new Date(midnightMs + halfHours * HALF_HOUR_MS)
    if (dayOf(at) >= day) return at
  }
  throw new Error(`${day} does not begin in ${DAY_ZONE}`)
}

export function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 24 * HOUR_MS).toISOString().slice(0, 10)
}

/** This many days, oldest first, up to and with this one. */
export function daysBefore(day: string, count: number): string[] {
  const last = Date.parse(`${day}T00:00:00Z`)
  return Array.from({ length: count }, (_, index) =>
    new Date(last - (count - 1 - index) * 24 * HOUR_MS).toISOString().slice(0, 10),
  )
}

/** Written as a day, and in the calendar: 2026-02-30 is not. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** A day of the books, or the part of one that a window holds. */
export type DayPart = { from: Date; to: Date; day: string; isWhole: boolean }

/** The oldest first. */
export function* cutIntoDays({ from, to }: { from: Date; to: Date }): Generator<DayPart> {
  for (let start = from; start < to;) {
    const day = dayOf(start)
    const dayEnd = dayStart(dayAfter(day))
    yield { from: start, to: dayEnd < to ? dayEnd : to, day, isWhole: start <= dayStart(day) && dayEnd <= to }
    start = dayEnd
  }
}
