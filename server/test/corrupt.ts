import { superuserUrl } from '../src/db/embedded/server.ts'
import { connect } from './empty-database.ts'
import type { World } from './world.ts'

/** Changes rows past the triggers, as somebody at a database console could. */
export async function corrupt({ directUrl }: World, sql: string): Promise<void> {
  const client = await connect(superuserUrl(directUrl))
  try {
    // Triggers ignore what a replica writes. Disabling them would change the schema, and then the database could not be
    // used again.
    await client.query('set session_replication_role = replica')
    await client.query(sql)
  } finally {
    await client.end()
  }
}
