import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

/** What takes longest. Vitest knows it by itself from the second run on; a fresh clone does not. */
const SLOWEST = ['lifecycle', 'money-proof', 'dashboard-pages-browser', 'package', 'payment-browser', 'sign-in-browser']

/** The longest files first, so that none of them runs alone at the end. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = SLOWEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return found === -1 ? SLOWEST.length : found
    }
    // oxlint-disable-next-line unicorn/no-array-sort -- It is the sequencer's, and no array's.
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    projects: ['server', 'web', 'sdk'],
    // On two processors: while one test waits for PostgreSQL, a browser or another process, two others compute.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
  },
})
