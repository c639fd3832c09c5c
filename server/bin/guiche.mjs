#!/usr/bin/env node
// The command line. In a checkout it builds first what changed; in an installed package there is nothing to build.

import { existsSync } from 'node:fs'

const bootstrap = new URL('../../scripts/bootstrap.mjs', import.meta.url)
if (existsSync(bootstrap)) {
  const { ensureBuilt, ensureNode } = await import(bootstrap.href)
  ensureNode()
  await ensureBuilt()
}
await import('../dist/cli.js')
