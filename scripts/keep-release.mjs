// At a release: keeps its build in server/test/releases. previous-release.test.ts runs it on the schema of what
// follows, as an update does. The archive has no dependencies: it runs with those of the checkout.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBuilt, root } from './bootstrap.mjs'

await ensureBuilt()
const server = join(root, 'server')
const { version } = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'))
const folder = join(server, 'test/releases')
const archive = join(folder, `guiche-${version}.tgz`)
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
execFileSync('tar', ['-czf', archive, '--exclude=*.map', '-C', server, 'package.json', 'data', 'dist', 'migrations'])
console.log(`${archive}: ${Math.round(statSync(archive).size / 1000)} kB`)
