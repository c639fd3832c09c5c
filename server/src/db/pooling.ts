import type pg from 'pg'
import { OperatorError } from '../base/operator-error.ts'
import { withClient } from './connect.ts'
import { TRANSACTION_POOLING } from './failure.ts'

/** A pooler hands out the connection used last, so one try is nearly always enough, unless others use it meanwhile. */
const LOOKS = 5
/** A pooler may make a caller wait for a free connection. */
const LOOK_TIMEOUT_MS = 10_000

/**
 * Refuses a pooler in transaction mode, which changes the session with each transaction: session locks would stay
 * behind in other sessions, dead processes would look alive, and the next process would wait for ever.
 */
export async function requireSession(client: pg.Client, databaseUrl: string): Promise<void> {
  const first = await sessionOf(client)
  // PostgreSQL sends its process id when a connection is made. A pooler sends an invented one instead.
  if ((client as pg.Client & { processID: number }).processID === first) return
  await withClient(databaseUrl, { name: 'guiche-pooling', queryTimeoutMs: LOOK_TIMEOUT_MS }, async (other) => {
    for (let look = 0; look < LOOKS; look++) {
      await other.query('begin')
      const taken = await sessionOf(other)
      const mine = await sessionOf(client)
      await other.query('commit')
      // A session of our own never changes, and no other connection gets it.
      if (mine !== first || taken === first) throw new OperatorError(TRANSACTION_POOLING)
    }
  })
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}
