export const PERIODS = ['today', 'week', 'month', 'last-month', 'own'] as const
export type Period = (typeof PERIODS)[number]

/** The first and the last day of a period where the reader is, both within it. */
export function periodDays(period: Exclude<Period, 'own'>, now: Date): { from: string; to: string } {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  const today = dayOf(now)
  switch (period) {
    case 'today':
      return { from: today, to: today }
    case 'week':
      return { from: dayOf(new Date(year, month, day - 6)), to: today }
    case 'month':
      return { from: dayOf(new Date(year, month, 1)), to: today }
    case 'last-month':
      return { from: dayOf(new Date(year, month - 1, 1)), to: dayOf(new Date(year, month, 0)) }
  }
}

function dayOf(date: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
