import { hexFromUuid } from '../base/ids.ts'
import type { Cents } from '../base/money.ts'
import { transact, type Tx } from '../db/tx.ts'
import type { Context } from './context.ts'
import type { Provider, ReceivedPayment } from './provider.ts'

export type Difference = { check: string; subject: string; text: string }

export type AuditReport = {
  charges: number
  payments: number
  transfers: number
  creditedCents: Cents
  feesCents: Cents
  suspenseCents: Cents
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
  await tx.run(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
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
      (select coalesce(sum(amount_cents), 0)::bigint from transfers where kind = 'fee') as "feesCents",
      (select credits_cents - debits_cents from ledger_balances b join ledger_accounts l on l.id = b.ledger_account_id
       where l.kind = 'suspense') as "suspenseCents"`)
  return { ...totals!, differences }
}

// Each statement yields a row for every thing that is not as it must be.
const BOOK_CHECKS = {
  // What is kept per account is at all times the sum of its transfers.
  balance: `
    select l.kind || ' ' || coalesce(l.account_id::text, l.provider, '') as subject,
      format('keeps debits %s and credits %s, but its transfers add up to %s and %s', coalesce(b.debits_cents::text, 'none'),
        coalesce(b.credits_cents::text, 'none'), coalesce(d.sum, 0), coalesce(c.sum, 0)) as text
    from ledger_accounts l
    left join ledger_balances b on b.ledger_account_id = l.id
    left join (select debit_id as id, sum(amount_cents) from transfers group by 1) d using (id)
    left join (select credit_id as id, sum(amount_cents) from transfers group by 1) c using (id)
    where b.debits_cents is distinct from coalesce(d.sum, 0) or b.credits_cents is distinct from coalesce(c.sum, 0)`,
  // Each transfer says what its accounts held after it; together they form an unbroken chain.
  chain: `
    select 'transfer ' || id as subject, format('ledger account %s holds %s after it, should be %s', account, after, running) as text
    from (
      select id, account, after, sum(amount) over (partition by account order by id) as running
      from (
        select id, debit_id as account, -amount_cents as amount, debit_after_cents as after from transfers
        union all
        select id, credit_id, amount_cents, credit_after_cents from transfers
      ) sides
    ) lines
    where after <> running`,
  // Every centavo that arrived went through its provider's cash, once: no credit stands without money behind it, and no money without
  // a credit.
  cash: `
    select 'payment ' || p.end_to_end_id as subject,
      format('brought %s cents, but %s stand for it in the cash of %s', p.amount_cents, coalesce(t.sum, 0),
        coalesce(t.providers, 'any provider')) as text
    from payments p
    left join (
      select t.payment_id as id, sum(t.amount_cents), string_agg(distinct l.provider, ', ') as providers
      from transfers t join ledger_accounts l on l.id = t.debit_id where l.kind = 'cash' group by 1
    ) t using (id)
    where t.sum is distinct from p.amount_cents or t.providers <> p.provider`,
  // A COMPLETED charge has one payment of its value, its transfers, and its event.
  completed: `
    select 'charge ' || replace(c.id::text, '-', '') as subject,
      format('COMPLETED with value %s and fee %s, but has %s credited payments of %s, deposits of %s, fees of %s and %s events',
        c.value_cents, c.fee_cents, coalesce(p.count, 0), coalesce(p.sum, 0), coalesce(t.deposits, 0), coalesce(t.fees, 0),
        coalesce(e.count, 0)) as text
    from charges c
    left join (select charge_id as id, count(*), sum(amount_cents) from payments where credited group by 1) p using (id)
    left join (
      select t.charge_id as id,
        sum(t.amount_cents) filter (where t.kind = 'deposit' and l.account_id = c.account_id) as deposits,
        sum(t.amount_cents) filter (where t.kind = 'fee') as fees
      from transfers t join ledger_accounts l on l.id = t.credit_id join charges c on c.id = t.charge_id
      where t.kind in ('deposit', 'fee') group by 1
    ) t using (id)
    left join (select subject_id as id, count(*) from events where kind = 'DEPOSIT_ASSET_SUCCESS' group by 1) e using (id)
    where c.status = 'COMPLETED' and (p.count is distinct from 1 or p.sum is distinct from c.value_cents
      or t.deposits is distinct from c.value_cents - c.fee_cents or coalesce(t.fees, 0) <> c.fee_cents or e.count is distinct from 1)`,
  // And nothing else has any of these.
  uncompleted: `
    select 'charge ' || replace(c.id::text, '-', '') as subject, format('is %s, but a payment was credited to it', c.status) as text
    from charges c where c.status <> 'COMPLETED' and (
      exists (select from payments p where p.charge_id = c.id and p.credited)
      or exists (select from transfers t where t.charge_id = c.id and t.kind in ('deposit', 'fee'))
      or exists (select from events e where e.subject_id = c.id and e.kind = 'DEPOSIT_ASSET_SUCCESS'))`,
  // A payment that completed nothing stands in suspense with its exception; one that did stands in neither.
  suspense: `
    select 'payment ' || p.end_to_end_id as subject,
      case when p.credited then 'was credited and is an exception too' else 'completed nothing, and is not wholly in suspense' end as text
    from payments p
    left join exceptions x on x.payment_id = p.id
    left join transfers t on t.payment_id = p.id and t.kind = 'suspense'
    where case when p.credited then x.id is not null or t.id is not null
      else x.id is null or t.amount_cents is distinct from p.amount_cents end`,
}

/** Every Pix that the provider received stands in our payments as it says, and every payment of ours stands in its list. */
async function auditProvider(ctx: Context, provider: Provider): Promise<Difference[]> {
  const window = await auditWindow(ctx)
  // Ours before theirs: what arrives while the list is read then stands in theirs, and comparePage looks for it late enough.
  const ours = await paymentsOf(ctx, provider.name, window)
  const seen = new Set<string>()
  const differences: Difference[] = []
  for await (const page of provider.listReceived(window)) {
    for (const payment of page) seen.add(payment.endToEndId)
    differences.push(...(await comparePage(ctx, provider, page)))
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
    await tx.run(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
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
