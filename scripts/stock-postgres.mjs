// Runs tests and the bench on the PostgreSQL of Debian's package. It compiles expensive plans (JIT) and plans
// differently from the one that comes with guiche, so it shows what that one hides.

import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { provideBinaries } from '../server/dist/db/embedded/binaries.js'
import { chooseOwner, createCluster, prepareHome } from '../server/dist/db/embedded/home.js'

const VERSIONS = '/usr/lib/postgresql'

/** Tells whether GUICHE_TEST_POSTGRES asks for Debian's PostgreSQL, and not for the one that comes with guiche. */
export function isStockRun() {
  const asked = process.env.GUICHE_TEST_POSTGRES ?? 'embedded'
  if (asked === 'embedded' || asked === 'stock') return asked === 'stock'
  throw new Error(`GUICHE_TEST_POSTGRES is embedded or stock, and not ${asked}`)
}

/** Makes a database with Debian's programs. A home keeps the version of its database, so it uses them from then on. */
export async function makeStockHome(path) {
  const major = newestMajor()
  const home = await prepareHome(path)
  const { bin } = await provideBinaries({ home, dataMajor: major, say: () => {} })
  if (bin !== binOf(major))
    throw new Error(`PostgreSQL ${major} comes with guiche too, and a home prefers it: install another version`)
  const owner = await chooseOwner(join(home, 'data'))
  await createCluster({ home, bin, major, owner, password: randomBytes(32).toString('hex') })
}

export function hasStockPostgres() {
  return installedMajors().length > 0
}

function newestMajor() {
  const major = Math.max(...installedMajors())
  if (Number.isFinite(major)) return major
  throw new Error(`there is no PostgreSQL in ${VERSIONS}: install Debian's package (apt-get install postgresql)`)
}

function installedMajors() {
  const majors = existsSync(VERSIONS) ? readdirSync(VERSIONS).map(Number) : []
  return majors.filter((major) => existsSync(join(binOf(major), 'initdb')))
}

function binOf(major) {
  return join(VERSIONS, String(major), 'bin')
}
