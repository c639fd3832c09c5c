import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { READ_GUARDS } from '../src/domain/audit/schema.ts'
import { world } from './world.ts'

const GUARDS = new URL('../data/schema-guards.txt', import.meta.url)

// After a migration, run: UPDATE_SCHEMA=1 npx vitest run test/schema.test.ts
test('the audit knows every column, constraint, unique index, trigger and function that the migrations make', async () => {
  const w = await world()
  const rows = await query<{ line: string }>(w.pool, READ_GUARDS)
  const lines = rows.map(({ line }) => `${line}\n`).toSorted()
  if (process.env['UPDATE_SCHEMA']) await writeFile(GUARDS, lines.join(''))
  expect(await readFile(GUARDS, 'utf8')).toBe(lines.join(''))
})
