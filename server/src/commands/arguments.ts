import { InvalidArgumentError } from 'commander'
import { z } from 'zod'

// What commands read from the text of an option. Refusals are the parser's own, which names the option.

export function positive(text: string): number {
  return wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'It must be a positive whole number.')(text)
}

export function wholeNumber(
  { min, max }: { min: number; max: number },
  refusal = `It must be a whole number from ${min} to ${max}.`,
): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d{1,15}$/.test(text) || value < min || value > max) throw new InvalidArgumentError(refusal)
    return value
  }
}

/** With its zone: the terminal's is seldom the server's, and the difference is three hours of events. */
export function time(text: string): Date {
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return new Date(text)
  throw new InvalidArgumentError('It must be a date and time with its zone, such as 2026-01-31T00:00:00Z.')
}
