import { createHash, createPublicKey, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseCheckpoint } from '../src/base/signed-note.ts'
import { newUuid7 } from '../src/base/ids.ts'
import { query, transact, type Tx } from '../src/db/tx.ts'
import { audit } from '../src/domain/audit/audit.ts'
import { LEAVES_AT_ONCE } from '../src/domain/audit/history.ts'
import { SYSTEM, writeAudit } from '../src/domain/core/audit-log.ts'
import { signHead } from '../src/domain/history/heads.ts'
import {
  appendLeaves,
  EMPTY_EDGE,
  isConsistent,
  leafHash,
  rootOf,
  type Edge,
  type Hash,
} from '../src/domain/history/merkle.ts'
import { makeNumberingMemory, numberPending, OPERATORS } from '../src/domain/history/number-pending.ts'
import { readHistory } from '../src/domain/history/read-history.ts'
import { readConsistency, readInclusion } from '../src/domain/history/stored-tree.ts'
import { insertEvents } from '../src/domain/webhooks/events.ts'
import { signLastHead } from '../src/workers/sign-heads.ts'
import { loseNewest } from './corrupt.ts'
import { world, type World } from './world.ts'

function tell(tx: Tx, { clock }: World, accountId: string, count = 1): Promise<{ id: string; body: string }[]> {
  const at = clock.now()
  const events = Array.from({ length: count }, () => ({
    kind: 'WEBHOOK_TEST' as const,
    accountId,
    subjectId: newUuid7(at),
    createdAt: at,
    data: {},
  }))
  return insertEvents(tx, at, events)
}

async function numberAll({ ctx }: World, memory = makeNumberingMemory()): Promise<void> {
  for (;;) if (['idle', 'busy'].includes(await numberPending(ctx, memory))) return
}

test('an event whose transaction commits late comes behind those that readers have passed', async () => {
  const here = await world()
  const { accountId } = await here.account()
  const [late, commit] = await holdOpen(here, accountId)
  const [early] = await transact(here.pool, (tx) => tell(tx, here, accountId))
  await numberAll(here)
  expect(await readHistory(here.ctx, { accountId, after: 0, limit: 10 })).toEqual([{ position: 1, body: early!.body }])

  await commit()
  await numberAll(here)
  expect(await readHistory(here.ctx, { accountId, after: 1, limit: 10 })).toEqual([{ position: 2, body: late.body }])
})

/** Writes an event in a transaction that stays open until the returned function is called. */
async function holdOpen(here: World, accountId: string): Promise<[{ body: string }, () => Promise<void>]> {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  let done: Promise<void> | undefined
  const written = await new Promise<{ body: string }>((resolve, reject) => {
    done = transact(here.pool, async (tx) => {
      const [event] = await tell(tx, here, accountId)
      resolve(event!)
      await released
    })
    done.catch(reject)
  })
  return [
    written,
    async () => {
      release()
      await done
    },
  ]
}

test('two processes that number at once give each event one position, without a gap', async () => {
  const here = await world()
  const accounts = await Promise.all([here.account(), here.account(), here.account()])
  for (const { accountId } of accounts) await transact(here.pool, (tx) => tell(tx, here, accountId, 40))
  await Promise.all([numberAll(here), numberAll(here), numberAll(here)])
  await numberAll(here)
  for (const { accountId } of accounts) {
    const told = await readHistory(here.ctx, { accountId, after: 0, limit: 100 })
    expect(told.map(({ position }) => position)).toEqual(Array.from({ length: 40 }, (_, place) => place + 1))
  }
})

test('a batch that another process holds is not numbered twice', async () => {
  const here = await world()
  const { accountId } = await here.account()
  await transact(here.pool, (tx) => tell(tx, here, accountId))
  await numberAll(here)
  await transact(here.pool, (tx) => tell(tx, here, accountId))
  const other = await here.pool.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock(4782115)')
  expect(await numberPending(here.ctx, makeNumberingMemory())).toBe('busy')
  await other.query('rollback')
  other.release()
  expect(await numberPending(here.ctx, makeNumberingMemory())).toBe('done')
})

test('each line of the audit log has a position in the history of the operators', async () => {
  const here = await world()
  await transact(here.pool, (tx) =>
    writeAudit(tx, here.clock.now(), SYSTEM, { action: 'reconcile.started', subject: 'x' }),
  )
  await numberAll(here)
  const rows = await query<{ count: number; last: number; lines: number }>(
    here.pool,
    `select count(*), max(position) as last, (select count(*) from audit_log) as lines from history where account_id = $1`,
    [OPERATORS],
  )
  expect(rows[0]!.count).toBe(rows[0]!.lines)
  expect(rows[0]!.last).toBe(rows[0]!.lines)
})

// ---- The tree ----

/** RFC 6962, section 2.1, word for word. */
function slowRoot(leaves: Hash[]): Hash {
  if (leaves.length === 0) return createHash('sha256').digest()
  if (leaves.length === 1) return leaves[0]!
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  const both = [slowRoot(leaves.slice(0, k)), slowRoot(leaves.slice(k))]
  return createHash('sha256')
    .update(Buffer.concat([Buffer.from([1]), ...both]))
    .digest()
}

/** Events as docs/history-format.md makes their leaves; lines of the log by the commitment that is stored. */
async function readLeaves({ pool }: World): Promise<Hash[]> {
  const rows = await query<{ class: string; salt: Buffer; place: Buffer; body: string; commitment: Buffer | null }>(
    pool,
    `select h.class, h.salt, uuid_send(h.account_id) || int8send(h.position) as place, e.body, h.commitment
     from history h left join events e on e.id = h.event_id order by h.leaf`,
  )
  return rows.map(({ class: kind, salt, place, body, commitment }) => {
    const made = () => createHash('sha256').update(salt).update(place).update(body).digest()
    return leafHash(Buffer.concat([Buffer.from(`${kind}\0`), commitment ?? made()]))
  })
}

test('each event is in the tree: its receipt proves it, and a later tree goes on from an earlier one', async () => {
  const here = await world()
  const { accountId } = await here.account()
  // Two stored subtrees of 256 leaves, and some more.
  const roots = new Map<number, Hash>()
  for (const count of [1, 2, 250, 4, 300]) {
    await transact(here.pool, (tx) => tell(tx, here, accountId, count))
    await numberAll(here)
    const leaves = await readLeaves(here)
    roots.set(leaves.length, slowRoot(leaves))
    const head = await signHead(here.ctx, { leaf: leaves.length - 1 })
    expect({ size: head.size, root: head.root }).toEqual({ size: leaves.length, root: slowRoot(leaves) })
  }
  const leaves = await readLeaves(here)
  const [size, root] = [leaves.length, slowRoot(leaves)]
  const db = { rows: (sql: string, params?: unknown[]) => query(here.pool, sql, params) } as Pick<Tx, 'rows'>
  for (const leaf of [0, 1, 2, 255, 256, 300, size - 2, size - 1]) {
    const path = await readInclusion(db, leaf, size)
    expect(rootByPath(leaves[leaf]!, { leaf, size, path })).toEqual(root)
  }
  for (const [olderSize, olderRoot] of roots) {
    const proof = await readConsistency(db, olderSize, size)
    expect(isConsistent({ size: olderSize, root: olderRoot }, { size, root }, proof)).toBe(true)
    const forged = { size: olderSize, root: createHash('sha256').update('other').digest() }
    expect(isConsistent(forged, { size, root }, proof)).toBe(false)
  }
})

/** RFC 9162, section 2.1.3.2. */
function rootByPath(leaf: Hash, proof: { leaf: number; size: number; path: Hash[] }): Hash {
  let [place, last, hash] = [proof.leaf, proof.size - 1, leaf]
  const join = (left: Hash, right: Hash) =>
    createHash('sha256')
      .update(Buffer.concat([Buffer.from([1]), left, right]))
      .digest()
  for (const sibling of proof.path) {
    if (place % 2 === 1 || place === last) {
      hash = join(sibling, hash)
      while (place % 2 === 0 && place !== 0) [place, last] = [place >> 1, last >> 1]
    } else hash = join(hash, sibling)
    ;[place, last] = [place >> 1, last >> 1]
  }
  return hash
}

test('the tree of any size is that of RFC 6962', () => {
  let edge: Edge = EMPTY_EDGE
  const leaves: Hash[] = []
  for (let size = 0; size <= 130; size++) {
    expect(rootOf(edge)).toEqual(slowRoot(leaves))
    const leaf = leafHash(Buffer.from(String(size)))
    leaves.push(leaf)
    edge = appendLeaves(edge, [leaf])
  }
})

// ---- Heads ----

test('the audit agrees with a batch of several accounts that goes on behind the leaves that it looks at together', async () => {
  const here = await world()
  const [one, other] = await Promise.all([here.account(), here.account()])
  const lines = await here.count('audit_log')
  await transact(here.pool, (tx) => tell(tx, here, one.accountId, LEAVES_AT_ONCE - 1 - lines))
  await numberAll(here)
  expect(await here.count('history')).toBe(LEAVES_AT_ONCE - 1)
  for (const { accountId } of [one, other]) await transact(here.pool, (tx) => tell(tx, here, accountId))
  await numberAll(here)
  expect((await audit(here.ctx)).differences).toEqual([])
})

test('a head is a checkpoint that the published key verifies', async () => {
  const here = await world()
  const { accountId } = await here.account()
  await transact(here.pool, (tx) => tell(tx, here, accountId))
  await numberAll(here)
  const head = await signHead(here.ctx)
  const key = here.ctx.settings.headKeys(`guiche.example/${head.historyId}`)[0]!
  const [text, signatures] = head.note.split('\n\n')
  const signature = Buffer.from(signatures!.trim().split(' ').at(-1)!, 'base64').subarray(4)
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key.publicBytes])
  const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' })
  expect(verify(null, Buffer.from(`${text}\n`), publicKey, signature)).toBe(true)
  expect(parseCheckpoint(head.note)).toMatchObject({ origin: `guiche.example/${head.historyId}`, size: head.size })
})

test('a database that lost positions begins another history, and signs nothing that contradicts an earlier head', async () => {
  const here = await world()
  const { accountId } = await here.account()
  const memory = makeNumberingMemory()
  for (let batch = 0; batch < 3; batch++) {
    await transact(here.pool, (tx) => tell(tx, here, accountId))
    await numberAll(here, memory)
  }
  const before = await signHead(here.ctx)
  await loseNewest(here, 2)
  await transact(here.pool, (tx) => tell(tx, here, accountId, 5))
  // A process that started after the loss does not know of it. The head outside the database does.
  await numberAll(here)
  const after = await signHead(here.ctx, { leaf: before.size })
  expect(after.historyId).not.toBe(before.historyId)
  expect(here.logged.some(({ text }) => text.includes('a new history began'))).toBe(true)
})

test('a service that stops binds its last events by a head, also those that had no position yet', async () => {
  const here = await world()
  const { accountId } = await here.account()
  const before = await signHead(here.ctx)
  await transact(here.pool, (tx) => tell(tx, here, accountId, 600))
  await signLastHead(here.ctx)
  const rows = await query<{ size: number }>(here.pool, 'select size from history_heads order by size desc limit 1')
  expect(rows[0]!.size).toBeGreaterThanOrEqual(before.size + 600)
  expect(await query(here.pool, 'select from unnumbered')).toEqual([])
})

test('a process that knew more positions begins another history before it gives one out again', async () => {
  const here = await world()
  const { accountId } = await here.account()
  const memory = makeNumberingMemory()
  for (let batch = 0; batch < 3; batch++) {
    await transact(here.pool, (tx) => tell(tx, here, accountId))
    await numberAll(here, memory)
  }
  await loseNewest(here, 2)
  await transact(here.pool, (tx) => tell(tx, here, accountId, 1))
  expect(await numberPending(here.ctx, memory)).toBe('lost')
  const ids = await query(here.pool, 'select id from histories')
  expect(ids).toHaveLength(2)
})
