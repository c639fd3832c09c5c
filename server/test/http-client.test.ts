import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { makeHttp, type Http } from '../src/providers/http/call.ts'
import { closeAfterTest, listen, openScriptedPsp, type Script, type ScriptedPsp } from './scripted-psp.ts'

const BOUNDS = { connections: 4, maxPending: 10, maxResponseBytes: 1_000, connectTimeoutMs: 2_000 }

async function setUp(script: Script, bounds: Partial<typeof BOUNDS> = {}): Promise<{ http: Http; psp: ScriptedPsp }> {
  const psp = await openScriptedPsp(script)
  const http = makeHttp({ timings: { ...BOUNDS, ...bounds } })
  closeAfterTest(() => psp.stop())
  closeAfterTest(() => http.close())
  return { http, psp }
}

const get = (url: string, timeoutMs = 5_000) => {
  const { origin, pathname, search } = new URL(url)
  return { method: 'GET' as const, origin, path: pathname + search, headers: {}, body: null, timeoutMs }
}

test('an answer comes back whole, whatever its status', async () => {
  const { http, psp } = await setUp(() => ({ status: 418, json: { tea: 'chá' }, headers: { 'x-pot': 'short' } }))
  const answer = await http.send(get(`${psp.url}/a?b=c`))
  expect(answer).toMatchObject({ kind: 'response', status: 418, text: '{"tea":"chá"}', headers: { 'x-pot': 'short' } })
  expect(psp.seen[0]).toMatchObject({ method: 'GET', path: '/a?b=c' })
})

test('connections are kept and bounded', async () => {
  const { http, psp } = await setUp(() => ({ status: 200, json: {} }), { connections: 2, maxPending: 50 })
  await Promise.all(Array.from({ length: 30 }, () => http.send(get(psp.url))))
  expect(psp.count('GET')).toBe(30)
  expect(psp.connections()).toBeLessThanOrEqual(2)
})

test('a redirect is an answer and is not followed', async () => {
  const { http, psp } = await setUp(() => ({ status: 302, headers: { location: '/elsewhere' } }))
  expect(await http.send(get(`${psp.url}/here`))).toMatchObject({ kind: 'response', status: 302 })
  expect(psp.seen).toHaveLength(1)
})

test('what nobody listens to was surely not sent', async () => {
  const { http, psp } = await setUp(() => 'hang')
  await psp.stop()
  const failure = await http.send(get(psp.url))
  expect(failure).toMatchObject({
    kind: 'failed',
    wasSent: false,
    isProviderFault: true,
    text: 'no connection (ECONNREFUSED)',
  })
})

test('a name that does not resolve was surely not sent', async () => {
  const { http } = await setUp(() => 'hang')
  expect(await http.send(get('http://nobody.invalid/'))).toMatchObject({ kind: 'failed', wasSent: false })
})

test('a hang, a reset and a half answer may have been done', async () => {
  const { http, psp } = await setUp((request) => (request.path === '/hang' ? 'hang' : 'reset'))
  expect(await http.send(get(`${psp.url}/hang`, 50))).toMatchObject({
    kind: 'failed',
    wasSent: true,
    text: 'no response within 50 ms',
  })
  expect(await http.send(get(`${psp.url}/reset`))).toMatchObject({
    kind: 'failed',
    wasSent: true,
    isProviderFault: true,
  })

  const half = createServer((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"txid":')),
  )
  const url = `http://127.0.0.1:${await listen(half)}`
  expect(await http.send(get(url))).toMatchObject({ kind: 'failed', wasSent: true })
  half.close()
})

// A body that drips keeps every idle time-out from firing.
test('the deadline covers the body too', async () => {
  const drip = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
      const timer = setInterval(() => socket.write(' '), 5)
      socket.once('close', () => clearInterval(timer))
    })
  })
  const { http } = await setUp(() => 'hang', { maxResponseBytes: 1_000_000 })
  const url = `http://127.0.0.1:${await listen(drip)}`
  expect(await http.send(get(url, 100))).toMatchObject({
    kind: 'failed',
    wasSent: true,
    text: 'no response within 100 ms',
  })
  drip.close()
})

test('an answer over the bound is dropped', async () => {
  const { http, psp } = await setUp(() => ({ status: 200, text: 'x'.repeat(1_001) }))
  expect(await http.send(get(psp.url))).toMatchObject({
    kind: 'failed',
    wasSent: true,
    text: 'a response of more than 1000 bytes',
  })
})

test('a call whose time is up before it has a connection is never sent', async () => {
  let letGo: () => void = () => {}
  const held = new Promise<void>((resolve) => (letGo = resolve))
  const { http, psp } = await setUp(
    async (request) => {
      if (request.path === '/first') await held
      return { status: 200, json: {} }
    },
    { connections: 1 },
  )
  const first = http.send(get(`${psp.url}/first`))
  const second = await http.send(get(`${psp.url}/second`, 50))
  expect(second).toMatchObject({ kind: 'failed', wasSent: false, text: 'no response within 50 ms' })
  letGo()
  expect(await first).toMatchObject({ kind: 'response', status: 200 })
  expect(await http.send(get(`${psp.url}/third`))).toMatchObject({ kind: 'response', status: 200 })
  expect(psp.seen.map((request) => request.path)).toEqual(['/first', '/third'])
  expect(psp.connections()).toBe(1)
})

test('no more calls than the bound are pending', async () => {
  const { http, psp } = await setUp(() => 'hang', { maxPending: 3 })
  const pending = [1, 2, 3].map(() => http.send(get(psp.url, 200)))
  expect(await http.send(get(psp.url))).toMatchObject({ kind: 'failed', wasSent: false, isProviderFault: false })
  await Promise.all(pending)
  expect(await http.send(get(psp.url, 20))).toMatchObject({ kind: 'failed', wasSent: true })
})

test('closing breaks off what is under way, and nothing goes out afterwards', async () => {
  const { http, psp } = await setUp(() => 'hang')
  const pending = http.send(get(psp.url, 60_000))
  await expect.poll(() => psp.seen.length).toBe(1)
  await http.close()
  expect(await pending).toMatchObject({ kind: 'failed', isProviderFault: false })
  expect(await http.send(get(psp.url))).toMatchObject({ kind: 'failed', wasSent: false, isProviderFault: false })
})
