import { newUuid7 } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { SYSTEM, writeAudit } from '../core/audit-log.ts'
import { dayOf } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'

/** How far a provider's list of received Pix was read. */
type Cursor = { provider: string; beganAt: Date; sweptUntil: Date; nextClosing: string; dueAt: Date }

export type Sweep = Cursor & { claim: string }

/** Our lease ended while we were busy, and another process has the provider. */
class ClaimLost extends Error {
  override name = 'ClaimLost'
}

// Renewed with every page, for which a provider has 20 seconds. After this, others take over from a dead process.
const LEASE_MS = 2 * 60_000
// Only the first sweep of a provider searches the charges for its first.
const FIRST_CHARGE_TIMEOUT_MS = 10 * 60_000

// Two processes' measurements of the database's clock differ by milliseconds. A cursor may be ahead by less than the
// overlap that each sweep reads again.
const TOLERANCE_MS = 60_000

const CURSOR_COLUMNS = `provider, began_at as "beganAt", swept_until as "sweptUntil",
  next_closing::text as "nextClosing", due_at as "dueAt"`

export async function claimSweep(core: Core, provider: string): Promise<Sweep | undefined> {
  const now = core.now()
  const { claimed, rewound } = await transact(core.pool, async (tx) => {
    const cursor = await readCursor(tx, provider)
    if (!cursor) await beginSweep(tx, now, provider)
    const rewound = cursor && isAhead(core, cursor) ? await rewindSweep(tx, now, cursor) : undefined
    const mayBeDue = !cursor || rewound || cursor.dueAt <= now
    return { claimed: mayBeDue ? await claimDue(tx, now, provider) : undefined, rewound }
  })
  if (rewound) core.log.error({ provider, ...rewound }, 'the cursor of a sweep was in the future and was rewound')
  return claimed
}

export function renewClaim(core: Core, sweep: Sweep): Promise<void> {
  return transact(core.pool, (tx) => change(tx, sweep, 'due_at = $3', leaseEnd(core.now())))
}

/** All payments that the provider received before this moment are in the books. */
export function moveSweep(core: Core, sweep: Sweep, sweptUntil: Date): Promise<void> {
  return transact(core.pool, (tx) => change(tx, sweep, 'swept_until = greatest(swept_until, $3)', sweptUntil))
}

/** In the transaction that closes the day before it. */
export function moveClosing(tx: Tx, sweep: Sweep, nextClosing: string): Promise<void> {
  return change(tx, sweep, 'next_closing = $3', nextClosing)
}

/** Ends the claim; a lost claim changes nothing. */
export async function releaseSweep(core: Core, sweep: Sweep, dueAt: Date): Promise<void> {
  const sql = 'update sweeps set due_at = $3, claim = null where provider = $1 and claim = $2'
  await query(core.pool, sql, [sweep.provider, sweep.claim, dueAt])
}

export async function readCursor(tx: Tx, provider: string): Promise<Cursor | undefined> {
  const [row] = await tx.rows<Cursor>(`select ${CURSOR_COLUMNS} from sweeps where provider = $1`, [provider])
  return row
}

/** No clock of today can have written this cursor: a sweep that follows it would skip what arrives until then. */
function isAhead(core: Core, cursor: Cursor): boolean {
  const latest = core.now().getTime() + TOLERANCE_MS
  const longestWaitMs = Math.max(LEASE_MS, core.settings.reconcileSeconds * 1000)
  return (
    cursor.beganAt.getTime() > latest ||
    cursor.sweptUntil.getTime() > latest ||
    cursor.dueAt.getTime() > latest + longestWaitMs ||
    cursor.nextClosing > dayOf(new Date(latest))
  )
}

/** For `guiche doctor`: the cursors that the next claim rewinds. */
export async function findCursorsAhead(core: Core): Promise<Cursor[]> {
  const cursors = await query<Cursor>(core.pool, `select ${CURSOR_COLUMNS} from sweeps order by provider`)
  return cursors.filter((cursor) => isAhead(core, cursor))
}

type Position = Pick<Cursor, 'sweptUntil' | 'nextClosing'>

/** Moves back to the last day that was closed in time. Reading the list again books nothing twice. */
async function rewindSweep(tx: Tx, now: Date, cursor: Cursor): Promise<{ from: Position; to: Position } | undefined> {
  const { provider } = cursor
  const closed = await tx.one<{ until: Date | null }>(
    'select max(ends_at) as until from closings where provider = $1 and ends_at <= closed_at and closed_at <= $2',
    [provider, now],
  )
  const beganAt = cursor.beganAt > now ? await firstChargeAt(tx, now, provider) : cursor.beganAt
  const until = closed.until && closed.until > beganAt ? closed.until : beganAt
  const nextClosing = cursor.nextClosing > dayOf(now) ? dayOf(until) : cursor.nextClosing
  const sweptUntil = cursor.sweptUntil > now ? until : cursor.sweptUntil
  const changed = await tx.run(
    `update sweeps set began_at = $3, swept_until = $4, next_closing = $5, due_at = $6, claim = null
     where provider = $1 and swept_until = $2`,
    [provider, cursor.sweptUntil, beganAt, sweptUntil, nextClosing, now],
  )
  if (changed === 0) return undefined
  if (beganAt !== cursor.beganAt) await auditBegin(tx, now, provider, beganAt)
  const from = { sweptUntil: cursor.sweptUntil, nextClosing: cursor.nextClosing }
  return { from, to: { sweptUntil, nextClosing } }
}

async function claimDue(tx: Tx, now: Date, provider: string): Promise<Sweep | undefined> {
  const [row] = await tx.rows<Sweep>(
    `update sweeps set claim = $3, due_at = $4 where provider = $1 and due_at <= $2 returning ${CURSOR_COLUMNS}, claim`,
    [provider, now, newUuid7(now), leaseEnd(now)],
  )
  return row
}

// The first sweep starts at the provider's first charge. Older Pix are not ours, and would flood the operator with
// exceptions.
async function beginSweep(tx: Tx, now: Date, provider: string): Promise<void> {
  const beganAt = await firstChargeAt(tx, now, provider)
  const row = { provider, began_at: beganAt, swept_until: beganAt, next_closing: dayOf(beganAt), due_at: now }
  const made = await insertRow(tx, 'sweeps', row, 'on conflict do nothing returning provider')
  if (made.length > 0) await auditBegin(tx, now, provider, beganAt)
}

function auditBegin(tx: Tx, now: Date, provider: string, beganAt: Date): Promise<void> {
  const change = { subject: `provider ${provider}`, details: { from: beganAt.toISOString() } }
  return writeAudit(tx, now, SYSTEM, { action: 'reconcile.began', ...change, rows: [['sweep', provider]] })
}

/** Or that of the first code. Now, if there is none. */
export async function firstChargeAt(tx: Tx, now: Date, provider: string): Promise<Date> {
  await tx.setStatementTimeout(FIRST_CHARGE_TIMEOUT_MS)
  // Ids are in order of time, and indexed.
  const sql = `
    select min(at) as at from (
      (select created_at as at from charges where provider = $1 order by id limit 1)
      union all select min(created_at) from codes where provider = $1
    ) first`
  const [first] = await tx.rows<{ at: Date | null }>(sql, [provider])
  return first?.at && first.at <= now ? first.at : now
}

async function change(tx: Tx, sweep: Sweep, assignment: string, value: Date | string): Promise<void> {
  const sql = `update sweeps set ${assignment} where provider = $1 and claim = $2`
  const changed = await tx.run(sql, [sweep.provider, sweep.claim, value])
  if (changed === 0) throw new ClaimLost(`another process took over the sweep of ${sweep.provider}`)
}

function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}
