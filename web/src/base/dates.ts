import type { Language } from './language.ts'

const formats = new Map<string, Intl.DateTimeFormat>()
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** "14 Nov 2026, 15:04", in the reader's own time zone. */
export function dateTimeText(iso: string, language: Language): string {
  return format(language, { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' }, iso)
}

/** The same with seconds, for logs. */
export function logTimeText(iso: string, language: Language): string {
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  return format(language, { day: 'numeric', month: 'short', ...time }, iso)
}

/** To the second and with the zone: for titles, and where the order within a minute matters. */
export function preciseText(iso: string, language: Language): string {
  return format(language, { dateStyle: 'long', timeStyle: 'long' }, iso)
}

export function timeText(iso: string, language: Language): string {
  return format(language, { hour: '2-digit', minute: '2-digit', second: '2-digit' }, iso)
}

/** A day of the books, "2026-11-15": it has no zone, and must not move into the day before. */
export function dayText(day: string, language: Language, options: { short?: boolean } = {}): string {
  const shape: Intl.DateTimeFormatOptions = options.short
    ? { day: 'numeric', month: 'short' }
    : { day: 'numeric', month: 'short', year: 'numeric' }
  return format(language, { ...shape, timeZone: 'UTC' }, `${day}T00:00:00Z`)
}

/** "3 minutes ago", "in 2 hours"; a plain date where it is more than a month. */
export function relativeText(iso: string, language: Language, nowMs: number = Date.now()): string {
  const offset = Date.parse(iso) - nowMs
  const size = Math.abs(offset)
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  if (size < MINUTE_MS) return relative.format(Math.trunc(offset / SECOND_MS), 'second')
  if (size < HOUR_MS) return relative.format(Math.trunc(offset / MINUTE_MS), 'minute')
  if (size < DAY_MS) return relative.format(Math.trunc(offset / HOUR_MS), 'hour')
  if (size < 30 * DAY_MS) return relative.format(Math.trunc(offset / DAY_MS), 'day')
  return format(language, { day: 'numeric', month: 'short', year: 'numeric' }, iso)
}

/** What a date field holds, "2026-11-15", as the beginning of that day where the reader is. */
export function startOfDayIso(day: string): string | undefined {
  const date = new Date(`${day}T00:00:00`)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** The beginning of the day after: lists end before it. */
export function endOfDayIso(day: string): string | undefined {
  const date = new Date(`${day}T00:00:00`)
  if (Number.isNaN(date.getTime())) return undefined
  date.setDate(date.getDate() + 1)
  return date.toISOString()
}

function format(language: Language, options: Intl.DateTimeFormatOptions, iso: string): string {
  const key = language + JSON.stringify(options)
  let made = formats.get(key)
  if (!made) formats.set(key, (made = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, options)))
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? iso : made.format(date)
}
