import { Fault } from '../../base/fault.ts'
import { autocommit, query, queryOne } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { parseEventName } from '../webhooks/events.ts'
import { originOf, signHead, verifierKeys, type Head } from './heads.ts'
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
  const { position } = await queryOne<{ position: number }>(
    core.pool,
    'select coalesce(max(position), 0) as position from history where account_id = $1',
    [accountId ?? null],
  )
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

/** A C2SP tlog-proof. `extra` is what the leaf is made of, besides the bytes of the event. */
export async function readReceipt(core: Core, accountId: string, eventId: string): Promise<string> {
  const { kind, subjectId } = parseEventName(eventId)
  const [event] = await query<{ leaf: number | null; extra: Buffer | null }>(
    core.pool,
    `select h.leaf, uuid_send(h.salt) || uuid_send(h.account_id) || int8send(h.position) as extra
     from events e left join history h on h.event_id = e.id
     where e.kind = $1 and e.subject_id = $2 and e.account_id = $3`,
    [kind, subjectId, accountId],
  )
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
