import { superuserUrl } from '../src/db/embedded/server.ts'
import { connect } from './empty-database.ts'
import type { World } from './world.ts'

/** As somebody with a database console would who thinks that the triggers are in the way. */
export async function corrupt({ directUrl }: World, sql: string): Promise<void> {
  const client = await connect(superuserUrl(directUrl))
  try {
    // No trigger looks at what a replica writes. Disabling them would change the schema, and a database with another
    // schema is not used again.
    await client.query('set session_replication_role = replica')
    await client.query(sql)
  } finally {
    await client.end()
  }
}
