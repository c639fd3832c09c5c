import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { receiveWebhooks as receiveInExpress } from '../src/express.ts'
import { receiveWebhooks as receiveInFastify } from '../src/fastify.ts'
import { receiveWebhooks as receiveInHono } from '../src/hono.ts'
import { receiveWebhooks as receiveInNext } from '../src/next.ts'
import type { Receiver } from '../src/receive.ts'
import { DEPOSIT, OTHER_SECRET, SAMPLE, SECRET, sign, type Signed } from './signer.ts'
import { serve } from './sockets.ts'

// Each adapter runs behind a real socket, or gets the requests that its framework would pass on.

type Post = (signed: { body: string; headers: Partial<Signed['headers']> }) => Promise<{ status: number; text: string }>

const FRAMEWORKS: Record<string, (receiver: Receiver) => Promise<Post>> = {
  async fastify(receiver) {
    const app = Fastify()
    onTestFinished(() => app.close())
    await app.register(receiveInFastify({ path: '/webhooks', ...receiver }))
    return postTo(`${await app.listen()}/webhooks`)
  },
  async hono(receiver) {
    const app = new Hono().post('/webhooks', receiveInHono(receiver))
    return async (signed) => read(await app.request('/webhooks', requestOf(signed)))
  },
  async next(receiver) {
    const handler = receiveInNext(receiver)
    return async (signed) => read(await handler(new Request('https://shop.example/webhooks', requestOf(signed))))
  },
  async express(receiver) {
    const handler = receiveInExpress(receiver)
    return postTo(
      await serve((request, response) => handler(request, faceOf(response), () => response.writeHead(500).end())),
    )
  },
  async 'express after express.raw'(receiver) {
    const handler = receiveInExpress(receiver)
    const url = await serve((request, response) => {
      void readAll(request).then((body) =>
        handler(Object.assign(request, { body }), faceOf(response), () => response.writeHead(500).end()),
      )
    })
    return postTo(url)
  },
}

describe.each(Object.entries(FRAMEWORKS))('%s', (_, start) => {
  test('hands over what is genuine, and refuses everything else', async () => {
    const events: string[] = []
    const post = await start({ secret: [SECRET], onEvent: ({ id }) => void events.push(id) })
    const at = new Date()
    const genuine = sign(DEPOSIT, { at })
    expect(await post(genuine)).toEqual({ status: 204, text: '' })
    expect(await post({ ...genuine, body: genuine.body.replace('4950', '9950') })).toMatchObject({ status: 400 })
    expect(await post(sign(DEPOSIT, { at, secrets: [OTHER_SECRET] }))).toMatchObject({ status: 400 })
    expect(await post({ body: genuine.body, headers: {} })).toEqual({
      status: 400,
      text: 'the header webhook-id is missing',
    })
    expect(await post({ body: '', headers: genuine.headers })).toMatchObject({ status: 400 })
    expect(events).toEqual([DEPOSIT.id])
  })

  test('never hands over an example as an event: it is ignored, or handed over as a test', async () => {
    const events: string[] = []
    const tests: unknown[] = []
    const onEvent = ({ id }: { id: string }) => void events.push(id)
    const sample = sign(SAMPLE, { at: new Date(), id: SAMPLE.id })
    const deaf = await start({ secret: SECRET, onEvent })
    expect(await deaf(sample)).toEqual({ status: 200, text: 'the test is genuine, and was ignored' })
    const curious = await start({
      secret: SECRET,
      onEvent,
      onTest: ({ event, test }) => void tests.push([event, test]),
    })
    expect(await curious(sample)).toEqual({ status: 204, text: '' })
    expect(events).toEqual([])
    expect(tests).toEqual([['DEPOSIT_ASSET_SUCCESS', true]])
  })

  test('answers 500 without a reason if the event could not be stored, so that it is sent again', async () => {
    const signed = sign(DEPOSIT, { at: new Date() })
    const errors: unknown[] = []
    const onError = (error: unknown) => void errors.push(error)
    const away = new Error('the database is away')
    for (const onEvent of [() => Promise.reject(away), () => throws(away)]) {
      const failing = await start({ secret: SECRET, onEvent, onError })
      expect(await failing(signed)).toEqual({ status: 500, text: 'the event could not be stored' })
    }
    expect(errors).toEqual([away, away])
  })

  test('refuses a secret that is not set when the program starts, and one that a function gives at its delivery', async () => {
    for (const secret of ['', [], 'whsec_', 'secret', [SECRET, '']])
      await expect(async () => start({ secret, onEvent: () => {} })).rejects.toThrow(/secret/)
    const errors: unknown[] = []
    const given = ['', SECRET]
    const post = await start({
      secret: () => given.shift() ?? '',
      onEvent: () => {},
      onError: (error) => void errors.push(error),
    })
    const signed = sign(DEPOSIT, { at: new Date() })
    expect([(await post(signed)).status, (await post(signed)).status]).toEqual([500, 204])
    expect(errors).toMatchObject([{ reason: 'bad_secret' }])
  })

  test('never reads a body to its end that is larger than any event', async () => {
    const post = await start({ secret: SECRET, onEvent: () => {} })
    const signed = sign('x'.repeat(1024 * 1024), { at: new Date() })
    // A client that is still sending may see the connection close before it reads the answer.
    const status = await post(signed).then(
      (answer) => answer.status,
      () => 'closed',
    )
    expect([400, 413, 'closed']).toContain(status)
  })
})

test('fastify keeps its own parser on all other routes', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  await app.register(receiveInFastify({ path: '/webhooks', secret: SECRET, onEvent: () => {} }))
  app.post('/orders', async ({ body }) => body)
  const answer = await app.inject({ method: 'POST', url: '/orders', payload: { id: 1 } })
  expect(answer.json()).toEqual({ id: 1 })
})

test('express says what to do about a body that was parsed before', async () => {
  const handler = receiveInExpress({ secret: SECRET, onEvent: () => {} })
  const url = await serve((request, response) =>
    handler(Object.assign(request, { body: DEPOSIT }), faceOf(response), () => {}),
  )
  const { status, text } = await postTo(url)(sign(DEPOSIT, { at: new Date() }))
  expect([status, text]).toEqual([400, expect.stringContaining('must be the raw body')])
})

function throws(error: Error): never {
  throw error
}

function requestOf({ body, headers }: { body: string; headers: object }): RequestInit {
  return { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } }
}

function postTo(url: string): Post {
  return async (signed) => read(await fetch(url, requestOf(signed)))
}

async function read(response: Response): Promise<{ status: number; text: string }> {
  return { status: response.status, text: await response.text() }
}

/** The part of Express's response that the adapter uses. */
function faceOf(response: ServerResponse) {
  return { status: (code: number) => ({ send: (text: string) => response.writeHead(code).end(text) }) }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(request, 'end')
  return Buffer.concat(chunks)
}
