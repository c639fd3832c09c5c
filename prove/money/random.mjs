// Seeded random numbers. Each actor has its own stream, so that the interleaving does not change what they do.

import { createHash } from 'node:crypto'

export function makeRandom(seed, name = '') {
  let state = createHash('sha256').update(`${seed} ${name}`).digest().readUInt32LE()
  // The generator is mulberry32.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (min, max) => min + Math.floor(next() * (max - min + 1))
  return {
    int,
    chance: (share) => next() < share,
    pick: (list) => list[int(0, list.length - 1)],
    /** Picks one of the names, by weight. */
    weighted(weights) {
      let left = next() * Object.values(weights).reduce((sum, weight) => sum + weight, 0)
      return Object.keys(weights).find((name) => (left -= weights[name]) < 0) ?? Object.keys(weights)[0]
    },
    hex: (digits) => Array.from({ length: digits }, () => int(0, 15).toString(16)).join(''),
    stream: (below) => makeRandom(seed, `${name}/${below}`),
  }
}
