import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { provideBinaries } from '../../src/db/embedded/binaries.ts'
import { openEmbedded, readMajor } from '../../src/db/embedded/server.ts'
import { joinPresence } from '../../src/db/presence.ts'
import { transact } from '../../src/db/tx.ts'
import { SYSTEM } from '../../src/domain/core/audit-log.ts'
import { makeAccount } from '../../src/domain/accounts/accounts.ts'
import { createKey } from '../../src/domain/accounts/api-keys.ts'
import { SCOPES } from '../../src/domain/accounts/callers.ts'
import { preparedHome, startChild } from '../process.ts'
import { appWith, deposit } from '../requests.ts'
import { patient, until, world } from '../world.ts'

/** A database is made and started three times, which takes long on a busy machine. */
const SLOW_MS = patient(400_000)

// A failover as a process sees it: its primary goes, a standby answers in its place, and is promoted later.

test(
  'a standby is 503 and not ready until it is promoted, and then deposits are made without a restart',
  { timeout: SLOW_MS },
  async () => {
    const w = await world()
    const server = await openServer()
    const { ctx } = await w.anotherProcess({ databaseUrl: server.databaseUrl })
    const key = await transact(ctx.pool, async (tx) => {
      const holder = { email: 'a@example.com', name: 'A', passwordHash: 'none' }
      const accountId = await makeAccount(tx, w.clock.now(), holder, SYSTEM)
      return createKey(tx, w.clock.now(), 'test', { accountId, name: 'a', scopes: [...SCOPES], expiresAt: null })
    })
    const app = await appWith(ctx)
    const ask = async () => (await app.inject(deposit(key.text, '{"value":5000}'))).statusCode
    const ready = async () => (await app.inject('/readyz')).json() as object
    expect([await ask(), await ready()]).toEqual([201, { status: 'ready' }])

    await server.stop()
    await server.start('standby')
    await until('the standby answers', async () => JSON.stringify(await ready()).includes('recovery'))
    expect(await ready()).toEqual({ status: 'not ready', reason: 'database in recovery' })
    expect(await ask()).toBe(503)
    await expect(joinPresence(server.databaseUrl)).rejects.toThrow(/is read-only .*: name the primary, or wait/)

    await server.promote()
    await until('it is promoted', async () => JSON.stringify(await ready()) === '{"status":"ready"}', 120_000)
    expect(await ask()).toBe(201)
  },
)

/**
 * A PostgreSQL that the test can stop and start as a standby. Without a primary, a standby has all that was there
 * before.
 */
async function openServer() {
  const home = preparedHome()
  const embedded = await openEmbedded({ home, say: () => {} })
  await embedded.stop()
  const data = join(home, 'data')
  const { bin } = await provideBinaries({ home, dataMajor: await readMajor(data), say: () => {} })
  const { uid, gid } = statSync(data)
  let child: ReturnType<typeof startChild> | undefined
  const start = async (as: 'primary' | 'standby') => {
    if (as === 'standby') writeFileSync(join(data, 'standby.signal'), '')
    const args = ['-D', data, '-c', 'listen_addresses=', '-c', `unix_socket_directories=${join(home, 'run')}`]
    child = startChild(join(bin, 'postgres'), args, {
      cwd: '/',
      stdio: 'ignore',
      ...(process.getuid?.() === 0 && { uid, gid }),
    })
    await until('PostgreSQL takes connections', () => answers(embedded.databaseUrl), 120_000)
  }
  const stop = async () => {
    const ended = once(child!, 'exit')
    child!.kill('SIGINT')
    await ended
  }
  await start('primary')
  return {
    databaseUrl: embedded.databaseUrl,
    start,
    stop,
    async promote() {
      writeFileSync(join(data, 'promote'), '')
      process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGUSR1')
    },
  }
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
