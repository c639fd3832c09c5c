import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { makeLane, type Lane } from '../core/lane.ts'
import { isDelivered, outcomeOf, recordDelivered, recordFailed, type Attempt } from './record-attempts.ts'

export type WebhookLanes = {
  attempts: Lane<Attempt>
  /** By account, how many tests are under way in this process. */
  webhookTests: Map<string, number>
}

// Nothing waits for the record of an attempt or for its locks, and larger batches cost less.
const DELIVERED = { maxBatch: 500, paceMs: 20 }

export function makeWebhookLanes(core: Core): WebhookLanes {
  const delivered = makeLane<Attempt>(
    core,
    'delivered_attempts',
    (attempts) => recordDelivered(core, attempts),
    DELIVERED,
  )
  const failed = makeLane<Attempt>(core, 'failed_attempts', (attempts) =>
    transact(core.pool, (tx) => recordFailed(tx, core.now(), attempts, Math.random)),
  )
  return {
    webhookTests: new Map(),
    attempts: {
      add(attempt) {
        const labels = { outcome: outcomeOf(attempt, 0).kind }
        core.metrics.webhookSeconds.observe(labels, (attempt.answer?.latencyMs ?? 0) / 1000)
        return (isDelivered(attempt.answer) ? delivered : failed).add(attempt)
      },
      async drained() {
        await Promise.all([delivered.drained(), failed.drained()])
      },
    },
  }
}
