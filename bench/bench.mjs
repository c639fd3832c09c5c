// One run of the bench: starts everything, takes the measures in their order, audits, and ends everything.
import { writeFileSync } from 'node:fs'
import { MEASURES } from './measures.mjs'
import { curves } from './measures/curves.mjs'
import { makeOnce } from './measures/turns.mjs'
import { auditBooks, today } from './stage/audit.mjs'
import { endAll, onUnexpectedEnd } from './stage/children.mjs'
import { readMachineTicks, stealSince } from './stage/cpu.mjs'
import { describeRun } from './stage/machine.mjs'
import { makeProgress } from './stage/progress.mjs'
import { openStage } from './stage/stage.mjs'
import { renderLine, renderMarkdown, renderText, toEntry } from './table.mjs'

const EXIT_FAILED = 1
const EXIT_MISSED = 2

/** Resolves to the exit code. */
export async function runBench(options) {
  const progress = makeProgress()
  const closers = []
  const stopped = new Promise((_, reject) => {
    const stop = (text) => reject(Object.assign(new Error(text), { isExpected: true }))
    onUnexpectedEnd(stop)
    process.on('unhandledRejection', reject)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(`stopped by ${signal}`))
  })
  try {
    return await Promise.race([measureAll(options, { progress, onOpen: (close) => closers.push(close) }), stopped])
  } catch (error) {
    progress.clear()
    console.error(`The bench failed: ${error.isExpected ? error.message : (error.stack ?? error)}`)
    return EXIT_FAILED
  } finally {
    await endAll()
    for (const close of closers.toReversed()) await close().catch((error) => console.error(error.message))
  }
}

async function measureAll(options, { progress, onOpen }) {
  const chosen = MEASURES.filter(({ id }) => !options.only || options.only.includes(id))
  const startedOn = today()
  progress.say('starting the service, the bank and the reference')
  const stage = await openStage({ ...options, onOpen })
  const run = await describeRun(options, stage)
  const measured = new Map()
  const once = makeOnce()
  const isChosen = (id) => chosen.some((measure) => measure.id === id)
  for (const measure of chosen) {
    const show = (text) => progress.say(`${measured.size + 1} of ${chosen.length}: ${measure.name}: ${text}`)
    const bench = { stage, options, rounds: options.rounds, warmUp: options.warmUp, show, onOpen, isChosen, measured }
    bench.once = (make) => once(make, bench)
    await allowCalls(stage, measure)
    const beganMs = performance.now()
    const machine = readMachineTicks()
    const result = await measure.run(bench)
    const curve = options.curveSeconds > 0 ? await curves[measure.id]?.(bench, result) : undefined
    const tookSeconds = Math.round((performance.now() - beganMs) / 1000)
    const steal = stealSince(machine)
    const entry = toEntry(measure, { ...result, ...(curve && { curve }), steal, tookSeconds, run })
    measured.set(measure.id, entry)
    progress.keep(renderLine(entry))
  }
  const audit = await auditBooks(stage, startedOn, (text) => progress.say(text))
  progress.clear()
  const entries = [...measured.values()].toSorted((a, b) => a.id - b.id)
  return report(options, entries, audit)
}

/** One measure is about the default budget of calls to the bank. For the others there is none. */
async function allowCalls({ service }, { id }) {
  const callsPerSecond = id === 12 ? 'default' : 0
  if (service.callsPerSecond() !== callsPerSecond) await service.restart({ callsPerSecond })
}

function report(options, entries, audit) {
  console.log(renderText(entries))
  if (options.json) writeFileSync(options.json, `${JSON.stringify(entries, null, 2)}\n`)
  if (options.markdown) writeFileSync(options.markdown, renderMarkdown(entries))
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
