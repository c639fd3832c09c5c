import { Fault } from '../../base/fault.ts'
import { MAX_CENTS, type Cents } from '../../base/money.ts'
import { queryOne } from '../../db/tx.ts'
import { heldFor } from '../ledger/account-statement.ts'
import type { Core } from '../core/core.ts'
import { ProviderError, type Provider } from '../ports/provider.ts'
import { isKeyUsed } from './intents.ts'

/** Refuses before anything is stored: a refusal that costs two transactions would feed a flood. */
export async function admitDeposit(
  core: Core & { providers: Provider[]; pendingLimit: PendingLimit },
  accountId: string,
  { valueCents, idempotencyKey }: { valueCents: Cents; idempotencyKey: string | null },
): Promise<void> {
  // Failover sends a deposit to the next provider when the first has no room, so one with room is enough.
  const hasRoom = core.providers.some((provider) => provider.hasRoomFor(accountId))
  const refusal = hasRoom ? await core.pendingLimit.admit(accountId, valueCents) : noRoom()
  if (!refusal || (idempotencyKey !== null && (await isKeyUsed(core, accountId, idempotencyKey)))) return
  throw refusal
}

function noRoom(): Fault {
  const text = 'too many deposits of this account wait'
  return overloaded(new ProviderError('unreachable', text, { isOverloaded: true }))
}

/** Our own rate limit for the provider is used up. The provider may be well. */
export function overloaded(cause: ProviderError): Fault {
  return new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds: 2, cause })
}

/**
 * Limits how many charges of an account are PENDING, and what they come to. Counting is expensive, so it happens after
 * every tenth of the limit, and each process may let so much more pass.
 */
export type PendingLimit = {
  admit(accountId: string, valueCents: Cents): Promise<Fault | undefined>
}

type Account = {
  room: number
  fullUntilMs: number
  roomCents: Cents
  spentUntilMs: number
  counting: Promise<void> | undefined
}

// What a balance may come to. Leaves room below 2^53 for a thousand processes that have not counted yet.
const MAX_BALANCE_CENTS = Number.MAX_SAFE_INTEGER - 1_000 * MAX_CENTS

const COUNTED_EVERY_SHARE = 0.1
// Newest charges that a count reads, as a multiple of the limit. It keeps the count cheap for an account with millions;
// an account with more than half of these paid is no flood.
const COUNTED_CHARGES = 2
const COUNTED_WITHOUT_LIMIT = 10_000
const FULL_MS = 5_000
// Forgetting one gives it a tenth of the limit before it is counted again.
const MAX_ACCOUNTS = 10_000

const COUNT = `
  select count(*) as pending, greatest(0, ${MAX_BALANCE_CENTS} - greatest(
    coalesce(sum(value_cents), 0) + ${heldFor('$1', 'balance', 'reserved', 'held')}, (
      select max(abs(cents)) from (
        select sum(b.credits_cents - b.debits_cents) as cents
        from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
        where l.kind in ('cash', 'fees', 'suspense', 'refunding', 'missing', 'written_off') group by l.kind
      ) totals
    )
  ))::bigint as "leftCents"
  from (select status, value_cents from charges where account_id = $1 order by id desc limit $2) newest
  where status in ('OPENING', 'PENDING')`

export function makePendingLimit(core: Core): PendingLimit {
  const max = core.settings.pendingMaxPerAccount || Infinity
  const step = Math.ceil(max * COUNTED_EVERY_SHARE)
  const counted = max === Infinity ? COUNTED_WITHOUT_LIMIT : max * COUNTED_CHARGES
  const accounts = new Map<string, Account>()
  const nowMs = () => core.now().getTime()

  function accountOf(accountId: string): Account {
    const account = accounts.get(accountId) ?? newAccount(step)
    accounts.delete(accountId)
    accounts.set(accountId, account)
    if (accounts.size > MAX_ACCOUNTS) accounts.delete(accounts.keys().next().value!)
    return account
  }

  async function count(accountId: string, account: Account): Promise<void> {
    const { pending, leftCents } = await queryOne<{ pending: number; leftCents: Cents }>(core.pool, COUNT, [
      accountId,
      counted,
    ])
    account.room = Math.min(step, max - pending)
    if (account.room <= 0) account.fullUntilMs = nowMs() + FULL_MS
    account.roomCents = Math.min(MAX_CENTS, leftCents)
    if (leftCents < MAX_CENTS) account.spentUntilMs = nowMs() + FULL_MS
  }

  return {
    async admit(accountId, valueCents) {
      const account = accountOf(accountId)
      while (account.room <= 0 || account.roomCents < valueCents) {
        if (account.room <= 0 && nowMs() < account.fullUntilMs) return tooMany(max)
        if (account.roomCents < valueCents && nowMs() < account.spentUntilMs) return tooMuch(account.roomCents)
        account.counting ??= count(accountId, account).finally(() => (account.counting = undefined))
        await account.counting
      }
      account.room -= 1
      account.roomCents -= valueCents
      return undefined
    },
  }
}

function newAccount(room: number): Account {
  return { room, fullUntilMs: 0, roomCents: MAX_CENTS, spentUntilMs: 0, counting: undefined }
}

function tooMany(max: number): Fault {
  const text = `Too many deposits are PENDING: at most ${max} at a time`
  const advice = 'Wait until some are paid or expire, or cancel some'
  return new Fault('rate_limited', `${text}. ${advice}`, { retryAfterSeconds: FULL_MS / 1000 })
}

function tooMuch(maxCents: Cents): Fault {
  const text = `value must be at most ${maxCents} (cents): a balance can hold ${MAX_BALANCE_CENTS} cents`
  return new Fault('value_too_large', text, { details: { maxCents } })
}
