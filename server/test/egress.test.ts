import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import {
  DEADLINE_MS,
  names,
  openWebhookSender,
  openHttp,
  openSockets,
  post,
  pour,
  reasonOf,
  eventually,
} from './egress-servers.ts'
import { patient } from './world.ts'

const OK = 'HTTP/1.1 200 OK\r\n'
// More than fits into the kernel's buffers of a connection. The floods below would be endless.
const FEW_BYTES = 32 * 1024 * 1024

describe('a delivery', () => {
  test('arrives as it was given, and its answer comes back', async () => {
    const body = Buffer.from('{"name":"João"}\n')
    const seen: unknown[] = []
    const receiver = await openHttp((request, response) => {
      request.on('data', (chunk) => seen.push([request.method, request.url, request.headers, chunk]))
      request.on('end', () => response.writeHead(202).end('thank you'))
    })
    const headers = { 'content-type': 'application/json', 'webhook-id': 'msg_1', authorization: 'Bearer x' }
    const url = `${receiver.url}?a=b%20c#fragment`
    const bounds = { deadlineMs: DEADLINE_MS, connectionGroup: '' }
    const answer = await openWebhookSender().send({ url, headers, body, ...bounds })
    expect(answer).toEqual({
      kind: 'answered',
      status: 202,
      latencyMs: expect.any(Number),
      retryAfterMs: null,
      excerpt: 'thank you',
    })
    const host = `127.0.0.1:${receiver.port}`
    const sent = { ...headers, host, connection: 'keep-alive', 'content-length': String(body.length) }
    expect(seen).toEqual([['POST', '/hook?a=b%20c', sent, body]])
  })

  test.each([200, 204, 400, 404, 410, 429, 500, 503])('is answered with whatever status the receiver says: %i', async (status) => {
    const receiver = await openHttp((_request, response) => response.writeHead(status).end())
    expect(await post(openWebhookSender(), receiver.url)).toMatchObject({ kind: 'answered', status, excerpt: '' })
  }) // prettier-ignore

  test('is not answered by a hint that precedes the answer', async () => {
    const receiver = await openHttp((_request, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' })
      response.writeHead(500).end('no')
    })
    expect(await post(openWebhookSender(), receiver.url)).toMatchObject({
      kind: 'answered',
      status: 500,
      excerpt: 'no',
    })
  })

  test.each([
    ['120', 120_000], ['0', 0], ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000], ['Wed, 31 Dec 2025 00:00:00 GMT', 0], ['soon', null], ['-5', null], ['1e9', null], ['2027', 2_027_000],
    ['99999999999', null], ['Thu, 99 Foo 2026 00:01:00 GMT', null],
  ])('may be asked for again later: Retry-After: %s', async (header, retryAfterMs) => {
    const receiver = await openHttp((_request, response) => response.writeHead(503, { 'retry-after': header }).end())
    const webhookSender = openWebhookSender({ now: () => new Date('2026-01-01T00:00:00Z') })
    expect(await post(webhookSender, receiver.url)).toMatchObject({ status: 503, retryAfterMs })
  }) // prettier-ignore

  test('that cannot be put into a request is a failure like any other', async () => {
    const receiver = await openHttp((_request, response) => response.end())
    const webhookSender = openWebhookSender()
    const answer = webhookSender.send({
      url: receiver.url,
      headers: { authorization: 'a\r\nb: c' },
      body: '',
      deadlineMs: DEADLINE_MS,
      connectionGroup: '',
    })
    expect(await reasonOf(answer)).toBe('The request cannot be sent: a header is not valid')
    expect(await post(webhookSender, receiver.url)).toMatchObject({ kind: 'answered' })
  })
})

describe('the excerpt of an answer', () => {
  const excerptOf = async (body: string | Buffer, headers = {}) => {
    const receiver = await openHttp((_request, response) => response.writeHead(200, headers).end(body))
    const answer = await post(openWebhookSender(), receiver.url)
    expect(answer).toMatchObject({ kind: 'answered', status: 200 })
    return answer.kind === 'answered' ? answer.excerpt : ''
  }

  test('is its first 2 kB, and no character is cut in two', async () => {
    expect(await excerptOf('x'.repeat(5_000))).toBe('x'.repeat(2_048))
    expect(await excerptOf(`x${'ã'.repeat(2_000)}`)).toBe(`x${'ã'.repeat(1_023)}`)
    expect(await excerptOf(`xx${'💸'.repeat(2_000)}`)).toBe(`xx${'💸'.repeat(511)}`)
  })

  test('can be shown and stored: no control, direction or invisible characters', async () => {
    expect(await excerptOf('a\0b\u001b[31mc\r\nd\te\u202ef\u200bg\u2028h\u007fi\u0085j')).toBe(
      'a�b�[31mc\nd\te�f�g�h�i�j',
    )
    expect(await excerptOf(Buffer.from([0x61, 0xff, 0xfe, 0x62]))).toBe('a��b')
  })

  test('of a compressed answer is not unpacked, and none is asked for', async () => {
    const bomb = gzipSync('a'.repeat(1_000_000))
    const excerpt = await excerptOf(bomb, { 'content-encoding': 'gzip' })
    expect(excerpt).not.toContain('aaaa')
    expect(excerpt.length).toBeLessThanOrEqual(2_048)
  })
})

describe('what a receiver sends is bounded', () => {
  test('an endless body is cut, and the answer counts by its status', async () => {
    const receiver = await openSockets((socket) => {
      socket.write(`${OK}\r\n`)
      pour(socket, 'x'.repeat(65_536))
    })
    const answer = await post(openWebhookSender(), receiver.url)
    expect(answer).toMatchObject({ kind: 'answered', status: 200, excerpt: 'x'.repeat(2_048) })
    await eventually(() => expect(receiver.lost()).toBe(1))
    expect(receiver.sockets[0]?.bytesWritten).toBeLessThan(FEW_BYTES)
  })

  test('a body of 16 kB is read whole and its connection used again; one byte more costs the connection', async () => {
    let bytes = 16 * 1024
    const receiver = await openHttp((_request, response) => response.end('x'.repeat(bytes)))
    const webhookSender = openWebhookSender()
    for (let nth = 0; nth < 3; nth++) expect(await post(webhookSender, receiver.url)).toMatchObject({ status: 200 })
    expect(receiver.lost()).toBe(0)
    bytes += 1
    expect(await post(webhookSender, receiver.url)).toMatchObject({ kind: 'answered', status: 200 })
    await eventually(() => expect(receiver.lost()).toBe(1))
  })

  test.each([
    ['one header', `${OK}x: `, 'y'.repeat(65_536), 'The headers of the answer are too large'],
    ['many headers', OK, 'x: y\r\n'.repeat(1_000), 'The headers of the answer are too large'],
    ['many small trailers', `${OK}transfer-encoding: chunked\r\n\r\n0\r\n`, 'x: y\r\n'.repeat(1_000), 'The headers of the answer are too large'],
    ['the status line', 'HTTP/1.1 200 ', 'y'.repeat(65_536), 'The answer never ends'],
    ['blanks before the answer', '\r\n', '\r\n'.repeat(32_768), 'The answer never ends'],
    ['blanks in a header', `${OK}x:`, ' '.repeat(65_536), 'The answer never ends'],
    ['a chunk’s extension', `${OK}transfer-encoding: chunked\r\n\r\n1;`, 'y'.repeat(65_536), 'The answer never ends'],
    ['hints', '', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(1_000), 'The answer never ends'],
  ])('a gigabyte is not read: %s', async (_, start, piece, reason) => {
    const receiver = await openSockets((socket) => {
      socket.write(start)
      pour(socket, piece)
    })
    const before = process.memoryUsage().rss
    expect(await reasonOf(post(openWebhookSender(), receiver.url))).toBe(reason)
    await eventually(() => expect(receiver.open()).toBe(0))
    expect(receiver.bytesTaken()).toBeLessThan(FEW_BYTES)
    // The server that pours is in this process too.
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
  }) // prettier-ignore

  test('an answer in the smallest chunks is not taken for a flood', async () => {
    const receiver = await openSockets((socket) => {
      socket.write(`${OK}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(16 * 1024)}0\r\n\r\n`)
    })
    expect(await post(openWebhookSender(), receiver.url)).toMatchObject({
      kind: 'answered',
      excerpt: 'x'.repeat(2_048),
    })
  })

  test('many answers over one connection are not taken for a flood', async () => {
    const receiver = await openHttp((_request, response) => response.end('x'.repeat(15_000)))
    const webhookSender = openWebhookSender()
    for (let nth = 0; nth < 60; nth++)
      expect(await post(webhookSender, receiver.url)).toMatchObject({ kind: 'answered' })
    expect(receiver.sockets.length).toBeLessThan(5)
  })
})

describe('one deadline bounds the whole exchange', () => {
  const drip = (start: string, byte: string) =>
    openSockets((socket) => {
      socket.resume()
      socket.write(start)
      const timer = setInterval(() => socket.write(byte), 5)
      socket.on('close', () => clearInterval(timer))
    })

  test.each([
    ['a body that drips', `${OK}content-length: 9999\r\n\r\n`, 'x', 'No complete answer within 150 ms'],
    ['headers that drip', OK, 'x', 'No answer within 150 ms'],
    ['hints that drip', '', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'No answer within 150 ms'],
    ['silence', '', '', 'No answer within 150 ms'],
  ])('%s', async (_, start, byte, reason) => {
    const receiver = await drip(start, byte)
    const answer = await post(openWebhookSender(), receiver.url, 150)
    expect(answer).toEqual({
      kind: 'failed',
      latencyMs: expect.any(Number),
      reason: expect.objectContaining({ text: reason }),
    })
    expect(answer.latencyMs).toBeLessThan(patient(5_000))
    // A connection that ran out of time is closed.
    await eventually(() => expect(receiver.lost()).toBe(1))
  })

  test('a TLS handshake that nobody answers', async () => {
    const receiver = await openSockets(() => {})
    expect(await reasonOf(post(openWebhookSender(), `https://127.0.0.1:${receiver.port}/`, 150))).toBe(
      'No answer within 150 ms',
    )
  })

  test('a name server that does not answer', async () => {
    const webhookSender = openWebhookSender({ lookup: () => {} })
    expect(await reasonOf(post(webhookSender, 'https://silent.example/', 150))).toBe('No answer within 150 ms')
  })

  test('a place in the queue', async () => {
    const receiver = await openSockets(() => {})
    const webhookSender = openWebhookSender()
    const patient = Array.from({ length: 64 }, () => post(webhookSender, receiver.url))
    const hasty = Array.from({ length: 100 }, () => reasonOf(post(webhookSender, receiver.url, 150)))
    expect(new Set(await Promise.all(hasty))).toEqual(new Set(['No answer within 150 ms']))
    expect(receiver.sockets.length).toBeLessThanOrEqual(64)
    await webhookSender.close()
    expect(await reasonOf(patient[0]!)).toBe('The service is stopping')
  })

  test('one that is given up while its name is looked for is not dialled afterwards', async () => {
    const receiver = await openHttp((_request, response) => response.end())
    let answer = () => {}
    const webhookSender = openWebhookSender({
      lookup: (_name, _options, callback) => {
        answer = () => callback(null, [{ address: '127.0.0.1', family: 4 }])
      },
    })
    const url = `http://slow.example:${receiver.port}/`
    expect(await reasonOf(post(webhookSender, url, 50))).toBe('No answer within 50 ms')
    const second = post(webhookSender, url)
    answer()
    expect(await second).toMatchObject({ kind: 'answered' })
    expect(receiver.sockets).toHaveLength(1)
  })
})

describe('failures are told in words', () => {
  const reasonFor = async (answer: string | Buffer, end: 'end' | 'resetAndDestroy') => {
    const receiver = await openSockets((socket) => {
      socket.once('data', () => {
        if (answer.length === 0) socket[end]()
        else socket.write(answer, () => setImmediate(() => socket[end]()))
      })
    })
    return reasonOf(post(openWebhookSender(), receiver.url))
  }

  test.each([
    ['end', '', 'The connection was closed before the answer'],
    ['resetAndDestroy', '', 'The connection was closed before the answer'],
    ['end', 'HTTP/1.1 200', 'The connection was closed before the answer'],
    ['end', `${OK}content-length: 100\r\n\r\nhalf`, 'The connection broke in the middle of the answer'],
    ['resetAndDestroy', `${OK}content-length: 100\r\n\r\nhalf`, 'The connection broke in the middle of the answer'],
    ['resetAndDestroy', `${OK}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`, 'The connection broke in the middle of the answer'],
    ['end', 'SSH-2.0-OpenSSH_9.2\r\n', 'The answer is not HTTP'],
    ['end', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`, 'The answer is not as long as it says'],
    ['end', 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', 'The connection was closed before the answer'],
  ] as const)('%s after "%s"', async (end, answer, reason) => {
    expect(await reasonFor(answer, end)).toBe(reason)
  }) // prettier-ignore

  test('nobody listens', async () => {
    const port = await freePort()
    const webhookSender = openWebhookSender({ lookup: names({ 'a.example': [['127.0.0.1', '127.0.0.1']] }) })
    expect(await reasonOf(post(webhookSender, `http://127.0.0.1:${port}/`))).toBe('The connection was refused')
    expect(await reasonOf(post(webhookSender, `http://a.example:${port}/`))).toBe('The connection was refused')
    // These are more than there are places, so those that wait must be told as well.
    const many = Array.from({ length: 200 }, () => reasonOf(post(webhookSender, `http://127.0.0.1:${port}/`)))
    expect(new Set(await Promise.all(many))).toEqual(new Set(['The connection was refused']))
  })

  test('a name that does not exist, or has no addresses, or far too many', async () => {
    const crowd = Array.from({ length: 65 }, () => '127.0.0.1')
    const webhookSender = openWebhookSender({ lookup: names({ 'empty.example': [[]], 'crowd.example': [crowd] }) })
    expect(await reasonOf(post(webhookSender, 'https://crowd.example/'))).toBe('The name has more than 64 addresses')
    expect(await reasonOf(post(webhookSender, 'https://nobody.example/'))).toBe('The name does not resolve')
    expect(await reasonOf(post(webhookSender, 'https://empty.example/'))).toBe('The name does not resolve')
  })
})
