import { createServer as createTlsServer } from 'node:tls'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { makeNetworks } from '../src/egress/address.ts'
import { dial, makeDialer } from '../src/egress/dial.ts'
import {
  makeCertificate,
  names,
  openWebhookSender,
  openHttp,
  openSockets,
  post,
  reasonOf,
  watch,
  eventually,
  type Certificate,
} from './egress-servers.ts'

const OK = 'HTTP/1.1 200 OK\r\n'

describe('TLS', () => {
  let good: Certificate
  let stranger: Certificate
  let misnamed: Certificate

  beforeAll(() => {
    good = makeCertificate('DNS:receiver.example,IP:127.0.0.1')
    stranger = makeCertificate('DNS:receiver.example,IP:127.0.0.1')
    misnamed = makeCertificate('DNS:other.example')
  })

  // Starts a TLS server that records what it is asked for and what it is sent.
  async function openTls(certificate: Certificate, answer = `${OK}content-length: 2\r\n\r\nhi`) {
    const asked: unknown[] = []
    const sent: string[] = []
    const make = () =>
      createTlsServer({ ...certificate, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
        asked.push({
          servername: Reflect.get(socket, 'servername'),
          alpn: socket.alpnProtocol,
          resumed: socket.isSessionReused(),
        })
        socket.on('error', () => {})
        socket.on('data', (data) => {
          sent.push(data.toString())
          socket.write(answer)
        })
      })
    const receiver = await watch(make, { protocol: 'https' })
    return { ...receiver, asked, sent, named: `https://receiver.example:${receiver.port}/` }
  }

  const lookup = names({ 'receiver.example': [['127.0.0.1']] })

  test('the name is asked for and checked; an address is checked too, but not asked for', async () => {
    const receiver = await openTls(good)
    const webhookSender = openWebhookSender({ lookup, ca: good.cert })
    expect(await post(webhookSender, receiver.named)).toMatchObject({ kind: 'answered', status: 200, excerpt: 'hi' })
    expect(await post(webhookSender, receiver.url)).toMatchObject({ kind: 'answered', status: 200 })
    expect(receiver.asked).toEqual([
      { servername: 'receiver.example', alpn: 'http/1.1', resumed: false },
      { servername: false, alpn: 'http/1.1', resumed: false },
    ])
  })

  test.each([
    ['self-signed', () => stranger, 'The TLS certificate is not valid: it is self-signed'],
    ['for another name', () => misnamed, 'The TLS certificate is not valid: it is for another name'],
  ])('a certificate that is %s is refused each time, and nothing is sent', async (_, certificate, reason) => {
    const receiver = await openTls(certificate())
    const webhookSender = openWebhookSender({ lookup, ca: misnamed.cert })
    // A resumed session would not be checked again, so one that failed must not be resumed.
    for (let nth = 0; nth < 3; nth++) {
      expect(await reasonOf(post(webhookSender, receiver.named))).toBe(reason)
      expect(await reasonOf(post(webhookSender, receiver.url))).toBe(reason)
    }
    expect(receiver.sent).toEqual([])
  })

  test('a server that does not speak TLS', async () => {
    const receiver = await openHttp((_request, response) => response.end())
    expect(await reasonOf(post(openWebhookSender(), `https://127.0.0.1:${receiver.port}/`))).toMatch(
      /^The TLS handshake failed \(\w+\)$/,
    )
  })

  test('a server that hangs up during the handshake', async () => {
    const receiver = await openSockets((socket) => socket.once('data', () => socket.end()))
    expect(await reasonOf(post(openWebhookSender(), `https://127.0.0.1:${receiver.port}/`))).toBe(
      'The connection was closed before the answer',
    )
  })

  test('a flood is stopped here too', async () => {
    const receiver = await openTls(good, `HTTP/1.1 200 ${'y'.repeat(4 * 1024 * 1024)}`)
    expect(await reasonOf(post(openWebhookSender({ ca: good.cert }), receiver.url))).toBe('The answer never ends')
  })
})

describe('connections', () => {
  test('are kept and used again, without asking for the name', async () => {
    const receiver = await openHttp((_request, response) => response.end('ok'))
    const lookup = names({ 'receiver.example': [['127.0.0.1']] })
    const webhookSender = openWebhookSender({ lookup })
    for (let nth = 0; nth < 50; nth++) await post(webhookSender, `http://receiver.example:${receiver.port}/${nth}`)
    // undici frees a connection a moment after its answer, so there are two that take turns.
    expect(receiver.sockets.length).toBeLessThanOrEqual(2)
    expect(lookup.asked.length).toBe(receiver.sockets.length)
  })

  test('are at most 64 for a receiver, which share one question for its name', async () => {
    const receiver = await openHttp((_request, response) => setImmediate(() => response.end('ok')))
    const lookup = names({ 'receiver.example': [['127.0.0.1']] })
    const webhookSender = openWebhookSender({ lookup })
    const all = Array.from({ length: 1_000 }, () => post(webhookSender, `http://receiver.example:${receiver.port}/`))
    expect((await Promise.all(all)).filter((answer) => answer.kind === 'failed')).toEqual([])
    expect(receiver.sockets.length).toBeLessThanOrEqual(64)
    expect(lookup.asked).toEqual(['receiver.example'])
  })

  test('of a dead receiver hold up nobody else, and only so many deliveries wait for it', async () => {
    const dead = await openSockets(() => {})
    const alive = await openHttp((_request, response) => response.end('ok'))
    const webhookSender = openWebhookSender()
    const waiting = Array.from({ length: 64 + 4_096 }, () => post(webhookSender, dead.url))
    expect(await reasonOf(post(webhookSender, dead.url))).toBe('Too many deliveries are waiting for this receiver')
    expect(await post(webhookSender, alive.url)).toMatchObject({ kind: 'answered', status: 200 })
    expect(dead.sockets.length).toBeLessThanOrEqual(64)
    await webhookSender.close()
    expect(new Set(await Promise.all(waiting.map(reasonOf)))).toEqual(new Set(['The service is stopping']))
  })

  test('are at most 64 even to a receiver that drops some', async () => {
    let nth = 0
    const fickle = await openSockets((socket) => void (nth++ % 2 && socket.resetAndDestroy()))
    const alive = await openHttp((_request, response) => response.end('ok'))
    const webhookSender = openWebhookSender()
    const all = Array.from({ length: 300 }, () => post(webhookSender, fickle.url))
    // In the end every place has a connection that was not dropped, and the rest wait.
    await eventually(() => expect(fickle.open()).toBe(64))
    for (let round = 0; round < 10; round++) await post(webhookSender, alive.url)
    expect(fickle.open()).toBe(64)
    await webhookSender.close()
    const reasons = new Set(await Promise.all(all.map(reasonOf)))
    expect(reasons).toEqual(new Set(['The connection was closed before the answer', 'The service is stopping']))
  })

  test('are kept for at most 500 receivers', async () => {
    const receiver = await openHttp((_request, response) => response.end('ok'))
    const hosts = Array.from({ length: 520 }, (_, nth) => `r${nth}.example`)
    const webhookSender = openWebhookSender({
      lookup: names(Object.fromEntries(hosts.map((host) => [host, [['127.0.0.1']]]))),
    })
    for (let from = 0; from < hosts.length; from += 40) {
      await Promise.all(
        hosts.slice(from, from + 40).map((host) => post(webhookSender, `http://${host}:${receiver.port}/`)),
      )
    }
    await eventually(() => expect(receiver.open()).toBe(500))
    const before = receiver.sockets.length
    // The oldest connections made room, and the newest are still open.
    await post(webhookSender, `http://r510.example:${receiver.port}/`)
    expect(receiver.sockets.length).toBe(before)
    await post(webhookSender, `http://r0.example:${receiver.port}/`)
    expect(receiver.sockets.length).toBe(before + 1)
  })

  test('are closed with the webhook sender, and what is under way is told', async () => {
    const receiver = await openHttp((request, response) => void (request.url === '/hook' && response.end()))
    const webhookSender = openWebhookSender({ lookup: () => {} })
    await post(webhookSender, receiver.url)
    const answering = post(webhookSender, receiver.url.replace('/hook', '/slow'))
    const resolving = post(webhookSender, 'https://silent.example/')
    await eventually(() => expect(receiver.open()).toBeGreaterThan(0))
    await webhookSender.close()
    expect(await reasonOf(answering)).toBe('The service is stopping')
    expect(await reasonOf(resolving)).toBe('The service is stopping')
    expect(await reasonOf(post(webhookSender, receiver.url))).toBe('The service is stopping')
    await eventually(() => expect(receiver.open()).toBe(0))
  })
})

test('the address that a connection ended up at is judged before a byte is sent', async () => {
  const canary = await openSockets(() => {})
  // This call skips the check of the name server's answers.
  const call = dial({
    addresses: ['127.0.0.1'],
    hostPort: { host: 'rebind.example', port: canary.port, plain: true },
    networks: makeNetworks({ allowNetworks: [], allowHttp: true }),
    signal: new AbortController().signal,
  })
  await expect(call).rejects.toThrow('A private address is not allowed: loopback')
  await eventually(() => expect(canary.open()).toBe(0))
  expect(canary.bytesReceived()).toBe(0)
})

test('a connection that is not made within 10 s is given up, whoever still waits for it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const networks = makeNetworks({ allowNetworks: [], allowHttp: true })
  const dialer = makeDialer({ networks, resolve: () => new Promise(() => {}) })
  const failure = new Promise((resolve) => {
    const target = { hostname: 'silent.example', protocol: 'https:', port: '' }
    dialer.connect(
      target,
      (...[error]) => resolve(error),
      () => {},
    )
  })
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
  expect(await failure).toMatchObject({ message: 'No connection within 10 s' })
})
