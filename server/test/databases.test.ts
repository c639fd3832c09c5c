import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { superuserUrl } from '../src/db/embedded/server.ts'
import { SILENT, takeDatabase } from './databases.ts'

const CHANGES = [
  'create table added (id int)',
  'alter table accounts alter column name set statistics 7',
  'alter table accounts add constraint added check (true)',
  'create trigger added before insert on accounts for each statement execute function refuse_change()',
  'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return null; end $$',
  'analyze migrations',
  'alter role guiche in database %I set timezone to utc',
]

// Behind a pooler none is used again.
const isDirect = inject('worldsUrl') === inject('clusterUrl')
let last: string | undefined

test.each(CHANGES)('a database is not used again after: %s', async (change) => {
  const { directUrl } = await takeDatabase(SILENT)
  expect(directUrl).not.toBe(last)
  last = directUrl
  const client = new pg.Client({ connectionString: superuserUrl(directUrl) })
  await client.connect()
  await client.query(change.replace('%I', client.escapeIdentifier(client.database!)))
  await client.end()
})

test.runIf(isDirect).each([
  ['a database is not used again after the last of these', false],
  ['a database that only got rows is used again, without them', true],
])('%s', async (_, isUsedAgain) => {
  const { directUrl, pool } = await takeDatabase(SILENT)
  expect(directUrl === last).toBe(isUsedAgain)
  last = directUrl
  expect((await pool.query('select from audit_log')).rowCount).toBe(0)
  await pool.query(`insert into audit_log (at, actor_kind, actor, action, subject, details)
    values (now(), 'system', 'guiche', 'history.began', 'x', '{}')`)
})
