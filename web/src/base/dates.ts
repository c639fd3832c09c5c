import type { Language } from './language.ts'

const formats = new Map<string, Intl.DateTimeFormat>()
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
// No zone is further than 14 hours from UTC.
const MAX_OFFSET_QUARTERS = 14 * 4

let timeZone = 'America/Sao_Paulo'

/** That of the account: "today" is the same day on every page and in every file, wherever the reader is. */
export function setTimeZone(zone: string): void {
  timeZone = zone
  formats.clear()
}

/** "Brasilia Time (GMT-3)" */
export function timeZoneText(language: Language, at: Date = new Date()): string {
  return `${zoneName(timeZone, 'longGeneric', language, at)} (${zoneOffsetText(timeZone, language, at)})`
}

/** "GMT-3" */
export function zoneOffsetText(zone: string, language: Language, at: Date = new Date()): string {
  return zoneName(zone, 'shortOffset', language, at)
}

function zoneName(zone: string, timeZoneName: 'longGeneric' | 'shortOffset', language: Language, at: Date): string {
  return (
    new Intl.DateTimeFormat(localeOf(language), { timeZone: zone, timeZoneName })
      .formatToParts(at)
      .find(({ type }) => type === 'timeZoneName')?.value ?? zone
  )
}

/** "14 Nov 2026, 15:04" */
export function dateTimeText(iso: string, language: Language): string {
  return format(language, { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' }, iso)
}

/** "14 Nov, 15:04", with the year if it is not the current one. */
export function shortDateTimeText(iso: string, language: Language, now: Date = new Date()): string {
  if (dayOf(new Date(iso)).slice(0, 4) !== dayOf(now).slice(0, 4)) return dateTimeText(iso, language)
  return format(language, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }, iso)
}

/** "15:04", or with the date if it is not today. */
export function timeText(iso: string, language: Language, now: Date = new Date()): string {
  if (dayOf(new Date(iso)) !== dayOf(now)) return dateTimeText(iso, language)
  return format(language, { hour: '2-digit', minute: '2-digit' }, iso)
}

/** "14 Nov, 15:04:09", for logs. */
export function logTimeText(iso: string, language: Language): string {
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  return format(language, { day: 'numeric', month: 'short', ...time }, iso)
}

/** The time of the day alone, "14:00". */
export function clockText(iso: string, language: Language): string {
  return format(language, { hour: '2-digit', minute: '2-digit' }, iso)
}

/** A time to the second, with the zone, for titles. */
export function preciseText(iso: string, language: Language): string {
  return format(language, { dateStyle: 'long', timeStyle: 'long' }, iso)
}

/** A day of the books, "2026-11-15". It has no zone, so it must not shift to the day before. */
export function dayText(day: string, language: Language, options: { short?: boolean } = {}): string {
  const shape: Intl.DateTimeFormatOptions = options.short
    ? { day: 'numeric', month: 'short' }
    : { day: 'numeric', month: 'short', year: 'numeric' }
  return format(language, { ...shape, timeZone: 'UTC' }, `${day}T00:00:00Z`)
}

/** "3 minutes ago", "in 2 hours"; a plain date beyond a month. */
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

/** "15 minutes", "1 hour": in the largest unit that fits. */
export function durationText(seconds: number, language: Language): string {
  const [unit, size] =
    // One day is 24 hours: it does not end with the day.
    seconds > 86_400 && seconds % 86_400 === 0
      ? (['day', 86_400] as const)
      : seconds % 3_600 === 0
        ? (['hour', 3_600] as const)
        : (['minute', 60] as const)
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 1 }).format(
    seconds / size,
  )
}

/** The day of the books at a time, "2026-11-15". */
export function dayOf(at: Date): string {
  const parts = format('en', { year: 'numeric', month: '2-digit', day: '2-digit' }, at.toISOString()).split('/')
  return parts.toReversed().join('-')
}

/** The start of a day such as "2026-11-15". */
export function startOfDayIso(day: string): string | undefined {
  const midnightMs = Date.parse(`${day}T00:00:00Z`)
  if (Number.isNaN(midnightMs)) return undefined
  // The start is searched and not calculated, because with summer time a day may start at one o'clock.
  for (let quarters = -MAX_OFFSET_QUARTERS; quarters <= MAX_OFFSET_QUARTERS; quarters++) {
    const at = new Date(midnightMs + quarters * (HOUR_MS / 4))
    if (dayOf(at) >= day) return at.toISOString()
  }
  return undefined
}

/** The start of the next day: lists end before it. */
export function endOfDayIso(day: string): string | undefined {
  return startOfDayIso(addDays(day, 1))
}

/** Calendar days have no zone. An empty field stays empty. */
export function addDays(day: string, days: number): string {
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(at) ? '' : new Date(at + days * DAY_MS).toISOString().slice(0, 10)
}

function localeOf(language: Language): string {
  return language === 'en' ? 'en-GB' : language
}

function format(language: Language, options: Intl.DateTimeFormatOptions, iso: string): string {
  const key = language + JSON.stringify(options)
  let made = formats.get(key)
  if (!made) formats.set(key, (made = new Intl.DateTimeFormat(localeOf(language), { timeZone, ...options })))
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? iso : made.format(date)
}
