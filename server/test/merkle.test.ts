import { expect, test } from 'vitest'
import { consistencyRanges, isConsistent, leafHash, nodeHash, type Hash } from '../src/domain/history/merkle.ts'

const SIZE = 40
const leaves = Array.from({ length: SIZE }, (_, number) => leafHash(Buffer.from(`${number}`)))

/** MTH of RFC 6962, section 2.1, word for word. */
function rootOfRange(from: number, to: number): Hash {
  if (to - from === 1) return leaves[from]!
  let split = 1
  while (split * 2 < to - from) split *= 2
  return nodeHash(rootOfRange(from, from + split), rootOfRange(from + split, to))
}

test('the proof between any two sizes is accepted, and none for another root', () => {
  const roots = leaves.map((_, place) => rootOfRange(0, place + 1))
  const wrong: string[] = []
  for (let size = 2; size <= SIZE; size++)
    for (let older = 1; older < size; older++) {
      const proof = consistencyRanges(older, size).map(({ from, to }) => rootOfRange(from, to))
      const newer = { size, root: roots[size - 1]! }
      if (!isConsistent({ size: older, root: roots[older - 1]! }, newer, proof)) wrong.push(`${older} to ${size}`)
      if (isConsistent({ size: older, root: leaves[SIZE - 1]! }, newer, proof)) wrong.push(`forged ${older} to ${size}`)
    }
  expect(wrong).toEqual([])
})
