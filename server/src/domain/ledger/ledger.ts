import type { Cents } from '../../base/money.ts'
import { columnsOf, insertRows } from '../../db/insert-rows.ts'
import type { Tx } from '../../db/tx.ts'

/**
 * The kinds of ledger account. cash: what a provider holds for us. balance: what we owe an account holder. There is one
 * of each other kind. fees: what we earned. suspense: what arrived and has no owner yet. refunding: what is on its way
 * back to payers. missing: what left a provider without us, until it is decided who bears it. written_off: what the
 * operator kept or lost by decision; it may be negative, because a loss that happened must be bookable.
 */
export type LedgerKey =
  | { kind: 'cash'; provider: string }
  | { kind: 'balance'; accountId: string }
  | { kind: (typeof SINGLE)[number] }

const SINGLE = ['fees', 'suspense', 'refunding', 'missing', 'written_off'] as const

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
  | 'refund_written_off' // written_off → missing
  | 'matched_deposit' // suspense → balance
  | 'matched_fee' // suspense → fees

/** A transfer without what it is about. */
export type Movement = {
  kind: TransferKind
  debit: LedgerKey
  credit: LedgerKey
  amountCents: Cents
}

/** All ids are UUIDs. */
export type Transfer = Movement & {
  paymentId: string
  chargeId: string | null
  refundId?: string
  /** The exception that this transfer resolves. */
  exceptionId?: string
  occurredAt: Date
  /** Now, unless it is recorded later than it was booked. */
  recordedAt?: Date
}

/** Posts transfers and moves the balances with them. The order of the list is the order of history. */
export async function postTransfers(tx: Tx, now: Date, transfers: Transfer[]): Promise<void> {
  if (transfers.length === 0) return
  const accounts = await lockAccounts(
    tx,
    transfers.flatMap(({ debit, credit }) => [debit, credit]),
  )
  const lines = transfers.map((transfer) => {
    const [debit, credit] = [accounts.get(transfer.debit), accounts.get(transfer.credit)]
    debit.debits += BigInt(transfer.amountCents)
    credit.credits += BigInt(transfer.amountCents)
    return { ...transfer, debitId: debit.id, creditId: credit.id, debitAfter: after(debit), creditAfter: after(credit) }
  })
  await insertRows(
    tx,
    'transfers',
    lines,
    {
      kind: ['text', (line) => line.kind],
      debit_id: ['bigint', (line) => line.debitId],
      credit_id: ['bigint', (line) => line.creditId],
      amount_cents: ['bigint', (line) => line.amountCents],
      debit_after_cents: ['bigint', (line) => line.debitAfter],
      credit_after_cents: ['bigint', (line) => line.creditAfter],
      payment_id: ['uuid', (line) => line.paymentId],
      charge_id: ['uuid', (line) => line.chargeId],
      refund_id: ['uuid', (line) => line.refundId ?? null],
      exception_id: ['uuid', (line) => line.exceptionId ?? null],
      occurred_at: ['timestamptz', (line) => line.occurredAt],
      recorded_at: ['timestamptz', (line) => line.recordedAt ?? now],
    },
    { orderBy: 'place' },
  )
  await tx.run(
    `update ledger_balances b set debits_cents = b.debits_cents + n.debits, credits_cents = b.credits_cents + n.credits
     from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as n (id, debits, credits)
     where b.ledger_account_id = n.id`,
    columnsOf(accounts.all, 'id', 'debits', 'credits'),
  )
}

/**
 * What these hold, locked until the transaction ends. A caller that must know before it posts names all accounts of the
 * posting, so that they are locked in the one order.
 */
export async function holdBalances(tx: Tx, keys: LedgerKey[]): Promise<(key: LedgerKey) => Cents> {
  const accounts = await lockAccounts(tx, keys)
  return (key) => Number(accounts.get(key).balance)
}

/** Every account holder has one from the start, so that posting never has to create it. */
export async function makeBalanceAccount(tx: Tx, accountId: string): Promise<void> {
  await insertLedgerAccount(tx, { kind: 'balance', accountId })
}

/** Its balance when locked, and what was posted since. As bigint: a busy provider's cash may outgrow a number. */
type LockedAccount = { id: number; balance: bigint; debits: bigint; credits: bigint }

function after({ balance, debits, credits }: LockedAccount): bigint {
  return balance + credits - debits
}

type LockedAccounts = { all: LockedAccount[]; get(key: LedgerKey): LockedAccount }

// Always in the order of ids: two postings that share accounts wait for each other, and never deadlock.
async function lockAccounts(tx: Tx, keys: LedgerKey[]): Promise<LockedAccounts> {
  const ids = await ledgerIds(tx, keys)
  const rows = await tx.rows<{ id: number; balance: string }>(
    `select ledger_account_id as id, (credits_cents - debits_cents)::text as balance
     from ledger_balances where ledger_account_id = any($1) order by ledger_account_id for update`,
    [[...ids.values()]],
  )
  const all = rows.map(({ id, balance }) => ({ id, balance: BigInt(balance), debits: 0n, credits: 0n }))
  const byId = new Map(all.map((account) => [account.id, account]))
  return { all, get: (key) => byId.get(ids.get(keyText(key))!)! }
}

async function ledgerIds(tx: Tx, keys: LedgerKey[]): Promise<Map<string, number>> {
  const rows = await tx.rows<{ id: number; text: string }>(
    `select id, concat(kind, ' ', account_id, provider) as text from ledger_accounts
     where (kind = 'balance' and account_id = any($1))
       or (kind = 'cash' and provider = any($2))
       or kind = any($3)`,
    [
      keys.flatMap((key) => (key.kind === 'balance' ? key.accountId : [])),
      keys.flatMap((key) => (key.kind === 'cash' ? key.provider : [])),
      keys.flatMap(({ kind }) => (kind === 'balance' || kind === 'cash' ? [] : kind)),
    ],
  )
  const ids = new Map(rows.map(({ id, text }) => [text, id]))
  // A provider's first payment creates its cash account; all others exist. In sorted order, because a transaction waits
  // for a row that another one is just creating, as for a lock.
  const missing = new Map(keys.map((key) => [keyText(key), key] as const).filter(([text]) => !ids.has(text)))
  for (const [text, key] of [...missing].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    ids.set(text, await insertLedgerAccount(tx, key))
  return ids
}

async function insertLedgerAccount(tx: Tx, key: LedgerKey): Promise<number> {
  const params = [key.kind, key.kind === 'balance' ? key.accountId : null, key.kind === 'cash' ? key.provider : null]
  await tx.run(
    `with made as (
       insert into ledger_accounts (kind, account_id, provider) values ($1, $2, $3) on conflict do nothing returning id
     )
     insert into ledger_balances (ledger_account_id, may_be_negative) select id, $1 = 'cash' from made`,
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
  return `${key.kind} ${key.kind === 'balance' ? key.accountId : key.kind === 'cash' ? key.provider : ''}`
}
