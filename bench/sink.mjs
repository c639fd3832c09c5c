// A receiver in a process of its own, so that what it costs is not counted as ours. It answers 200 at once, or never.
import { createServer } from 'node:http'

const hangs = process.argv[2] === 'hang'
let count = 0
const arrivals = []

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    count++
    if (hangs) return
    arrivals.push([request.headers['webhook-id'], performance.timeOrigin + performance.now()])
    response.end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', (message) => {
  if (message === 'reset') count = arrivals.length = 0
  process.send({ count, arrivals: message === 'arrivals' ? arrivals : [] })
})
process.on('disconnect', () => process.exit())
