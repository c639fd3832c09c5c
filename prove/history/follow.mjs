// Follows the histories of accounts, and the heads of the log, while processes and databases are killed. In the end
// compares what was read with what is in the database.

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { followHeads } from './heads.mjs'
import { bearer, READER_WAYS, startReader } from './readers.mjs'

/** What these judge. `breach(claim)` takes the text of a breach. */
export const FOLLOW_CLAIMS = {
  once: 'every event has one position, and the positions of an account are 1, 2, 3 …',
  same: 'every reader read every event once, in the order of the positions, as the same bytes',
  heads: 'every head of the log is signed, and goes on from the one before it',
}

const HEAD_EVERY_MS = 500
const TIMEOUT_MS = 15_000
const POLL_MS = 100

/** Each way of reading, for each account. `arrivals` of a reader says when it got which body. */
export function startReaders({ accounts, urls, makeGuiche, breach }) {
  const stopping = makeStop()
  const all = accounts.flatMap((account) =>
    READER_WAYS.map((way) => {
      const arrivals = new Map()
      const told = (_, body) => void arrivals.set(body, performance.now())
      const signal = stopping.signal
      const reader = startReader(way, { account, urls, makeGuiche, breach: breach('same'), signal, told })
      return { ...reader, arrivals }
    }),
  )
  const stop = async () => {
    stopping.abort()
    await Promise.all(all.map(({ ended }) => ended))
  }
  return { all, stop }
}

/** Asks the processes in turn for the head, with the proof that it goes on from the one before. */
export function startHeads({ account, urls, breach }) {
  const heads = followHeads(breach('heads'))
  const over = new AbortController()
  const follow = async () => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      const since = heads.since()
      const url = `${urls[turn % urls.length]}/api/events/head${since === undefined ? '' : `?since=${since}`}`
      const init = { headers: bearer(account), signal: AbortSignal.timeout(TIMEOUT_MS) }
      const answer = await fetch(url, init).catch(() => undefined)
      if (answer?.ok) heads.take(await answer.json(), since)
      else if (answer?.status === 400) breach('heads')(`the head is smaller than ${since}: ${await answer.text()}`)
      await sleep(HEAD_EVERY_MS)
    }
  }
  const following = follow()
  return {
    count: () => heads.count,
    async stop() {
      over.abort()
      await following
      if (heads.count === 0) breach('heads')('no head was answered')
    },
  }
}

/** By account, the bodies in the order of their positions. */
export async function readHistories(rows) {
  const found = await rows(
    `select h.account_id as id, array_agg(e.body order by h.position) as bodies
     from history h join events e on e.id = h.event_id group by h.account_id`,
  )
  return new Map(found.map(({ id, bodies }) => [id, bodies]))
}

/** Waits until the readers have what is there now, and stops them. They may have read more: events go on. */
export async function judgeReaders({ all, stop }, { rows, withinMs, breach }) {
  const before = await readHistories(rows)
  const countOf = ({ account }) => before.get(account.id)?.length ?? 0
  await within(withinMs, () => all.every((reader) => reader.read.length >= countOf(reader)))
  await stop()
  const after = await readHistories(rows)
  for (const reader of all) {
    const { way, read, account } = reader
    const bodies = after.get(account.id) ?? []
    const first = read.findIndex((body, place) => body !== bodies[place])
    if (first >= 0 || read.length < countOf(reader))
      breach('same')(
        `${way} of account ${account.number} read ${read.length} of ${bodies.length} events, equal up to ${first}`,
      )
  }
}

/** Returns how many events there are. A new one has its position some milliseconds later. */
export async function judgePositions({ rows, withinMs, breach }) {
  const lacking = () =>
    rows(`select e.id from events e left join history h on h.event_id = e.id where h.event_id is null`)
  if (!(await within(withinMs, async () => (await lacking()).length === 0)))
    breach('once')(`${(await lacking()).length} events have no position`)
  const gaps = await rows(
    `select account_id, count(distinct event_id)::int as events, max(position)::int as last from history
     where event_id is not null
     group by account_id having count(distinct event_id) <> max(position) or count(*) <> max(position) or min(position) <> 1`,
  )
  for (const { account_id: id, events, last } of gaps)
    breach('once')(`${id} has ${events} events up to position ${last}`)
  return (await rows('select count(*)::int as count from events'))[0].count
}

export function makeStop() {
  const stopping = new AbortController()
  // Hundreds of requests listen to it.
  setMaxListeners(0, stopping.signal)
  return stopping
}

export async function within(ms, isDone) {
  const until = performance.now() + ms
  while (!(await isDone())) {
    if (performance.now() > until) return false
    await sleep(POLL_MS)
  }
  return true
}
