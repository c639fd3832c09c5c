import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { ensureBuilt } from '../scripts/bootstrap.mjs'
import { patience } from '../scripts/patience.ts'
import { useScratch } from '../scripts/scratch.ts'
import { chosenTests } from '../scripts/test-files.ts'

useScratch()
await ensureBuilt()

// Real databases and real servers start in some tests: one that needs longer than this hangs.
const TIMEOUT_MS = 240_000 * patience()

export default defineConfig({
  // Tests import the build, which is what users run. It also loads faster than sources that must be compiled first.
  resolve: {
    alias: [
      { find: /^(?:\.\.\/)+src\/(.+)\.ts$/, replacement: fileURLToPath(new URL('dist/$1.js', import.meta.url)) },
      // The samples of the guide name the client as its users do.
      { find: '@guiche/sdk', replacement: fileURLToPath(new URL('sdk/dist/client.js', import.meta.url)) },
    ],
  },
  test: {
    server: { deps: { external: [/\/server\/dist\//] } },
    name: 'server',
    include: chosenTests(),
    globalSetup: ['test/cluster.ts'],
    provide: { patience: patience() },
    testTimeout: TIMEOUT_MS,
    hookTimeout: TIMEOUT_MS,
    pool: 'forks',
    maxWorkers: 4,
    // Loading the product takes a second, and no file of tests changes what another one loads.
    isolate: false,
    execArgv: ['--max-semi-space-size=64'],
  },
})
