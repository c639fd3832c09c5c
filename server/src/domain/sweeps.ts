import { newUuid7 } from '../base/ids.ts'
import { transact, type Tx } from '../db/tx.ts'
import type { Context } from './context.ts'
import { dayOf } from './days.ts'

/** How far a provider's list of received Pix was read, as claimed by one process. */
export type Sweep = {
  provider: string
  beganAt: Date
  sweptUntil: Date
  nextClosing: string
  claim: string
}

/** Another process has the provider by now: our lease ended while we were busy. */
export class ClaimLost extends Error {
  override name = 'ClaimLost'
}

// Renewed with every page, for which a provider has 20 seconds. A process that dies leaves the provider to others after this.
const LEASE_MS = 2 * 60_000
// Once in a provider's life the table of charges is searched for its first.
const FIRST_CHARGE_TIMEOUT_MS = 10 * 60_000

const COLUMNS = `provider, began_at as "beganAt", swept_until as "sweptUntil", next_closing::text as "nextClosing", claim`

/** The provider's sweep, if it is due and nobody else has it. */
export async function claimSweep(ctx: Context, provider: string): Promise<Sweep | undefined> {
  const now = ctx.now()
  return transact(ctx.pool, async (tx) => {
    const claimed = await claimDue(tx, now, provider)
    if (claimed) return claimed
    return (await beginSweep(tx, now, provider)) ? claimDue(tx, now, provider) : undefined
  })
}

/** Still at work. */
export function renewClaim(ctx: Context, sweep: Sweep): Promise<void> {
  return transact(ctx.pool, (tx) => change(tx, sweep, 'due_at = $3', leaseEnd(ctx.now())))
}

/** Everything that the provider received before this moment is in the books. */
export function moveSweep(ctx: Context, sweep: Sweep, sweptUntil: Date): Promise<void> {
  return transact(ctx.pool, (tx) => change(tx, sweep, 'swept_until = greatest(swept_until, $3)', sweptUntil))
}

/** In the transaction that closes the day before it. */
export function moveClosing(tx: Tx, sweep: Sweep, nextClosing: string): Promise<void> {
  return change(tx, sweep, 'next_closing = $3', nextClosing)
}

/** Ends the claim, unless it was lost. */
export async function releaseSweep(ctx: Context, sweep: Sweep, dueAt: Date): Promise<void> {
  await transact(ctx.pool, (tx) =>
    tx.run('update sweeps set due_at = $3, claim = null where provider = $1 and claim = $2', [
      sweep.provider,
      sweep.claim,
      dueAt,
    ]),
  )
}

async function claimDue(tx: Tx, now: Date, provider: string): Promise<Sweep | undefined> {
  const [row] = await tx.rows<Sweep>(
    `update sweeps set claim = $3, due_at = $4 where provider = $1 and due_at <= $2 returning ${COLUMNS}`,
    [provider, now, newUuid7(now), leaseEnd(now)],
  )
  return row
}

// The first sweep looks back to the provider's first charge. Older Pix are from a time before us, and an account that was in use then would flood the operator
// with exceptions.
async function beginSweep(tx: Tx, now: Date, provider: string): Promise<boolean> {
  const known = await tx.rows('select from sweeps where provider = $1', [provider])
  if (known.length > 0) return false
  await tx.run(`set local statement_timeout = ${FIRST_CHARGE_TIMEOUT_MS}`)
  // Ids are in the order of time, and have the index.
  const [first] = await tx.rows<{ created_at: Date }>(
    'select created_at from charges where provider = $1 order by id limit 1',
    [provider],
  )
  const beganAt = first?.created_at ?? now
  await tx.run(
    `insert into sweeps (provider, began_at, swept_until, next_closing, due_at) values ($1, $2, $2, $3, $4)
     on conflict do nothing`,
    [provider, beganAt, dayOf(beganAt), now],
  )
  return true
}

async function change(tx: Tx, sweep: Sweep, assignment: string, value: Date | string): Promise<void> {
  const changed = await tx.run(`update sweeps set ${assignment} where provider = $1 and claim = $2`, [
    sweep.provider,
    sweep.claim,
    value,
  ])
  if (changed === 0) throw new ClaimLost(`another process took over the sweep of ${sweep.provider}`)
}

function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}
