import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import type { Core } from '../../domain/core/core.ts'
import { exportHistory } from '../../domain/history/export-history.ts'
import { readHead, readReceipt } from '../../domain/history/receipts.ts'
import {
  checkCursor,
  historyCursor,
  parseHistoryCursor,
  readHistory,
  readOrWait,
  type HistoryCursor,
} from '../../domain/history/read-history.ts'
import type { Told } from '../../domain/history/history-feed.ts'
import { describeOperations, integerParameter, response, type Api } from '../server/schemas.ts'
import { beginEvents, type Streams } from '../server/streams.ts'

// Shorter than the 30 s after which some proxies drop a silent connection.
const KEEP_ALIVE_MS = 15_000
// A reader who takes nothing for so long is gone, or will come back and read on.
const DRAIN_WITHIN_MS = 30_000
const STREAM_BATCH = 100

const reading = { scope: 'events:read' } as const

/** Programs follow with a key, and pages of the dashboard with a session. Only pages are told of new deposits. */
export type Followers = 'programs' | 'pages'

/** What follows the history of an account, besides the list in events.ts. */
export function historyRoutes(app: Api, ctx: Context, streams: Streams, followers: Followers): void {
  const isPage = followers === 'pages'
  app.get(
    '/api/events/stream',
    // No HEAD, which would hold an empty stream open.
    {
      schema: routes.streamEvents,
      exposeHeadRoute: false,
      // Of people, who sees only the deposits of today is told that something happened, and not what.
      config: { ...reading, ...(isPage && { orScope: 'deposits:today' as const }), isStream: true },
    },
    async (request, reply) => {
      const { accountId, scopes } = request.caller
      const asked = cursorOf(String(request.headers['last-event-id'] ?? request.query.after ?? '0'))
      // Open tabs do not take the places of programs.
      const ending = streams.admit(reply.raw, isPage ? `pages of ${accountId}` : accountId)
      const historyId = await checkCursor(ctx, accountId, asked)
      if (!beginEvents(reply, ending)) return
      const seesEvents = !isPage || scopes.includes('events:read')
      const stream = { raw: reply.raw, ending, isPage, seesEvents, stillMay: request.stillMay }
      await sendHistory(ctx, stream, { accountId, historyId, after: asked.position })
    },
  )

  app.get('/api/events/head', { schema: routes.getHead, config: reading }, async (request) => {
    const { accountId } = request.caller
    return { success: true as const, ...(await readHead(ctx, { accountId, since: request.query.since })) }
  })

  app.get(
    '/api/events/export',
    { schema: routes.exportEvents, exposeHeadRoute: false, config: { ...reading, isStream: true } },
    async (request, reply) => {
      const { accountId } = request.caller
      streams.admit(reply.raw, accountId)
      return sendExport(ctx, reply, accountId)
    },
  )

  app.get('/api/events/:eventId/receipt', { schema: routes.getReceipt, config: reading }, async (request, reply) => {
    const receipt = await readReceipt(ctx, request.caller.accountId, request.params.eventId)
    return reply.type('text/plain; charset=utf-8').send(receipt)
  })
}

/** Each piece is read after the one before was sent: a slow reader slows the queries. */
export function sendExport(core: Core, reply: FastifyReply, accountId: string): FastifyReply {
  return reply
    .type('application/jsonl; charset=utf-8')
    .header('content-disposition', `attachment; filename="history-${accountId}.jsonl"`)
    .send(Readable.from(exportHistory(core, accountId)))
}

/** The keys of our heads, for anybody who verifies them. */
export function logRoutes(app: Api, ctx: Context): void {
  app.get('/.well-known/guiche-log.json', { schema: logSchema }, async () => {
    const { historyId, origin, keys, checkpoint } = await readHead(ctx, {})
    return { historyId, origin, keys, checkpoint }
  })
}

/** What GET /api/events answers with `after`. Events are the exact texts that webhooks get, with their positions. */
export async function readPage(
  ctx: Context,
  { accountId, after, limit, waitSeconds }: { accountId: string; after: string; limit: number; waitSeconds: number },
  wait: () => { signal: AbortSignal; clear: () => void },
): Promise<string> {
  const asked = cursorOf(after)
  const historyId = await checkCursor(ctx, accountId, asked)
  const page = { accountId, after: asked.position, limit }
  let events = await readHistory(ctx, page)
  if (events.length === 0 && waitSeconds > 0) {
    const { signal, clear } = wait()
    events = await readOrWait(ctx, page, signal)
    clear()
  }
  const position = events.at(-1)?.position ?? asked.position
  const texts = events.map(({ position: at, body }) => `${body.slice(0, -1)},"position":${at}}`)
  return `{"success":true,"events":[${texts.join(',')}],"next":"${historyCursor(historyId, position)}","done":${events.length < limit},"historyId":"${historyId}"}`
}

function cursorOf(text: string): HistoryCursor {
  const cursor = parseHistoryCursor(text)
  if (!cursor) throw new Fault('field_invalid', AFTER_ERROR, { details: { field: 'after' } })
  return cursor
}

type Stream = {
  raw: ServerResponse
  ending: AbortSignal
  isPage: boolean
  seesEvents: boolean
  stillMay: () => Promise<void>
}

/** Never rejects: the answer has begun, so a failure can only end it. The client reconnects and reads on. */
async function sendHistory(
  ctx: Context,
  { raw, ending, isPage, seesEvents, stillMay }: Stream,
  { accountId, historyId, after }: { accountId: string; historyId: string; after: number },
): Promise<void> {
  const generation = ctx.historyFeed.generation()
  let position = after
  const alive = () => (isPage ? signal('alive', historyId, position) : ': waiting\n\n')
  // Before any event, so that a page knows that nothing on the way holds the stream back.
  if (isPage) raw.write(alive())
  const sayChanged = () => void (ending.aborted || raw.write(signal('deposits', historyId, position)))
  const unwatch = isPage ? ctx.accountWatch.watch(accountId, sayChanged) : undefined
  try {
    while (!ending.aborted && ctx.historyFeed.generation() === generation) {
      const limit = timeLimit(KEEP_ALIVE_MS, ending)
      const events = await readOrWait(ctx, { accountId, after: position, limit: STREAM_BATCH }, limit.signal)
      limit.clear()
      // A revoked key or an ended session ends its streams.
      await stillMay()
      position = events.at(-1)?.position ?? position
      const told = seesEvents
        ? events.map((event) => frame(historyId, event)).join('')
        : signal('deposits', historyId, position)
      if (!ending.aborted && !raw.write(events.length === 0 ? alive() : told)) await drained(raw, ending)
    }
  } catch (error) {
    if (!(error instanceof Fault)) ctx.log.warn({ err: error }, 'a stream of events ended early')
  }
  unwatch?.()
  raw.end()
}

function frame(historyId: string, { position, body }: Told): string {
  return `id: ${historyCursor(historyId, position)}\ndata: ${body}\n\n`
}

/**
 * EventSource shows no comments, and reports no connection that died in silence. So pages get an event, `alive`. After
 * `deposits` a page reads again what it shows: something changed that no event tells, or that its reader may not see.
 */
function signal(name: 'alive' | 'deposits', historyId: string, position: number): string {
  return `event: ${name}\nid: ${historyCursor(historyId, position)}\ndata: -\n\n`
}

async function drained(raw: ServerResponse, ending: AbortSignal): Promise<void> {
  const { signal, clear } = timeLimit(DRAIN_WITHIN_MS, ending)
  await once(raw, 'drain', { signal }).catch(() => raw.destroy())
  clear()
}

/** Aborted after a time, or with the other signal. AbortSignal.any() keeps memory as long as that one lives. */
export function timeLimit(limitMs: number, other: AbortSignal): { signal: AbortSignal; clear: () => void } {
  const limit = new AbortController()
  const abort = () => limit.abort()
  const timer = setTimeout(abort, limitMs)
  other.addEventListener('abort', abort)
  if (other.aborted) abort()
  const clear = () => {
    clearTimeout(timer)
    other.removeEventListener('abort', abort)
  }
  return { signal: limit.signal, clear }
}

// ---- Schemas ----

const AFTER_ERROR = 'after must be a position, or the `next` of an earlier answer; 0 is the beginning'
const AFTER = /^([0-9a-f]{32}\.)?(0|[1-9]\d{0,14})$/
export const afterField = z.string({ error: AFTER_ERROR }).regex(AFTER, { error: AFTER_ERROR })

export const waitField = integerParameter('wait', {
  min: 0,
  max: 30,
  default: 0,
  description: 'With `after`: how many seconds to wait for an event, if there is none yet.',
})

const historyId = z.string().meta({
  description: 'Positions belong to it. It changes only when the service was restored from a backup that lacks events.',
})

export const historyPage = z
  .object({
    success: z.literal(true),
    events: z
      .looseObject({
        id: z.string(),
        event: z.string(),
        createdAt: z.string(),
        data: z.looseObject({}),
        position: z.int().meta({ description: 'Its place in the history of the account: 1, 2, 3 … without a gap.' }),
      })
      .array()
      .meta({ description: 'Oldest first.' }),
    next: z.string().meta({ description: 'Send it as `after` to read on.' }),
    done: z.boolean().meta({ description: 'There was nothing more.' }),
    historyId,
  })
  .meta({ id: 'HistoryPage' })

const base64 = (description: string) => z.string().meta({ description: `${description}, in base64.` })
const keys = z.string().array().meta({ description: 'The verifier keys of the log, as C2SP signed notes name them.' })
const origin = z.string().meta({ description: 'The name of the log.' })
const checkpoint = z.string().meta({ description: 'The signed head: a C2SP tlog-checkpoint.' })

const logSchema = {
  hide: true,
  response: { 200: z.object({ historyId, origin, keys, checkpoint }) },
}

const routes = describeOperations('Events', {
  streamEvents: {
    summary: 'Follow events',
    description:
      'Server-sent events: `data` is the exact text that webhooks get, and `id` its position. It begins after `Last-Event-ID`, after `after`, or at the beginning, and goes on with what happens. A client that reconnects with `Last-Event-ID` misses nothing. Needs the scope `events:read`.',
    querystring: z.object({
      after: afterField
        .exactOptional()
        .meta({ description: 'Only events after this position. `Last-Event-ID` goes before it.' }),
    }),
    response: { 200: { description: 'The stream', content: { 'text/event-stream': { schema: z.string() } } } },
    errors: { 409: 'The position is not in the history: the service was restored from an older backup.' },
  },
  getHead: {
    summary: 'Get the head of the log',
    description:
      'The signed head of the tree in which all events are leaves, and the last position of the account. With `since`, the proof that the tree of that size is a part of it. Needs the scope `events:read`.',
    querystring: z.object({
      since: z
        .string()
        .regex(/^\d{1,15}$/, { error: 'since must be the size of an earlier head' })
        .transform(Number)
        .exactOptional()
        .meta({ type: 'integer', description: 'The size of an earlier head.' }),
    }),
    response: {
      200: response('The head.', {
        historyId,
        position: z.int().meta({ description: 'The last position of the account’s history; 0 if there is none.' }),
        origin,
        keys,
        size: z.int().meta({ description: 'How many leaves the tree has.' }),
        root: base64('The root of the tree'),
        checkpoint,
        consistency: base64('With `since`: the consistency proof of RFC 6962, hash by hash').array().exactOptional(),
      }),
    },
  },
  exportEvents: {
    summary: 'Export the history',
    description:
      'The whole history of the account as JSON Lines, up to the signed head that its first line holds. `guiche verify` and the client prove it offline. Needs the scope `events:read`.',
    response: { 200: { description: 'The export', content: { 'application/jsonl': { schema: z.string() } } } },
  },
  getReceipt: {
    summary: 'Get the receipt of an event',
    description:
      'A C2SP tlog-proof: it proves, without us, that the log holds these bytes at this position. Its `extra` line holds the salt, the account and the position that the leaf is made of. Needs the scope `events:read`.',
    params: z.object({ eventId: z.string().meta({ description: 'The id of the event, `evt_…`.' }) }),
    response: { 200: { description: 'The receipt', content: { 'text/plain': { schema: z.string() } } } },
    errors: {
      404: '`Event not found`: unknown, malformed, or of another account.',
      409: 'The event has no position yet. It gets one within a second.',
    },
  },
})
