import { decimalFromCents, type Cents } from '../../base/money.ts'
import { boundedMap } from '../server/rate-limit.ts'

export function moneyText(locale: string, cents: Cents): string {
  // As text, which the formatter reads exactly; a division by 100 would be a float.
  return formatsFor(locale).money.format(decimalFromCents(cents) as `${number}`)
}

/** In Brasília time, which the page names. Omits the date if it is today. */
export function momentText(locale: string, time: Date, now?: Date): string {
  const { moment, day, hour } = formatsFor(locale)
  return (now && day.format(time) === day.format(now) ? hour : moment).format(time)
}

type Formats = { money: Intl.NumberFormat } & Record<'moment' | 'day' | 'hour', Intl.DateTimeFormat>

// Creating one takes a millisecond, longer than the rest of a page. Payers come from few regions.
const MAX_LOCALES = 50
const formats = boundedMap<Formats>(MAX_LOCALES)

function formatsFor(locale: string): Formats {
  return formats.touch(locale, () => ({
    money: new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL', currencyDisplay: 'narrowSymbol' }),
    moment: timeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }),
    day: timeFormat(locale, { dateStyle: 'short' }),
    hour: timeFormat(locale, { timeStyle: 'short' }),
  }))
}

function timeFormat(locale: string, style: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, { timeZone: 'America/Sao_Paulo', ...style })
}
