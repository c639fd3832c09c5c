import { Fault } from '../base/fault.ts'
import type { Pool } from './pool.ts'
import { prepared } from './prepared.ts'
import { query } from './tx.ts'

/** A statement that reads rows by their keys, `= any($1)`. Each row tells whose it is. */
export type SharedRead<Row> = { sql: string; keyOf: (row: Row) => string }

/** Reads the row of one key, in a statement that it shares with others who ask at the same time. */
export type SharedReads = <Row>(read: SharedRead<Row>, key: string) => Promise<Row | undefined>

type Reader<Value> = (key: string) => Promise<Value | undefined>
type Waiting<Value> = { key: string; resolve: (value: Value | undefined) => void; reject: (error: unknown) => void }

// Enough for everyone who asks in one turn, and still a statement of about a millisecond.
const MAX_KEYS = 200
// One is answered while the next is on its way. More would only make each of them smaller.
const MAX_IN_FLIGHT = 2
// With this many waiting the database is far behind, and a refusal is kinder than a longer queue.
const MAX_WAITING = 5_000

export function makeSharedReads(pool: Pool): SharedReads {
  const readers = new Map<SharedRead<unknown>, Reader<unknown>>()

  function readerOf<Row>(read: SharedRead<Row>): Reader<Row> {
    const known = readers.get(read as SharedRead<unknown>) as Reader<Row> | undefined
    if (known) return known
    const sql = prepared(read.sql)
    const reader = makeReader(async (keys) => {
      const rows = await query<Row>(pool, sql, [keys])
      return new Map(rows.map((row) => [read.keyOf(row), row]))
    })
    readers.set(read as SharedRead<unknown>, reader)
    return reader
  }

  return (read, key) => readerOf(read)(key)
}

/**
 * Gathers keys until the turn of the event loop ends, or while earlier statements are in flight, and reads them at
 * once. A statement always begins after all who share it have asked: joining one in flight could miss what was
 * committed in between.
 */
export function makeReader<Value>(read: (keys: string[]) => Promise<Map<string, Value>>): Reader<Value> {
  const waiting: Waiting<Value>[] = []
  let inFlight = 0
  let isScheduled = false

  function begin(): void {
    isScheduled = false
    while (waiting.length > 0 && inFlight < MAX_IN_FLIGHT) void readTogether(waiting.splice(0, MAX_KEYS))
  }

  async function readTogether(batch: Waiting<Value>[]): Promise<void> {
    inFlight += 1
    try {
      const values = await read([...new Set(batch.map(({ key }) => key))])
      for (const { key, resolve } of batch) resolve(values.get(key))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    inFlight -= 1
    begin()
  }

  return (key) => {
    if (waiting.length >= MAX_WAITING)
      return Promise.reject(new Fault('unavailable', 'The service is overloaded, please try again'))
    return new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject })
      if (isScheduled) return
      isScheduled = true
      setImmediate(begin)
    })
  }
}
