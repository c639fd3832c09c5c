#!/usr/bin/env node
// The command line. In a checkout it builds first what changed; in an installed package there is nothing to build.

import { existsSync } from 'node:fs'

const bootstrap = new URL('../../scripts/bootstrap.mjs', import.meta.url)
if (existsSync(bootstrap)) {
  const { ensureBuilt, ensureNode } = await import(bootstrap.href)
  ensureNode()
  await ensureBuilt()
}
if (process.env.npm_lifecycle_event) stopWithParent()
await import('../dist/cli.js')

/** npx passes SIGTERM to a shell in between, which ends without passing it on. */
function stopWithParent() {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  timer.unref()
}
