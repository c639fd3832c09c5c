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
    `create temp table lost on commit drop as select * from history_runs order by first_leaf desc limit ${count};
     delete from events where id = any(select unnest(event_ids) from lost);
     delete from history_runs where first_leaf in (select first_leaf from lost);
     delete from history_leaves where first_leaf in (select first_leaf from lost);
     delete from history_heads`,
  )
}
