import { cpus, totalmem } from 'node:os'
import { loadName } from './http-load.mjs'

/** What the figures of a run depend on, in one line. */
export async function describeRun({ rounds, seconds, connections, quick, standby, processes }, { database, home }) {
  const turns = `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s${quick ? ' (quick)' : ''}`
  return [
    `${cpus().length} × ${cpus()[0].model.trim()}`,
    `${Math.round(totalmem() / 2 ** 30)} GB`,
    `Node ${process.version}`,
    `PostgreSQL ${await database.describe()} with full durability in ${home}`,
    ...(standby ? ['a synchronous standby on the same machine'] : []),
    ...(processes > 1 ? [`${processes} processes of the service`] : []),
    `${loadName} with ${connections} connections`,
    turns,
  ].join('; ')
}
