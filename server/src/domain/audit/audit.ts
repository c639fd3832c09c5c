import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { AUDIT_TIMEOUT_MS, auditBooks, type Books, type BooksOptions } from './books.ts'
import { readUnsealing } from '../../db/presence.ts'
import { compareProvider, countText, type Compared, type NotCompared, type ProviderAudit } from './providers.ts'
import { MAX_NAMED } from '../reconciliation/differences.ts'
import type { Context } from '../context.ts'

export type AuditReport = Books & {
  /** The first day that was compared with providers; null: all. Our own books are always checked whole. */
  since: string | null
  compared: Compared[]
  notCompared: NotCompared[]
  isCut: boolean
}

export type AuditProgress = { done: number; text: string }

export type AuditOptions = {
  since?: string | undefined
  onProgress?: ((progress: AuditProgress) => void) | undefined
}

// The part of an audit's time that our own books take, for the progress bar.
const BOOKS_SHARE = 0.4

/** Checks that our books are consistent, in one snapshot, and that they agree with each provider, day by day. */
export async function audit(ctx: Context, { since, onProgress = () => {} }: AuditOptions = {}): Promise<AuditReport> {
  const onStep = (name: string, step: number, steps: number) =>
    onProgress({ done: (BOOKS_SHARE * step) / steps, text: `the books: ${name}` })
  const unsealing = await findUnsealing(ctx)
  const options = { ...(await booksOptions(ctx)), checksSeals: unsealing.length === 0, onStep }
  const books = await transact(ctx.pool, (tx) => auditBooks(tx, options), { isolation: 'repeatable read' })
  const notCompared = [...unsealing, ...(await findUnasked(ctx))]
  const found: ProviderAudit[] = []
  for (const [index, provider] of ctx.providers.entries()) {
    const show = (done: number, text: string) =>
      onProgress({ done: BOOKS_SHARE + (1 - BOOKS_SHARE) * ((index + done) / ctx.providers.length), text })
    found.push(await compareProvider(ctx, provider, { since, onProgress: show }))
  }
  const differences = [...books.differences, ...found.flatMap((one) => one.differences)]
  return {
    ...books,
    since: since ?? null,
    compared: found.map((one) => one.compared),
    notCompared: [...notCompared, ...found.flatMap((one) => one.notCompared)],
    differences: differences.slice(0, MAX_NAMED),
    isCut: differences.length > MAX_NAMED || found.some((one) => one.isCut),
  }
}

/** Read before the snapshot is opened: it has every head that was kept outside by now. */
export async function booksOptions({ now, settings }: Core): Promise<BooksOptions> {
  const { chargeSeal: seal, headKeys, outsideHeads } = settings
  return { now: now(), seal, tree: { headKeys, outside: await outsideHeads.newest() } }
}

/** A process of the release before this one writes rows without seals, until the first mark. */
async function findUnsealing(ctx: Context): Promise<NotCompared[]> {
  return transact(ctx.pool, async (tx) => {
    if ((await tx.rows('select from seal_marks limit 1')).length > 0) return []
    const processes = await readUnsealing(tx)
    const why = `rows have no seals while an older release runs (${processes.join(', ')})`
    return processes.length === 0 ? [] : [{ provider: 'guiche', what: 'seals', why }]
  })
}

async function findUnasked(ctx: Context): Promise<NotCompared[]> {
  const names = ctx.providers.map((provider) => provider.name)
  const rows = await transact(ctx.pool, async (tx) => {
    await tx.setStatementTimeout(AUDIT_TIMEOUT_MS)
    return tx.rows<{ provider: string; count: number }>(
      `select provider, count(*) as count from payments where provider <> all($1) group by provider order by provider`,
      [names],
    )
  })
  return rows.map(({ provider, count }) => ({
    provider,
    what: 'payments and refunds',
    why: `${countText(count)} came through it, and it is not configured any more`,
  }))
}
