import { newIdempotencyKey } from '../../base/api.ts'
import { makeStore, remember, remembered } from '../../base/store.ts'
import type { NewCharge } from '../../contract/types.ts'

// What this device remembers of an account's counter, so that a sale survives a reload, a crash and a lost answer.

export type DepositBody = {
  value: number
  description?: string
  expiresIn?: number
  metadata: Record<string, string>
}

/** Asked for: it was stored before its request was sent, and is asked for with this key until an answer is known. */
export type AskedSale = {
  step: 'asked'
  key: string
  body: DepositBody
  askedMs: number
  /** An earlier request ended without an answer. */
  mayExist: boolean
}

/** A charge that the payer can be shown. */
export type MadeSale = {
  step: 'made'
  charge: ShownCharge
  /** The cashier canceled it, and the server has not answered yet. */
  isCanceling: boolean
  /** As last known, so that only a change is announced. */
  isPaid: boolean
  /** The answer has just come, so there is nothing to look up. */
  isNew: boolean
}
export type ShownCharge = Pick<NewCharge, 'paymentLinkId' | 'paymentLinkUrl' | 'value'> & { emv: string | null }
export type Sale = AskedSale | MadeSale

export type Shift = { id: string; startedAt: string; endedAt: string | null }

export type Till = ReturnType<typeof openTill>

const SHORT_ID_LENGTH = 4
/** Without letters and digits that look alike. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

let opened: { accountId: string; till: Till } | undefined

/** The same for as long as the page lives: another account is another page. */
export function tillOf(accountId: string): Till {
  if (opened?.accountId !== accountId) opened = { accountId, till: openTill(accountId) }
  return opened.till
}

function openTill(accountId: string) {
  const prefix = `guiche.counter.${accountId}`
  const sale = makeKept<Sale>(`${prefix}.sale`)
  const shift = makeKept<Shift>(`${prefix}.shift`)
  const id = makeKept<string>(`${prefix}.till`)
  if (id.get() === undefined) id.set(shortId())
  const waiting = sale.get()
  // Nobody knows how far the request came before the page ended.
  if (waiting) sale.set(waiting.step === 'asked' ? { ...waiting, mayExist: true } : { ...waiting, isNew: false })
  return { id: id.get() ?? '', sale, shift }
}

/** Only changes this sale: another tab, or an answer that came first, may have ended it. */
export function changeSale<Known extends Sale>(till: Till, known: Known, change: Partial<Known>): void {
  const now = till.sale.get()
  // Of the same step, so of the same type.
  if (now !== undefined && isSame(now, known)) till.sale.set({ ...(now as Known), ...change })
}

export function replaceSale(till: Till, known: Sale, next: Sale | undefined): void {
  const now = till.sale.get()
  if (now !== undefined && isSame(now, known)) till.sale.set(next)
}

export function nameOf(sale: Sale): string {
  return sale.step === 'asked' ? sale.key : sale.charge.paymentLinkId
}

function isSame(one: Sale, other: Sale): boolean {
  return one.step === other.step && nameOf(one) === nameOf(other)
}

/** The names are ours, because account holders use others for their own data. */
export function metadataOf({ id, shift }: Till): Record<string, string> {
  const open = shift.get()
  const isOpen = open !== undefined && open.endedAt === null
  return { 'counter.till': id, ...(isOpen && { 'counter.shift': open.id }) }
}

export function beginShift({ shift }: Till, now: Date): void {
  shift.set({ id: newIdempotencyKey(), startedAt: now.toISOString(), endedAt: null })
}

export function endShift({ shift }: Till, now: Date): void {
  const open = shift.get()
  if (open) shift.set({ ...open, endedAt: now.toISOString() })
}

function shortId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SHORT_ID_LENGTH))
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join('')
}

/** A value that this browser remembers. Other tabs of the same till follow it. */
function makeKept<T>(name: string) {
  // Only this file writes it. Text that is no JSON is ignored.
  const read = () => (parsed(remembered(name)) as T | null | undefined) ?? undefined
  const store = makeStore<T | undefined>(read())
  addEventListener('storage', ({ key }) => {
    if (key === name) store.set(read())
  })
  return {
    ...store,
    set: (next: T | undefined) => {
      remember(name, JSON.stringify(next ?? null))
      store.set(next)
    },
  }
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}
