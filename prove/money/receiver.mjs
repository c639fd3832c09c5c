// The account holder's webhook. It refuses every tenth delivery, so that some are retried.

import { once } from 'node:events'
import { createServer } from 'node:http'

export async function startReceiver(random) {
  /** The bodies that arrived, by event id. */
  const events = new Map()
  const state = { events, failsSome: true, deliveries: 0 }
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      state.deliveries += 1
      if (state.failsSome && random.chance(0.1)) return response.writeHead(500).end()
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
