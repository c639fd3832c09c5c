import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { VERSION } from '../base/version.ts'
import { withClient } from './connect.ts'
import { makePool, type Pool } from './pool.ts'
import { query, type Tx } from './tx.ts'

/**
 * The presence of a process: a row with a lease, by the database's clock. Unlike a session lock it works through any
 * pooler. A killed process stays present until its lease ends. A live process may be taken for dead if its renewals do
 * not get through: so a lease only says who may be asked to wait, and what a process does is fenced by the rows it owns
 * (see domain/deposits/intent-lease.ts).
 */
export type Presence = {
  instance: number
  /** From now on each renewal stores what this returns, for whoever watches the processes. */
  describe(status: () => Promise<object>): void
  /** How many processes were present at the last renewal, this one included. */
  running(): number
  leave(): Promise<void>
}

/** `api` answers requests, `worker` does what is due, `all` does both. */
export const SERVICE_ROLES = ['all', 'api', 'worker'] as const
export type ServiceRole = (typeof SERVICE_ROLES)[number]

/** What a process does. A command is any use of the command line but `guiche start`. */
export type Role = ServiceRole | 'command'

type Options = { role?: Role; leaseMs?: number; renewEveryMs?: number }

/** A killed process makes others wait this long; two renewals may fail before a live one is taken for dead. */
const LEASE_MS = 10_000
const RENEW_EVERY_MS = 2_000
const RENEW_WITHIN_MS = 1_500
const RENEW_GRACE_MS = 500
/** Long enough for a database under load, short enough to fail before a start-up probe gives up. */
const JOIN_WITHIN_MS = 5_000
/** A shutdown has seconds. A row that could not be deleted ends with its lease. */
const LEAVE_WITHIN_MS = 2_000
/** Ids are positive int4. */
const INSTANCE_MAX = 2 ** 31 - 1
/** Two processes rarely draw the same number of 2^31; drawing it this often is a bug. */
const DRAWS_MAX = 5
/** Rows of killed processes are kept for a day, so that an operator can see what ran. */
const KEPT = '1 day'
const PURGE_LIMIT = 1_000
/** The ordinary pool logs outages. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

export async function joinPresence(databaseUrl: string, options: Options = {}): Promise<Presence> {
  const { role = 'command', leaseMs = LEASE_MS, renewEveryMs = RENEW_EVERY_MS } = options
  const about = [role, hostname(), VERSION, leaseMs]
  const { instance, startedAt } = await withClient(
    databaseUrl,
    { name: 'guiche-presence', queryTimeoutMs: JOIN_WITHIN_MS },
    (client) => drawInstance(client, about),
  )
  // A connection of its own: the ordinary pool may be busy for longer than the lease.
  const pool = makePool(databaseUrl, SILENT, {
    maxConnections: 1,
    statementTimeoutMs: RENEW_WITHIN_MS,
    clientGraceMs: RENEW_GRACE_MS,
  })
  const leaving = new AbortController()
  let readStatus: () => Promise<object | null> = async () => null
  // Others may be about to join. Nobody takes itself for the only one before its first renewal.
  let running = 2
  const renewing = renew()

  async function renew() {
    for (;;) {
      await sleep(renewEveryMs, undefined, { ref: false, signal: leaving.signal }).catch(() => {})
      if (leaving.signal.aborted) return
      // Tried again at the next turn: a process that gave up would be taken for dead while it works.
      const status = await readStatus().catch(() => null)
      const values = [instance, ...about, startedAt, status]
      const renewed = await query<{ others: number }>(pool, RENEW, values).catch(() => [])
      if (renewed[0]) running = renewed[0].others + 1
    }
  }

  async function end() {
    leaving.abort()
    await renewing
    await query(pool, 'delete from processes where instance = $1', [instance]).catch(() => {})
    await pool.end()
  }

  let left: Promise<unknown> | undefined
  return {
    instance,
    describe: (status) => void (readStatus = status),
    running: () => running,
    async leave() {
      await (left ??= Promise.race([end(), sleep(LEAVE_WITHIN_MS, undefined, { ref: false })]))
    },
  }
}

/** Whether the lease of the process that drew this number runs. */
export async function isPresent(tx: Pick<Tx, 'rows'>, instance: number): Promise<boolean> {
  const sql = 'select from processes where instance = $1 and leased_until > clock_timestamp()'
  return (await tx.rows(sql, [instance])).length > 0
}

/** `status` is what the process said of itself; null if nothing. A process of another version may say other things. */
export type Running = { role: Role; host: string; version: string; startedAt: Date; status: object | null }

/** Every process whose lease runs, the oldest first. */
export function readRunning(pool: Pool): Promise<Running[]> {
  return query<Running>(
    pool,
    `select role, host, version, started_at as "startedAt", status from processes
     where leased_until > clock_timestamp() order by started_at, instance`,
  )
}

/** Deletes the rows of processes that ended without saying so. */
export async function purgeProcesses(pool: Pool): Promise<void> {
  await query(
    pool,
    `delete from processes where instance in (
       select instance from processes where leased_until < clock_timestamp() - interval '${KEPT}' limit ${PURGE_LIMIT}
     )`,
  )
}

async function drawInstance(client: pg.Client, about: unknown[]): Promise<{ instance: number; startedAt: Date }> {
  for (let draw = 0; draw < DRAWS_MAX; draw++) {
    const instance = randomInt(1, INSTANCE_MAX)
    const { rows } = await client.query<{ startedAt: Date }>(JOIN, [instance, ...about])
    if (rows[0]) return { instance, startedAt: rows[0].startedAt }
  }
  throw new Error('No free presence number was found')
}

const LEASED_UNTIL = `clock_timestamp() + $5::int * interval '1 ms'`

const JOIN = `
  insert into processes (instance, role, host, version, started_at, leased_until)
  values ($1, $2, $3, $4, clock_timestamp(), ${LEASED_UNTIL})
  on conflict do nothing returning started_at as "startedAt"`

/** Inserts the row again if it is gone: after a failover, the new primary may lack it. Counts the others. */
const RENEW = `
  insert into processes (instance, role, host, version, started_at, leased_until, status)
  values ($1, $2, $3, $4, $6, ${LEASED_UNTIL}, $7)
  on conflict (instance) do update set leased_until = excluded.leased_until, status = excluded.status
  returning (select count(*) from processes where instance <> $1 and leased_until > clock_timestamp()) as others`
