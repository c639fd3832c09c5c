// Where the account holder is told of deposits. Every tenth delivery is refused, so that some have to come again.

import { once } from 'node:events'
import { createServer } from 'node:http'

export async function startReceiver(random) {
  /** By event id: the bodies that arrived, and how often. */
  const events = new Map()
  const state = { events, moody: true, deliveries: 0 }
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      state.deliveries += 1
      if (state.moody && random.chance(0.1)) return response.writeHead(500).end()
      const id = request.headers['webhook-id']
      const bodies = events.get(id) ?? events.set(id, new Set()).get(id)
      bodies.add(Buffer.concat(chunks).toString())
      response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.address().port}/events`,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  })
}
