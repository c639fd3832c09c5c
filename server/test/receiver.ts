import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { until } from './world.ts'

export type Received = { id: string; path: string; headers: Record<string, string>; body: string }

export type Receiver = {
  url: string
  received: Received[]
  /** Resolves when this many have arrived. */
  got(count: number): Promise<Received[]>
}

/** A webhook receiver on loopback. `answer` decides what to say; the default is 200. */
export async function startReceiver(
  answer: (received: Received, response: ServerResponse) => void = (_, response) => response.end(),
): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      const one = {
        id: String(request.headers['webhook-id']),
        path: String(request.url),
        headers: request.headers as Record<string, string>,
        body,
      }
      received.push(one)
      answer(one, response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    got: (count) => until(`${count} deliveries arrive`, async () => received.length >= count && received),
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
