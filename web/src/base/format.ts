import { dateTimeText, dayText, timeText } from './dates.ts'
import { useLanguage } from './language.ts'
import { countText, moneyText } from './money.ts'

/** Amounts, counts and dates in the reader's language. */
export function useFormat() {
  const language = useLanguage()
  return {
    language,
    money: (cents: number) => moneyText(cents, language),
    count: (count: number) => countText(count, language),
    day: (day: string) => dayText(day, language),
    dateTime: (iso: string) => dateTimeText(iso, language),
    time: (iso: string) => timeText(iso, language),
  }
}
