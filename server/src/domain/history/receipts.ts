import { Fault } from '../../base/fault.ts'
import { autocommit, query } from '../../db/tx.ts'
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

// A run is numbered after its events were made. The clocks of two machines may differ a little.
const READ_PLACE = `
  select h.leaf, h.salt || uuid_send(h.account_id) || int8send(h.position) as extra
  from events e
  left join lateral (
    select account_id, first_position from history_runs
    where account_id = e.account_id and numbered_at > e.created_at - interval '1 minute' and e.id = any(event_ids)
    order by numbered_at limit 1
  ) r on true
  left join history h on h.account_id = r.account_id and h.first_position = r.first_position and h.event_id = e.id
  where e.kind = $1 and e.subject_id = $2 and e.account_id = $3`

/** A C2SP tlog-proof. `extra` is what the leaf is made of, besides the bytes of the event. */
export async function readReceipt(core: Core, accountId: string, eventId: string): Promise<string> {
  const { kind, subjectId } = parseEventName(eventId)
  const [event] = await query<{ leaf: number | null; extra: Buffer | null }>(core.pool, READ_PLACE, [
    kind,
    subjectId,
    accountId,
  ])
  if (!event) throw new Fault('not_found', 'Event not found')
  const { leaf, extra } = event
  if (leaf === null || extra === null)
    throw new Fault('in_flight', 'The event has no position in the history yet, please try again', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  const head = await signHead(core, { leaf })
  const path = await readInclusion(autocommit(core.pool), leaf, head.size)
  const lines = ['c2sp.org/tlog-proof@v1', `extra ${extra.toString('base64')}`, `index ${leaf}`]
  return [...lines, ...path.map((hash) => hash.toString('base64')), '', head.note].join('\n')
}
