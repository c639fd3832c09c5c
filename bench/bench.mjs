// One run of the bench: starts everything, takes the measures in their order, audits, and ends everything.
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { endAll, onUnexpectedEnd } from './children.mjs'
import { watchSteal } from './cost.mjs'
import { makeCharges, MEASURES } from './measures.mjs'
import { openStage } from './stage.mjs'
import { renderLine, renderTable } from './table.mjs'
import { findPgbench } from './tpcb.mjs'

/** Resolves to the exit code. */
export async function runBench(options) {
  const closers = []
  const stopped = new Promise((_, reject) => {
    const stop = (text) => reject(Object.assign(new Error(text), { isExpected: true }))
    onUnexpectedEnd(stop)
    process.on('unhandledRejection', reject)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(`Stopped by ${signal}`))
  })
  try {
    return await Promise.race([measureAll(options, (close) => closers.push(close)), stopped])
  } catch (error) {
    console.error(`The bench failed: ${error.isExpected ? error.message : (error.stack ?? error)}`)
    return 1
  } finally {
    await endAll()
    for (const close of closers.toReversed()) await close().catch((error) => console.error(error.message))
  }
}

async function measureAll(options, onOpen) {
  if (options.only.includes('settle')) findPgbench()
  const stage = await openStage({ ...options, onOpen })
  let charges
  const bench = { stage, options, charges: () => (charges ??= makeCharges(bench)) }
  const entries = []
  for (const [name, { says, reference: beside, run }] of Object.entries(MEASURES)) {
    if (!options.only.includes(name)) continue
    const beganMs = performance.now()
    const stealSince = watchSteal()
    const result = await run(bench)
    const tookSeconds = Math.round((performance.now() - beganMs) / 1000)
    entries.push({ name, says, beside, ...result, tookSeconds, steal: stealSince() })
    console.error(renderLine(entries.at(-1)))
  }
  const run = describeRun(options, stage)
  console.log(`\n${renderTable(entries)}\n\n${run}`)
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ run, entries }, null, 2)}\n`)
  return audit(stage)
}

/** What the figures of a run depend on, in one line. */
function describeRun({ rounds, seconds, processes, dist }, { database }) {
  return [
    `${cpus().length} × ${cpus()[0].model.trim()}`,
    `${Math.round(totalmem() / 2 ** 30)} GB`,
    `Node ${process.version}`,
    `PostgreSQL ${database.version} with full durability`,
    `${processes} ${processes === 1 ? 'process' : 'processes'} of ${dist}`,
    `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s`,
  ].join('; ')
}

async function audit({ service }) {
  const { code, report } = await service.audit()
  const { charges, payments, differences, notCompared } = report
  if (code === 0) console.log(`The audit agrees: ${charges} charges, ${payments} payments, every one of them proved.`)
  else
    console.error('The audit does NOT agree:', JSON.stringify({ differences: differences.slice(0, 10), notCompared }))
  return code === 0 ? 0 : 1
}
