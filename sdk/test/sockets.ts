import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

// Real sockets between the client and the server, which fail when a test says so.

export type Proxy = {
  url: string
  /** The next `count` requests reach the server, but their connections are cut before the answers come back. */
  loseAnswers(count: number): void
  /** How many answers the server gave, lost ones included. */
  answered(): number
}

export async function startProxy(target: string): Promise<Proxy> {
  let toLose = 0
  let answered = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const { hostname, port } = new URL(target)
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => [client, upstream].forEach((each) => each.destroy()))
    }
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      answered += chunk.toString('latin1').startsWith('HTTP/1.1') ? 1 : 0
      if (toLose === 0) return client.write(chunk)
      toLose--
      return client.destroy()
    })
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { url: await listen(server), loseAnswers: (count) => void (toLose = count), answered: () => answered }
}

export type Scripted = { url: string; requests: { method: string; url: string; headers: IncomingHttpHeaders }[] }
type Step = { status: number; headers?: Record<string, string>; body?: string }

/** Gives these answers in turn, and then repeats the last one. */
export async function startScripted(...steps: Step[]): Promise<Scripted> {
  const requests: Scripted['requests'] = []
  const url = await serve((request, response) => {
    const { status, headers = {}, body = '' } = steps[Math.min(requests.length, steps.length - 1)]!
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers })
    request.resume().on('end', () => response.writeHead(status, headers).end(body))
  })
  return { url, requests }
}

/** An HTTP server that ends with the test. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener)
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return listen(server)
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
