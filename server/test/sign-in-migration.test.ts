import { hash } from '@node-rs/argon2'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { makePool } from '../src/db/pool.ts'
import { databaseNamed } from './cluster.ts'
import { appWith, UNKNOWN_ID } from './requests.ts'
import { openBrowser, PASSWORD } from './sign-in-client.ts'
import { world } from './world.ts'

const OPERATOR_ID = '0198a0c0-0000-7000-8000-000000000001'

test('accounts and operators from before there was a dashboard sign in with the passwords they have', async () => {
  const { w, client, url, migrateOn } = await beforeSignIn()
  const password = await hash(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  await client.query(
    'insert into accounts (id, email, name, password_hash, created_at) values ($1, $2, $3, $4, now())',
    [UNKNOWN_ID, 'ana@loja.example', 'Ana', password],
  )
  await client.query(
    'insert into operators (id, email, name, password_hash, created_at) values ($1, $2, $3, $4, now())',
    [OPERATOR_ID, 'ops@example.com', 'Olga', password],
  )
  await migrateOn()

  const pool = makePool(url, w.ctx.log)
  onTestFinished(() => pool.end())
  const app = await appWith({ ...w.ctx, pool })
  for (const [email, kind, accountId] of [
    ['ana@loja.example', 'account', UNKNOWN_ID],
    ['ops@example.com', 'operator', null],
  ]) {
    const browser = openBrowser({ app })
    expect((await browser.signIn(email!)).statusCode).toBe(200)
    expect(await browser.me()).toMatchObject({ email, kind, accountId })
  }
  const { rows } = await client.query(
    `select table_name from information_schema.columns where column_name = 'password_hash' and table_schema = 'public'`,
  )
  expect(rows).toEqual([])
})

test('an e-mail that is an account holder’s and an operator’s stops the migration, which says what to do', async () => {
  const { client, migrateOn } = await beforeSignIn()
  for (const table of ['accounts', 'operators'])
    await client.query(
      `insert into ${table} (id, email, name, password_hash, created_at) values ($1, 'both@loja.example', 'B', 'x', now())`,
      [UNKNOWN_ID],
    )
  await expect(migrateOn()).rejects.toThrow(
    /an account holder's and an operator's at once.*: both@loja\.example; give the operators others, for example: update operators/,
  )
  await client.query(`update operators set id = $1, email = 'ops@loja.example'`, [OPERATOR_ID])
  await migrateOn()
  expect((await client.query('select email from users order by 1')).rows).toEqual([
    { email: 'both@loja.example' },
    { email: 'ops@loja.example' },
  ])
})

/** A database as guiche left it before 0007. */
async function beforeSignIn() {
  const w = await world()
  const name = `before_${randomBytes(6).toString('hex')}`
  await w.pool.query(`create database ${name}`)
  const url = databaseNamed(inject('clusterUrl'), name)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await w.pool.query(`drop database ${name} with (force)`)
  })
  const folder = new URL('../migrations/', import.meta.url)
  const files = readdirSync(folder).toSorted()
  const run = async (some: string[]) => {
    for (const file of some) await client.query(readFileSync(new URL(file, folder), 'utf8'))
  }
  await run(files.filter((file) => file < '0007'))
  return { w, client, url, migrateOn: () => run(files.filter((file) => file >= '0007')) }
}
