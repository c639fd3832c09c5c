// Before `npm pack`: builds what a package ships, puts the dashboard beside the server that serves it, and names the
// versions of its dependencies.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt, root } from './bootstrap.mjs'
import { makeShrinkwrap } from './shrinkwrap.mjs'

await ensureBuilt()
const dashboard = join(root, 'server/dashboard')
rmSync(dashboard, { recursive: true, force: true })
cpSync(join(root, 'web/dist'), dashboard, { recursive: true })
const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const shrinkwrap = makeShrinkwrap(lockfile, 'server')
writeFileSync(join(root, 'server/npm-shrinkwrap.json'), `${JSON.stringify(shrinkwrap, null, 2)}\n`)
