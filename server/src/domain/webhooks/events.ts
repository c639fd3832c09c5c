import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { hexFromUuid, newUuid7 } from '../../base/ids.ts'
import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import type { Tx } from '../../db/tx.ts'
import { EVENT } from '../core/seals.ts'
import type { SentKind } from './event-kinds.ts'

export type NewEvent = {
  kind: SentKind
  accountId: string
  /** It must be known after a loss, because the event's name follows from it. It has one event of each kind. */
  subjectId: string
  createdAt: Date
  data: object
}

/**
 * In SQL, inserts the events of the CTE `telling`, and a delivery for each webhook that wants one. They are in the
 * account's history in the order of `place`.
 */
export const TELL = `
  told as (
    insert into events (id, account_id, kind, subject_id, body, created_at, seal)
    select id, account_id, kind, subject_id, body, created_at, seal from telling order by place
    returning id
  ), queued as (
    insert into deliveries (event_id, webhook_id, due_at)
    select n.id, w.id, n.due_at from telling n join webhooks w on w.account_id = n.account_id
    where w.account_id = any(array(select account_id from telling))
      and n.kind = any(w.event_kinds)
      and w.disabled_at is null
      and w.deleted_at is null
  )`

/** `id` is the key of its row, in the order of creation. Receivers know the event by its name, which is in the body. */
export type StoredEvent = { id: string; body: string }

type Telling = NewEvent & StoredEvent & { dueAt: Date; seal: Buffer }

const COLUMNS: Columns<Telling> = {
  id: ['uuid', ({ id }) => id],
  account_id: ['uuid', ({ accountId }) => accountId],
  kind: ['text', ({ kind }) => kind],
  subject_id: ['uuid', ({ subjectId }) => subjectId],
  body: ['json', ({ body }) => body],
  created_at: ['timestamptz', ({ createdAt }) => createdAt],
  due_at: ['timestamptz', ({ dueAt }) => dueAt],
  seal: ['bytea', ({ seal }) => seal],
}

const INSERT_EVENTS = `with telling as (select * from ${unnestOf(COLUMNS)}), ${TELL} select`

/** Inserts events and their deliveries in the transaction that made them happen: a crash cannot separate them. */
export async function insertEvents(tx: Tx, now: Date, events: NewEvent[]): Promise<StoredEvent[]> {
  if (events.length === 0) return []
  const telling = events.map((event) => {
    const stored = { ...event, id: newUuid7(now), body: eventBody(event) }
    return { ...stored, dueAt: now, seal: sealEvent(tx, stored) }
  })
  await tx.run(INSERT_EVENTS, valuesOf(COLUMNS, telling))
  return telling.map(({ id, body }) => ({ id, body }))
}

export function sealEvent({ sealer }: Pick<Tx, 'sealer'>, event: Omit<NewEvent, 'data'> & StoredEvent): Buffer {
  return sealer.seal(EVENT.textOf(event))
}

/** As receivers see it. An event that is written again after a loss has the same name, so it is handled once. */
export function eventName({ kind, subjectId }: { kind: string; subjectId: string }): string {
  return `evt_${kind}_${hexFromUuid(subjectId)}`
}

export function parseEventName(name: string): { kind: string; subjectId: string } {
  const event = readEventName(name)
  if (!event) throw new Fault('not_found', 'Event not found')
  return event
}

/** Undefined if it is no event's name. */
export function readEventName(name: string): { kind: string; subjectId: string } | undefined {
  const [, kind, subjectId] = /^evt_([A-Z_]+)_([0-9a-f]{32})$/.exec(name) ?? []
  return kind && subjectId ? { kind, subjectId } : undefined
}

export function eventBody(event: NewEvent): string {
  const { kind, createdAt, data } = event
  return JSON.stringify({ id: eventName(event), event: kind, createdAt: createdAt.toISOString(), data })
}

const SAMPLE_NAME = 'evt_test_'

/**
 * An example of a kind, which did not happen. Its name and its kind are none of an event, so that a receiver that knows
 * nothing of tests ignores it, as it does each kind that it does not know.
 */
export function sampleBody({ kind, subjectId, createdAt, data }: Omit<NewEvent, 'accountId'>): string {
  const id = `${SAMPLE_NAME}${kind}_${hexFromUuid(subjectId)}`
  return JSON.stringify({ id, event: `TEST_${kind}`, test: true, createdAt: createdAt.toISOString(), data })
}

export function isSample(name: string): boolean {
  return name.startsWith(SAMPLE_NAME)
}

/** Without parsing all of the body: it begins as eventBody() wrote it. */
export function nameInBody(body: string): string {
  const start = '{"id":"'.length
  return body.slice(start, body.indexOf('"', start))
}

/** A subject that follows from what is known outside of our database, so that it is the same after a loss. */
export function derivedSubject(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
