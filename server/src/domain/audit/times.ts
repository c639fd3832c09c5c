import { NOW, SKEW, type Checks } from './rules.ts'

// By table: the columns of what has happened, which cannot be in the future.
const PAST: Record<string, string[]> = {
  charges: ['created_at', 'closed_at'],
  payments: ['recorded_at'],
  transfers: ['recorded_at'],
  refunds: ['created_at', 'sent_at', 'doubted_at', 'absent_since', 'ended_at'],
  exceptions: ['opened_at', 'resolved_at'],
  events: ['created_at'],
  audit_log: ['at'],
  account_terms: ['valid_from'],
  delivery_outcomes: ['ended_at'],
  idempotency_keys: ['created_at'],
}

// The time of a payment is the bank's, which may be ahead of our clock: the comparison with the bank checks it.
const future = Object.entries(PAST)
  .map(([table, columns]) => {
    const latest = `max(greatest(${columns.join(', ')}))`
    return `
  select '${table}' as subject, format('%s rows are dated in the future, up to %s', count(*), ${latest}) as text
  from ${table} where ${columns.map((column) => `${column} > ${NOW} + ${SKEW}`).join(' or ')} having count(*) > 0`
  })
  .join('\n  union all')

export const TIME_CHECKS: Checks = { future }
