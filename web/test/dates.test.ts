import { afterEach, expect, test } from 'vitest'
import {
  addDays,
  dateTimeText,
  dayOf,
  durationText,
  endOfDayIso,
  setTimeZone,
  startOfDayIso,
  timeText,
  timeZoneText,
} from '../src/base/dates.ts'
import { periodDays } from '../src/ui/data/periods.ts'

afterEach(() => setTimeZone('America/Sao_Paulo'))

// Half past nine in the evening in São Paulo, where it is still Saturday; in UTC it is Sunday.
const EVENING = new Date('2026-11-15T00:30:00Z')

test('a day is a day of the books, wherever the reader is', () => {
  expect(dayOf(EVENING)).toBe('2026-11-14')
  expect(startOfDayIso('2026-11-14')).toBe('2026-11-14T03:00:00.000Z')
  expect(endOfDayIso('2026-11-14')).toBe('2026-11-15T03:00:00.000Z')
  expect(dateTimeText(EVENING.toISOString(), 'en')).toBe('14 Nov 2026, 21:30')
  setTimeZone('America/Manaus')
  expect(startOfDayIso('2026-11-14')).toBe('2026-11-14T04:00:00.000Z')
})

test('a day that begins at one o’clock begins then', () => {
  expect(startOfDayIso('2018-11-04')).toBe('2018-11-04T03:00:00.000Z')
  expect(endOfDayIso('2018-11-03')).toBe('2018-11-04T03:00:00.000Z')
})

test('an empty or impossible field is no bound', () => {
  for (const day of ['', 'x', '2026-02-31x'])
    expect([startOfDayIso(day), endOfDayIso(day)]).toEqual([undefined, undefined])
})

test('periods are days of the books', () => {
  expect(periodDays('today', EVENING)).toEqual({ from: '2026-11-14', to: '2026-11-14' })
  expect(periodDays('week', EVENING)).toEqual({ from: '2026-11-08', to: '2026-11-14' })
  expect(periodDays('yesterday', EVENING)).toEqual({ from: '2026-11-13', to: '2026-11-13' })
  expect(periodDays('days30', EVENING)).toEqual({ from: '2026-10-16', to: '2026-11-14' })
  expect(periodDays('month', EVENING)).toEqual({ from: '2026-11-01', to: '2026-11-14' })
  expect(periodDays('last-month', new Date('2026-01-01T02:00:00Z'))).toEqual({ from: '2025-11-01', to: '2025-11-30' })
  expect(addDays('2026-03-01', -1)).toBe('2026-02-28')
})

test('the zone is named, with its distance from UTC', () => {
  for (const language of ['en', 'pt-BR'] as const)
    expect(timeZoneText(language, EVENING)).toMatch(/Bras[ií]lia.* \(GMT-3\)$/)
})

test('a time of today is shown without its date, and a duration in its largest whole unit', () => {
  expect(timeText(EVENING.toISOString(), 'pt-BR', EVENING)).toBe('21:30')
  expect(timeText(EVENING.toISOString(), 'en', new Date('2026-11-15T03:00:00Z'))).toBe('14 Nov 2026, 21:30')
  expect([300, 3_600, 5_400, 86_400, 90_000, 2_592_000].map((seconds) => durationText(seconds, 'pt-BR'))).toEqual([
    '5 minutos',
    '1 hora',
    '90 minutos',
    '24 horas',
    '25 horas',
    '30 dias',
  ])
})
