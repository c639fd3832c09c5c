import { hexFromUuid, uuidFromHex } from '../../base/ids.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import type { ChargeStatus } from './charge-states.ts'
import { NOTHING_HELD, SELECT_HELD, type HeldMoney } from './held-payments.ts'

/** What a page must know: the state of the charge, and what was received for it and did not complete it. */
export type ChargeNews = { status: ChargeStatus; held: HeldMoney }

/**
 * Tells those who wait for it that a PENDING charge has ended, or that money for it is held. However many wait, in however many open
 * pages, the database is asked one question at a time, and nothing while nobody waits.
 */
export type ChargeWatch = {
  /**
   * `tell` is called when what is held differs from `known`, and the last time when the charge is PENDING no more. The result ends the
   * wait before.
   */
  watch(chargeId: string, known: HeldMoney, tell: (news: ChargeNews) => void): () => void
  /** What this process has just committed, so that nobody has to wait for the next look. */
  announce(chargeIds: string[], status: ChargeStatus): void
}

// For what other processes did, and for charges that ended unpaid. Half of the second within which a page should turn.
const LOOK_EVERY_MS = 500
// The database is away, and asking faster helps nobody.
const PAUSE_AFTER_FAILURE_MS = 2_000

type Watcher = { known: HeldMoney; tell: (news: ChargeNews) => void }

export function makeChargeWatch(core: Core): ChargeWatch {
  const waiting = new Map<string, Set<Watcher>>()
  // Set from when a look is planned until it is done, so there is never a second one beside it.
  let nextLook: NodeJS.Timeout | undefined

  function planLook(afterMs: number) {
    if (waiting.size > 0) nextLook ??= setTimeout(() => void look(), afterMs).unref()
  }

  async function look() {
    let pauseMs = LOOK_EVERY_MS
    try {
      for (const { id, status, held } of await readNews(core, [...waiting.keys()])) {
        if (status === 'PENDING') tellHeld(id, held)
        else announce([id], status)
      }
    } catch (error) {
      core.log.warn({ err: error, charges: waiting.size }, 'the charges of open payment pages could not be read')
      pauseMs = PAUSE_AFTER_FAILURE_MS
    }
    nextLook = undefined
    planLook(pauseMs)
  }

  function announce(chargeIds: string[], status: ChargeStatus) {
    for (const id of chargeIds) {
      const told = waiting.get(id)
      waiting.delete(id)
      for (const { tell } of told ?? []) tell({ status, held: NOTHING_HELD })
    }
  }

  function tellHeld(id: string, held: HeldMoney) {
    for (const watcher of waiting.get(id) ?? []) {
      if (watcher.known.heldCents === held.heldCents && watcher.known.keptCents === held.keptCents) continue
      watcher.known = held
      watcher.tell({ status: 'PENDING', held })
    }
  }

  return {
    announce,
    watch(chargeId, known, tell) {
      const watcher = { known, tell }
      const others = waiting.get(chargeId)
      if (others) others.add(watcher)
      else waiting.set(chargeId, new Set([watcher]))
      planLook(LOOK_EVERY_MS)
      return () => {
        const mine = waiting.get(chargeId)
        if (mine?.delete(watcher) && mine.size === 0) waiting.delete(chargeId)
      }
    },
  }
}

/** Only those that may have news: of thousands that are watched, a handful has at any one look. */
async function readNews(core: Core, chargeIds: string[]): Promise<(ChargeNews & { id: string })[]> {
  if (chargeIds.length === 0) return []
  const rows = await query<{ id: string; status: ChargeStatus; held_cents: number; kept_cents: number }>(
    core.pool,
    `select c.id, c.status, coalesce(h.held_cents, 0) as held_cents, coalesce(h.kept_cents, 0) as kept_cents
     from charges c left join (${SELECT_HELD}) h on h.id = c.id
     where c.id = any($1) and (c.status <> 'PENDING' or h.id is not null)`,
    [chargeIds.map(uuidFromHex)],
  )
  return rows.map((row) => ({
    id: hexFromUuid(row.id),
    status: row.status,
    held: { heldCents: row.held_cents, keptCents: row.kept_cents },
  }))
}
