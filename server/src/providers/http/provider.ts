import { z } from 'zod'
import { decodeBrCode } from '../../base/brcode.ts'
import { certificateExpiry } from '../../base/client-certificate.ts'
import { makeRecent } from '../../base/recent.ts'
import {
  ListTooLong,
  ProviderError,
  type Provider,
  type ProviderCharge,
  type ProviderChargeRequest,
  type ProviderRefund,
  type ProviderRefundRequest,
  type ReceivedPayment,
  type UnreadEntry,
} from '../../domain/ports/provider.ts'
import {
  MalformedResponse,
  startDeadline,
  type Bounds,
  type Call,
  type CallOptions,
  type Calls,
  type Deadline,
  type NotOk,
  type Refused,
  type Reply,
} from './call.ts'
import type { Timings } from './limits.ts'

export type Entries = { payments: ReceivedPayment[]; unread: UnreadEntry[] }

export type Page = Entries & {
  count: number
  /** Undefined: a page without anything new is the last. */
  isLast: boolean | undefined
}

type ReportUnread = (entry: UnreadEntry) => void

export type Adapter = CallOptions & { calls: Calls; timings: Timings; reportUnread: ReportUnread }

type Mismatch = { text: string; isOver?: true }
type Cancelled = Awaited<ReturnType<Provider['cancel']>>
type RefundIds = { endToEndId: string; refundId: string }

/** How one kind of provider differs. Ids go into paths, so they are checked first. */
export type ProviderApi<Charge extends { charge: ProviderCharge }> = Pick<
  Provider,
  'registerNotifications' | 'readNotification'
> & {
  /** Statuses by which the provider says that an id does not exist. */
  absentStatuses: Set<number>
  isTxid(txid: string): boolean
  isRefund(ids: RefundIds): boolean
  create(request: ProviderChargeRequest): Call<Charge>
  /** `emvNeeded`: not only the state. */
  getCharge(txid: string, emvNeeded: boolean): Call<Charge>
  /** `isOver`: nobody can pay it any more. */
  mismatch(charge: Charge): Mismatch | undefined
  withPayments(charge: Charge, deadline: Deadline): Promise<ProviderCharge>
  checkAbsent(txid: string, deadline: Deadline): Promise<ProviderCharge | 'absent'>
  cancel(txid: string): Call<'withdrawn'>
  /** Undefined: unknown. See Settle for `inDoubt`. */
  settleCancel(reply: NotOk, inDoubt: boolean, lookUp: () => Promise<Reply<Charge>>): Promise<Cancelled | undefined>
  refund(request: ProviderRefundRequest): Call<ProviderRefund>
  getRefund(ids: RefundIds): Call<ProviderRefund>
  getPayment(endToEndId: string): Call<Entries>
  getPage(window: { from: Date; to: Date }, position: { page: number; skip: number }): Call<Page>
}

export function makeProvider<Charge extends { charge: ProviderCharge }>(
  adapter: Adapter,
  api: ProviderApi<Charge>,
): Provider {
  const { name, calls, timings, tls } = adapter
  const timeoutMs = timings.writeTimeoutMs
  const start = (ms: number, operation: string, onBehalfOf?: string): Bounds => ({
    operation,
    deadline: startDeadline(ms, onBehalfOf),
  })

  async function find<Body>(call: Call<Body>, bounds: Bounds): Promise<Body | 'absent'> {
    const reply = await calls.read(call, bounds)
    return isRefusedWith(reply, api.absentStatuses) ? 'absent' : bodyOf(adapter, bounds, reply)
  }

  return {
    name,
    callsPerSecond: adapter.callsPerSecond,
    certificateExpiresAt: tls && certificateExpiry(tls),
    async create(request) {
      const { txid, onBehalfOf } = request
      if (!api.isTxid(txid)) throw new Error('Not a txid')
      const bounds = { ...start(timings.createDeadlineMs, 'create', onBehalfOf), timeoutMs }
      const lookUp = () => calls.read(api.getCharge(txid, true), { ...bounds, operation: 'check' })
      const made = await write(adapter, api.create(request), bounds, settleCreation(adapter, bounds, lookUp))
      const isOther = made.charge.valueCents !== request.valueCents
      const mismatch = isOther ? { text: 'a charge of another value has this txid' } : api.mismatch(made)
      if (!mismatch) return made.charge
      // Unless a charge that differs is over, somebody could pay it: the outcome is unknown, and whoever asked
      // withdraws it.
      throw new ProviderError(mismatch.isOver ? 'refused' : 'unknown', `${name}: create: ${mismatch.text}`)
    },
    async check(txid, { onBehalfOf } = {}) {
      if (!api.isTxid(txid)) return 'absent'
      const bounds = start(timings.checkDeadlineMs, 'check', onBehalfOf)
      const found = await find(api.getCharge(txid, false), bounds)
      const charge = await (found === 'absent'
        ? api.checkAbsent(txid, bounds.deadline)
        : api.withPayments(found, bounds.deadline))
      if (charge !== 'absent') reportUnreadRefunds(adapter.reportUnread, charge.payments)
      return charge
    },
    async cancel(txid, { onBehalfOf } = {}) {
      if (!api.isTxid(txid)) return 'absent'
      const bounds = { ...start(timings.cancelDeadlineMs, 'cancel', onBehalfOf), timeoutMs }
      const lookUp = () => calls.read(api.getCharge(txid, false), { ...bounds, operation: 'check' })
      const settle: Settle<Cancelled> = (reply, inDoubt) => api.settleCancel(reply, inDoubt, lookUp)
      return write<Cancelled>(adapter, api.cancel(txid), bounds, settle)
    },
    async findPayment(endToEndId) {
      if (!END_TO_END_ID.test(endToEndId)) return 'absent'
      const bounds = start(timings.checkDeadlineMs, 'findPayment')
      const found = await find(api.getPayment(endToEndId), bounds)
      if (found === 'absent') return 'absent'
      if (found.unread.length > 0) throw unreadError(name, bounds.operation, found.unread)
      reportUnreadRefunds(adapter.reportUnread, found.payments)
      return found.payments[0] ?? 'absent'
    },
    listReceived(window, onUnread) {
      const readPage = (position: { page: number; skip: number }) =>
        readOrThrow(adapter, api.getPage(window, position), start(timings.listDeadlineMs, 'listReceived'))
      return listPages({ ...adapter, maxPages: timings.maxPages, readPage, onUnread })
    },
    async refund(request) {
      if (!api.isRefund(request)) throw new Error('Not the ids of a Pix and a refund')
      const bounds = { ...start(timings.refundDeadlineMs, 'refund', request.onBehalfOf), timeoutMs }
      const lookUp = () => calls.read(api.getRefund(request), { ...bounds, operation: 'checkRefund' })
      const made = await write(adapter, api.refund(request), bounds, settleCreation(adapter, bounds, lookUp))
      if (made.amountCents !== request.amountCents)
        throw new ProviderError('refused', `${name}: refund: a refund of another amount has this id`)
      return made
    },
    async checkRefund(ids) {
      if (!api.isRefund(ids)) return 'absent'
      return find(api.getRefund(ids), start(timings.checkDeadlineMs, 'checkRefund'))
    },
    registerNotifications: api.registerNotifications,
    readNotification: api.readNotification,
    hasRoomFor: (account) => calls.hasRoom('create', startDeadline(timings.createDeadlineMs, account)),
    isCallable: calls.isCallable,
    health: calls.health,
    close: calls.close,
  }
}

/** Looks for the result of a failed attempt. `inDoubt`: an attempt was sent and its outcome is unknown. */
type Settle<Body> = (reply: NotOk, inDoubt: boolean) => Promise<Body | undefined>

async function write<Body>(adapter: Adapter, call: Call<Body>, bounds: Bounds, settle: Settle<Body>): Promise<Body> {
  const { calls, timings } = adapter
  // Stays true: the request may still be queued at the provider.
  let inDoubt = false
  for (let attempt = 1; ; attempt++) {
    const reply = await calls.once(call, bounds)
    if (reply.kind === 'ok') return reply.body
    inDoubt ||= isLost(reply)
    const settled = await settle(reply, inDoubt)
    if (settled !== undefined) return settled
    if (attempt < timings.writeAttempts && (await calls.waitToRetry(reply, attempt, bounds.deadline))) continue
    const error = errorOf(adapter, bounds, reply)
    throw inDoubt ? new ProviderError('unknown', error.message) : error
  }
}

// A provider may mean that the id is taken, perhaps by an earlier attempt of ours.
const MAY_MEAN_TAKEN = new Set([400, 409, 422])
const TAKEN = /duplic|já (existe|utilizad|cadastrad)|already (exist|used)/i

/** `lookUp` is refused when there is no such thing. */
function settleCreation<Body>(adapter: Adapter, bounds: Bounds, lookUp: () => Promise<Reply<Body>>): Settle<Body> {
  return async (reply, inDoubt) => {
    if (reply.kind !== 'refused' && !isLost(reply)) return undefined
    const mayExist = reply.kind !== 'refused' || MAY_MEAN_TAKEN.has(reply.status)
    const found = mayExist ? await lookUp() : undefined
    if (found?.kind === 'ok') return found.body
    if (reply.kind !== 'refused') return undefined
    // After a lost answer a refusal proves nothing: lookups may lag behind.
    let isKnown = !inDoubt
    // If the id is taken, something exists, even if the lookup does not show it yet.
    if (found) isKnown &&= !saysTaken(reply) && found.kind === 'refused'
    const refusal = errorOf(adapter, bounds, reply)
    if (isKnown) throw refusal
    throw new ProviderError('unknown', `${refusal.message}; a lookup did not tell whether it exists already`)
  }
}

function saysTaken({ status, text }: Refused): boolean {
  return status === 409 || TAKEN.test(text)
}

export function isLost(reply: Reply<unknown>): boolean {
  return reply.kind === 'failed' && reply.wasSent
}

/** A 404 of a proxy does not count. */
export function isRefusedWith(reply: Reply<unknown>, statuses: Set<number>): boolean {
  return reply.kind === 'refused' && reply.isFromProvider && statuses.has(reply.status)
}

export async function readOrThrow<Body>(adapter: Adapter, call: Call<Body>, bounds: Bounds): Promise<Body> {
  return bodyOf(adapter, bounds, await adapter.calls.read(call, bounds))
}

export function bodyOf<Body>(adapter: Adapter, bounds: Bounds, reply: Reply<Body>): Body {
  if (reply.kind === 'ok') return reply.body
  const error = errorOf(adapter, bounds, reply)
  const isStray = reply.kind === 'refused' && reply.status === 404 && !reply.isFromProvider
  throw isStray ? new ProviderError('unknown', error.message) : error
}

function errorOf({ name }: Adapter, { operation }: Bounds, reply: NotOk): ProviderError {
  const text = (why: string) => `${name}: ${operation}: ${why}`
  if (reply.kind === 'refused') return new ProviderError('refused', text(reply.text))
  if (reply.kind === 'busy') return new ProviderError('unreachable', text('too many requests'))
  const isDown = reply.withheld === 'down'
  const isOverloaded = reply.withheld === 'overloaded'
  return new ProviderError(reply.wasSent ? 'unknown' : 'unreachable', text(reply.text), { isDown, isOverloaded })
}

const MAX_SEEN = 50_000

/** Each once. See Provider.listReceived for `onUnread`. */
async function* listPages(options: {
  name: string
  maxPages: number
  readPage: (position: { page: number; skip: number }) => Promise<Page>
  reportUnread: ReportUnread
  onUnread: ((entry: UnreadEntry) => void) | undefined
}): AsyncGenerator<ReceivedPayment[]> {
  const { name, maxPages, onUnread } = options
  // Pix that arrive meanwhile push others to a later page, where they appear again.
  const seen = makeRecent<true>({ forMs: Infinity, max: MAX_SEEN })
  const isNew = (key: string) => {
    if (seen.get(key)) return false
    seen.set(key, true, 0)
    return true
  }
  const unread = new Map<string, UnreadEntry>()
  for (let page = 0, skip = 0; ; page++) {
    if (page >= maxPages) throw new ListTooLong(`${name}: listReceived: more than ${maxPages} pages, ask for less time`)
    const read = await options.readPage({ page, skip })
    const fresh = read.payments.filter(({ endToEndId }) => isNew(endToEndId))
    const freshUnread = read.unread.filter((entry) => isNew(keyOf(entry)))
    for (const entry of freshUnread) unread.set(keyOf(entry), entry)
    reportUnreadRefunds(options.reportUnread, fresh)
    if (fresh.length > 0) yield fresh
    skip += read.count
    if (read.isLast ?? fresh.length + freshUnread.length === 0) break
  }
  const entries = [...unread.values()]
  entries.forEach(options.reportUnread)
  if (entries.length > 0 && !onUnread) throw unreadError(name, 'listReceived', entries)
  for (const entry of entries) onUnread?.(entry)
}

/** Unread entries may be money, so a result without them is not complete. */
export function unreadError(name: string, operation: string, unread: UnreadEntry[]): ProviderError {
  const text = `${unread.length} transactions cannot be read (${unread[0]!.text})`
  return new ProviderError('unknown', `${name}: ${operation}: ${text}`)
}

const MAX_REPORTED = 1_000

/** Each once, although every sweep and closing finds it again. */
export function makeReportUnread({ name, log, metrics }: CallOptions): ReportUnread {
  const reported = new Set<string>()
  return (entry) => {
    const key = keyOf(entry)
    if (reported.has(key)) return
    if (reported.size === MAX_REPORTED) reported.clear()
    reported.add(key)
    const { endToEndId, text } = entry
    metrics?.unread.inc({ provider: name })
    log.error({ provider: name, endToEndId, text }, 'a transaction that may be money cannot be read: ask the provider')
  }
}

function reportUnreadRefunds(report: ReportUnread, payments: ReceivedPayment[]): void {
  for (const { endToEndId, occurredAt, unreadRefunds = [] } of payments)
    for (const { refundId, text } of unreadRefunds)
      report({ endToEndId, isMoney: true, occurredAt, text: `its refund ${refundId ?? 'without an id'} ${text}` })
}

function keyOf({ endToEndId, text }: UnreadEntry): string {
  return `${endToEndId} ${text}`
}

export const END_TO_END_ID = /^[a-zA-Z0-9]{32}$/

/** Some providers return our txid in upper case. */
export function isSameTxid(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** Without a zone it would be read in this machine's zone. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i)
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()))

export function parseMessage<Body>(schema: z.ZodType<Body>, json: unknown, description: string): Body {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  // Shows field names only, because values may hold anything.
  const fields = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join('.') || 'the whole message')
  throw new MalformedResponse(`does not match ${description}: ${fields.join(', ')}`)
}

/** Where only the state is needed, a bad code must not hide a payment. */
export function readEmv(give: () => string, isNeeded: boolean): string {
  try {
    const emv = give()
    decodeBrCode(emv)
    return emv
  } catch {
    if (isNeeded) throw new MalformedResponse('no readable BR Code')
    return ''
  }
}
