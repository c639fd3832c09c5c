import type { Tx } from '../../db/tx.ts'
import { OUTCOME } from '../core/seals.ts'

// How a delivery ended, a row of delivery_outcomes. It is sealed: what a receiver was told follows from nothing else.

export type EndedDelivery = { eventId: string; webhookId: string; attempt: number }

export function sealOutcome(
  { sealer }: Pick<Tx, 'sealer'>,
  endedAt: Date,
  { eventId, webhookId, attempt }: EndedDelivery,
  outcome: 'delivered' | 'failed',
): Buffer {
  return sealer.seal(OUTCOME.textOf({ eventId, webhookId, outcome, attempts: attempt, endedAt }))
}

// A delivery may be made twice: its lease ran out, or it was resent meanwhile. The later outcome holds.
export const OVERWRITE_OUTCOME = `on conflict (event_id, webhook_id) do update
  set outcome = excluded.outcome, attempts = excluded.attempts, ended_at = excluded.ended_at, seal = excluded.seal`
