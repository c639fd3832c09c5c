import { expect, test } from 'vitest'
import { findNewer, type ReadPage } from '../src/deposits/deposit-list.ts'

const NOW_MS = Date.parse('2026-03-02T12:00:00Z')
const row = (number: number, atMs: number) => ({
  id: String(number).padStart(8, '0'),
  createdAt: new Date(atMs).toISOString(),
  paymentLinkId: `link ${number}`,
})
type Row = ReturnType<typeof row>

/** Lists as the API does: newest first, from (inclusive) to (exclusive). Counts what is asked. */
function apiOf(rows: readonly Row[]) {
  const asked: unknown[] = []
  const read: ReadPage = async ({ from, to, limit }) => {
    asked.push([from, to])
    const fits = rows
      .filter(({ createdAt }) => createdAt >= String(from) && (to === undefined || createdAt < String(to)))
      .toReversed()
    return { deposits: fits.slice(0, Number(limit)), nextCursor: fits.length > Number(limit) ? 'more' : null }
  }
  return { read, asked }
}

const NONE = { from: undefined, to: undefined }

test.each([1, 60, 3_600, 86_400])(
  'of thousands of deposits, %i s apart, the next newer one is found by few requests',
  async (seconds) => {
    const rows = Array.from({ length: 3_000 }, (_, number) => row(number, NOW_MS - (3_000 - number) * seconds * 1000))
    const { read, asked } = apiOf(rows)
    for (const number of [0, 1, 1_500, 2_950, 2_998])
      expect(await findNewer(read, rows[number]!, NONE)).toEqual(rows[number + 1])
    expect(await findNewer(read, rows.at(-1)!, NONE)).toBeUndefined()
    expect(asked.length).toBeLessThan(40)
  },
)

test('deposits that come in heaps, with long pauses, are gone through one by one', async () => {
  const heaps = [0, 1, 2].flatMap((heap) =>
    Array.from({ length: 400 }, (_, place) =>
      row(heap * 400 + place, NOW_MS - (3 - heap) * 90 * 86_400_000 + place * 20),
    ),
  )
  const { read } = apiOf(heaps)
  for (const number of [399, 400, 520, 799, 1_198])
    expect(await findNewer(read, heaps[number]!, NONE)).toEqual(heaps[number + 1])
})

test('the bounds of the list are kept', async () => {
  const rows = Array.from({ length: 300 }, (_, number) => row(number, NOW_MS - (300 - number) * 3_600_000))
  const { read } = apiOf(rows)
  const to = rows[150]!.createdAt
  expect(await findNewer(read, rows[148]!, { from: undefined, to })).toEqual(rows[149])
  expect(await findNewer(read, rows[149]!, { from: undefined, to })).toBeUndefined()
})
