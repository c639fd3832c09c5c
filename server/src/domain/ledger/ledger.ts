import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'

/**
 * The kinds of ledger account. cash: what a provider holds for us. balance: what we owe an account holder. Of the others there is one each. fees: what we
 * earned. suspense: what arrived and belongs to nobody yet. refunding: what is on its way back to payers. missing: what left a provider without us, until
 * it is decided who bears it. written_off: what the operator kept or lost by decision; below zero is a loss, and a loss that happened must be bookable.
 */
export type LedgerKey =
  | { kind: 'cash'; provider: string }
  | { kind: 'balance'; accountId: string }
  | { kind: (typeof SINGLE)[number] }

const SINGLE = ['fees', 'suspense', 'refunding', 'missing', 'written_off'] as const

/** In the order of their lives, with the side that is debited and the one that is credited. */
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

export type Transfer = {
  kind: TransferKind
  debit: LedgerKey
  credit: LedgerKey
  amountCents: Cents
  paymentId: string
  chargeId: string | null // a UUID, as stored; those below too
  refundId?: string
  /** Which this transfer resolves. */
  exceptionId?: string
  occurredAt: Date
}

/** Posts many transfers at once and moves the balances with them. The order of the list is the order of history. */
export async function postTransfers(tx: Tx, now: Date, transfers: Transfer[]): Promise<void> {
  if (transfers.length === 0) return
  const ids = await ledgerIds(
    tx,
    transfers.flatMap((transfer) => [transfer.debit, transfer.credit]),
  )
  const lines = transfers.map((transfer) => ({
    ...transfer,
    debitId: ids.get(keyText(transfer.debit))!,
    creditId: ids.get(keyText(transfer.credit))!,
  }))
  const balances = await lockBalances(tx, [...ids.values()])
  const moved = new Map<number, { debits: bigint; credits: bigint }>(
    [...balances.keys()].map((id) => [id, { debits: 0n, credits: 0n }]),
  )
  const after = lines.map((line) => {
    const amount = BigInt(line.amountCents)
    balances.set(line.debitId, balances.get(line.debitId)! - amount)
    balances.set(line.creditId, balances.get(line.creditId)! + amount)
    moved.get(line.debitId)!.debits += amount
    moved.get(line.creditId)!.credits += amount
    return { debit: balances.get(line.debitId)!, credit: balances.get(line.creditId)! }
  })
  await tx.run(
    `insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id,
       refund_id, exception_id, occurred_at, recorded_at)
     select kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, refund_id,
       exception_id, occurred_at, $12
     from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::uuid[], $8::uuid[],
       $9::uuid[], $10::uuid[], $11::timestamptz[]) with ordinality
       as n (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, refund_id,
         exception_id, occurred_at, place)
     order by place`,
    [
      lines.map((line) => line.kind),
      lines.map((line) => line.debitId),
      lines.map((line) => line.creditId),
      lines.map((line) => line.amountCents),
      after.map((balance) => balance.debit),
      after.map((balance) => balance.credit),
      lines.map((line) => line.paymentId),
      lines.map((line) => line.chargeId),
      lines.map((line) => line.refundId ?? null),
      lines.map((line) => line.exceptionId ?? null),
      lines.map((line) => line.occurredAt),
      now,
    ],
  )
  await tx.run(
    `update ledger_balances b set debits_cents = b.debits_cents + m.debits, credits_cents = b.credits_cents + m.credits
     from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as m (id, debits, credits)
     where b.ledger_account_id = m.id`,
    [[...moved.keys()], [...moved.values()].map((sum) => sum.debits), [...moved.values()].map((sum) => sum.credits)],
  )
}

/**
 * What these hold, locked until the transaction ends. Whoever must know before posting names all accounts of the posting, so that they are locked
 * in the one order.
 */
export async function holdBalances(tx: Tx, keys: LedgerKey[]): Promise<(key: LedgerKey) => Cents> {
  const ids = await ledgerIds(tx, keys)
  const balances = await lockBalances(tx, [...ids.values()])
  return (key) => Number(balances.get(ids.get(keyText(key))!)!)
}

/** Every account holder has one from the start, so that posting never has to make it. */
export async function makeBalanceAccount(tx: Tx, accountId: string): Promise<void> {
  await insertLedgerAccount(tx, { kind: 'balance', accountId })
}

// Always in the order of ids: two postings that share accounts queue up, and never wait for each other in a circle. As text, because the cash of a busy
// provider may outgrow what a number holds exactly, and money that arrived must be bookable.
async function lockBalances(tx: Tx, ids: number[]): Promise<Map<number, bigint>> {
  const rows = await tx.rows<{ id: number; balance: string }>(
    `select ledger_account_id as id, (credits_cents - debits_cents)::text as balance
     from ledger_balances where ledger_account_id = any($1) order by ledger_account_id for update`,
    [ids],
  )
  return new Map(rows.map((row) => [row.id, BigInt(row.balance)]))
}

async function ledgerIds(tx: Tx, keys: LedgerKey[]): Promise<Map<string, number>> {
  const wanted = new Map(keys.map((key) => [keyText(key), key]))
  const found = await findLedgerIds(tx, [...wanted.values()])
  // A provider's first payment makes its cash account; all others exist already. In sorted order, because a row that another
  // transaction is just making is waited for like a lock.
  for (const text of [...wanted.keys()].toSorted()) {
    if (!found.has(text)) found.set(text, await insertLedgerAccount(tx, wanted.get(text)!))
  }
  return found
}

async function findLedgerIds(tx: Tx, keys: LedgerKey[]): Promise<Map<string, number>> {
  const rows = await tx.rows<{
    id: number
    kind: LedgerKey['kind']
    account_id: string | null
    provider: string | null
  }>(
    `select id, kind, account_id, provider from ledger_accounts
     where (kind = 'balance' and account_id = any($1)) or (kind = 'cash' and provider = any($2)) or kind = any($3)`,
    [
      keys.flatMap((key) => (key.kind === 'balance' ? [key.accountId] : [])),
      keys.flatMap((key) => (key.kind === 'cash' ? [key.provider] : [])),
      SINGLE,
    ],
  )
  const ids = new Map(rows.map((row) => [`${row.kind} ${row.account_id ?? row.provider ?? ''}`, row.id]))
  const wanted = new Set(keys.map(keyText))
  return new Map([...ids].filter(([text]) => wanted.has(text)))
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
  const [row] = await tx.rows<{ id: number }>(
    'select id from ledger_accounts where kind = $1 and account_id is not distinct from $2 and provider is not distinct from $3',
    params,
  )
  return row!.id
}

function keyText(key: LedgerKey): string {
  return `${key.kind} ${key.kind === 'balance' ? key.accountId : key.kind === 'cash' ? key.provider : ''}`
}
