import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { patience } from '../scripts/patience.ts'

export default defineConfig({
  // The examples name the package as a receiver would; here that means the source, so that no build has to come first.
  resolve: { alias: { '@guiche/sdk': fileURLToPath(new URL('src/verify.ts', import.meta.url)) } },
  test: {
    name: 'sdk',
    include: ['test/**/*.test.ts'],
    // The receivers of the README start as processes of their own.
    testTimeout: 30_000 * patience(),
    pool: 'forks',
  },
})
