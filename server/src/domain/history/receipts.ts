import { Fault } from '../../base/fault.ts'
import { autocommit, query, queryOne } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { parseEventName } from '../webhooks/events.ts'
import { originOf, signHead, verifierKeys, type Head } from './heads.ts'
import { readStand } from './read-history.ts'
import { readConsistency, readInclusion } from './stored-tree.ts'

export type HeadAnswer = {
  historyId: string
  position: number
  origin: string
  keys: string[]
  size: number
  root: string
  checkpoint: string
  consistency?: string[]
}

export async function readHead(
  core: Core,
  { accountId, since }: { accountId?: string; since?: number | undefined },
): Promise<HeadAnswer> {
  // Read first: the head covers this position.
  const position = accountId === undefined ? 0 : (await readStand(core, accountId)).last
  const head = await signHead(core)
  const consistency = since === undefined ? undefined : await readProof(core, since, head)
  return {
    historyId: head.historyId,
    position,
    origin: originOf(core.settings, head.historyId),
    keys: verifierKeys(core.settings, head.historyId),
    size: head.size,
    root: head.root.toString('base64'),
    checkpoint: head.note,
    ...(consistency && { consistency }),
  }
}

async function readProof(core: Core, since: number, { size }: Head): Promise<string[]> {
  if (since > size)
    throw new Fault('field_invalid', `since must not be larger than the head, which has the size ${size}`, {
      details: { field: 'since' },
    })
  return (await readConsistency(autocommit(core.pool), since, size)).map((hash) => hash.toString('base64'))
}

const RETRY_AFTER_SECONDS = 1

type Event = { id: string; from: Date }

// A run is numbered after its events were made. The clocks of two machines may differ a little.
const NUMBERED_BEFORE_MS = 60_000

const READ_EVENT = `
  select id, created_at - ${NUMBERED_BEFORE_MS} * interval '1 ms' as "from" from events
  where kind = $1 and subject_id = $2 and account_id = $3`

// Mostly the first of these is the one. A transaction that stayed open for minutes is in a later one.
const RUNS_AT_ONCE = 1_000

type Runs = { found: number | null; isLast: boolean; position: number; at: Date }

const FIND_RUN = `
  with later as materialized (
    select * from history_runs where account_id = $1 and (numbered_at, first_position) > ($2, $3)
    order by numbered_at, first_position limit ${RUNS_AT_ONCE}
  ), newest as (
    select first_position, numbered_at from later order by numbered_at desc, first_position desc limit 1
  )
  select (select first_position from later where $4 = any(event_ids) limit 1) as found,
    (select count(*) from later) < ${RUNS_AT_ONCE} as "isLast",
    (select first_position from newest) as position, (select numbered_at from newest) as at`

/** The first position of the run that has the event; null if it has no position yet. */
async function findRun(core: Core, accountId: string, event: Event): Promise<number | null> {
  for (let [at, position] = [event.from, 0]; ;) {
    const runs = await queryOne<Runs>(core.pool, FIND_RUN, [accountId, at, position, event.id])
    if (runs.found !== null || runs.isLast) return runs.found
    ;({ at, position } = runs)
  }
}

const READ_POSITION = `
  select first_position + array_position(event_ids, $3) - 1 as position from history_runs
  where account_id = $1 and first_position = $2`

/** Its place in the history of the account; null if it has none yet. */
export async function findPosition(
  core: Core,
  accountId: string,
  event: { id: string; at: Date },
): Promise<number | null> {
  const from = new Date(event.at.getTime() - NUMBERED_BEFORE_MS)
  const run = await findRun(core, accountId, { id: event.id, from })
  if (run === null) return null
  return (await queryOne<{ position: number }>(core.pool, READ_POSITION, [accountId, run, event.id])).position
}

const READ_PLACE = `
  select leaf, salt || uuid_send(account_id) || int8send(position) as extra from history
  where account_id = $1 and first_position = $2 and event_id = $3`

/** A C2SP tlog-proof. `extra` is what the leaf is made of, besides the bytes of the event. */
export async function readReceipt(core: Core, accountId: string, eventId: string): Promise<string> {
  const { kind, subjectId } = parseEventName(eventId)
  const [event] = await query<Event>(core.pool, READ_EVENT, [kind, subjectId, accountId])
  if (!event) throw new Fault('not_found', 'Event not found')
  const run = await findRun(core, accountId, event)
  if (run === null)
    throw new Fault('in_flight', 'The event has no position in the history yet, please try again', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  const place = [accountId, run, event.id]
  const { leaf, extra } = await queryOne<{ leaf: number; extra: Buffer }>(core.pool, READ_PLACE, place)
  const head = await signHead(core, { leaf })
  const path = await readInclusion(autocommit(core.pool), leaf, head.size)
  const lines = ['c2sp.org/tlog-proof@v1', `extra ${extra.toString('base64')}`, `index ${leaf}`]
  return [...lines, ...path.map((hash) => hash.toString('base64')), '', head.note].join('\n')
}
