// A mail server in the proof's own process. It keeps what it took, also when it never answers, and refuses some.

import { once } from 'node:events'
import { createServer } from 'node:net'

/** `answers()` is asked for each e-mail that was taken. False: whoever sent it never hears of that. */
export async function startMailServer({ answers, refuses }) {
  const taken = []
  const counts = { refused: 0, unanswered: 0 }
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('220 prove\r\n')
    let rest = ''
    let message
    const end = (lines) => {
      taken.push(readEmail(lines))
      if (answers()) return socket.write('250 taken\r\n')
      counts.unanswered += 1
      return undefined
    }
    const command = (line) => {
      const verb = line.slice(0, 4).toUpperCase()
      if (verb === 'QUIT') return socket.end('221 bye\r\n')
      if (verb === 'MAIL' && refuses()) {
        counts.refused += 1
        return socket.write('451 not now\r\n')
      }
      if (verb === 'DATA') message = []
      return socket.write(verb === 'DATA' ? '354 go on\r\n' : '250 fine\r\n')
    }
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop()
      for (const line of lines) {
        if (!message) command(line)
        else if (line === '.') {
          end(message)
          message = undefined
        } else message.push(line.startsWith('.') ? line.slice(1) : line)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `smtp://127.0.0.1:${server.address().port}`, taken, counts, stop: () => server.close() }
}

/** The id, whose first digits are the time at which guiche made the e-mail, the person, and the notices in it. */
function readEmail(lines) {
  const { headers, body } = readPart(lines)
  const boundary = /boundary="?([^";]+)"?/.exec(headers['content-type'])?.[1]
  const parts = body.join('\n').split(`--${boundary}`)
  const plain = parts.map((part) => readPart(part.trim().split('\n'))).find((part) => isPlain(part.headers))
  const [title, ...blocks] = decode(plain).trim().split('\n\n')
  const id = /<([^@>]+)@/.exec(headers['message-id'])[1]
  return {
    id,
    madeAtMs: Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16),
    to: headers.to.replaceAll(/[<>]/g, ''),
    title,
    count: Number(/^(\d+) (?:avisos|notices)$/.exec(title)?.[1] ?? 1),
    notices: blocks.map((block) => block.split('\n')).flatMap(([at, text, link]) => (link ? [{ at, text, link }] : [])),
  }
}

function readPart(lines) {
  const empty = lines.indexOf('')
  const unfolded = lines.slice(0, empty).join('\n').replaceAll(/\n\s+/g, ' ').split('\n')
  const headers = unfolded.map((line) => /^([^:]+): ?(.*)$/.exec(line)).filter(Boolean)
  return {
    headers: Object.fromEntries(headers.map(([, name, value]) => [name.toLowerCase(), value])),
    body: lines.slice(empty + 1),
  }
}

function isPlain(headers) {
  return headers['content-type']?.startsWith('text/plain')
}

function decode({ headers, body }) {
  const how = headers['content-transfer-encoding']?.toLowerCase()
  if (how === 'base64') return Buffer.from(body.join(''), 'base64').toString()
  const text = body.join('\n')
  if (how !== 'quoted-printable') return text
  const bytes = text
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
