import type { Tx } from './tx.ts'

// A few megabytes at a time, however many rows there are.
const ROWS_AT_ONCE = 10_000

/** For what SQL cannot do. The next rows are on their way while these are looked at. */
export async function* batchesOf<Row>(tx: Tx, sql: string): AsyncGenerator<Row[]> {
  await tx.run(`declare stream no scroll cursor for ${sql}`)
  const fetch = () => tx.rows<Row>(`fetch ${ROWS_AT_ONCE} from stream`)
  let next = fetch()
  try {
    for (let rows = await next; rows.length > 0; rows = await next) {
      next = fetch()
      yield rows
    }
  } finally {
    await next
    await tx.run('close stream')
  }
}
