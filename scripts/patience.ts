// Measures how many times slower this machine is now than an idle one with two processors. The time limits of the tests
// are multiplied by this factor, so a busy machine makes tests slow and not red. TEST_PATIENCE sets it by hand.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'

/** The time that the work below takes on the machine for which the limits were chosen, when it is idle. */
const REFERENCE_MS = 400
/** A test that hangs must still fail within the hour. */
const MAX = 8
const ROUNDS = 150_000
const STARTS = 3

/** Measured once: other processes of the run take it from the environment. */
export function patience(): number {
  process.env['TEST_PATIENCE'] ||= String(measure())
  return Number(process.env['TEST_PATIENCE'])
}

function measure(): number {
  const began = performance.now()
  for (let round = 0; round < ROUNDS; round++) createHash('sha256').update(String(round)).digest('hex')
  for (let start = 0; start < STARTS; start++) spawnSync(process.execPath, ['--eval', '0'])
  const factor = (performance.now() - began) / REFERENCE_MS
  return Math.min(MAX, Math.max(1, Math.round(factor * 10) / 10))
}
