// A synchronous standby on the same machine: a commit is answered when it is on the disk of both.
import { appendFileSync, chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { runChild, startChild } from './children.mjs'

const NAME = 'standby'
const COPIED_WITHIN_MS = 60_000
const FOLLOWS_WITHIN_MS = 30_000
/** A standby refuses to follow a primary that has more of these. */
const AT_LEAST_THE_SAME = ['max_connections', 'max_worker_processes', 'max_wal_senders', 'max_locks_per_transaction']

/** Copies the database of a home, and lets every commit wait for the copy from then on. */
export async function openStandby({ home, bin, host }) {
  const primary = join(home, 'data')
  const { uid, gid } = statSync(primary)
  const client = new pg.Client({ host, port: 5432, user: 'postgres', database: 'postgres' })
  await client.connect()
  const read = async (sql) => (await client.query(sql)).rows
  try {
    appendFileSync(join(primary, 'pg_hba.conf'), 'local replication postgres peer map=owner\n')
    await read('select pg_reload_conf()')
    const data = join(home, NAME)
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, uid, gid)
    const from = `host=${host} port=5432 user=postgres application_name=${NAME}`
    const copy = ['-D', data, '-d', from, '--write-recovery-conf', '--checkpoint=fast']
    const as = { uid, gid, withinMs: COPIED_WITHIN_MS, env: { PATH: process.env.PATH } }
    await runChild('pg_basebackup', join(bin, 'pg_basebackup'), copy, as)
    const own = { port: 5433, listen_addresses: "''", unix_socket_directories: `'${host}'` }
    for (const name of AT_LEAST_THE_SAME)
      own[name] = (await read(`select current_setting('${name}') as value`))[0].value
    appendFileSync(
      join(data, 'postgresql.auto.conf'),
      Object.entries(own)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
    )
    startChild('the standby', join(bin, 'postgres'), ['-D', data], { uid, gid, cwd: '/', stdio: 'ignore' })
    await read(`alter system set synchronous_standby_names = '${NAME}'`)
    await read('select pg_reload_conf()')
    const deadline = performance.now() + FOLLOWS_WITHIN_MS
    while (!(await read("select from pg_stat_replication where sync_state = 'sync'")).length) {
      if (performance.now() > deadline) throw new Error('the standby does not follow')
      await sleep(100)
    }
  } finally {
    await client.end()
  }
}
