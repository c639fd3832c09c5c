import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

/** In the order in which their files run. */
const PROJECTS = ['web', 'sdk', 'server']

/** What takes longest. Vitest knows it by itself from the second run on; a fresh clone does not. */
const SLOWEST = [
  'backup',
  'package',
  'alerts',
  'lifecycle',
  'money-proof',
  'roles',
  'dashboard-pages-browser',
  'docs-browser',
  'sign-in-browser',
  'developers-browser',
  'element-browser',
  'find-browser',
  'shop-browser',
  'lists-browser',
  'counter-browser',
  'payment-browser',
  'dashboard-deposits-browser',
  'seed',
  'shop',
  'guide',
  'openapi',
  'large-tables',
  'delivery-crash',
  'metrics-outage',
  'clock-process',
  'refunds-http',
  'systemd',
]

/**
 * The longest files of the server first, so that none of them runs alone at the end. Before them come the other
 * projects, one by one: a worker that meets a file of another project ends, and loading the server again takes longer
 * than most files.
 */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = SLOWEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return found === -1 ? SLOWEST.length : found
    }
    const place = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name)
    // oxlint-disable-next-line unicorn/no-array-sort -- It is the sequencer's, and no array's.
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => place(one) - place(other) || rank(one) - rank(other))
  }
}

/** Names what a whole run left out, and why: beside a green file the count of skipped tests is overlooked. */
const NAMES_SKIPPED: Reporter = {
  onTestRunEnd(modules) {
    const lines = modules.flatMap(skippedIn)
    if (lines.length > 0) process.stdout.write(`\n Skipped\n${lines.join('\n')}\n`)
  },
}

function skippedIn(module: TestModule): string[] {
  // Who asks for tests by name has left the others out.
  if (module.project.vitest.config.testNamePattern) return []
  return [...module.children.allTests('skipped')].map((test) => {
    const { note } = test.result() as { note?: string }
    return `   ${module.project.name} ${module.relativeModuleId} > ${test.fullName}${note ? `: ${note}` : ''}`
  })
}

export default defineConfig({
  test: {
    projects: PROJECTS,
    // On two processors: while two tests wait for PostgreSQL, a browser or another process, two others compute.
    maxWorkers: 4,
    sequence: { sequencer: SlowestFirst },
    // The first two are Vitest's own choice.
    reporters: ['default', ...(process.env['GITHUB_ACTIONS'] ? ['github-actions'] : []), NAMES_SKIPPED],
  },
})
