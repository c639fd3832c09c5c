// Everything that a measure needs, started in order and ended in reverse: database, bank, service, reference.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeStockHome, stockBin } from '../../scripts/stock-postgres.mjs'
import { makePool } from '../../server/dist/db/pool.js'
import { makeAccounts, makeApiKey } from './books.mjs'
import { startProgram } from './children.mjs'
import { openDatabase } from './database.mjs'
import { makeHome } from './home.mjs'
import { makeService } from './service.mjs'
import { openStandby } from './standby.mjs'

const log = { debug() {}, info() {}, warn: console.error, error: console.error }

export async function openStage({ data, postgres, standby, processes, onOpen }) {
  const { home, remove } = makeHome(data)
  onOpen(async () => remove())
  if (postgres === 'stock') await makeStockHome(home)
  const database = await openDatabase(home)
  onOpen(() => database.close())
  await database.requireDurable()
  if (standby) await openStandby({ home, bin: stockBin(), host: database.libpq.PGHOST })
  const opened = await openService({ name: 'bench', home, database, processes, onOpen })
  const reference = await startReference(database, opened.bank)
  return { ...opened, reference }
}

/** Another service beside the one of a stage: in a new database of the same PostgreSQL, with a bank of its own. */
export async function openBeside({ home, database }, { name, onOpen }) {
  const ownHome = join(home, name)
  mkdirSync(ownHome)
  await database.create(name)
  return openService({ name, home: ownHome, database: database.named(name), databaseUrl: database.urlOf(name), onOpen })
}

/** Without a `databaseUrl` the service opens the embedded database of its home. */
async function openService({ name, home, database, databaseUrl, processes, onOpen }) {
  const bank = await startBank()
  const service = await makeService({ home, bankUrl: bank.url, databaseUrl, processes })
  await service.start()
  const pool = makePool(database.url, log)
  onOpen(() => pool.end())
  const [account] = await makeAccounts(pool, 1)
  const key = await makeApiKey(pool, account)
  return {
    name,
    home,
    database,
    bank,
    service,
    account,
    /** For functions of the service that take its pool. */
    pool,
    headers: { authorization: `Bearer ${key}` },
    /** What makeCharges() takes. */
    books: { pool, seal: service.config.settings.chargeSeal, bank },
  }
}

async function startBank() {
  const program = await startProgram('bank.mjs')
  const url = await program.ask('url')
  return {
    ...program,
    url,
    async control(name, input = {}) {
      const answer = await fetch(`${url}/control/${name}`, { method: 'POST', body: JSON.stringify(input) })
      if (!answer.ok) throw new Error(`the bank answered ${answer.status} to ${name}`)
      return answer.json()
    },
  }
}

async function startReference(database, bank) {
  const program = await startProgram('reference.mjs')
  const name = 'bench_reference'
  await database.create(name)
  const url = await program.ask('open', { databaseUrl: database.urlOf(name), bankUrl: bank.url })
  return { ...program, url }
}
