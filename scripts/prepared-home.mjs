// A home as it is after a first start, with a migrated and stopped database. Making it takes seconds, so it is kept for
// later runs, and copied for each use.

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbedded } from '../server/dist/db/embedded/server.js'
import { migrate } from '../server/dist/db/migrate.js'
import { hashOf, root } from './bootstrap.mjs'
import { isStockRun, makeStockHome } from './stock-postgres.mjs'

const KEPT = join(root, 'node_modules/.cache')

/** @param {string} to where nothing is yet */
export async function copyPreparedHome(to) {
  const kind = `home-${isStockRun() ? 'stock' : 'embedded'}-`
  const name = kind + hashOf(['package-lock.json', 'server/migrations', 'server/dist/db']).slice(0, 16)
  const kept = join(KEPT, name)
  if (!existsSync(kept)) await keep(kept, kind)
  copy(kept, to)
}

async function keep(kept, kind) {
  mkdirSync(KEPT, { recursive: true })
  // Removes the homes of older versions, and what killed attempts left.
  for (const name of readdirSync(KEPT)) if (name.startsWith(kind)) rmSync(join(KEPT, name), { recursive: true })
  // The database's own user must be able to reach this place.
  const place = mkdtempSync(join(tmpdir(), 'guiche-prepared-'))
  try {
    chmodSync(place, 0o755)
    const home = join(place, 'home')
    if (isStockRun()) await makeStockHome(home)
    const { databaseUrl, stop } = await openEmbedded({ home, say: () => {} })
    await migrate(databaseUrl)
    await stop()
    copy(home, `${kept}.${process.pid}`)
    renameSync(`${kept}.${process.pid}`, kept)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** Copies by cp -a, because files of the database may belong to another user, and must keep their owner. */
function copy(from, to) {
  execFileSync('cp', ['-a', from, to])
}
