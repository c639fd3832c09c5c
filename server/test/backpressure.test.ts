import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '../src/base/seeded-random.ts'
import type { App } from '../src/http/app.ts'
import { limitConnections } from '../src/http/server/backpressure.ts'
import { makeOperator } from './operators-client.ts'
import { appWith, bearer, exchange, get, portOf, withGate } from './requests.ts'
import { until, world } from './world.ts'

// These callers send requests ahead of the answers on one connection (pipelining), or hang up.

test('requests that wait behind another one on a broken connection free their places', async () => {
  const w = await world()
  const { key } = await w.account()
  const gate = withGate(w.ctx)
  const app = await appWith(gate.ctx, { maxInFlight: 4 })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const caller = open(app)
  const arrived = requestsArrive(app, 4)
  caller.write(depositText(key).repeat(4))
  await Promise.all([gate.reached, arrived])

  const beyond = await app.inject(get(key, '/api/balance'))
  expect(beyond.statusCode).toBe(503)
  expect((await app.inject('/readyz')).json()).toEqual({ status: 'not ready', reason: 'overloaded' })
  const { key: metricsKey } = await makeOperator(w)
  expect((await app.inject(get(metricsKey, '/metrics'))).statusCode).toBe(200)

  caller.resetAndDestroy()
  await until('the places are free', async () => (await app.inject('/readyz')).statusCode === 200)
  gate.open()
  // All four run at once, so a place that was freed twice or never would show.
  const answers = await Promise.all(Array.from({ length: 4 }, () => app.inject(get(key, '/api/balance'))))
  expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200, 200, 200])
})

test('a connection with more than 32 requests under way is closed, and other callers notice nothing', async () => {
  const w = await world()
  const { key } = await w.account()
  const gate = withGate(w.ctx)
  const app = await appWith(gate.ctx)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const arrived = requestsArrive(app, 40)
  const answers = exchange(app, depositText(key) + balanceText(key).repeat(39))
  await Promise.all([gate.reached, arrived])
  expect((await app.inject(get(key, '/api/balance'))).statusCode).toBe(200)

  gate.open()
  const text = await answers
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
  expect(statuses).toEqual([201, ...Array<number>(31).fill(200), 429])
  expect(text).toContain('{"success":false,"error":"Too many requests at once on one connection"}')
  expect(text).toContain('retry-after: 1')
})

test('50 connections that send 300 requests each and break at any moment leave no place taken', async () => {
  const w = await world()
  const { key } = await w.account()
  const { key: metricsKey } = await makeOperator(w)
  const app = await appWith(w.ctx)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const random = seededRandom(7)

  const statuses = new Set<number>()
  const over = new AbortController()
  const normalTraffic = async () => {
    while (!over.signal.aborted) {
      const answer = await fetch(`http://127.0.0.1:${portOf(app)}/api/balance`, { headers: bearer(key) })
      statuses.add(answer.status)
      await answer.arrayBuffer()
    }
  }
  const traffic = [normalTraffic(), normalTraffic()]
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      const caller = open(app)
      await once(caller, 'connect')
      caller.write('GET /dashboard/api/me HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(300))
      await sleep(random() * 100)
      caller.resetAndDestroy()
    }),
  )
  over.abort()
  await Promise.all(traffic)

  expect([...statuses]).toEqual([200])
  expect((await app.inject('/readyz')).json()).toMatchObject({ status: 'ready' })
  // The scrape itself is in flight.
  const inFlight = async () =>
    /^guiche_http_requests_in_flight (\d+)$/m.exec((await app.inject(get(metricsKey, '/metrics'))).body)?.[1]
  await until('only the scrape is in flight', async () => (await inFlight()) === '1')
})

test('a stream that waits behind another one on a broken connection frees its place', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  const app = await appWith(w.ctx, { maxStreams: 2 })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const arrived = requestsArrive(app, 2)
  const reader = open(app)
  reader.write(streamText(charge.paymentLinkId).repeat(2))
  await arrived
  await until('both places are taken', async () => (await takeStreams(app, charge.paymentLinkId, 1)) === 0)
  reader.resetAndDestroy()
  await expect.poll(() => takeStreams(app, charge.paymentLinkId, 3)).toBe(2)
})

test('a stop closes connections that wait for no answer at once, and waits for the answers of others', async () => {
  const w = await world()
  const { key } = await w.account()
  const gate = withGate(w.ctx)
  const app = await appWith(gate.ctx)
  onTestFinished(gate.open)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const [unused, half, kept] = [open(app), open(app), open(app)]
  half.write('GET /api/balance HTTP/1.1\r\n')
  kept.write(balanceText(key))
  await once(kept, 'data')
  const answered = exchange(app, depositText(key))
  await gate.reached
  await until('all are connected', async () => (await connectionsOf(app)) === 4)

  app.drain()
  const closed = app.close()
  for (const socket of [unused, half, kept]) socket.resume()
  const areClosed = async () => [unused, half, kept].every((socket) => socket.closed)
  await until('the three are closed', areClosed, 5_000)
  gate.open()
  expect(await answered).toMatch(/^HTTP\/1\.1 201 [\s\S]*\r\nconnection: close\r\n/)
  await closed
})

test('more idle connections than there are places close the oldest of them, and never one that waits for an answer', async () => {
  const server = createServer()
  onTestFinished(() => server.closeAllConnections())
  const { openResponses } = limitConnections(server, 4)
  let answer = () => {}
  server.on('request', (request, response) => {
    openResponses(request.socket, response)
    if (request.url === '/later') answer = () => response.end('later')
    else response.end('now')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connected = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await Promise.all([once(server, 'connection'), once(socket, 'connect')])
    return socket
  }
  const waiting = await connected()
  waiting.write('GET /later HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(server, 'request')
  const used = await connected()
  const unused = await connected()
  used.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(used, 'data')

  const closedFirst = once(unused.resume(), 'close')
  await connected()
  await closedFirst
  const closedNext = once(used.resume(), 'close')
  await connected()
  await closedNext
  answer()
  expect(String(await once(waiting, 'data'))).toMatch(/later$/)
  server.close()
})

function connectionsOf(app: App): Promise<number> {
  return new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}

function open(app: App): Socket {
  const socket = connect(portOf(app), '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

function requestsArrive(app: App, wanted: number): Promise<void> {
  return new Promise((resolve) => {
    let arrived = 0
    app.server.on('request', () => {
      arrived += 1
      if (arrived === wanted) resolve()
    })
  })
}

function depositText(key: string): string {
  const head = ['POST /api/deposit HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`]
  return [...head, 'Content-Type: application/json', 'Content-Length: 14', '', '{"value":5000}'].join('\r\n')
}

function balanceText(key: string): string {
  return `GET /api/balance HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
}

function streamText(paymentLinkId: string): string {
  return `GET /payment-link/${paymentLinkId}/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`
}

/** Opens `count` streams, leaves them at once, and resolves to how many were admitted. */
async function takeStreams(app: App, paymentLinkId: string, count: number): Promise<number> {
  const heads = await Promise.all(
    Array.from({ length: count }, async () => {
      const reader = open(app)
      reader.write(streamText(paymentLinkId))
      const [chunk] = (await once(reader, 'data')) as [Buffer]
      return { reader, isAdmitted: chunk.toString().startsWith('HTTP/1.1 200 ') }
    }),
  )
  for (const { reader } of heads) reader.destroy()
  return heads.filter(({ isAdmitted }) => isAdmitted).length
}
