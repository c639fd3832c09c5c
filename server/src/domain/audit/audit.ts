import { transact } from '../../db/tx.ts'
import { auditBooks, type Books } from './books.ts'
import { compareProvider, type Compared, type NotCompared } from './providers.ts'
import { MAX_NAMED } from '../reconciliation/differences.ts'
import type { Context } from '../context.ts'

export type AuditReport = Books & {
  /** The first day that was compared with providers, if not all were wanted. The books themselves are always proved whole. */
  since: string | null
  /** What each provider was asked for, and how much it told. */
  compared: Compared[]
  /** What could not be compared, and why. */
  notCompared: NotCompared[]
  /** There are more than are named. */
  isCut: boolean
}

/** `done` is between 0 and 1. */
export type AuditProgress = { done: number; text: string }

export type AuditOptions = {
  /** A day such as 2026-01-31. */
  since?: string | undefined
  onProgress?: ((progress: AuditProgress) => void) | undefined
}

// All payments are counted.
const STATEMENT_TIMEOUT_MS = 10 * 60_000
// About what the books themselves take of an audit, for the progress that is shown.
const BOOKS_SHARE = 0.4

/** Proves that the books agree with themselves, in one snapshot, and with what each provider says it received and gave back, day by day. */
export async function audit(ctx: Context, { since, onProgress = () => {} }: AuditOptions = {}): Promise<AuditReport> {
  const onStep = (name: string, step: number, steps: number) =>
    onProgress({ done: (BOOKS_SHARE * step) / steps, text: `the books: ${name}` })
  const books = await transact(
    ctx.pool,
    (tx) => auditBooks(tx, { now: ctx.now(), seal: ctx.settings.chargeSeal, onStep }),
    { isolation: 'repeatable read' },
  )
  const differences = [...books.differences]
  let differenceCount = differences.length
  const compared: Compared[] = []
  const notCompared = await findUnasked(ctx)
  for (const [index, provider] of ctx.providers.entries()) {
    const show = (done: number, text: string) =>
      onProgress({ done: BOOKS_SHARE + (1 - BOOKS_SHARE) * ((index + done) / ctx.providers.length), text })
    const found = await compareProvider(ctx, provider, { since, onProgress: show })
    compared.push(found.compared)
    notCompared.push(...found.notCompared)
    differenceCount += found.differenceCount
    differences.push(...found.differences)
  }
  return {
    ...books,
    since: since ?? null,
    compared,
    notCompared,
    differences: differences.slice(0, MAX_NAMED),
    isCut: differenceCount > MAX_NAMED,
  }
}

/** Providers that money came through, and that nobody can be asked any more. */
async function findUnasked(ctx: Context): Promise<NotCompared[]> {
  const names = ctx.providers.map((provider) => provider.name)
  const rows = await transact(ctx.pool, async (tx) => {
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    return tx.rows<{ provider: string; count: number }>(
      `select provider, count(*) as count from payments where provider <> all($1) group by provider order by provider`,
      [names],
    )
  })
  return rows.map(({ provider, count }) => ({
    provider,
    what: 'payments and refunds',
    why: `${count} payment${count === 1 ? '' : 's'} came through it, and it is not configured any more`,
  }))
}
