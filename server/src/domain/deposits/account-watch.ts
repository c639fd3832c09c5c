import { prepared } from '../../db/prepared.ts'
import { hexId } from '../../db/sql-values.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

/**
 * Tells pages of an account what no event tells: a new deposit, and what was taken from the balance for a refund or a
 * payout. It says that something changed and not what, so a page reads again what it shows. One query serves all pages.
 */
export type AccountWatch = {
  watch(accountId: string, notify: () => void): () => void
  /** What this process has just committed: its pages learn it at once and not by the next poll. It costs no query. */
  announce(accountId: string, chargeId: string): void
}

// For what other processes commit. Somebody who looks at a list notices a delay of two seconds, and no more.
const POLL_MS = 2_000
// The database is unavailable; polling faster does not help.
const POLL_AFTER_FAILURE_MS = 5_000
// Whoever is told reads lists, which costs much more than telling.
const TELL_AT_MOST_EVERY_MS = 1_000
// The time from the id of a charge to its code, or from the end of one stream of a page to its next, is shorter.
const RECENT_MS = 2 * 60_000
// Of an account. If more come between two polls, one of these is among them.
const NEWEST = 10
// Between two polls. If more are announced, the next poll tells of them once more.
const MAX_KNOWN = 1_000

type Watched = { pages: Set<() => void>; known: Set<string>; isDue: boolean; timer: NodeJS.Timeout | undefined }

export function makeAccountWatch(core: Core): AccountWatch {
  const accounts = new Map<string, Watched>()
  // Set until the poll is done, so that there is never a second one.
  let nextPoll: NodeJS.Timeout | undefined

  function planPoll(afterMs: number) {
    if (accounts.size > 0) nextPoll ??= setTimeout(() => void poll(), afterMs).unref()
  }

  async function poll() {
    let pauseMs = POLL_MS
    try {
      const since = new Date(core.now().getTime() - RECENT_MS)
      const rows = await query<Recent>(core.pool, READ_RECENT, [[...accounts.keys()], since])
      for (const { accountId, ids } of rows) {
        const account = accounts.get(accountId)
        if (!account) continue
        if (ids.some((id) => !account.known.has(id))) planTelling(account)
        account.known = new Set(ids)
      }
    } catch (error) {
      core.log.warn({ err: error, accounts: accounts.size }, 'reading the changes of accounts for open pages failed')
      pauseMs = POLL_AFTER_FAILURE_MS
    }
    nextPoll = undefined
    planPoll(pauseMs)
  }

  /** By a timer in any case, so that who made a deposit does not wait for it. */
  function planTelling(account: Watched) {
    account.isDue = true
    account.timer ??= setTimeout(() => tell(account)).unref()
  }

  function tell(account: Watched) {
    account.timer = undefined
    if (!account.isDue) return
    account.isDue = false
    for (const notify of account.pages) notify()
    account.timer = setTimeout(() => tell(account), TELL_AT_MOST_EVERY_MS).unref()
  }

  return {
    announce(accountId, chargeId) {
      const account = accounts.get(accountId)
      if (!account) return
      if (account.known.size < MAX_KNOWN) account.known.add(chargeId)
      planTelling(account)
    },
    watch(accountId, notify) {
      const account = accounts.get(accountId) ?? {
        pages: new Set(),
        known: new Set(),
        isDue: false,
        timer: undefined,
      }
      accounts.set(accountId, account)
      account.pages.add(notify)
      planPoll(POLL_MS)
      return () => {
        account.pages.delete(notify)
        if (account.pages.size === 0) accounts.delete(accountId)
      }
    },
  }
}

type Recent = { accountId: string; ids: string[] }

/** Two looks into indexes for each account, however long its history is. A row for each account. */
const READ_RECENT = prepared(`
  select a.id as "accountId", array(
    select ${hexId('c.id')} from (
      select id, status, created_at from charges where account_id = a.id order by id desc limit ${NEWEST}
    ) c
    where c.status not in ('OPENING', 'FAILED') and c.created_at > $2
    union all
    select 'transfer ' || t.id from (
      select id, recorded_at from transfers
      where debit_id = (select id from ledger_accounts where kind = 'balance' and account_id = a.id)
        and kind not in ('deposit', 'fee', 'suspense')
      order by id desc limit 1
    ) t
    where t.recorded_at > $2
  ) as ids
  from unnest($1::uuid[]) as a (id)`)
