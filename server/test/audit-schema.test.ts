import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { READ_GUARDS } from '../src/domain/audit/schema.ts'
import { world } from './world.ts'

// After a migration: npx vitest run test/audit-schema.test.ts -u
test('the audit knows every constraint, unique index and trigger that the migrations make', async () => {
  const w = await world()
  const rows = await query<{ line: string }>(w.pool, `${READ_GUARDS} order by 1`)
  const lines = rows.map(({ line }) => line).toSorted()
  const list = lines.map((line) => `  ${line.includes("'") ? JSON.stringify(line) : `'${line}'`},\n`).join('')
  const file = `// Made by test/audit-schema.test.ts, which says how. What audit-schema.ts must find in the database.\nexport const SCHEMA_GUARDS: readonly string[] = [\n${list}]\n`
  await expect(file).toMatchFileSnapshot('../src/domain/schema-guards.ts')
})
