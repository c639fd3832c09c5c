import type { Deposit } from '../deposits/shapes.ts'

/** Counts and cents. Created by when they were made, paid by when they were paid. */
export type Period = { created: number; paid: number; paidValue: number; creditedValue: number; fees: number }
export type Day = Omit<Period, 'fees'> & { day: string }

export type Attention = {
  kind:
    | 'account_suspended'
    | 'payment_held'
    | 'webhook_disabled'
    | 'webhook_failing'
    | 'key_expiring'
    | 'no_key'
    | 'no_webhook'
    | 'no_second_factor'
  subjectId: string | null
  name: string | null
  at: string | null
  value: number | null
}

export type Overview = {
  balance: number
  today: Period
  yesterday: Period
  last30: Period
  previous30: Period
  days: Day[]
  latest: Deposit[]
  attention: Attention[]
}

/** How many of those created were paid. Some are paid a day later, so that of a quiet day it could be more than all. */
export function conversionOf({ created, paid }: { created: number; paid: number }): number | undefined {
  return created === 0 ? undefined : Math.min(1, paid / created)
}
