import { hexFromUuid } from '../base/ids.ts'
import type { Cents } from '../base/money.ts'
import { transact, type Tx } from '../db/tx.ts'
import { BOOK_CHECKS } from './audit-checks.ts'
import type { Context } from './context.ts'
import type { Provider, ReceivedPayment, UnreadEntry } from './provider.ts'

export type Difference = { check: string; subject: string; text: string }

export type AuditReport = {
  charges: number
  payments: number
  transfers: number
  creditedCents: Cents
  feesCents: Cents
  suspenseCents: Cents
  /** Given back to payers, and on its way there. */
  refundedCents: Cents
  refundingCents: Cents
  /** Left a provider without us, and nobody has borne it yet. */
  missingCents: Cents
  /** What the operator kept by decision; a loss is below zero. */
  writtenOffCents: Cents
  /** Providers that money came through and that are not configured any more, so that nobody can be asked. */
  notCompared: string[]
  differences: Difference[]
  /** There are more than are named. */
  isCut: boolean
}

// A hundred named differences tell as much as a million, and fit a screen's scrollback.
const MAX_NAMED = 100
// An audit reads everything, so the statement bound for requests does not fit it.
const STATEMENT_TIMEOUT_MS = 10 * 60_000

/**
 * Proves that the books agree with themselves and with what each provider says it received. Everything of ours is read in one snapshot.
 */
export async function audit(ctx: Context, say: (line: string) => void = () => {}): Promise<AuditReport> {
  say('Reading the ledger…')
  const report = await transact(ctx.pool, auditBooks, { isolation: 'repeatable read' })
  for (const provider of ctx.providers) {
    say(`Comparing with ${provider.name}'s statement…`)
    report.differences.push(...(await auditProvider(ctx, provider)))
  }
  const notCompared = report.providers.filter((name) => !ctx.providers.some((provider) => provider.name === name))
  const { providers: _, differences, ...totals } = report
  return { ...totals, notCompared, differences: differences.slice(0, MAX_NAMED), isCut: differences.length > MAX_NAMED }
}

type Books = Omit<AuditReport, 'notCompared' | 'isCut'> & { providers: string[] }

async function auditBooks(tx: Tx): Promise<Books> {
  await prepareAudit(tx)
  const differences: Difference[] = []
  for (const [check, sql] of Object.entries(BOOK_CHECKS)) {
    const rows = await tx.rows<{ subject: string; text: string }>(`${sql} limit ${MAX_NAMED + 1}`)
    differences.push(...rows.map((row) => ({ check, ...row })))
  }
  const [totals] = await tx.rows<Omit<Books, 'differences'>>(`
    select (select coalesce(array_agg(provider), '{}') from ledger_accounts where kind = 'cash') as providers,
      (select count(*) from charges where status not in ('OPENING', 'FAILED')) as charges,
      (select count(*) from payments) as payments,
      (select count(*) from transfers) as transfers,
      (select coalesce(sum(amount_cents), 0)::bigint from transfers where kind = 'deposit') as "creditedCents",
      (select coalesce(sum(case when kind = 'fee_returned' then -amount_cents else amount_cents end), 0)::bigint from transfers
       where kind in ('fee', 'fee_returned', 'fee_kept')) as "feesCents",
      (select coalesce(sum(amount_cents), 0)::bigint from refunds where status = 'DONE') as "refundedCents",
      held.*
    from (
      select coalesce(sum(cents) filter (where kind = 'suspense'), 0)::bigint as "suspenseCents",
        coalesce(sum(cents) filter (where kind = 'refunding'), 0)::bigint as "refundingCents",
        coalesce(-sum(cents) filter (where kind = 'missing'), 0)::bigint as "missingCents",
        coalesce(sum(cents) filter (where kind = 'written_off'), 0)::bigint as "writtenOffCents"
      from ledger_accounts l
      join (select ledger_account_id as id, credits_cents - debits_cents as cents from ledger_balances) b using (id)
    ) held`)
  return { ...totals!, differences }
}

/**
 * Whole tables are joined here, and PostgreSQL may still believe what it counted before a busy hour, that hardly any charge is COMPLETED, and compare each row
 * with each: minutes for ten thousand charges. Without nested loops the work grows with the books, whatever it believes.
 */
export async function prepareAudit(tx: Tx): Promise<void> {
  await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
  await tx.run('set local enable_nestloop = off')
}

/** Every Pix that the provider received stands in our payments as it says, and every payment of ours stands in its list. */
async function auditProvider(ctx: Context, provider: Provider): Promise<Difference[]> {
  const startedAt = ctx.now()
  const window = await auditWindow(ctx)
  // Ours before theirs: what arrives while the list is read then stands in theirs, and comparePage looks for it late enough.
  const ours = await paymentsOf(ctx, provider.name, window)
  const seen = new Set<string>()
  const differences: Difference[] = []
  const onUnread = ({ endToEndId, text }: UnreadEntry) => {
    const subject = endToEndId === null ? provider.name : `payment ${endToEndId}`
    differences.push({ check: 'provider', subject, text: `may be money, and cannot be read (${text})` })
  }
  for await (const page of provider.listReceived(window, onUnread)) {
    for (const payment of page) seen.add(payment.endToEndId)
    differences.push(...(await comparePage(ctx, provider, page)))
    differences.push(...(await compareRefunds(ctx, provider, page, startedAt)))
  }
  for (const row of ours) {
    if (seen.has(row.end_to_end_id)) continue
    differences.push({
      check: 'provider',
      subject: `payment ${row.end_to_end_id}`,
      text: `stands in our books with ${row.amount_cents} cents, but not in ${provider.name}'s list`,
    })
  }
  return differences
}

async function auditWindow(ctx: Context): Promise<{ from: Date; to: Date }> {
  const DAY_MS = 24 * 3_600_000
  const [row] = await ctx.pool
    .query<{ first: Date | null }>(
      'select least((select min(created_at) from charges), (select min(occurred_at) from payments)) as first',
    )
    .then((result) => result.rows)
  const now = ctx.now().getTime()
  return { from: new Date((row?.first?.getTime() ?? now) - DAY_MS), to: new Date(now + DAY_MS) }
}

type PaymentRow = { id: string; end_to_end_id: string; txid: string | null; amount_cents: number }

function paymentsOf(ctx: Context, provider: string, window: { from: Date; to: Date }): Promise<PaymentRow[]> {
  return transact(ctx.pool, async (tx) => {
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    return tx.rows<PaymentRow>(
      `select id, end_to_end_id, txid, amount_cents from payments where provider = $1 and occurred_at >= $2 and occurred_at < $3`,
      [provider, window.from, window.to],
    )
  })
}

async function comparePage(ctx: Context, provider: Provider, page: ReceivedPayment[]): Promise<Difference[]> {
  const rows = await transact(ctx.pool, (tx) =>
    tx.rows<PaymentRow>(
      'select id, end_to_end_id, txid, amount_cents from payments where provider = $1 and end_to_end_id = any($2)',
      [provider.name, page.map((payment) => payment.endToEndId)],
    ),
  )
  const ours = new Map(rows.map((row) => [row.end_to_end_id, row]))
  return page.flatMap((payment) => {
    const row = ours.get(payment.endToEndId)
    const subject = `payment ${payment.endToEndId}`
    if (!row) {
      return [
        {
          check: 'provider',
          subject,
          text: `${provider.name} received ${payment.amountCents} cents (txid ${payment.txid ?? 'none'}), but it is not in our books`,
        },
      ]
    }
    if (row.amount_cents === payment.amountCents && row.txid === payment.txid) return []
    return [
      {
        check: 'provider',
        subject,
        text: `${provider.name} says ${payment.amountCents} cents for txid ${payment.txid}, our books ${row.amount_cents} for ${row.txid} (${hexFromUuid(row.id)})`,
      },
    ]
  })
}

type RefundRow = {
  end_to_end_id: string
  refund_id: string
  amount_cents: number
  status: 'PROCESSING' | 'DONE'
  is_settled: boolean
}

/** For payments of which the provider says what was given back. What it has done and we are still asking about is no difference: we will hear of it. */
async function compareRefunds(
  ctx: Context,
  provider: Provider,
  page: ReceivedPayment[],
  startedAt: Date,
): Promise<Difference[]> {
  const told = page.filter((payment) => payment.refunds !== undefined)
  if (told.length === 0) return []
  const rows = await transact(ctx.pool, (tx) =>
    tx.rows<RefundRow>(
      // One that ended since we began may stand otherwise on a page that was read before.
      `select p.end_to_end_id, r.provider_refund_id as refund_id, r.amount_cents, r.status,
         coalesce(r.ended_at <= $3, false) as is_settled
       from payments p join refunds r on r.payment_id = p.id
       where p.provider = $1 and p.end_to_end_id = any($2) and r.status <> 'FAILED'`,
      [provider.name, told.map((payment) => payment.endToEndId), startedAt],
    ),
  )
  const ours = new Map<string, RefundRow[]>(told.map((payment) => [payment.endToEndId, []]))
  for (const row of rows) ours.get(row.end_to_end_id)!.push(row)
  return told.flatMap((payment) => refundDifferences(provider.name, payment, ours.get(payment.endToEndId)!))
}

/** Pure. */
function refundDifferences(provider: string, { endToEndId, refunds = [] }: ReceivedPayment, ours: RefundRow[]) {
  const made = refunds.filter((refund) => refund.status !== 'failed')
  const missing = made.filter(
    (refund) =>
      refund.status === 'done' &&
      !ours.some((row) => row.refund_id === refund.refundId && row.amount_cents === refund.amountCents),
  )
  const invented = ours.filter((row) => row.is_settled && !made.some((refund) => refund.refundId === row.refund_id))
  const differ = (text: string) => ({ check: 'provider', subject: `payment ${endToEndId}`, text })
  return [
    ...missing.map(({ refundId, amountCents }) =>
      differ(`${provider} gave back ${amountCents} cents (refund ${refundId}), but our books do not say so`),
    ),
    ...invented.map(({ refund_id: refundId, amount_cents: amountCents }) =>
      differ(`our books say that ${amountCents} cents were given back (refund ${refundId}), but ${provider} does not`),
    ),
  ]
}
