// `npm run bench`. See bench/README.md, or --help.
import { ensureBuilt, ensureInstalled, ensureNode, fail } from '../scripts/bootstrap.mjs'
import { readOptions } from './options.mjs'

const options = read(process.argv.slice(2))
if (options.help) console.log(options.help)
else {
  ensureNode()
  await ensureInstalled()
  await ensureBuilt()
  // bench.mjs loads parts of the build, so it is imported after building.
  const { runBench } = await import('./bench.mjs')
  process.exit(await runBench(options))
}

function read(args) {
  try {
    return readOptions(args)
  } catch (error) {
    return fail(`${error.message}. See npm run bench -- --help`)
  }
}
