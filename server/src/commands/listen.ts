import { InvalidArgumentError, type Command } from 'commander'
import type { ConsumeOptions, GuicheEvent } from '#sdk'
import { OperatorError } from '../base/operator-error.ts'
import { headersOf } from '../domain/webhooks/delivery-queue.ts'
import { SENT_KINDS } from '../domain/webhooks/event-kinds.ts'
import { parseHistoryCursor } from '../domain/history/read-history.ts'
import { makeSigningSecret, signingKey } from '../domain/webhooks/signature.ts'
import { onStopSignal } from '../process/stop-signals.ts'
import { BY_API, serviceAction, type Api } from './api.ts'
import { addCommand, commaSeparated } from './arguments.ts'
import type { Terminal } from './terminal.ts'
import { clock, makePaint, oneLine, requireSecret, type Paint } from './webhooks-listen.ts'

export type ForwardOptions = { forwardTo: string; events?: string[]; from: string; secret?: string }
type Voice = Pick<Terminal, 'print' | 'say'>

/** As long as guiche waits for a webhook. */
const ANSWERED_WITHIN_MS = 15_000

export function listenCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'listen', '--forward-to http://localhost:4000/webhooks', '--forward-to … --from beginning')
    .description('follow the events of the account, and post each to a URL, signed as a webhook is')
    .requiredOption('--forward-to <url>', 'where to post the events; it may be on this machine', url)
    .option('--events <kinds>', 'comma-separated: only these (default: all)', kinds)
    .option('--from <place>', 'now, beginning, or the cursor that it printed when it stopped', place, 'now')
    .option('--secret <whsec>', 'signing secret (default: a new one, which it prints)')
    .addHelpText(
      'after',
      `
Your program needs no public address. Events come in order and one at a time. One that is not answered with 2xx is posted
again until it is, with pauses of up to half a minute, and those after it wait: none is lost while this command runs.
Ctrl-C stops it, and it then prints where to go on.
${BY_API}`,
    )
    .action(serviceAction(terminal, (api, _, options: ForwardOptions) => listen(api, terminal, options)))
}

async function listen(api: Api, terminal: Terminal, options: ForwardOptions): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  const unlisten = onStopSignal(stop, stop)
  try {
    await forwardEvents(api.events, terminal, options, { signal: stopping.signal, paint: makePaint() })
  } finally {
    unlisten()
  }
}

export async function forwardEvents(
  events: Pick<Api['events'], 'consume'>,
  terminal: Voice,
  options: ForwardOptions,
  {
    signal,
    paint = (_, text) => text,
    now = () => new Date(),
  }: { signal: AbortSignal; paint?: Paint; now?: () => Date },
): Promise<void> {
  const { forwardTo, from, secret = makeSigningSecret() } = options
  requireSecret(secret)
  const forward = makeForward(forwardTo, signingKey(secret), { signal, now })
  let cursor: string | undefined
  const say = (event: GuicheEvent, outcome: string) =>
    terminal.print(`${paint('dim', clock(now()))}  ${oneLine(event.event).padEnd(WIDEST_KIND)}  ${outcome}`)
  const handle = async (event: GuicheEvent, { position }: { position: number }) => {
    if (options.events && !options.events.includes(event.event)) return
    const { status, tookMs } = await forward(event)
    say(
      event,
      `${paint('green', `✓ ${status}`)}  ${String(tookMs).padStart(5)} ms  ${paint('dim', `#${position}  ${oneLine(event.id)}`)}`,
    )
  }
  const onError: ConsumeOptions['onError'] = (error, { event, retryInMs }) => {
    const text = `${oneLine((error as Error).message)}: again in ${Math.ceil(retryInMs / 1000)} s`
    if (event) say(event, paint('red', `✗ ${text}`))
    else terminal.say(`${clock(now())}  ${text}`)
  }
  terminal.print(introduce(options, secret, paint))
  const save = (next: string) => void (cursor = next)
  const onHistoryChanged = () => {
    throw new OperatorError('The service was restored from a backup that lacks this place: go on with --from beginning')
  }
  await events.consume(handle, { from, save, onError, onHistoryChanged, signal })
  if (cursor) terminal.say(`Stopped. To go on from here: --from ${cursor}`)
}

/** Throws unless the answer is 2xx. Redirects are not followed, as for webhooks. */
function makeForward(
  to: string,
  key: Buffer,
  { signal, now }: { signal: AbortSignal; now: () => Date },
): (event: GuicheEvent) => Promise<{ status: number; tookMs: number }> {
  return async (event) => {
    const body = JSON.stringify(event)
    const began = performance.now()
    const answer = await fetch(to, {
      method: 'POST',
      headers: headersOf({ body, keys: [key], authorization: null }, now()),
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWERED_WITHIN_MS)]),
    }).catch((error: Error) => {
      throw new Error(reasonOf(error), { cause: error })
    })
    await answer.body?.cancel()
    if (!answer.ok) throw new Error(`answered ${answer.status}`)
    return { status: answer.status, tookMs: Math.round(performance.now() - began) }
  }
}

function reasonOf({ name, message, cause }: Error): string {
  if (name === 'TimeoutError') return `no answer within ${ANSWERED_WITHIN_MS / 1000} s`
  const { code = message } = (cause ?? {}) as NodeJS.ErrnoException
  return code === 'ECONNREFUSED' ? 'nothing listens there' : code
}

const WIDEST_KIND = Math.max(...SENT_KINDS.map((kind) => kind.length))

function introduce({ forwardTo, events, from, secret }: ForwardOptions, signedWith: string, paint: Paint): string {
  const rows = {
    Events: events?.join(', ') ?? 'all',
    From: from === 'now' ? 'now on' : from,
    Secret: `${signedWith}${secret ? '' : '   (new: your program verifies signatures with it)'}`,
    Stop: 'Ctrl-C',
  }
  const lines = Object.entries(rows).map(([label, text]) => `  ${paint('dim', label.padEnd(8))}${text}`)
  return [`Forwarding events to ${paint('bold', forwardTo)}`, '', ...lines, ''].join('\n')
}

// ---- Arguments ----

function url(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text
  throw new InvalidArgumentError('It must be a URL, such as http://localhost:4000/webhooks.')
}

function kinds(text: string): string[] {
  const given = commaSeparated(text)
  const known: readonly string[] = SENT_KINDS
  const unknown = given.find((kind) => !known.includes(kind))
  if (unknown === undefined) return given
  throw new InvalidArgumentError(`There is no event ${unknown}. There are: ${SENT_KINDS.join(', ')}.`)
}

function place(text: string): string {
  if (text === 'now' || text === 'beginning' || parseHistoryCursor(text)) return text
  throw new InvalidArgumentError('It must be now, beginning, or a cursor.')
}
