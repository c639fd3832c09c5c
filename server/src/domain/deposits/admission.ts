import { Fault } from '../../base/fault.ts'
import { queryOne } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { ProviderError, type Provider } from '../ports/provider.ts'
import { isKeyUsed } from './intents.ts'

/**
 * Refuses the deposit of an account that floods before anything is stored: a refusal that costs two transactions would
 * feed the flood. A repeated request opens nothing new and gets its first answer, so it passes.
 */
export async function admitDeposit(
  core: Core & { providers: Provider[]; pendingLimit: PendingLimit },
  accountId: string,
  idempotencyKey: string | null,
): Promise<void> {
  // Failover sends a deposit to the next provider when the first has no room, so one with room is enough.
  const hasRoom = core.providers.some((provider) => provider.hasRoomFor(accountId))
  if (hasRoom && (await core.pendingLimit.admit(accountId))) return
  if (idempotencyKey !== null && (await isKeyUsed(core, accountId, idempotencyKey))) return
  if (!hasRoom) {
    const text = 'too many deposits of this account wait'
    throw overloaded(new ProviderError('unreachable', text, { isOverloaded: true }))
  }
  const text = `Too many deposits are PENDING: at most ${core.pendingLimit.max} at a time`
  const advice = 'Wait until some are paid or expire, or cancel some'
  throw new Fault('rate_limited', `${text}. ${advice}`, { retryAfterSeconds: FULL_MS / 1000 })
}

/** Our own rate limit for the provider is used up. The provider may be well. */
export function overloaded(cause: ProviderError): Fault {
  return new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds: 2, cause })
}

/**
 * Limits how many charges of one account are PENDING at a time: each costs a call to the provider when it expires.
 * Counting at every deposit would slow all of them down, and every deposit would wait for a counter row. So we count
 * after every tenth of the limit. The limit is soft: each process may let a tenth more pass.
 */
export type PendingLimit = {
  /** Whether the account may open another charge. */
  admit(accountId: string): Promise<boolean>
  max: number
}

type Account = { room: number; fullUntilMs: number; counting: Promise<void> | undefined }

const COUNTED_EVERY_SHARE = 0.1
// Newest charges that a count reads, as a multiple of the limit. It keeps the count cheap for an account with millions;
// an account with more than half of these paid is no flood.
const COUNTED_CHARGES = 2
// How long an account that is full is refused without counting again.
const FULL_MS = 5_000
// Forgetting one gives it a tenth of the limit before it is counted again.
const MAX_ACCOUNTS = 10_000

export function makePendingLimit(core: Core): PendingLimit {
  const max = core.settings.pendingMaxPerAccount
  if (max === 0) return { admit: () => Promise.resolve(true), max }
  const step = Math.ceil(max * COUNTED_EVERY_SHARE)
  const accounts = new Map<string, Account>()
  const nowMs = () => core.now().getTime()

  function accountOf(accountId: string): Account {
    const account = accounts.get(accountId) ?? { room: step, fullUntilMs: 0, counting: undefined }
    accounts.delete(accountId)
    accounts.set(accountId, account)
    if (accounts.size > MAX_ACCOUNTS) accounts.delete(accounts.keys().next().value!)
    return account
  }

  async function count(accountId: string, account: Account): Promise<void> {
    const { pending } = await queryOne<{ pending: number }>(
      core.pool,
      `select count(*) as pending
       from (select status from charges where account_id = $1 order by id desc limit $2) newest
       where status in ('OPENING', 'PENDING')`,
      [accountId, max * COUNTED_CHARGES],
    )
    account.room = Math.min(step, max - pending)
    if (account.room <= 0) account.fullUntilMs = nowMs() + FULL_MS
  }

  return {
    max,
    async admit(accountId) {
      const account = accountOf(accountId)
      while (account.room <= 0) {
        if (nowMs() < account.fullUntilMs) return false
        account.counting ??= count(accountId, account).finally(() => (account.counting = undefined))
        await account.counting
      }
      account.room -= 1
      return true
    },
  }
}
