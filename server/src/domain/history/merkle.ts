import { hash as hashOf } from 'node:crypto'

// The tree of RFC 6962, section 2.1. Leaves are counted from 0. A subtree of level n is complete: it has 2^n leaves,
// and its index counts the subtrees of its level.

export type Hash = Buffer
export const HASH_BYTES = 32

/** The roots of the complete subtrees that a tree of `size` leaves is made of, the largest first. */
export type Edge = { size: number; hashes: Hash[] }

export type Node = { level: number; index: number; hash: Hash }

export const EMPTY_EDGE: Edge = { size: 0, hashes: [] }

const EMPTY_ROOT = sha256()
const LEAF = Buffer.from([0])
const NODE = Buffer.from([1])

export function leafHash(data: Buffer): Hash {
  return sha256(LEAF, data)
}

export function nodeHash(left: Hash, right: Hash): Hash {
  return sha256(NODE, left, right)
}

function sha256(...parts: Buffer[]): Hash {
  return hashOf('sha256', Buffer.concat(parts), 'buffer')
}

/** Of hashes that are stored one behind the other. */
export function hashesOf(bytes: Buffer): Hash[] {
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, place) =>
    bytes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
  )
}

/** The edge with more leaves. `onNode` gets each subtree that became complete, also those of a single leaf. */
export function appendLeaves(edge: Edge, leaves: Hash[], onNode: (node: Node) => void = () => {}): Edge {
  const hashes = [...edge.hashes]
  let { size } = edge
  for (const leaf of leaves) {
    let hash = leaf
    let index = size
    onNode({ level: 0, index, hash })
    // Each trailing one of the size is a subtree that the new one completes.
    for (let level = 1; index % 2 === 1; level++) {
      hash = nodeHash(hashes.pop()!, hash)
      index = (index - 1) / 2
      onNode({ level, index, hash })
    }
    hashes.push(hash)
    size++
  }
  return { size, hashes }
}

export function rootOf({ hashes }: Edge): Hash {
  return hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => nodeHash(left, right))
}

export type Subtree = { level: number; index: number }

/** The complete subtrees that cover the leaves from `from` to before `to`, from left to right. */
export function coverOf(from: number, to: number): Subtree[] {
  const cover: Subtree[] = []
  for (let at = from; at < to;) {
    let level = 0
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= to) level++
    cover.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return cover
}

/** The largest power of two that is smaller than n, where RFC 6962 splits a tree of n leaves. */
function splitOf(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** A range of leaves whose root a proof holds. It is a part of the tree as RFC 6962 splits it. */
export type Range = { from: number; to: number }

/** PATH(leaf, D[size]): the ranges whose roots prove that the leaf is in the tree, from the leaf to the root. */
export function inclusionRanges(leaf: number, size: number): Range[] {
  const ranges: Range[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + splitOf(to - from)
    const isLeft = leaf < middle
    ranges.push(isLeft ? { from: middle, to } : { from, to: middle })
    if (isLeft) to = middle
    else from = middle
  }
  return ranges.toReversed()
}

/** PROOF(older, D[size]): the ranges whose roots prove that the tree of `size` leaves goes on from the older one. */
export function consistencyRanges(older: number, size: number): Range[] {
  if (older === 0 || older === size) return []
  const ranges: Range[] = []
  let [from, to] = [0, size]
  let isWhole = true
  while (older !== to) {
    const middle = from + splitOf(to - from)
    if (older <= middle) {
      ranges.push({ from: middle, to })
      to = middle
    } else {
      ranges.push({ from, to: middle })
      from = middle
      isWhole = false
    }
  }
  if (!isWhole) ranges.push({ from, to })
  return ranges.toReversed()
}

type Tree = { size: number; root: Hash }

/** RFC 9162, section 2.1.4.2, says how. */
export function isConsistent(older: Tree, newer: Tree, proof: readonly Hash[]): boolean {
  if (older.size > newer.size) return false
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root)
  if (older.size === 0) return proof.length === 0
  const isPowerOfTwo = 2 ** Math.floor(Math.log2(older.size)) === older.size
  const path = isPowerOfTwo ? [older.root, ...proof] : [...proof]
  const first = path.shift()
  if (!first) return false
  let [inner, last] = [older.size - 1, newer.size - 1]
  while (inner % 2 === 1) [inner, last] = [(inner - 1) / 2, Math.floor(last / 2)]
  let [olderRoot, newerRoot] = [first, first]
  for (const hash of path) {
    if (last === 0) return false
    if (inner % 2 === 1 || inner === last) {
      olderRoot = nodeHash(hash, olderRoot)
      newerRoot = nodeHash(hash, newerRoot)
      while (inner % 2 === 0 && inner !== 0) [inner, last] = [inner / 2, Math.floor(last / 2)]
    } else {
      newerRoot = nodeHash(newerRoot, hash)
    }
    inner = Math.floor(inner / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && olderRoot.equals(older.root) && newerRoot.equals(newer.root)
}
