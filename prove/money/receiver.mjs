// The account holder's webhook. It refuses the first event of a deposit, and some others, so that they are retried.

import { once } from 'node:events'
import { createServer } from 'node:http'

export async function startReceiver(random) {
  /** The bodies that arrived, by event id. */
  const events = new Map()
  let hadDeposit = false
  const state = { events, failsSome: true, deliveries: 0 }
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      state.deliveries += 1
      const body = Buffer.concat(chunks).toString()
      const isFirst = !hadDeposit && JSON.parse(body).event === 'DEPOSIT_ASSET_SUCCESS'
      if (isFirst) hadDeposit = true
      if (state.failsSome && (isFirst || random.chance(0.1))) return response.writeHead(500).end()
      const id = request.headers['webhook-id']
      const bodies = events.get(id) ?? events.set(id, new Set()).get(id)
      bodies.add(body)
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
