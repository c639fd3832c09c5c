import { useState } from 'react'
import { translations } from '../../base/language.ts'
import { useFilters } from '../../base/queries.ts'
import { periodDays, PERIODS, type Period } from './periods.ts'

export const usePeriodTexts = translations({
  today: ['Hoje', 'Today'],
  week: ['7 dias', '7 days'],
  month: ['Este mês', 'This month'],
  'last-month': ['Mês passado', 'Last month'],
  all: ['Tudo', 'All'],
  own: ['Personalizado', 'Custom'],
})

/** The period that the URL names. Days begin in the time zone of the account. */
export function useChosenPeriod() {
  const [openedAt] = useState(() => new Date())
  const filters = useFilters(['period', 'from', 'to'])
  const period = PERIODS.find((name) => name === filters.values.period) ?? 'month'
  const { from, to } = period === 'own' ? filters.values : periodDays(period, openedAt)
  // A custom period starts with the days that are shown.
  const choose = (next: Period) =>
    filters.set(next === 'own' ? { period: next, from, to } : { period: next, from: '', to: '' })
  return { period, from, to, choose, filters }
}
