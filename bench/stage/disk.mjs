// How long the disk alone takes to sync. Every commit waits for a sync, so a slow disk shows in every p99.
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from '../measures/turns.mjs'

const PAGE = Buffer.alloc(8_192, 1)
// As many as a segment of PostgreSQL's log has. They are written once before, so that no sync has to allocate any.
const PAGES = 2_048

/** Writes a page and waits until it is on the disk, so many times a second. Resolves to { p50Ms, p99Ms }. */
export async function timeDisk(home, { perSecond, seconds }) {
  const path = join(home, 'disk')
  const file = await open(path, 'w')
  const times = []
  try {
    for (let page = 0; page < PAGES; page++) await file.write(PAGE, 0, PAGE.length, page * PAGE.length)
    await file.sync()
    const beganMs = performance.now()
    for (let count = 0; count < perSecond * seconds; count++) {
      const dueMs = beganMs + (count * 1000) / perSecond
      if (dueMs > performance.now()) await sleep(dueMs - performance.now())
      const startMs = performance.now()
      await file.write(PAGE, 0, PAGE.length, (count % PAGES) * PAGE.length)
      await file.datasync()
      times.push(performance.now() - startMs)
      if (performance.now() - beganMs > 2_000 * seconds) break
    }
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
}

/** For the note of a measure. */
export function describeDisk({ p50Ms, p99Ms }) {
  return `the disk alone p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`
}
