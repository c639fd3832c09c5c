// Receivers in their own process, so that their cost does not count. They answer 200 at once, or never.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { sharedMs } from './stage/raw-http.mjs'

const hangs = process.argv[2] === 'hang'
const servers = Array.from({ length: Number(process.argv[3]) }, makeServer)
let count = 0
const arrivals = []

await Promise.all(servers.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')))
process.send({ ports: servers.map((server) => server.address().port) })
process.on('message', (message) => {
  if (message === 'reset') count = arrivals.length = 0
  process.send({ count, arrivals: message === 'arrivals' ? arrivals : [] })
})
process.on('disconnect', () => process.exit())

function makeServer() {
  const server = createServer((request, response) => {
    arrivals.push([request.headers['webhook-id'], sharedMs()])
    request.resume()
    request.on('end', () => {
      count++
      if (!hangs) response.end()
    })
  })
  server.keepAliveTimeout = 60_000
  return server
}
