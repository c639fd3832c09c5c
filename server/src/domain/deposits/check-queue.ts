import { isHexId, uuidFromHex } from '../../base/ids.ts'
import { columnsOf, insertRows } from '../../db/insert-rows.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import type { Hint } from '../ports/provider.ts'
import { hexId } from './charge-reads.ts'

/** A question to a provider that is due at some time. The subject is a txid, or the endToEndId of a payment. */
export type Check = {
  provider: string
  subject: string
  kind: 'charge' | 'payment' | 'withdrawal'
  dueAt: Date
  attempts: number
}

// After this, other workers take over the checks of a worker that died. Longer than any provider call.
const LEASE_MS = 30_000
const MAX_BACKOFF_MS = 5 * 60_000

/** A notification is only a hint: it is stored as a check that is due now. After this, the caller may answer it. */
export async function enqueueChecks(core: Core, provider: string, hints: Hint[]): Promise<void> {
  await transact(core.pool, async (tx) => {
    const ours = await findOurTxids(tx, hints)
    const kinds = new Map<string, Check['kind']>()
    for (const { txid, endToEndId } of hints) {
      if (txid !== null && ours.has(txid)) kinds.set(txid, 'charge')
      else if (endToEndId !== null) kinds.set(endToEndId, 'payment')
    }
    await insertRows(
      tx,
      'checks',
      [...kinds],
      {
        provider: ['text', () => provider],
        subject: ['text', ([subject]) => subject],
        kind: ['text', ([, kind]) => kind],
        due_at: ['timestamptz', () => core.now()],
      },
      {
        orderBy: 'subject',
        tail: `on conflict (provider, subject)
               do update set due_at = least(checks.due_at, excluded.due_at), attempts = 0`,
      },
    )
  })
  core.wakeChecks()
}

async function findOurTxids(tx: Tx, hints: Hint[]): Promise<Set<string>> {
  const txids = hints.flatMap(({ txid }) => (txid !== null && isHexId(txid) ? [txid] : []))
  if (txids.length === 0) return new Set()
  const rows = await tx.rows<{ txid: string }>(`select ${hexId('id')} as txid from charges where id = any($1)`, [
    txids.map(uuidFromHex),
  ])
  return new Set(rows.map((row) => row.txid))
}

/** Any number of processes may claim at once: each check goes to one of them, until its lease ends. */
export function claimChecks(core: Core, limit: number): Promise<Check[]> {
  return transact(core.pool, (tx) =>
    tx.rows<Check>(
      `update checks set due_at = $2, attempts = attempts + 1
       where (provider, subject) in (
         select provider, subject from checks where due_at <= $1 order by due_at limit $3 for update skip locked
       )
       returning provider, subject, kind, due_at as "dueAt", attempts`,
      [core.now(), new Date(core.now().getTime() + LEASE_MS), limit],
    ),
  )
}

/** Ends a claim; null removes the check. A hint that arrived meanwhile moved due_at, and that check stays. */
export function finishChecks(core: Core, finished: FinishedCheck[]): Promise<void> {
  return transact(core.pool, (tx) => endChecks(tx, finished))
}

type FinishedCheck = { check: Check; nextDueAt: Date | null }

export async function endChecks(tx: Tx, finished: FinishedCheck[]): Promise<void> {
  const checks = finished.map(({ check, nextDueAt }) => ({ ...check, nextDueAt }))
  const done = checks.filter(({ nextDueAt }) => nextDueAt === null)
  await tx.run(
    `delete from checks k using unnest($1::text[], $2::text[], $3::timestamptz[]) as n (provider, subject, due_at)
     where k.provider = n.provider and k.subject = n.subject and k.due_at = n.due_at`,
    columnsOf(done, 'provider', 'subject', 'dueAt'),
  )
  const again = checks.filter(({ nextDueAt }) => nextDueAt !== null)
  await tx.run(
    `update checks k set due_at = n.next_due_at
     from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[])
       as n (provider, subject, due_at, next_due_at)
     where k.provider = n.provider and k.subject = n.subject and k.due_at = n.due_at`,
    columnsOf(again, 'provider', 'subject', 'dueAt', 'nextDueAt'),
  )
}

/** When to try again after a failure: soon at first, then less and less often. */
export function retryAt(now: Date, attempts: number): Date {
  return new Date(now.getTime() + Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** Math.min(attempts, 20)))
}
