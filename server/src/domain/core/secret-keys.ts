import { query } from '../../db/tx.ts'
import type { Core } from './core.ts'

/**
 * Processes with different keys cannot open each other's secrets, and a provider's notifications reach only one of
 * them. So each start records the id of its first key, and a process that lacks the newest one does not serve. Resolves
 * to what is wrong, or undefined.
 */
export async function checkSecretKeys(core: Core): Promise<string | undefined> {
  const ids = core.settings.secretBox.keyIds()
  const [newest] = await query<{ id: string }>(core.pool, 'select id from secret_key_ids order by used_at desc limit 1')
  if (!newest || ids.includes(newest.id)) return undefined
  return `the database is used with a SECRET_KEY (id ${newest.id}) that this process lacks: add it to SECRET_KEY, after a comma, or see docs/operations.md if it is lost`
}

/** Records that this process seals with its first key from now on. */
export async function recordSecretKey(core: Core): Promise<void> {
  await query(
    core.pool,
    `insert into secret_key_ids (id, used_at) values ($1, $2)
     on conflict (id) do update set used_at = greatest(secret_key_ids.used_at, excluded.used_at)`,
    [core.settings.secretBox.keyIds()[0], core.now()],
  )
}
