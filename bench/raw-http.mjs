// A minimal HTTP client that keeps its connections. The load must not take processor time from what it measures.
import { connect } from 'node:net'

const END_OF_HEAD = Buffer.from('\r\n\r\n')

/**
 * Opens connections when they are needed, up to `connections`; further requests wait in order. A connection that the
 * server closes while it is idle is dropped. A 2xx answer resolves to its text; any other is an error.
 */
export function makeClient(url, { connections, headers = {} }) {
  const { hostname, port, host } = new URL(url)
  const fixed = Object.entries({ host, 'content-type': 'application/json', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const open = new Set()
  const idle = new Set()
  const waiting = []

  const take = () => {
    const [connection] = idle
    idle.delete(connection)
    return connection ?? (open.size < connections ? openOne() : undefined)
  }
  const openOne = () => {
    const connection = openConnection(hostname, Number(port), { onFree: release, onClosed: forget })
    open.add(connection)
    return connection
  }
  const release = (connection) => {
    const next = waiting.shift()
    if (next) connection.send(next)
    else idle.add(connection)
  }
  const forget = (connection) => {
    open.delete(connection)
    idle.delete(connection)
  }

  const ask = (text) =>
    new Promise((resolve, reject) => {
      const request = { text, resolve, reject }
      const connection = take()
      if (connection) connection.send(request)
      else waiting.push(request)
    })

  return {
    get: (path) => ask(`GET ${path} HTTP/1.1\r\n${fixed}\r\n`),
    post: (path, body, more = '') =>
      ask(`POST ${path} HTTP/1.1\r\n${fixed}${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
    close: () => open.forEach((connection) => connection.close()),
  }
}

function openConnection(hostname, port, { onFree, onClosed }) {
  const socket = connect(port, hostname).setNoDelay(true)
  let current
  let received = Buffer.alloc(0)
  const connection = {
    send(request) {
      current = request
      socket.write(request.text)
    },
    close: () => socket.destroy(),
  }
  socket.on('data', (chunk) => {
    // Data that nobody asked for means that the server is closing the connection.
    if (!current) return socket.destroy()
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const response = readResponse(received)
    if (!response) return
    received = Buffer.alloc(0)
    const { resolve, reject } = current
    current = undefined
    onFree(connection)
    const { status, text } = response
    if (status >= 200 && status <= 299) resolve(text)
    else reject(new Error(`Answered ${status}: ${text.slice(0, 300)}`))
  })
  const fail = (error) => {
    onClosed(connection)
    current?.reject(error ?? new Error('The connection was closed'))
  }
  socket.on('error', fail)
  socket.on('close', () => fail())
  return connection
}

/** Returns undefined until the response is complete. */
function readResponse(bytes) {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const head = bytes.latin1Slice(0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`An answer without a length: ${head}`)
  const begin = end + END_OF_HEAD.length
  if (bytes.length < begin + Number(length)) return undefined
  return { status: Number(head.slice(9, 12)), text: bytes.utf8Slice(begin, begin + Number(length)) }
}
