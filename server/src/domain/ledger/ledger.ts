import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import type { Tx } from '../../db/tx.ts'

/**
 * The kinds of ledger account:
 * - cash: what a provider holds for us.
 * - balance: what is available to an account holder.
 * - reserved: what an account holder asked to be paid out.
 * - held: what is set aside for open disputes.
 * - owed: the debt of an account holder for reversals, as a negative number.
 * - fees: what we earned.
 * - suspense: what arrived and has no owner yet.
 * - refunding: what is on its way back to payers.
 * - paid_out: what the operator paid to account holders.
 * - missing: what left a provider without us, until it is decided who bears it.
 * - written_off: what the operator kept or lost by decision. Negative after a loss.
 */
export type LedgerKey =
  | { kind: 'cash'; provider: string }
  | { kind: 'balance' | 'reserved' | 'held' | 'owed'; accountId: string }
  | { kind: 'fees' | 'suspense' | 'refunding' | 'paid_out' | 'missing' | 'written_off' }

/** In the order in which they occur, with the debited and the credited side. */
export type TransferKind =
  | 'deposit' // cash → balance
  | 'fee' // cash → fees
  | 'suspense' // cash → suspense
  | 'fee_returned' // fees → balance, with refund_reserved
  | 'refund_reserved' // balance or suspense → refunding
  | 'refund_paid' // refunding → cash
  | 'refund_released' // refunding → where it was reserved
  | 'fee_kept' // balance → fees, with refund_released
  | 'refund_seen' // missing → cash
  | 'refund_undone' // cash → suspense
  | 'exception_credited' // suspense → balance
  | 'exception_written_off' // suspense → written_off
  | 'refund_charged' // balance → missing
  | 'reversal_charged' // balance → missing
  | 'reversal_owed' // owed → missing
  | 'debt_paid' // balance → owed
  | 'refund_written_off' // written_off → missing
  | 'matched_deposit' // suspense → balance
  | 'matched_fee' // suspense → fees
  | 'payout_reserved' // balance → reserved
  | 'payout_paid' // reserved → paid_out
  | 'payout_returned' // reserved → balance
  | 'dispute_held' // balance → held
  | 'dispute_released' // held → balance

/** A transfer without what it is about. */
export type Movement = {
  kind: TransferKind
  debit: LedgerKey
  credit: LedgerKey
  amountCents: Cents
}

/** All ids are UUIDs. */
export type Transfer = Movement &
  (OfPayment | OfPayout | OfDispute | { kind: 'debt_paid' }) & {
    occurredAt: Date
    /** Now, unless it is recorded later than it was booked. */
    recordedAt?: Date
  }

type OfPayment = {
  paymentId: string
  chargeId: string | null
  refundId?: string
  /** The exception that this transfer resolves. */
  exceptionId?: string
}
type OfPayout = { payoutId: string }
type OfDispute = { disputeId: string; chargeId: string | null }

/**
 * What a posting has moved on each ledger account so far, in the order of history. Returns credits less debits of the
 * account, this movement included.
 */
export function makeTally(): (account: string | number, cents: Cents) => Cents {
  const nets = new Map<string | number, Cents>()
  return (account, cents) => {
    const net = (nets.get(account) ?? 0) + cents
    nets.set(account, net)
    return net
  }
}

/**
 * In SQL, the account that a transfer concerns: the one whose balance it moves, or else the one of its charge. None for
 * a payment that fits no charge.
 */
function transferAccount(row: string): string {
  return `coalesce(
    (select account_id from ledger_accounts where id = ${row}.debit_id),
    (select account_id from ledger_accounts where id = ${row}.credit_id),
    (select account_id from charges where id = ${row}.charge_id)
  )`
}

/**
 * In SQL, posts the rows of the CTE `lines` and moves the balances with them. The order of `place` is the order of
 * history. Each has the net of makeTally() for both sides, and the account of transferAccount().
 *
 * `moved` moves the balances in the order of ids, and each is locked from then on: two postings that share accounts
 * wait for each other, and never deadlock. It gives each balance as it was after that wait, and not as the statement's
 * snapshot has it. A transfer gets its id when both its sides are locked.
 */
export const POST_LINES = `
  sums as materialized (
    select id, sum(debits)::bigint as debits, sum(credits)::bigint as credits
    from (
      select debit_id as id, amount_cents as debits, 0 as credits from lines
      union all
      select credit_id, 0, amount_cents from lines
    ) sides
    group by id
  ), moved as materialized (
    select id, move_balance(id, debits, credits) + debits - credits as cents from (select * from sums order by id) s
  ), posted as (
    insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id,
      charge_id, refund_id, exception_id, payout_id, dispute_id, occurred_at, recorded_at, account_id)
    select l.kind, l.debit_id, l.credit_id, l.amount_cents, d.cents + l.debit_net, c.cents + l.credit_net, l.payment_id,
      l.charge_id, l.refund_id, l.exception_id, l.payout_id, l.dispute_id, l.occurred_at, l.recorded_at, l.account_id
    from lines l join moved d on d.id = l.debit_id join moved c on c.id = l.credit_id
    order by l.place
    returning id
  )`

/** In SQL, of the CTEs of POST_LINES: the accounts whose balance got something and who owe something. */
export const OWING = `array(
  select l.account_id from sums s join moved m using (id) join ledger_accounts l using (id)
  where s.credits > 0 and l.kind = 'balance' and has_debt_to_pay(l.account_id, m.cents + s.credits - s.debits)
)`

type Line = Pick<Transfer, 'kind' | 'amountCents' | 'occurredAt'> &
  Partial<OfPayment & OfPayout & OfDispute> & {
    debitId: number
    creditId: number
    debitNet: Cents
    creditNet: Cents
    recordedAt: Date
  }

const LINE_COLUMNS: Columns<Line> = {
  kind: ['text', ({ kind }) => kind],
  debit_id: ['bigint', ({ debitId }) => debitId],
  credit_id: ['bigint', ({ creditId }) => creditId],
  amount_cents: ['bigint', ({ amountCents }) => amountCents],
  debit_net: ['bigint', ({ debitNet }) => debitNet],
  credit_net: ['bigint', ({ creditNet }) => creditNet],
  payment_id: ['uuid', ({ paymentId }) => paymentId ?? null],
  charge_id: ['uuid', ({ chargeId }) => chargeId ?? null],
  refund_id: ['uuid', ({ refundId }) => refundId ?? null],
  exception_id: ['uuid', ({ exceptionId }) => exceptionId ?? null],
  payout_id: ['uuid', ({ payoutId }) => payoutId ?? null],
  dispute_id: ['uuid', ({ disputeId }) => disputeId ?? null],
  occurred_at: ['timestamptz', ({ occurredAt }) => occurredAt],
  recorded_at: ['timestamptz', ({ recordedAt }) => recordedAt],
}

const POST_TRANSFERS = `
  with lines as (
    select n.*, ${transferAccount('n')} as account_id from ${unnestOf(LINE_COLUMNS)}
  ), ${POST_LINES} select (select count(*) from posted) as posted, ${OWING} as owing`

/**
 * Posts transfers and moves the balances with them. The order of the list is the order of history. What a balance gets
 * pays first what its account owes.
 */
export async function postTransfers(tx: Tx, now: Date, transfers: Transfer[]): Promise<void> {
  if (transfers.length === 0) return
  const keys = transfers.flatMap(({ debit, credit }) => [debit, credit])
  const idOf = await ledgerIds(tx, keys)
  const tally = makeTally()
  const lines = transfers.map(({ debit, credit, recordedAt = now, ...transfer }): Line => {
    const [debitId, creditId] = [idOf(debit), idOf(credit)]
    const [debitNet, creditNet] = [tally(debitId, -transfer.amountCents), tally(creditId, transfer.amountCents)]
    return { ...transfer, debitId, creditId, debitNet, creditNet, recordedAt }
  })
  const { posted, owing } = await tx.one<{ posted: number; owing: string[] }>(
    POST_TRANSFERS,
    valuesOf(LINE_COLUMNS, lines),
  )
  if (posted !== lines.length) throw new Error('a ledger account has no balance')
  await payDebts(tx, now, owing)
}

/**
 * Takes from these balances what their accounts owe. The caller has moved them, so it holds their locks. That of what
 * an account owes is only taken by who holds the lock of its balance.
 */
export async function payDebts(tx: Tx, now: Date, owing: string[]): Promise<void> {
  if (owing.length === 0) return
  const debts = owing.map((accountId) => ({
    balance: { kind: 'balance', accountId } as const,
    owed: { kind: 'owed', accountId } as const,
  }))
  const held = await holdBalances(
    tx,
    debts.flatMap(({ balance, owed }) => [balance, owed]),
  )
  const paid = debts.map(({ balance, owed }): Transfer => {
    const amountCents = Math.min(held(balance), -held(owed))
    return { kind: 'debt_paid', debit: balance, credit: owed, amountCents, occurredAt: now }
  })
  await postTransfers(tx, now, paid)
}

/**
 * What these hold, locked until the transaction ends. A caller that must know before it posts names all accounts of the
 * posting, so that they are locked in the one order.
 */
export async function holdBalances(tx: Tx, keys: LedgerKey[]): Promise<(key: LedgerKey) => Cents> {
  const idOf = await ledgerIds(tx, keys)
  const rows = await tx.rows<{ id: number; cents: string }>(
    `select ledger_account_id as id, (credits_cents - debits_cents)::text as cents
     from ledger_balances where ledger_account_id = any($1) order by ledger_account_id for no key update`,
    [keys.map(idOf)],
  )
  const held = new Map(rows.map(({ id, cents }) => [id, cents]))
  return (key) => {
    const cents = held.get(idOf(key))
    if (cents === undefined) throw new Error('a ledger account has no balance')
    return Number(cents)
  }
}

/** Locks the accounts of the movements too. Refuses when the account holds less than is needed. */
export async function requireBalance(
  tx: Tx,
  account: LedgerKey,
  neededCents: Cents,
  movements: Movement[],
): Promise<void> {
  const held = await holdBalances(
    tx,
    movements.flatMap(({ debit, credit }) => [debit, credit]),
  )
  const balanceCents = held(account)
  if (balanceCents >= neededCents) return
  const text = `Balance is too small: it is ${balanceCents} cents, and ${neededCents} are needed`
  throw new Fault('balance_too_small', text, { details: { balanceCents, neededCents } })
}

/** Every account holder has one from the start, so that posting never has to create it. */
export async function makeBalanceAccount(tx: Tx, accountId: string): Promise<void> {
  await insertLedgerAccount(tx, { kind: 'balance', accountId })
}

const FIND_LEDGER_IDS = `
  select id, concat(kind, ' ', account_id, provider) as text from ledger_accounts
  where (kind = 'balance' and account_id = any($1)) or (kind in ('reserved', 'held', 'owed') and account_id = any($2))
    or (kind = 'cash' and provider = any($3)) or kind = any($4)`

async function ledgerIds(tx: Tx, keys: LedgerKey[]): Promise<(key: LedgerKey) => number> {
  const rows = await tx.rows<{ id: number; text: string }>(FIND_LEDGER_IDS, [
    keys.flatMap((key) => (key.kind === 'balance' ? key.accountId : [])),
    keys.flatMap((key) => ('accountId' in key && key.kind !== 'balance' ? key.accountId : [])),
    keys.flatMap((key) => (key.kind === 'cash' ? key.provider : [])),
    keys.flatMap((key) => ('accountId' in key || 'provider' in key ? [] : key.kind)),
  ])
  const ids = new Map(rows.map(({ id, text }) => [text, id]))
  const missing = keys.filter((key) => !ids.has(keyText(key)))
  for (const [text, id] of await makeLedgerAccounts(tx, missing)) ids.set(text, id)
  return (key) => ids.get(keyText(key))!
}

/**
 * The first payment of a provider makes its accounts, the first payout or dispute those of these. In sorted order,
 * because a transaction waits for a row that another one is just creating, as for a lock.
 */
export async function makeLedgerAccounts(tx: Tx, keys: LedgerKey[]): Promise<Map<string, number>> {
  const ids = new Map<string, number>()
  const missing = new Map(keys.map((key) => [keyText(key), key]))
  for (const [text, key] of [...missing].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    ids.set(text, await insertLedgerAccount(tx, key))
  return ids
}

async function insertLedgerAccount(tx: Tx, key: LedgerKey): Promise<number> {
  const params = [key.kind, 'accountId' in key ? key.accountId : null, 'provider' in key ? key.provider : null]
  await tx.run(
    `with made as (
       insert into ledger_accounts (kind, account_id, provider) values ($1, $2, $3)
       on conflict do nothing returning id
     )
     insert into ledger_balances (ledger_account_id, may_be_negative) select id, $1 in ('cash', 'owed') from made`,
    params,
  )
  const { id } = await tx.one<{ id: number }>(
    `select id from ledger_accounts
     where kind = $1 and account_id is not distinct from $2 and provider is not distinct from $3`,
    params,
  )
  return id
}

function keyText(key: LedgerKey): string {
  if ('accountId' in key) return `${key.kind} ${key.accountId}`
  return 'provider' in key ? `${key.kind} ${key.provider}` : `${key.kind} `
}
