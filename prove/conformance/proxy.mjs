// A proxy between the adapter and the bank. It records all messages, and changes them for a sabotage.

import { once } from 'node:events'
import { createServer, request as sendPlain } from 'node:http'
import { request as sendSecure } from 'node:https'

/** Forwards to `target()`, on loopback, with `tls` over TLS. Records messages as the other side gets them. */
export async function startProxy({ target, tls, sabotage }) {
  const exchanges = []
  const server = createServer((incoming, outgoing) => {
    void forward({ incoming, outgoing, target: target(), tls, sabotage, exchanges }).catch(() => outgoing.destroy())
  })
  return { exchanges, ...(await open(server)) }
}

/** Receives notifications, as guiche would. */
export async function startReceiver({ sabotage }) {
  const notifications = []
  const server = createServer((incoming, outgoing) => {
    void readText(incoming).then((body) => {
      const { url, headers } = incoming
      notifications.push(changed(sabotage?.notification, { url, headers, body }))
      outgoing.end()
    })
  })
  return { notifications, ...(await open(server)) }
}

async function forward({ incoming, outgoing, target, tls, sabotage, exchanges }) {
  const { method, url, headers } = incoming
  const request = changed(sabotage?.request, { method, url, headers, body: await readText(incoming) })
  const exchange = { request, answer: undefined }
  exchanges.push(exchange)
  const { host: _, 'content-length': __, ...kept } = request.headers
  const send = tls ? sendSecure : sendPlain
  const onward = send(`${target}${request.url}`, {
    ...tls,
    method,
    headers: { ...kept, ...(request.body === '' ? {} : { 'content-length': Buffer.byteLength(request.body) }) },
  })
  // When the adapter gives up, the request to the bank ends too.
  outgoing.once('close', () => onward.destroy())
  onward.end(request.body)
  const [response] = await once(onward, 'response')
  const answer = { status: response.statusCode, headers: response.headers, body: await readText(response) }
  exchange.answer = changed(sabotage?.answer, { ...answer, request })
  const { 'content-length': ___, 'transfer-encoding': ____, ...back } = exchange.answer.headers
  outgoing.writeHead(exchange.answer.status, { ...back, 'content-length': Buffer.byteLength(exchange.answer.body) })
  outgoing.end(exchange.answer.body)
}

function changed(change, message) {
  return { ...message, ...change?.(message) }
}

async function open(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function readText(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
