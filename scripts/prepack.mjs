// Before `npm pack`: builds what a package ships, and puts the dashboard beside the server that serves it.

import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt, root } from './bootstrap.mjs'

await ensureBuilt()
const dashboard = join(root, 'server/dashboard')
rmSync(dashboard, { recursive: true, force: true })
cpSync(join(root, 'web/dist'), dashboard, { recursive: true })
