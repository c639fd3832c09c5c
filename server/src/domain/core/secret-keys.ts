import { query } from '../../db/tx.ts'
import type { Core } from './core.ts'

/** What is wrong if another process started with a newer key: neither can open the other's secrets. */
export async function checkSecretKeys(core: Core): Promise<string | undefined> {
  const ids = core.settings.secretBox.keyIds()
  const [newest] = await query<{ id: string }>(core.pool, 'select id from secret_key_ids order by used_at desc limit 1')
  if (!newest || ids.includes(newest.id)) return undefined
  return `the database is used with a SECRET_KEY (id ${newest.id}) that this process lacks: add it to SECRET_KEY, after a comma, or see docs/operations.md if it is lost`
}

export async function recordSecretKey(core: Core): Promise<void> {
  await query(
    core.pool,
    `insert into secret_key_ids (id, used_at) values ($1, $2)
     on conflict (id) do update set used_at = greatest(secret_key_ids.used_at, excluded.used_at)`,
    [core.settings.secretBox.keyIds()[0], core.now()],
  )
}
