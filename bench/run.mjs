// `npm run bench`. See bench/README.md, or --help.
import { ensureBuilt, ensureInstalled, ensureNode } from '../scripts/bootstrap.mjs'
import { readOptions } from './options.mjs'

const options = readOptions(process.argv.slice(2))
if (options.help) console.log(options.help)
else {
  ensureNode()
  await ensureInstalled()
  await ensureBuilt()
  // Loads parts of the build, so it comes after it.
  const { runBench } = await import('./bench.mjs')
  process.exit(await runBench(options))
}
