import { addDays, dayOf } from '../../base/dates.ts'

export const PERIODS = ['today', 'week', 'month', 'last-month', 'all', 'own'] as const
export type Period = (typeof PERIODS)[number]

/** Pix began in that month, so no line is older. */
const FIRST_DAY = '2020-11-01'

/** The first and the last day of a period, inclusive. */
export function periodDays(period: Exclude<Period, 'own'>, now: Date): { from: string; to: string } {
  const today = dayOf(now)
  const first = `${today.slice(0, 8)}01`
  switch (period) {
    case 'today':
      return { from: today, to: today }
    case 'week':
      return { from: addDays(today, -6), to: today }
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
