import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { expect, test } from 'vitest'
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
} from './egress-servers.ts'

// A proxy that tunnels to this machine, and records what it was asked for.
async function openProxy(answer = 'HTTP/1.1 200 OK\r\n\r\n') {
  const asked: { target: string; headers: IncomingMessage['headers'] }[] = []
  const proxy = await watch(() =>
    createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push({ target: request.url ?? '', headers: request.headers })
      socket.write(answer)
      if (!answer.startsWith('HTTP/1.1 200')) return
      const onward = connect(Number((request.url ?? '').split(':')[1]), '127.0.0.1')
      onward.on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
      socket.pipe(onward).pipe(socket)
    }),
  )
  return { asked, targets: () => asked.map(({ target }) => target), port: proxy.port, sockets: proxy.sockets }
}

const lookup = names({
  'receiver.example': [['127.0.0.1']],
  'private.example': [['10.0.0.1']],
  'mixed.example': [['127.0.0.1', '10.0.0.1']],
  'both.example': [['::1', '127.0.0.1']],
  'public.example': [['1.1.1.1']],
})

test('the proxy is asked for the judged address and not for the name, and the receiver sees the name', async () => {
  const hosts: unknown[] = []
  const receiver = await openHttp((request, response) => {
    hosts.push(request.headers.host)
    response.end('ok')
  })
  const proxy = await openProxy()
  const webhookSender = openWebhookSender({ lookup, proxyUrl: `http://127.0.0.1:${proxy.port}` })
  for (let nth = 0; nth < 5; nth++) {
    const answer = await post(webhookSender, `http://receiver.example:${receiver.port}/`)
    expect(answer).toMatchObject({ kind: 'answered', status: 200, excerpt: 'ok' })
  }
  expect(proxy.targets()).toEqual([`127.0.0.1:${receiver.port}`])
  expect(new Set(hosts)).toEqual(new Set([`receiver.example:${receiver.port}`]))
})

test('of several addresses the proxy is asked for one of IPv4', async () => {
  const receiver = await openHttp((_request, response) => response.end('ok'))
  const proxy = await openProxy()
  const allowNetworks = ['127.0.0.1/32', '::1/128']
  const webhookSender = openWebhookSender({ lookup, allowNetworks, proxyUrl: `http://127.0.0.1:${proxy.port}` })
  expect(await post(webhookSender, `http://both.example:${receiver.port}/`)).toMatchObject({ kind: 'answered' })
  expect(proxy.targets()).toEqual([`127.0.0.1:${receiver.port}`])
})

test('an answer from an allowed private network is not shown, and one from a public address is', async () => {
  const receiver = await openHttp((_request, response) => response.end('the secrets of this network'))
  const proxyUrl = `http://127.0.0.1:${(await openProxy()).port}`
  const webhookSender = openWebhookSender({ lookup, proxyUrl, allowHttp: true, showsPrivateAnswers: false })
  const direct = openWebhookSender({ lookup, showsPrivateAnswers: false })
  const answered = { kind: 'answered', status: 200 }
  const [privately, publicly] = ['receiver', 'public'].map((name) => `http://${name}.example:${receiver.port}/`)
  // Twice, because the second request goes over the open connection.
  for (let nth = 0; nth < 2; nth++) {
    for (const sender of [direct, webhookSender])
      expect(await post(sender, privately!)).toMatchObject({ ...answered, excerpt: '' })
    expect(await post(webhookSender, publicly!)).toMatchObject({ ...answered, excerpt: 'the secrets of this network' })
  }
})

test.each([
  ['http://10.0.0.1/', /private network/],
  ['http://0x7f.2/', /loopback/],
  ['http://private.example/', /private network/],
  ['http://mixed.example/', /private network/],
  ['https://private.example/', /private network/],
  ['https://nobody.example/', /does not resolve/],
  ['https://user@receiver.example/', /user name/],
])('nobody asks the proxy for %s', async (url, words) => {
  const proxy = await openProxy()
  const webhookSender = openWebhookSender({ lookup, proxyUrl: `http://127.0.0.1:${proxy.port}` })
  expect(await reasonOf(post(webhookSender, url))).toMatch(words)
  expect(proxy.sockets).toHaveLength(0)
})

test('TLS runs through the tunnel, and the certificate is checked against the name', async () => {
  const certificate = makeCertificate('DNS:receiver.example')
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const make = () => createTlsServer(certificate, (socket) => socket.on('data', () => socket.write(answer)))
  const receiver = await watch(make)
  const proxy = await openProxy()
  const proxyUrl = `http://127.0.0.1:${proxy.port}`
  const url = `https://receiver.example:${receiver.port}/`
  expect(await post(openWebhookSender({ lookup, proxyUrl, ca: certificate.cert }), url)).toMatchObject({
    status: 200,
    excerpt: 'ok',
  })
  expect(await reasonOf(post(openWebhookSender({ lookup, proxyUrl }), url))).toMatch(
    /certificate is not valid: it is self-signed/,
  )
  expect(proxy.targets()).toEqual(Array.from({ length: 2 }, () => `127.0.0.1:${receiver.port}`))
})

test('the proxy is told who asks, the receiver is not', async () => {
  const headers: IncomingMessage['headers'][] = []
  const receiver = await openHttp((request, response) => {
    headers.push(request.headers)
    response.end()
  })
  const proxy = await openProxy()
  const webhookSender = openWebhookSender({ proxyUrl: `http://guiche:s%40crable@127.0.0.1:${proxy.port}` })
  expect(await post(webhookSender, receiver.url)).toMatchObject({ kind: 'answered' })
  const expected = `Basic ${Buffer.from('guiche:s@crable').toString('base64')}`
  expect(proxy.asked[0]?.headers['proxy-authorization']).toBe(expected)
  expect(headers[0]).not.toHaveProperty('proxy-authorization')
})

test.each([
  ['HTTP/1.1 403 Forbidden\r\n\r\n', 'The egress proxy refused the connection (403)'],
  ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'The egress proxy refused the connection (407)'],
  ['garbage\r\n\r\n', 'The egress proxy cannot be reached (HTTPParserError)'],
])('a proxy that answers %j is not taken for the receiver', async (answer, reason) => {
  const proxy = await openProxy(answer)
  const webhookSender = openWebhookSender({ proxyUrl: `http://127.0.0.1:${proxy.port}` })
  expect(await reasonOf(post(webhookSender, 'http://127.0.0.1:8/'))).toBe(reason)
})

test('a proxy that is not there, or does not answer', async () => {
  const silent = await openSockets((socket) => socket.resume())
  const hanging = openWebhookSender({ proxyUrl: `http://127.0.0.1:${silent.port}` })
  expect(await reasonOf(post(hanging, 'http://127.0.0.1:8/', 150))).toBe('No answer within 150 ms')
  // The sender gives up the tunnel that it asked for.
  await eventually(() => expect(silent.lost()).toBeGreaterThan(0))
  const absent = openWebhookSender({ proxyUrl: 'http://127.0.0.1:1' })
  expect(await reasonOf(post(absent, 'http://127.0.0.1:8/'))).toBe('The egress proxy cannot be reached (ECONNREFUSED)')
})
