// These ports are below those that systems hand out for port 0 and for outgoing connections (32,768 and up on Linux,
// 49,152 and up elsewhere). So no other program is given one of them between its choice and its use.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const LOWEST = 12_000
const COUNT = 9_000
// Long enough for a service to listen. A claim of a process that ended is given up then.
const CLAIMED_MS = 10 * 60_000
let next = randomInt(COUNT)

/** A port of 127.0.0.1 that nothing listens on, and that no other process of this user is about to listen on. */
export async function freePort() {
  for (let tried = 0; tried < COUNT; tried++) {
    const port = LOWEST + (next++ % COUNT)
    if (!claim(port)) continue
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if (error.code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error(`every port from ${LOWEST} to ${LOWEST + COUNT - 1} is in use`)
}

/** Between its choice and its use, a port looks free to everybody. So who chooses it leaves a file. */
function claim(port) {
  const folder = join(tmpdir(), `guiche-ports-${process.getuid?.() ?? 0}`)
  const file = join(folder, String(port))
  mkdirSync(folder, { recursive: true })
  try {
    closeSync(openSync(file, 'wx'))
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const claimed = statSync(file, { throwIfNoEntry: false })
  if (claimed && Date.now() - claimed.mtimeMs > CLAIMED_MS) rmSync(file, { force: true })
  return false
}
