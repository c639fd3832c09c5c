import { createServer, type IncomingMessage } from 'node:http'
import { verify, WebhookVerificationError, type GuicheEvent } from '@guiche/sdk'

const MAX_BODY_BYTES = 64 * 1024
const secret = process.env['WEBHOOK_SECRET'] ?? ''
const seen = new Set<string>() // In production: a table with a unique column, so that a restart forgets nothing.

createServer((request, response) => {
  void receive(request).then((status) => response.writeHead(status).end())
}).listen(Number(process.env['PORT'] ?? 3001))

async function receive(request: IncomingMessage): Promise<number> {
  try {
    const event = verify(await readBody(request), request.headers, secret)
    const id = String(request.headers['webhook-id'])
    if (!seen.has(id)) handle(event)
    seen.add(id)
    return 204
  } catch (error) {
    return error instanceof WebhookVerificationError ? 400 : 500
  }
}

function handle(event: GuicheEvent): void {
  if (event.event === 'DEPOSIT_ASSET_SUCCESS') process.stdout.write(`${event.data.creditedValue} cents credited\n`)
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
