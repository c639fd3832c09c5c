import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/cluster.ts'],
    // Real databases and real servers start in some tests; a test that needs longer than this hangs.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // Loading the product takes a second, and no file of tests changes what another one loads.
    isolate: false,
  },
})
