import { addDays, dayOf, endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import type { Filters } from '../../base/queries.ts'

export const PERIODS = ['today', 'yesterday', 'week', 'days30', 'month', 'last-month', 'all', 'own'] as const
export type Period = (typeof PERIODS)[number]

/** Pix began in that month, so nothing is older. */
const FIRST_DAY = '2020-11-01'

/** The first and the last day of a period, inclusive. */
export function periodDays(period: Exclude<Period, 'own'>, now: Date): { from: string; to: string } {
  const today = dayOf(now)
  const first = `${today.slice(0, 8)}01`
  switch (period) {
    case 'today':
      return { from: today, to: today }
    case 'yesterday':
      return { from: addDays(today, -1), to: addDays(today, -1) }
    case 'week':
      return { from: addDays(today, -6), to: today }
    case 'days30':
      return { from: addDays(today, -29), to: today }
    case 'month':
      return { from: first, to: today }
    case 'last-month': {
      const last = addDays(first, -1)
      return { from: `${last.slice(0, 8)}01`, to: last }
    }
    case 'all':
      return { from: FIRST_DAY, to: today }
  }
}

export type ChosenPeriod = {
  period: Period
  /** What is shown if nobody chose. */
  usual: Period
  from: string
  to: string
  filters: Filters<'period' | 'from' | 'to'>
}

/** The period that the URL names: by its name, which means other days tomorrow, or by days. */
export function chosenPeriod(filters: ChosenPeriod['filters'], usual: Period): ChosenPeriod {
  return { ...readPeriod(filters.values, usual), usual, filters }
}

type Read = Pick<ChosenPeriod, 'period' | 'from' | 'to'>

function readPeriod(values: Partial<Record<'period' | 'from' | 'to', string>>, usual: Period): Read {
  const days = { from: values.from ?? '', to: values.to ?? '' }
  const named = PERIODS.find((name) => name === values.period)
  const period = named ?? (days.from || days.to ? 'own' : usual)
  if (period === 'own' && (days.from || days.to)) return { period, ...days }
  return { period, ...periodDays(period === 'own' ? 'all' : period, new Date()) }
}

export function choosePeriod(chosen: ChosenPeriod, next: Period): void {
  const { period, usual, filters, from, to } = chosen
  // One's own days begin with those that are shown.
  const days = next === 'own' && period !== 'all' ? { from, to } : { from: '', to: '' }
  filters.set({ period: next === usual ? '' : next, ...days })
}

/** For lists that know times only. All time has no bounds, which the database reads fastest. */
export function momentsOf(values: Parameters<typeof readPeriod>[0]): { from?: string; to?: string } {
  const { period, from, to } = readPeriod(values, 'all')
  if (period === 'all') return {}
  const moments = { from: startOfDayIso(from), to: endOfDayIso(to) }
  return { ...(moments.from && { from: moments.from }), ...(moments.to && { to: moments.to }) }
}
