// `npm start`: from a fresh clone to a running service. npm runs this by `exec`, so that signals reach this process,
// and the service runs in this process too.

import { ensureBuilt, ensureInstalled, ensureNode } from './bootstrap.mjs'

ensureNode()
await ensureInstalled()
await ensureBuilt()
process.argv.splice(2, 0, 'start')
await import('../server/dist/cli.js')
