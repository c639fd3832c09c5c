// One run of the bench: starts everything, takes the measures in their order, audits, and ends everything.
import { writeFileSync } from 'node:fs'
import { MEASURES } from './measures.mjs'
import { endAll, onUnexpectedEnd } from './stage/children.mjs'
import { makeProgress } from './stage/progress.mjs'
import { openStage } from './stage/stage.mjs'
import { describeRun, renderMarkdown, renderText, toEntry } from './table.mjs'

const EXIT_FAILED = 1
const EXIT_MISSED = 2

/** Resolves to the exit code. */
export async function runBench(options) {
  const progress = makeProgress()
  const closers = [endAll]
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await endAll()
    for (const closer of closers.toReversed()) await closer().catch((error) => console.error(error.message))
  }
  const stopped = new Promise((_, reject) => {
    onUnexpectedEnd((text) => reject(new Error(text)))
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Error(`stopped by ${signal}`)))
  })
  try {
    return await Promise.race([measureAll(options, { progress, onOpen: (closer) => closers.push(closer) }), stopped])
  } catch (error) {
    progress.clear()
    console.error(`The bench failed: ${error.stack ?? error}`)
    return EXIT_FAILED
  } finally {
    await close()
  }
}

async function measureAll(options, { progress, onOpen }) {
  const chosen = MEASURES.filter(({ id }) => !options.only || options.only.includes(id))
  progress.say('starting the service, the bank and the reference')
  const stage = await openStage({ ...options, onOpen })
  await stage.service.restart()
  const entries = []
  const made = new Map()
  for (const measure of chosen) {
    const show = (text) => progress.say(`${measure.id} of 18, ${measure.name}: ${text}`)
    /** What several measures share is made by the first that needs it. */
    const once = (make) => {
      if (!made.has(make)) made.set(make, make(bench))
      return made.get(make)
    }
    const bench = { stage, options, rounds: options.rounds, warmUp: options.warmUp, show, once }
    entries.push(toEntry(measure, await measure.run(bench)))
  }
  progress.say('auditing the books')
  const audit = await stage.service.audit()
  progress.clear()
  return report(options, { entries, audit, run: await describeRun(options, stage) })
}

function report(options, { entries, audit, run }) {
  console.log(renderText(entries, run))
  if (options.json) writeFileSync(options.json, `${JSON.stringify(entries, null, 2)}\n`)
  if (options.markdown) writeFileSync(options.markdown, renderMarkdown(entries, run))
  if (audit.code !== 0) {
    const { differences, notCompared } = audit.report
    console.error(
      'The audit does NOT agree:',
      JSON.stringify({ differences: differences.slice(0, 10), notCompared }, null, 2),
    )
    return EXIT_FAILED
  }
  const { charges, payments } = audit.report
  console.log(`\nThe audit agrees: ${charges} charges, ${payments} payments, every one of them proved.`)
  return options.strict && entries.some(({ met }) => !met) ? EXIT_MISSED : 0
}
