// Runs a proof on a bank and a service of its own, prints which claims held, and exits.
// 0: all claims held. 1: a claim failed. 2: the proof could not run.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { openBank } from './money/bank.mjs'
import { openBooks } from './money/books.mjs'
import { makeService } from './money/service.mjs'

/**
 * `prove` gets the bank, the service (not started), its home, the clock of both, `openBooks`, and `note(claim, text)`
 * for a breach.
 */
export async function proveClaims({ name, claims, prove, env, withinMs, dist: given }) {
  if (!given) await ensureBuilt()
  const dist = resolve(given ?? join(root, 'server/dist'))
  const home = mkdtempSync(join(tmpdir(), `guiche-prove-${name}-`))
  // If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
  chmodSync(home, 0o755)
  const clock = { laterMs: 0, now: () => new Date(Date.now() + clock.laterMs) }
  const breaches = []
  let bank
  let service
  let books

  async function end(code, text) {
    if (text) console.log(text)
    await service?.close()
    await books?.close().catch(() => undefined)
    await bank?.stop()
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
    process.exit(code)
  }

  setTimeout(() => void end(2, `not done within ${withinMs / 1000} s`), withinMs).unref()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end(2, signal))
  try {
    const { openSandbox } = await import(pathToFileURL(join(dist, 'sandbox/server.js')).href)
    bank = await openBank({ openSandbox, home, clock })
    const settings = { PROVIDER_SANDBOX_URL: bank.url, RATE_LIMIT_PER_SECOND: '0', ...env }
    const ended = (text) => console.log(`the service: ${text}`)
    service = await makeService({ dist, home, clock, env: settings, ended })
    await prove({
      bank,
      service,
      home,
      clock,
      note: (claim, text) => void breaches.push({ claim, text }),
      openBooks: async () => (books = await openBooks({ dist, home })),
    })
    for (const [claim, says] of Object.entries(claims)) {
      const texts = breaches.filter((breach) => breach.claim === claim).map(({ text }) => text)
      console.log(`${texts.length === 0 ? 'held    ' : 'NOT HELD'} ${claim}: ${says}`)
      for (const text of texts) console.log(`           ${text}`)
    }
    await end(breaches.length > 0 ? 1 : 0)
  } catch (error) {
    await end(2, `The proof could not run: ${error.stack ?? error}`)
  }
}
