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

/** As a failover to a standby that lacked the last `count` events. Each must have got its position by itself. */
export function loseNewest(w: World, count: number): Promise<void> {
  return corrupt(
    w,
    `delete from events where id in (select event_id from history order by leaf desc limit ${count});
     delete from history where leaf > (select max(leaf) from history) - ${count};
     delete from history_edges where size > (select max(leaf) + 1 from history);
     delete from history_heads`,
  )
}
