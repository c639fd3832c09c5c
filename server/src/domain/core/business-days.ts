/** Business days are days in Brazil, as payers, providers and tax offices count them. */
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

export function dayOf(at: Date): string {
  const parts = new Map(calendar.formatToParts(at).map(({ type, value }) => [type, value]))
  return `${parts.get('year')!.padStart(4, '0')}-${parts.get('month')}-${parts.get('day')}`
}

/** The first moment of a day. It is searched for: under summer time a day could begin at one o'clock. */
export function dayStart(day: string): Date {
  const midnightMs = Date.parse(`${day}T00:00:00Z`)
  for (let halfHours = -MAX_OFFSET_HALF_HOURS; halfHours <= MAX_OFFSET_HALF_HOURS; halfHours++) {
    const at = new Date(midnightMs + halfHours * HALF_HOUR_MS)
    if (dayOf(at) >= day) return at
  }
  throw new Error(`${day} does not begin in ${DAY_ZONE}`)
}

export function dayAfter(day: string): string {
  return addDays(day, 1)
}

/** Some providers give times in whole seconds, so windows start and end on them. */
export function wholeSecond(at: Date): Date {
  return new Date(Math.floor(at.getTime() / 1000) * 1000)
}

/** `count` days that end with this one, oldest first. */
export function daysUntil(day: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => addDays(day, index + 1 - count))
}

function addDays(day: string, count: number): string {
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
