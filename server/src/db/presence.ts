import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { VERSION } from '../base/version.ts'
import { withClient } from './connect.ts'
import { makePool, type Pool } from './pool.ts'
import { query, type Tx } from './tx.ts'

export type Presence = Awaited<ReturnType<typeof joinPresence>>

/** `api` answers requests, `worker` does what is due, `all` does both. */
export const SERVICE_ROLES = ['all', 'api', 'worker'] as const
export type ServiceRole = (typeof SERVICE_ROLES)[number]

export type Role = ServiceRole | 'command'

type Options = { role?: Role; leaseMs?: number; renewEveryMs?: number }

/** Two renewals may fail before a live process is taken for dead. */
const LEASE_MS = 10_000
const RENEW_EVERY_MS = 2_000
const RENEW_WITHIN_MS = 1_500
const RENEW_GRACE_MS = 500
const JOIN_WITHIN_MS = 5_000
/** A row that could not be deleted ends with its lease. */
const LEAVE_WITHIN_MS = 2_000
const INSTANCE_MAX = 2 ** 31 - 1
/** Drawing a number twice this often is a bug. */
const DRAWS_MAX = 5
/** An operator can see for a day what ran. */
const KEPT = '1 day'
const PURGE_LIMIT = 1_000
/** Silent: the main pool already logs outages. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * The presence of a process: a row with a lease by the database's clock, which works through any pooler. A live process
 * may be taken for dead if its renewals do not get through, so what it does is fenced by the rows it owns
 * (domain/deposits/intents.ts).
 */
export async function joinPresence(databaseUrl: string, options: Options = {}) {
  const { role = 'command', leaseMs = LEASE_MS, renewEveryMs = RENEW_EVERY_MS } = options
  const about = [role, hostname(), VERSION, leaseMs]
  const { instance, startedAt } = await withClient(
    databaseUrl,
    { name: 'guiche-presence', queryTimeoutMs: JOIN_WITHIN_MS },
    (client) => drawInstance(client, about),
  )
  // The main pool may be busy for longer than the lease.
  const pool = makePool(databaseUrl, SILENT, {
    maxConnections: 1,
    statementTimeoutMs: RENEW_WITHIN_MS,
    clientGraceMs: RENEW_GRACE_MS,
  })
  const leaving = new AbortController()
  let readStatus: () => Promise<object | null> = async () => null
  // Nobody takes itself for the only one before its first renewal.
  let running = 2
  const renewing = renew()

  async function renew() {
    for (;;) {
      await sleep(renewEveryMs, undefined, { ref: false, signal: leaving.signal }).catch(() => {})
      if (leaving.signal.aborted) return
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
    /** Each renewal stores what this returns. */
    describe: (status: () => Promise<object>) => void (readStatus = status),
    /** Processes at the last renewal, this one included. */
    running: () => running,
    async leave(): Promise<void> {
      await (left ??= Promise.race([end(), sleep(LEAVE_WITHIN_MS, undefined, { ref: false })]))
    },
  }
}

export async function isPresent(tx: Pick<Tx, 'rows'>, instance: number): Promise<boolean> {
  const sql = 'select from processes where instance = $1 and leased_until > clock_timestamp()'
  return (await tx.rows(sql, [instance])).length > 0
}

/** The hosts and versions of processes whose release writes rows without seals. */
export async function readUnsealing(tx: Pick<Tx, 'rows'>): Promise<string[]> {
  const rows = await tx.rows<{ name: string }>(
    `select distinct format('%s on %s', version, host) as name from processes
     where not seals and leased_until > clock_timestamp() order by name`,
  )
  return rows.map(({ name }) => name)
}

/** `status` is null if the process told nothing. Another version may tell other things. */
export type Running = {
  instance: number
  role: Role
  host: string
  version: string
  startedAt: Date
  status: object | null
}

/** Every process whose lease runs, the oldest first. */
export function readRunning(pool: Pool): Promise<Running[]> {
  return query<Running>(
    pool,
    `select instance, role, host, version, started_at as "startedAt", status from processes
     where leased_until > clock_timestamp() order by started_at, instance`,
  )
}

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
  insert into processes (instance, role, host, version, started_at, leased_until, seals)
  values ($1, $2, $3, $4, clock_timestamp(), ${LEASED_UNTIL}, true)
  on conflict do nothing returning started_at as "startedAt"`

/** Inserts the row again: after a failover, the new primary may lack it. */
const RENEW = `
  insert into processes (instance, role, host, version, started_at, leased_until, status, seals)
  values ($1, $2, $3, $4, $6, ${LEASED_UNTIL}, $7, true)
  on conflict (instance) do update set leased_until = excluded.leased_until, status = excluded.status
  returning (select count(*) from processes where instance <> $1 and leased_until > clock_timestamp()) as others`
