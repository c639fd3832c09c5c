import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { makeLane, type Lane } from '../core/lane.ts'
import { isDelivered, judge, recordDelivered, recordTroubled, type Attempt } from './record-attempts.ts'

export type WebhookLanes = { attempts: Lane<Attempt> }

// Recording an attempt takes no lock that anybody waits for, and nobody waits for it: larger batches cost less.
const DELIVERED = { maxBatch: 500, paceMs: 20 }

export function makeWebhookLanes(core: Core): WebhookLanes {
  const delivered = makeLane<Attempt>((attempts) => recordDelivered(core, core.now(), attempts), DELIVERED)
  const failed = makeLane<Attempt>((attempts) =>
    transact(core.pool, (tx) => recordTroubled(tx, core.now(), attempts, Math.random)),
  )
  return {
    attempts: {
      add(attempt) {
        const labels = { outcome: judge(attempt, 0).kind }
        core.metrics.webhookSeconds.observe(labels, (attempt.answer?.latencyMs ?? 0) / 1000)
        return (isDelivered(attempt) ? delivered : failed).add(attempt)
      },
      async drained() {
        await Promise.all([delivered.drained(), failed.drained()])
      },
    },
  }
}
