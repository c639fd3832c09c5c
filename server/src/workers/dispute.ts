import type { Context } from '../domain/context.ts'
import { answerDisputeCheck, claimDisputeChecks, sweepDisputes } from '../domain/disputes/dispute-checks.ts'
import { claimEvidence, sendEvidence } from '../domain/disputes/evidence.ts'
import { startLoop, type Loop } from './loop.ts'

// Checks of disputes and files claimed and in flight at a time, of each. Disputes are rare.
const CLAIM_LIMIT = 8
const IDLE_MS = 2_000

/** Asks providers about disputes, and sends them evidence. Any number of processes may run it. */
export function startDisputeWorker(ctx: Context): Loop {
  return startLoop(ctx, { name: 'dispute', idleMs: IDLE_MS, round: () => runDueDisputes(ctx) })
}

export async function runDueDisputes(ctx: Context): Promise<'more' | 'idle'> {
  for (const provider of ctx.providers) {
    await sweepDisputes(ctx, provider).catch((err: unknown) => {
      ctx.log.warn({ err, provider: provider.name }, 'the list of disputes could not be read; it will be read again')
    })
  }
  const checks = await claimDisputeChecks(ctx, CLAIM_LIMIT)
  const evidence = await claimEvidence(ctx, CLAIM_LIMIT)
  if (checks.length + evidence.length === 0) return 'idle'
  // What cannot be recorded is claimed again when its lease ends. It does not block the others.
  const outcomes = await Promise.allSettled<unknown>([
    ...checks.map((check) => answerDisputeCheck(ctx, check)),
    ...evidence.map((claimed) => sendEvidence(ctx, claimed)),
  ])
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return 'more'
}
