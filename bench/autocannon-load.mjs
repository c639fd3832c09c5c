// One run of autocannon in a process of its own, where wrk is not installed.
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const { url, paths, method, headers, body, isKeyed, keyPrefix, connections, seconds, timeout } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
)
let asked = 0
const setupRequest = (request) => ({
  ...request,
  path: paths[asked++ % paths.length],
  headers: { ...request.headers, ...(isKeyed && { 'idempotency-key': `${keyPrefix}${asked}` }) },
})
const contentType = body === undefined ? {} : { 'content-type': 'application/json' }
const result = await autocannon({
  url,
  connections,
  duration: seconds,
  timeout,
  requests: [{ method, headers: { ...headers, ...contentType }, ...(body && { body }), setupRequest }],
})
console.log(
  JSON.stringify({
    requests: result.requests.total,
    failed: result.errors + result.timeouts + result.non2xx,
    perSecond: result.requests.total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    bytes: result.throughput.total,
  }),
)
