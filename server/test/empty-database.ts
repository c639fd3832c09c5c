import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { databaseNamed } from './cluster.ts'

/** A database without any table, for tests of migrations. It is dropped after the test. */
export async function emptyDatabase() {
  const clusterUrl = inject('clusterUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  const url = databaseNamed(clusterUrl, name)
  const cluster = await connect(clusterUrl)
  await cluster.query(`create database ${name} template template0`)
  const client = await connect(url)
  onTestFinished(async () => {
    await client.end()
    await cluster.query(`drop database ${name} with (force)`)
    await cluster.end()
  })
  return {
    url,
    client,
    names: async (sql: string) => (await client.query<{ name: string }>(sql)).rows.map((row) => row.name),
    count: async (from: string) =>
      Number((await client.query<{ count: string }>(`select count(*) from ${from}`)).rows[0]!.count),
  }
}

export async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}
