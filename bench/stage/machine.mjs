import { cpus, totalmem } from 'node:os'
import { loadName } from './http-load.mjs'

/** What the figures of a run depend on, in one line. */
export async function describeRun({ rounds, seconds, connections, quick }, { database, home }) {
  const turns = `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s${quick ? ' (quick)' : ''}`
  return [
    `${cpus().length} × ${cpus()[0].model.trim()}`,
    `${Math.round(totalmem() / 2 ** 30)} GB`,
    `Node ${process.version}`,
    `PostgreSQL ${await database.describe()} with full durability in ${home}`,
    `${loadName} with ${connections} connections`,
    turns,
  ].join('; ')
}
