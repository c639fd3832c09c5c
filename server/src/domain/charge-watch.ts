import { hexFromUuid, uuidFromHex } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { Pool } from '../db/pool.ts'
import { read } from '../db/tx.ts'
import type { ChargeStatus } from './charges.ts'

/**
 * Tells those who wait for it that a PENDING charge has ended. However many wait, in however many open pages, the database is asked
 * one question at a time, and nothing while nobody waits.
 */
export type ChargeWatch = {
  /** `tell` is called once, when the charge is PENDING no more. The result ends the wait before. */
  watch(chargeId: string, tell: (status: ChargeStatus) => void): () => void
  /** What this process has just committed, so that nobody has to wait for the next look. */
  announce(chargeIds: string[], status: ChargeStatus): void
}

// For what other processes did, and for charges that ended unpaid. Half of the second within which a page should turn.
const LOOK_EVERY_MS = 500
// The database is away, and asking faster helps nobody.
const PAUSE_AFTER_FAILURE_MS = 2_000

export function makeChargeWatch(pool: Pool, log: Log): ChargeWatch {
  const waiting = new Map<string, Set<(status: ChargeStatus) => void>>()
  // Set from when a look is planned until it is done, so there is never a second one beside it.
  let nextLook: NodeJS.Timeout | undefined

  function planLook(afterMs: number) {
    if (waiting.size > 0) nextLook ??= setTimeout(() => void look(), afterMs).unref()
  }

  async function look() {
    let pauseMs = LOOK_EVERY_MS
    try {
      for (const { id, status } of await readEnded(pool, [...waiting.keys()])) announce([id], status)
    } catch (error) {
      log.warn({ err: error, charges: waiting.size }, 'the charges of open payment pages could not be read')
      pauseMs = PAUSE_AFTER_FAILURE_MS
    }
    nextLook = undefined
    planLook(pauseMs)
  }

  function announce(chargeIds: string[], status: ChargeStatus) {
    for (const id of chargeIds) {
      const told = waiting.get(id)
      waiting.delete(id)
      for (const tell of told ?? []) tell(status)
    }
  }

  return {
    announce,
    watch(chargeId, tell) {
      const others = waiting.get(chargeId)
      if (others) others.add(tell)
      else waiting.set(chargeId, new Set([tell]))
      planLook(LOOK_EVERY_MS)
      return () => {
        const mine = waiting.get(chargeId)
        if (mine?.delete(tell) && mine.size === 0) waiting.delete(chargeId)
      }
    },
  }
}

/** Only those that changed: of thousands that are watched, a handful has at any one look. */
async function readEnded(pool: Pool, chargeIds: string[]): Promise<{ id: string; status: ChargeStatus }[]> {
  if (chargeIds.length === 0) return []
  const rows = await read<{ id: string; status: ChargeStatus }>(
    pool,
    `select id, status from charges where id = any($1) and status <> 'PENDING'`,
    [chargeIds.map(uuidFromHex)],
  )
  return rows.map((row) => ({ id: hexFromUuid(row.id), status: row.status }))
}
