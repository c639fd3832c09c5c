import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { openListener, webhooksListenCommand, type ListenOptions } from '../src/commands/webhooks-listen.ts'
import { makeSigningSecret, signingKey, signWithKeys } from '../src/domain/webhooks/signature.ts'
import { runCli, startChild } from './process.ts'
import { until } from './world.ts'

const SECRET = makeSigningSecret()
const AT = new Date('2026-03-10T12:00:05.900Z')
const TIMESTAMP = '1773144005'
const EVENT = {
  id: 'evt_1',
  event: 'DEPOSIT_ASSET_SUCCESS',
  createdAt: AT.toISOString(),
  data: { value: 5000, externalId: 'pedido-ção' },
}
const BODY = JSON.stringify(EVENT)
const NO_MATCH =
  '✗ no signature matches: the secret is of another endpoint, the payload is not the raw body, or the message is forged'

/** A listener on a real socket, and what it printed. */
async function listening(options: ListenOptions = {}) {
  const lines: string[] = []
  const note = (line: string) => void lines.push(line)
  const listener = await openListener({ print: note, say: note }, { port: 0, ...options }, { now: () => AT })
  onTestFinished(() => listener.close())
  const send = async (body: string, headers: Record<string, string> = {}, method = 'POST') => {
    const before = lines.length
    const { status } = await fetch(listener.url, { method, headers, ...(method === 'POST' && { body }) })
    const printed = await until('it is printed', async () => lines[before])
    return { status, printed }
  }
  return { url: listener.url, lines, send }
}

function signed(body: string, { secrets = [SECRET], timestamp = TIMESTAMP } = {}): Record<string, string> {
  const signature = signWithKeys(secrets.map(signingKey), { id: 'evt_1', timestamp, body })
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
    'content-type': 'application/json',
  }
}

test('a genuine delivery is shown whole, and its signature is valid', async () => {
  const { send } = await listening({ secret: SECRET })
  const headers: Record<string, string> = {
    ...signed(BODY),
    authorization: 'Bearer of-good-news-and-more',
    'user-agent': 'guiche/0.1.0',
  }
  const { status, printed } = await send(BODY, headers)
  expect(status).toBe(200)
  expect(printed.split('\n')).toEqual([
    `${AT.toTimeString().slice(0, 8)}  DEPOSIT_ASSET_SUCCESS  ✓ signature is valid`,
    '  webhook-id         evt_1',
    `  webhook-timestamp  ${TIMESTAMP} (0 s ago)`,
    `  webhook-signature  ${headers['webhook-signature']}`,
    '  authorization      Bearer of-… (28 characters)',
    '  user-agent         guiche/0.1.0',
    '  content-type       application/json',
    '  answered           200',
    '',
    ...JSON.stringify(EVENT, null, 2)
      .split('\n')
      .map((line) => `  ${line}`),
    '',
  ])
})

test('a retry is recognised by its id', async () => {
  const { send } = await listening({ secret: SECRET, status: 503 })
  expect((await send(BODY, signed(BODY))).printed).not.toContain('received')
  const second = await send(BODY, signed(BODY))
  expect(second.status).toBe(503)
  expect(second.printed).toContain('webhook-id         evt_1 (received 2 times)\n')
  expect(second.printed).toContain('answered           503\n')
})

test.each([
  ['a changed body', `${BODY} `, signed(BODY), NO_MATCH],
  ['another secret', BODY, signed(BODY, { secrets: [makeSigningSecret()] }), NO_MATCH],
  ['one of two secrets', BODY, signed(BODY, { secrets: [makeSigningSecret(), SECRET] }), '✓ signature is valid'],
  [
    'an old message',
    BODY,
    signed(BODY, { timestamp: '1773143704' }),
    "✗ signed 301 s ago: a replay, or this machine's clock is wrong",
  ],
  [
    'one from the future',
    BODY,
    signed(BODY, { timestamp: '1773144306' }),
    "✗ signed 301 s in the future: is this machine's clock right?",
  ],
  [
    'a time that is none',
    BODY,
    signed(BODY, { timestamp: 'soon' }),
    '✗ webhook-timestamp is not a whole number of seconds',
  ],
  ['no signature', BODY, {}, '✗ the header webhook-id is missing'],
])('the first line tells of %s', async (_, body, headers, verdict) => {
  const { send } = await listening({ secret: SECRET })
  const { status, printed } = await send(body, headers)
  expect(status).toBe(200)
  expect(printed.split('\n')[0]).toBe(`${AT.toTimeString().slice(0, 8)}  DEPOSIT_ASSET_SUCCESS  ${verdict}`)
})

test('without a secret nothing is called genuine', async () => {
  const { send } = await listening()
  const { printed } = await send(BODY, signed(BODY))
  expect(printed).toContain('signature not verified: pass --secret')
  expect(printed).not.toMatch(/[✓✗]/)
})

test('a body can neither steer the terminal nor pass for a line of ours', async () => {
  const { send } = await listening()
  const evil = '\u001b[2J\u009b1A\u202e\r'
  for (const body of [JSON.stringify({ event: `X\n12:00:00  ✓ ${evil}`, data: evil }), `${evil}\n12:00:00  ✓`]) {
    const { printed } = await send(body, { 'webhook-id': 'é\u009b2J' })
    // oxlint-disable-next-line no-control-regex -- These characters must not be printed.
    expect(printed).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    expect(printed).not.toMatch(/^12:00:00/m)
  }
})

test('a body that is no JSON, empty, too long or too deep is shown as far as it goes, and answered', async () => {
  const { send } = await listening({ secret: SECRET })
  expect((await send('plain\ntext')).printed).toMatch(/^\S+ {2}\(no event\) {2}✗ the header webhook-id is missing/)
  expect((await send('plain\ntext')).printed).toContain('\n  plain\n  text\n')
  expect((await send('')).printed).toContain('\n  (no body)\n')
  expect((await send('')).printed).not.toContain('received')

  const long = JSON.stringify({ event: 'LONG', data: 'x'.repeat(200_000) })
  const answer = await send(long, signed(long))
  expect(answer.status).toBe(200)
  expect(answer.printed).toContain('signature not verified: the body is too long')
  expect(answer.printed).toContain(`… (cut here, of ${long.length} bytes)`)
  expect(answer.printed.length).toBeLessThan(70_000)

  const deep = '['.repeat(30_000) + ']'.repeat(30_000)
  expect((await send(deep)).printed.length).toBeLessThan(70_000)
})

test('a browser that looks in is told that webhooks are sent with POST', async () => {
  const { send } = await listening()
  const { status, printed } = await send('', {}, 'GET')
  expect(status).toBe(405)
  expect(printed).toContain('GET /  answered 405: webhooks are sent with POST')
})

test('a sender that breaks off is reported, and the next one is served', async () => {
  const { url, lines, send } = await listening()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf')
  await once(socket, 'connect')
  socket.end()
  await until('it is reported', async () => lines.some((line) => line.includes('a request was interrupted')))
  expect((await send(BODY)).status).toBe(200)
})

test.each<[ListenOptions, string]>([
  [{ secret: 'gk_test_abc' }, '--secret must be the whole whsec_…'],
  [{ secret: 'whsec_' }, '--secret must be the whole whsec_…'],
])('%j is refused in one line', async (options, line) => {
  const silent = { print: () => {}, say: () => {}, loadRemote: () => undefined }
  await expect(webhooksListenCommand(silent, { port: 0, ...options })).rejects.toThrow(line)
})

test.each([
  ['--port', '70000', 'It must be a whole number from 1 to 65535.'],
  ['--status', '100', 'It must be a whole number from 200 to 599.'],
])('%s %s is refused', async (option, value, line) => {
  const refused = await runCli(['webhooks', 'listen', option, value], {})
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(line)])
})

test('a port that is taken is refused with what to do', async () => {
  const { url } = await listening()
  const port = Number(new URL(url).port)
  await expect(openListener({ print() {}, say() {} }, { port })).rejects.toThrow(
    `Port ${port} is in use: choose another with --port`,
  )
})

test('it says how to register it, and Ctrl-C ends it at once, also in the middle of a request', async () => {
  const port = await freePort()
  const { child, output } = run({ port, status: 410 })
  await until('it listens', async () => output().includes('Ctrl-C'))
  expect(output()).toContain(`Listening for webhooks at http://127.0.0.1:${port}/\n`)
  expect(output()).toContain(`npx guiche webhooks add --email … --url http://127.0.0.1:${port}/\n`)
  expect(output()).toContain('not verified: pass --secret')
  expect(output()).toContain('410: guiche disables the webhook')
  expect((await fetch(`http://127.0.0.1:${port}/any/path`, { method: 'POST', body: BODY })).status).toBe(410)

  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf')
  await once(socket, 'connect')
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('with the key of an account it asks for no e-mail to register it', async () => {
  const port = await freePort()
  const { output } = run({ port }, { url: 'https://pay.example.com' })
  await until('it listens', async () => output().includes('Ctrl-C'))
  expect(output()).toContain(`npx guiche webhooks add --url http://127.0.0.1:${port}/\n`)
})

/** Runs the built command in a process of its own, because signals go to a whole process. */
function run(options: ListenOptions, remote?: { url: string }) {
  const module = new URL('../dist/commands/webhooks-listen.js', import.meta.url).href
  const code = `import { webhooksListenCommand } from '${module}'
    const print = (line) => process.stdout.write(line + '\\n')
    const loadRemote = () => (${JSON.stringify(remote)})
    await webhooksListenCommand({ print, say: print, loadRemote }, ${JSON.stringify(options)})`
  const child = startChild(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return { child, output: () => text }
}
