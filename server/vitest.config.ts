import { defineConfig } from 'vitest/config'
import { patience } from '../scripts/patience.ts'
import { useScratch } from '../scripts/scratch.ts'

useScratch()

// Real databases and real servers start in some tests: one that needs longer than this hangs.
const TIMEOUT_MS = 240_000 * patience()

export default defineConfig({
  test: {
    name: 'server',
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/cluster.ts'],
    provide: { patience: patience() },
    testTimeout: TIMEOUT_MS,
    hookTimeout: TIMEOUT_MS,
    pool: 'forks',
    maxWorkers: 3,
    // Loading the product takes a second, and no file of tests changes what another one loads.
    isolate: false,
    execArgv: ['--max-semi-space-size=64'],
  },
})
