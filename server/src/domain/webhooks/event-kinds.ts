import { ACCOUNT_KINDS } from './account-event-kinds.ts'
import { DEPOSIT_KINDS } from './deposit-event-kinds.ts'
import { DISPUTE_KINDS } from './dispute-event-kinds.ts'
import { PAYOUT_KINDS } from './payout-event-kinds.ts'
import { REFUND_KINDS } from './refund-event-kinds.ts'

/**
 * All that is known of each kind of event. What is sent, the audit, the documents, the client and the dashboard follow.
 * `name` is what the dashboard calls it. `subject` is the subject of the example.
 */
export const EVENTS = {
  ...DEPOSIT_KINDS,
  ...REFUND_KINDS,
  ...PAYOUT_KINDS,
  ...DISPUTE_KINDS,
  ...ACCOUNT_KINDS,
} as const

export type SentKind = keyof typeof EVENTS
export const SENT_KINDS = Object.keys(EVENTS) as SentKind[]

/** The kinds that a webhook can subscribe to. WEBHOOK_TEST goes to one webhook, whatever it subscribes to. */
export type EventKind = Exclude<SentKind, 'WEBHOOK_TEST'>
export const EVENT_KINDS = SENT_KINDS.filter((kind) => kind !== 'WEBHOOK_TEST')
