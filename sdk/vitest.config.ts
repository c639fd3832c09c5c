import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { ensureBuilt } from '../scripts/bootstrap.mjs'
import { patience } from '../scripts/patience.ts'
import { useScratch } from '../scripts/scratch.ts'
import { chosenTests } from '../scripts/test-files.ts'

useScratch()
await ensureBuilt()

const source = (name: string) => fileURLToPath(new URL(`src/${name}.ts`, import.meta.url))

export default defineConfig({
  // The examples name the package as its users do; here that means the source, so that no build has to come first.
  resolve: {
    alias: [
      { find: /^@guiche\/sdk$/, replacement: source('client') },
      { find: /^@guiche\/sdk\/(.+)$/, replacement: source('$1') },
    ],
  },
  test: {
    // The server is run as it was built.
    server: { deps: { external: [/\/server\/dist\//] } },
    name: 'sdk',
    include: chosenTests(),
    // One server for all files: to start it takes longer than most of them.
    globalSetup: ['test/guiche-process.ts'],
    // The README's receivers start as processes of their own; npm packs and installs, ten seconds on a busy machine.
    testTimeout: 120_000 * patience(),
    hookTimeout: 120_000 * patience(),
    expect: { poll: { timeout: 20_000 * patience() } },
    pool: 'forks',
    // No file of tests changes what another one loads.
    isolate: false,
  },
})
