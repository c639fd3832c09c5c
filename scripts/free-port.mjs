// These ports are below those that systems hand out for port 0 and for outgoing connections (32,768 and up on Linux,
// 49,152 and up elsewhere). So no other program is given one of them between its choice and its use.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const LOWEST = 12_000
const COUNT = 9_000
let next = randomInt(COUNT)

/** A port of 127.0.0.1 that nothing listens on, and that this process has not been given before. */
export async function freePort() {
  for (let tried = 0; tried < COUNT; tried++) {
    const port = LOWEST + (next++ % COUNT)
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
