import type pg from 'pg'
import { OperatorError } from '../base/operator-error.ts'
import { withClient } from './connect.ts'
import { TRANSACTION_POOLING } from './failure.ts'

/** A pooler hands out the connection that was used last, so one look is nearly always enough; others may use it meanwhile. */
const LOOKS = 5
/** A pooler may make a caller wait for a free connection. */
const LOOK_TIMEOUT_MS = 10_000

/**
 * Refuses a pooler that gives a connection another session with each transaction: locks of a session would be left behind in
 * whichever session took them, dead processes would look alive, and the next one would wait for ever.
 */
export async function requireSession(client: pg.Client, databaseUrl: string): Promise<void> {
  const first = await sessionOf(client)
  // PostgreSQL names its process when a connection is made. A pooler answers in its place, and makes a number up.
  if ((client as pg.Client & { processID: number }).processID === first) return
  await withClient(databaseUrl, { name: 'guiche-pooling', queryTimeoutMs: LOOK_TIMEOUT_MS }, async (other) => {
    for (let look = 0; look < LOOKS; look++) {
      await other.query('begin')
      const taken = await sessionOf(other)
      const mine = await sessionOf(client)
      await other.query('commit')
      // A session of our own is always the same, and nobody else ever gets it.
      if (mine !== first || taken === first) throw new OperatorError(TRANSACTION_POOLING)
    }
  })
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}
