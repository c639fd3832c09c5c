import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

/**
 * Bounds how many charges of one account are PENDING at a time: each of them will cost a call to the provider when its time is over. Counting at
 * every deposit would slow them all down, and a counter in the database would be a row that all of them wait for. So an account's charges are
 * counted after every tenth of the bound that it opens. The bound is therefore a soft one: each process may let a tenth more pass.
 */
export type PendingLimit = {
  /** Whether the account may open another one. */
  admit(accountId: string): Promise<boolean>
  max: number
}

type Account = { room: number; fullUntilMs: number; counting: Promise<void> | undefined }

const COUNTED_EVERY_SHARE = 0.1
// Charges that a count looks at, as a multiple of the bound: it keeps the count cheap for an account with millions. Whoever has more than half
// of these paid is no flood.
const COUNTED_CHARGES = 2
// How long an account that is full is refused without counting again.
export const FULL_MS = 5_000
// Forgetting one gives it a tenth of the bound before it is counted again.
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
    const [row] = await query<{ pending: number }>(
      core.pool,
      `select count(*) as pending from (select status from charges where account_id = $1 order by id desc limit $2) newest
       where status in ('OPENING', 'PENDING')`,
      [accountId, max * COUNTED_CHARGES],
    )
    account.room = Math.min(step, max - row!.pending)
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
