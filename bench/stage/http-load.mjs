// Load over HTTP from another process: wrk where it is installed, else autocannon. Closed loop: each connection sends
// its next request when it has the answer to the last one. An error, or an answer other than 2xx, fails the bench.
import { writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProgram } from './find-program.mjs'
import { runChild } from './children.mjs'

// Longer than any answer may take, so that a slow one is counted and not cut off.
const TIMEOUT_SECONDS = 20
const AUTOCANNON = fileURLToPath(new URL('../autocannon-load.mjs', import.meta.url))

const wrk = findProgram('wrk')
export const loadName = wrk ? 'wrk' : 'autocannon'

/**
 * `paths` are asked in turn. `isKeyed`: each request gets an idempotency key of its own. Resolves to the rate and to
 * the times that requests took.
 */
export async function loadHttp(request, { directory, connections, seconds }) {
  const spec = {
    headers: {},
    method: 'GET',
    ...request,
    keyPrefix: randomBytes(8).toString('hex'),
    connections,
    seconds,
  }
  const result = await (wrk ? runWrk(spec, directory) : runAutocannon(spec, directory))
  if (result.failed > 0 || result.requests === 0)
    throw new Error(
      `${loadName}: ${result.failed} of ${result.requests} requests to ${spec.url}${spec.paths[0]} failed`,
    )
  return result
}

async function runWrk(spec, directory) {
  const script = join(directory, 'wrk.lua')
  writeFileSync(script, luaOf(spec))
  const args = [
    '-t1',
    `-c${spec.connections}`,
    `-d${spec.seconds}s`,
    `--timeout=${TIMEOUT_SECONDS}s`,
    '-s',
    script,
    spec.url,
  ]
  const { stdout } = await runChild('wrk', wrk, args, { withinMs: (spec.seconds + TIMEOUT_SECONDS) * 1000 })
  const line = stdout.split('\n').find((text) => text.startsWith('RESULT '))
  if (!line) throw new Error(`wrk: ${stdout.slice(-500)}`)
  return JSON.parse(line.slice('RESULT '.length))
}

/** Requests are put together once, except for the key: what the load costs is missing elsewhere. */
function luaOf({ method, url, paths, headers, body, isKeyed, keyPrefix }) {
  const lines = Object.entries({ host: new URL(url).host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  if (body !== undefined) lines.push(`content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`)
  const head = (path) => `${method} ${path} HTTP/1.1\r\n${lines.join('')}`
  const heads = paths.map((path) => JSON.stringify(head(path) + (isKeyed ? 'idempotency-key: ' : '\r\n'))).join(',\n')
  const rest = isKeyed ? `"${keyPrefix}" .. asked .. "\\r\\n\\r\\n" ..` : ''
  return `
local heads = {\n${heads}\n}
local body = ${JSON.stringify(body ?? '')}
local asked = 0
request = function()
  asked = asked + 1
  return heads[(asked - 1) % #heads + 1] .. ${rest} body
end
done = function(summary, latency)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format('RESULT {"requests":%d,"failed":%d,"perSecond":%.1f,"p50Ms":%.3f,"p99Ms":%.3f,"bytes":%d}\\n',
    summary.requests, failed, summary.requests * 1e6 / summary.duration,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.bytes))
end
`
}

async function runAutocannon(spec, directory) {
  const file = join(directory, 'autocannon.json')
  writeFileSync(file, JSON.stringify({ ...spec, timeout: TIMEOUT_SECONDS }))
  const run = { withinMs: (spec.seconds + 2 * TIMEOUT_SECONDS) * 1000 }
  return JSON.parse((await runChild('autocannon', process.execPath, [AUTOCANNON, file], run)).stdout)
}
