import type { Log } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import type { Clock } from '../../db/clock.ts'
import type { Pool } from '../../db/pool.ts'
import { makeSharedReads, type SharedReads } from '../../db/shared-reads.ts'
import type { Settings } from './settings.ts'

/**
 * The first argument tells what a function may do. None: it is pure. `Tx`: it reads and writes in the caller's
 * transaction. `Core`: it may open transactions. `Context` (domain/context.ts): it may also call a provider, send
 * e-mail or wait for a lane. So no network call can sit inside a transaction.
 */
export type Core = {
  pool: Pool
  /** See reports/read-report.ts. */
  standby?: Standby | undefined
  readShared: SharedReads
  clock: Clock
  /** The database's time, see db/clock.ts. */
  now: () => Date
  log: Log
  metrics: Metrics
  settings: Settings
  /** This process's number among those that share the database, see db/presence.ts. */
  instance: number
  checkWorker: WorkerSlot<{ wake(): void }>
  deliverWorker: WorkerSlot<{ wake(): void }>
  numberWorker: WorkerSlot<{ wake(): void }>
  /** Makes the worker that checks charges look for due checks now. */
  wakeChecks: () => void
  /** An event was committed: the workers that deliver it and give it a position look for it now. */
  wakeDeliveries: () => void
}

type Made = 'readShared' | 'now' | 'checkWorker' | 'deliverWorker' | 'numberWorker' | 'wakeChecks' | 'wakeDeliveries'

/** A standby for reports (DATABASE_READ_URL). Its data are a little old, so nothing about money is decided by them. */
export type Standby = {
  pool: Pool
  /** How old its data are; undefined for a while after it failed. */
  ageSeconds(now: Date): Promise<number | undefined>
}

export function makeCore(parts: Omit<Core, Made>): Core {
  const checkWorker: Core['checkWorker'] = makeWorkerSlot({ wake: () => {} })
  const deliverWorker: Core['deliverWorker'] = makeWorkerSlot({ wake: () => {} })
  const numberWorker: Core['numberWorker'] = makeWorkerSlot({ wake: () => {} })
  return {
    ...parts,
    readShared: makeSharedReads(parts.pool),
    now: parts.clock.now,
    checkWorker,
    deliverWorker,
    numberWorker,
    wakeChecks: () => checkWorker.current().wake(),
    wakeDeliveries: () => {
      numberWorker.current().wake()
      deliverWorker.current().wake()
    },
  }
}

/** How the domain reaches a worker of this process, which may be running or not. */
export type WorkerSlot<Calls> = {
  current(): Calls
  /** For the worker when it starts. Returns what it calls when it stops. */
  attach(calls: Calls): () => void
}

export function makeWorkerSlot<Calls>(idle: Calls): WorkerSlot<Calls> {
  let current = idle
  return {
    current: () => current,
    attach(calls) {
      current = calls
      return () => {
        // A new worker may have started before the old one stopped.
        if (current === calls) current = idle
      }
    },
  }
}
