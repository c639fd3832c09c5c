import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isHexId, newUuid7, uuidFromHex } from '../../base/ids.ts'
import type { Tx } from '../../db/tx.ts'

export type EventKind = 'DEPOSIT_ASSET_SUCCESS' | 'DEPOSIT_REFUNDED'

/** What a webhook can ask for. WEBHOOK_TEST is sent to a webhook on its own account, whatever it asked for. */
export const EVENT_KINDS: readonly EventKind[] = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED']

export type NewEvent = {
  kind: EventKind | 'WEBHOOK_TEST'
  accountId: string
  /** What the event is about; a subject has one event of a kind, by a unique key. */
  subjectId: string
  createdAt: Date
  data: object
}

/**
 * Writes events, and with them a delivery for each webhook that wants them, in the transaction that made them happen:
 * no crash can come between. The body is stored as the exact bytes that receivers will get, so that a repeated delivery
 * is the same to the letter. Returns the ids.
 */
export async function insertEvents(tx: Tx, now: Date, events: NewEvent[]): Promise<string[]> {
  if (events.length === 0) return []
  const ids = events.map(() => newUuid7(now))
  await tx.run(
    `insert into events (id, account_id, kind, subject_id, body, created_at)
     select id, account_id, kind, subject_id, body, created_at
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::timestamptz[])
       as n (id, account_id, kind, subject_id, body, created_at)`,
    [
      ids,
      events.map((event) => event.accountId),
      events.map((event) => event.kind),
      events.map((event) => event.subjectId),
      events.map((event, index) => eventBody(ids[index]!, event)),
      events.map((event) => event.createdAt),
    ],
  )
  await tx.run(
    `insert into deliveries (event_id, webhook_id, due_at)
     select n.id, e.id, $4 from unnest($1::uuid[], $2::uuid[], $3::text[]) as n (id, account_id, kind)
     join webhooks e on e.account_id = n.account_id and n.kind = any(e.event_kinds)
       and e.disabled_at is null and e.deleted_at is null`,
    [ids, events.map((event) => event.accountId), events.map((event) => event.kind), now],
  )
  return ids
}

/** The id as receivers see it. */
export function eventName(id: string): string {
  return `evt_${hexFromUuid(id)}`
}

/** The stored id of an event that somebody names. */
export function eventIdFrom(name: string): string {
  const hex = name.replace(/^evt_/, '')
  if (!isHexId(hex)) throw new Fault('not_found', 'Event not found')
  return uuidFromHex(hex)
}

function eventBody(id: string, event: NewEvent): string {
  return JSON.stringify({
    id: eventName(id),
    event: event.kind,
    createdAt: event.createdAt.toISOString(),
    data: event.data,
  })
}
