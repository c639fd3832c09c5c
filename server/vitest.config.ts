import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/cluster.ts'],
    // Real databases and real servers start in some tests, and a busy machine takes many times as long: a test that needs longer than this hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    pool: 'forks',
    maxWorkers: 2,
    // Loading the product takes a second, and no file of tests changes what another one loads.
    isolate: false,
  },
})
