import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { styleText } from 'node:util'
import closeWithGrace from 'close-with-grace'
import type { verify as Verify } from '#sdk'
import { Fault } from '../base/fault.ts'
import { OperatorError } from '../base/operator-error.ts'
import { boundedMap } from '../http/server/rate-limit.ts'
import type { Terminal } from './terminal.ts'

type Voice = Pick<Terminal, 'print' | 'say'>
type Caller = Voice & Pick<Terminal, 'loadRemote'>
export type ListenOptions = { port?: number; secret?: string; status?: number }
export type Listener = { url: string; close(): Promise<void> }

type Delivery = { at: Date; request: IncomingMessage; body: Buffer; moreBytes: number; timesSeen: number }
type Shown = { verify: typeof Verify; secret: string | undefined; status: number; paint: Paint }
type Verdict = { isValid: boolean | undefined; text: string }
export type Paint = (style: 'bold' | 'dim' | 'green' | 'red', text: string) => string

/** Fixed, so that a webhook has to be added only once. */
const DEFAULT_PORT = 4747
const MAX_BODY_BYTES = 64 * 1024
/** Indented JSON grows with the square of its depth, and this bounds the depth. Our events have two brackets. */
const MAX_BRACKETS = 200
const MAX_VALUE_CHARACTERS = 300
/** Enough to recognise retries for more than a day, at one delivery a minute. */
const MAX_REMEMBERED_IDS = 2_000
const REQUEST_TIMEOUT_MS = 15_000
const STOP_WITHIN_MS = 3_000

export async function webhooksListenCommand(terminal: Caller, options: ListenOptions): Promise<void> {
  // A key belongs to one account; in the database the account must be named.
  const ofAccount = terminal.loadRemote() ? '' : ' --email …'
  const paint = makePaint()
  const listener = await openListener(terminal, options, { paint })
  closeWithGrace({ delay: STOP_WITHIN_MS, logger: false }, async ({ err }) => {
    if (err) terminal.say(`guiche: ${err.stack ?? err.message}`)
    else if (process.stderr.isTTY) terminal.say('')
    await listener.close()
  })
  terminal.print(introduce(listener.url, ofAccount, options, paint))
}

/** Colours, where standard output is a terminal that has them. */
export function makePaint(): Paint {
  return process.stdout.isTTY && process.stdout.hasColors() ? styleText : (_, text) => text
}

export async function openListener(
  terminal: Voice,
  options: ListenOptions,
  { paint = (_, text) => text, now = () => new Date() }: { paint?: Paint; now?: () => Date } = {},
): Promise<Listener> {
  const { port = DEFAULT_PORT, secret, status = 200 } = options
  if (secret !== undefined) requireSecret(secret)
  const { verify } = await import('#sdk')
  const deliveries = boundedMap<{ timesSeen: number }>(MAX_REMEMBERED_IDS)
  const server = createServer((request, response) => {
    const at = now()
    const isPost = request.method === 'POST'
    const answer = isPost ? status : 405
    receive(request)
      .then(({ body, moreBytes }) => {
        // Before printing, because receivers should answer fast.
        response.writeHead(answer).end()
        if (!isPost) return terminal.print(describeStray(at, request, paint))
        const id = headerOf(request, 'webhook-id')
        const timesSeen = ++deliveries.touch(id, () => ({ timesSeen: 0 })).timesSeen
        terminal.print(describe({ at, request, body, moreBytes, timesSeen }, { verify, secret, status, paint }))
      })
      .catch((error: Error) => terminal.say(`${clock(at)}  a request was interrupted: ${oneLine(error.message)}`))
  })
  server.requestTimeout = REQUEST_TIMEOUT_MS
  await listen(server, port)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export function requireSecret(secret: string): void {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret))
    throw new Fault('bad_request', '--secret must be the whole whsec_… that `webhooks add` printed')
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE') throw new OperatorError(`Port ${port} is in use: choose another with --port`)
    if (code === 'EACCES') throw new Fault('bad_request', `Port ${port} needs root: choose one above 1023 with --port`)
    throw error
  }
}

/** Reads the whole body, so that the sender sees no broken connection, and keeps its beginning. */
async function receive(request: IncomingMessage): Promise<{ body: Buffer; moreBytes: number }> {
  const kept: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (length < MAX_BODY_BYTES) kept.push(chunk.subarray(0, MAX_BODY_BYTES - length))
    length += chunk.length
  }
  return { body: Buffer.concat(kept), moreBytes: Math.max(0, length - MAX_BODY_BYTES) }
}

// ---- Texts ----

function introduce(url: string, ofAccount: string, { secret, status = 200 }: ListenOptions, paint: Paint): string {
  const rows = {
    Register: `npx guiche webhooks add${ofAccount} --url ${url}`,
    Signatures: secret ? 'verified with --secret' : 'not verified: pass --secret whsec_…, which `webhooks add` prints',
    Answers: `${status}${consequenceOf(status)}`,
    Stop: 'Ctrl-C',
  }
  const lines = Object.entries(rows).map(([label, text]) => `  ${paint('dim', label.padEnd(12))}${text}`)
  return [`Listening for webhooks at ${paint('bold', url)}`, '', ...lines, ''].join('\n')
}

function consequenceOf(status: number): string {
  if (status < 300) return ''
  return status === 410 ? ': guiche disables the webhook' : ': guiche retries after 5 s, 1 min, 5 min and so on'
}

function describe(delivery: Delivery, { verify, secret, status, paint }: Shown): string {
  const { at, request, timesSeen } = delivery
  const content = parseJson(delivery.body)
  const id = headerOf(request, 'webhook-id')
  const { isValid, text } = judge(delivery, verify, secret)
  const verdict =
    isValid === undefined ? paint('dim', text) : paint(isValid ? 'green' : 'red', `${isValid ? '✓' : '✗'} ${text}`)
  const rows = {
    'webhook-id': id && `${id}${timesSeen > 1 ? ` (received ${timesSeen} times)` : ''}`,
    'webhook-timestamp': `${headerOf(request, 'webhook-timestamp')}${ageOf(delivery)}`,
    'webhook-signature': headerOf(request, 'webhook-signature'),
    authorization: mask(headerOf(request, 'authorization')),
    'user-agent': headerOf(request, 'user-agent'),
    'content-type': headerOf(request, 'content-type'),
    answered: String(status),
  }
  return [
    `${paint('dim', clock(at))}  ${paint('bold', nameOf(content))}  ${verdict}`,
    ...Object.entries(rows).flatMap(([label, value]) =>
      value ? `  ${paint('dim', label.padEnd(19))}${oneLine(value)}` : [],
    ),
    '',
    ...showBody(delivery, content),
    '',
  ].join('\n')
}

function describeStray(at: Date, request: IncomingMessage, paint: Paint): string {
  const what = oneLine(`${request.method} ${request.url}`)
  return `${paint('dim', clock(at))}  ${what}  ${paint('dim', 'answered 405: webhooks are sent with POST')}\n`
}

function judge({ at, request, body, moreBytes }: Delivery, verify: typeof Verify, secret: string | undefined): Verdict {
  if (!secret) return { isValid: undefined, text: 'signature not verified: pass --secret' }
  if (moreBytes > 0) return { isValid: undefined, text: 'signature not verified: the body is too long' }
  try {
    verify(body, request.headers, secret, { now: () => at, acceptTests: true })
    return { isValid: true, text: 'signature is valid' }
  } catch (error) {
    return { isValid: false, text: (error as Error).message }
  }
}

function ageOf({ at, request }: Delivery): string {
  const timestamp = headerOf(request, 'webhook-timestamp')
  if (!/^\d{1,15}$/.test(timestamp)) return ''
  const ageSeconds = Math.floor(at.getTime() / 1000) - Number(timestamp)
  return ageSeconds < 0 ? ` (${-ageSeconds} s ahead)` : ` (${ageSeconds} s ago)`
}

function nameOf(content: unknown): string {
  const event = typeof content === 'object' && content !== null && 'event' in content ? content.event : undefined
  return typeof event === 'string' ? oneLine(event) : '(no event)'
}

function showBody({ body, moreBytes }: Delivery, content: unknown): string[] {
  if (body.length === 0) return ['  (no body)']
  const text = content === undefined ? body.toString() : JSON.stringify(content, null, 2)
  const shown = text.slice(0, MAX_BODY_BYTES)
  const isCut = moreBytes > 0 || shown.length < text.length
  return [
    ...shown.split('\n').map((line) => `  ${withoutControls(line)}`),
    ...(isCut ? [`  … (cut here, of ${body.length + moreBytes} bytes)`] : []),
  ]
}

/** Undefined if the body is shown as it is. */
function parseJson(body: Buffer): unknown {
  const text = body.toString()
  if ((text.match(/[[{]/g) ?? []).length > MAX_BRACKETS) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function headerOf(request: IncomingMessage, name: string): string {
  return String(request.headers[name] ?? '')
}

/** Enough to recognise the value, too little to use it. */
function mask(value: string): string {
  if (value === '') return ''
  return `${value.length > 20 ? value.slice(0, 10) : ''}… (${value.length} characters)`
}

export function clock(at: Date): string {
  return at.toTimeString().slice(0, 8)
}

export function oneLine(text: string): string {
  const short = text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : text
  return withoutControls(short)
}

/** Every process of this machine can send a body, and control characters would steer the terminal. */
function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (control) => `\\u${control.codePointAt(0)?.toString(16).padStart(4, '0')}`)
}
