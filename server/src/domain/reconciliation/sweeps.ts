import { newUuid7 } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { dayOf } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'

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

// Two processes' measurements of the database's clock differ by milliseconds. A cursor may be ahead by less than the stretch that each sweep reads again.
const TOLERANCE_MS = 60_000

const CURSOR_COLUMNS = `provider, began_at as "beganAt", swept_until as "sweptUntil", next_closing::text as "nextClosing", due_at as "dueAt"`
const COLUMNS = `provider, began_at as "beganAt", swept_until as "sweptUntil", next_closing::text as "nextClosing", claim`

/** The provider's sweep, if it is due and nobody else has it. */
export async function claimSweep(core: Core, provider: string): Promise<Sweep | undefined> {
  const now = core.now()
  const longestWaitMs = Math.max(LEASE_MS, core.settings.reconcileSeconds * 1000)
  const { claimed, rewound } = await transact(core.pool, async (tx) => {
    const cursor = await readCursor(tx, provider)
    if (!cursor) await beginSweep(tx, now, provider)
    const rewound = cursor && isAhead(now, cursor, longestWaitMs) ? await rewindSweep(tx, now, cursor) : undefined
    const mayBeDue = !cursor || rewound || cursor.dueAt <= now
    return { claimed: mayBeDue ? await claimDue(tx, now, provider) : undefined, rewound }
  })
  if (rewound) core.log.error({ provider, ...rewound }, 'the cursor of a sweep was in the future and was rewound')
  return claimed
}

/** Still at work. */
export function renewClaim(core: Core, sweep: Sweep): Promise<void> {
  return transact(core.pool, (tx) => change(tx, sweep, 'due_at = $3', leaseEnd(core.now())))
}

/** Everything that the provider received before this moment is in the books. */
export function moveSweep(core: Core, sweep: Sweep, sweptUntil: Date): Promise<void> {
  return transact(core.pool, (tx) => change(tx, sweep, 'swept_until = greatest(swept_until, $3)', sweptUntil))
}

/** In the transaction that closes the day before it. */
export function moveClosing(tx: Tx, sweep: Sweep, nextClosing: string): Promise<void> {
  return change(tx, sweep, 'next_closing = $3', nextClosing)
}

/** Ends the claim, unless it was lost. */
export async function releaseSweep(core: Core, sweep: Sweep, dueAt: Date): Promise<void> {
  await transact(core.pool, (tx) =>
    tx.run('update sweeps set due_at = $3, claim = null where provider = $1 and claim = $2', [
      sweep.provider,
      sweep.claim,
      dueAt,
    ]),
  )
}

type Cursor = { provider: string; beganAt: Date; sweptUntil: Date; nextClosing: string; dueAt: Date }

async function readCursor(tx: Tx, provider: string): Promise<Cursor | undefined> {
  const [row] = await tx.rows<Cursor>(`select ${CURSOR_COLUMNS} from sweeps where provider = $1`, [provider])
  return row
}

/** Cursors that no clock of today can have written: a sweep that follows them would skip what arrives until then. Pure. */
export function isAhead(now: Date, cursor: Cursor, longestWaitMs: number): boolean {
  const latest = now.getTime() + TOLERANCE_MS
  return (
    cursor.beganAt.getTime() > latest ||
    cursor.sweptUntil.getTime() > latest ||
    cursor.dueAt.getTime() > latest + longestWaitMs ||
    cursor.nextClosing > dayOf(new Date(latest))
  )
}

/** For whoever watches over the service: those that the next claim rewinds. */
export async function findCursorsAhead(core: Core): Promise<Cursor[]> {
  const cursors = await query<Cursor>(core.pool, `select ${CURSOR_COLUMNS} from sweeps order by provider`)
  return cursors.filter((cursor) =>
    isAhead(core.now(), cursor, Math.max(LEASE_MS, core.settings.reconcileSeconds * 1000)),
  )
}

type Rewound = { from: { sweptUntil: Date; nextClosing: string }; to: { sweptUntil: Date; nextClosing: string } }

/**
 * Back to the end of the last day that was closed after it was over, or to the beginning. Nobody knows how far the list was really read, and reading it again
 * books nothing twice. Days that were closed before they were over are closed again.
 */
async function rewindSweep(tx: Tx, now: Date, cursor: Cursor): Promise<Rewound | undefined> {
  const { provider } = cursor
  const [row] = await tx.rows<{ until: Date | null }>(
    'select max(ends_at) as until from closings where provider = $1 and ends_at <= closed_at and closed_at <= $2',
    [provider, now],
  )
  const beganAt = cursor.beganAt > now ? await firstChargeAt(tx, now, provider) : cursor.beganAt
  const until = row?.until && row.until > beganAt ? row.until : beganAt
  const today = dayOf(now)
  const nextClosing = cursor.nextClosing > today ? dayOf(until) : cursor.nextClosing
  const sweptUntil = cursor.sweptUntil > now ? until : cursor.sweptUntil
  const changed = await tx.run(
    `update sweeps set began_at = $3, swept_until = $4, next_closing = $5, due_at = $6, claim = null
     where provider = $1 and swept_until = $2`,
    [provider, cursor.sweptUntil, beganAt, sweptUntil, nextClosing, now],
  )
  // Another process rewound it first.
  if (changed === 0) return undefined
  const { sweptUntil: before, nextClosing: dayBefore } = cursor
  return { from: { sweptUntil: before, nextClosing: dayBefore }, to: { sweptUntil, nextClosing } }
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
async function beginSweep(tx: Tx, now: Date, provider: string): Promise<void> {
  const beganAt = await firstChargeAt(tx, now, provider)
  await tx.run(
    `insert into sweeps (provider, began_at, swept_until, next_closing, due_at) values ($1, $2, $2, $3, $4)
     on conflict do nothing`,
    [provider, beganAt, dayOf(beganAt), now],
  )
}

/** Now, if it has none. */
async function firstChargeAt(tx: Tx, now: Date, provider: string): Promise<Date> {
  await tx.setStatementTimeout(FIRST_CHARGE_TIMEOUT_MS)
  // Ids are in the order of time, and have the index.
  const [first] = await tx.rows<{ created_at: Date }>(
    'select created_at from charges where provider = $1 order by id limit 1',
    [provider],
  )
  return first && first.created_at <= now ? first.created_at : now
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
