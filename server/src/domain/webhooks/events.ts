import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isHexId, newUuid7, uuidFromHex } from '../../base/ids.ts'
import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import type { Tx } from '../../db/tx.ts'

export type EventKind = 'DEPOSIT_ASSET_SUCCESS' | 'DEPOSIT_REFUNDED'

/** The kinds that a webhook can subscribe to. WEBHOOK_TEST goes to one webhook, whatever it subscribes to. */
export const EVENT_KINDS: readonly EventKind[] = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED']

export type NewEvent = {
  kind: EventKind | 'WEBHOOK_TEST'
  accountId: string
  /** What the event is about. A unique key allows a subject one event of each kind. */
  subjectId: string
  createdAt: Date
  data: object
}

/**
 * In SQL, inserts the events of the CTE `telling`, and a delivery for each webhook that wants one. The body is stored
 * as the exact bytes that receivers get, so every attempt sends the same.
 */
export const TELL = `
  told as (
    insert into events (id, account_id, kind, subject_id, body, created_at)
    select id, account_id, kind, subject_id, body, created_at from telling
    returning id
  ), queued as (
    insert into deliveries (event_id, webhook_id, due_at)
    select n.id, w.id, n.due_at from telling n join webhooks w on w.account_id = n.account_id
    where w.account_id = any(array(select account_id from telling))
      and n.kind = any(w.event_kinds)
      and w.disabled_at is null
      and w.deleted_at is null
  )`

type Telling = NewEvent & { id: string; dueAt: Date }

const COLUMNS: Columns<Telling> = {
  id: ['uuid', ({ id }) => id],
  account_id: ['uuid', ({ accountId }) => accountId],
  kind: ['text', ({ kind }) => kind],
  subject_id: ['uuid', ({ subjectId }) => subjectId],
  body: ['json', (event) => eventBody(event.id, event)],
  created_at: ['timestamptz', ({ createdAt }) => createdAt],
  due_at: ['timestamptz', ({ dueAt }) => dueAt],
}

const INSERT_EVENTS = `with telling as (select * from ${unnestOf(COLUMNS)}), ${TELL} select`

/**
 * Inserts events and their deliveries in the transaction that made them happen: a crash cannot separate them. Returns
 * the ids.
 */
export async function insertEvents(tx: Tx, now: Date, events: NewEvent[]): Promise<string[]> {
  if (events.length === 0) return []
  const telling = events.map((event) => ({ ...event, id: newUuid7(now), dueAt: now }))
  await tx.run(INSERT_EVENTS, valuesOf(COLUMNS, telling))
  return telling.map(({ id }) => id)
}

/** The id as receivers see it. */
export function eventName(id: string): string {
  return `evt_${hexFromUuid(id)}`
}

/** The stored id, from an id as receivers see it. */
export function eventIdFrom(name: string): string {
  const hex = name.replace(/^evt_/, '')
  if (!isHexId(hex)) throw new Fault('not_found', 'Event not found')
  return uuidFromHex(hex)
}

export function eventBody(id: string, { kind, createdAt, data }: NewEvent): string {
  return JSON.stringify({ id: eventName(id), event: kind, createdAt: createdAt.toISOString(), data })
}
