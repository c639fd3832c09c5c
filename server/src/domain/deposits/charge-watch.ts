import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { type ChargeStatus } from './charge-reads.ts'
import { hexId } from '../../db/sql-values.ts'
import { NOTHING_HELD, SELECT_HELD, type HeldMoney } from './held-payments.ts'

export type ChargeUpdate = { status: ChargeStatus; held: HeldMoney }

/** Tells payment pages when a PENDING charge ends or money for it is held. One query serves all open pages. */
export type ChargeWatch = {
  /** Calls `notify` when the held money differs from `known`, and for the last time when the charge has ended. */
  watch(chargeId: string, known: HeldMoney, notify: (update: ChargeUpdate) => void): () => void
  /** What this process has just committed: pages learn it at once and not by the next poll. */
  announce(chargeIds: string[], status: ChargeStatus): void
}

// For what other processes commit, and for charges that end unpaid. Half of the second within which a page should turn.
const POLL_MS = 500
// The database is unavailable; polling faster does not help.
const POLL_AFTER_FAILURE_MS = 2_000

type Watcher = { known: HeldMoney; notify: (update: ChargeUpdate) => void }

export function makeChargeWatch(core: Core): ChargeWatch {
  const waiting = new Map<string, Set<Watcher>>()
  // Set until the poll is done, so that there is never a second one.
  let nextPoll: NodeJS.Timeout | undefined

  function planPoll(afterMs: number) {
    if (waiting.size > 0) nextPoll ??= setTimeout(() => void poll(), afterMs).unref()
  }

  async function poll() {
    let pauseMs = POLL_MS
    try {
      for (const { id, status, held } of await readUpdates(core, [...waiting.keys()])) {
        if (status === 'PENDING') notifyHeld(id, held)
        else announce([id], status)
      }
    } catch (error) {
      core.log.warn({ err: error, charges: waiting.size }, 'reading the charges of open payment pages failed')
      pauseMs = POLL_AFTER_FAILURE_MS
    }
    nextPoll = undefined
    planPoll(pauseMs)
  }

  function announce(chargeIds: string[], status: ChargeStatus) {
    for (const id of chargeIds) {
      const watchers = waiting.get(id)
      waiting.delete(id)
      for (const { notify } of watchers ?? []) notify({ status, held: NOTHING_HELD })
    }
  }

  function notifyHeld(id: string, held: HeldMoney) {
    for (const watcher of waiting.get(id) ?? []) {
      if (watcher.known.heldCents === held.heldCents && watcher.known.keptCents === held.keptCents) continue
      watcher.known = held
      watcher.notify({ status: 'PENDING', held })
    }
  }

  return {
    announce,
    watch(chargeId, known, notify) {
      const watcher = { known, notify }
      const others = waiting.get(chargeId)
      if (others) others.add(watcher)
      else waiting.set(chargeId, new Set([watcher]))
      planPoll(POLL_MS)
      return () => {
        const mine = waiting.get(chargeId)
        if (mine?.delete(watcher) && mine.size === 0) waiting.delete(chargeId)
      }
    },
  }
}

/** Only charges with an update: of thousands that are watched, a handful at each poll. */
async function readUpdates(core: Core, chargeIds: string[]): Promise<(ChargeUpdate & { id: string })[]> {
  if (chargeIds.length === 0) return []
  const rows = await query<HeldMoney & { id: string; status: ChargeStatus }>(
    core.pool,
    `select
       ${hexId('c.id')} as id,
       c.status,
       coalesce(h."heldCents", 0) as "heldCents",
       coalesce(h."keptCents", 0) as "keptCents",
       coalesce(h."returnedCents", 0) as "returnedCents"
     from charges c left join (${SELECT_HELD}) h on h.id = ${hexId('c.id')}
     where c.id = any($1) and (c.status <> 'PENDING' or h.id is not null)`,
    [chargeIds],
  )
  return rows.map(({ id, status, ...held }) => ({ id, status, held }))
}
