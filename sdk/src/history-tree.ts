import { hashNode, isSame, sha256 } from './history-hashes.ts'

// A Merkle tree (RFC 6962) read from left to right keeps its right edge only: the whole subtrees that the next leaf may
// complete, each smaller than the one before. The leaves of the block that is being read have an edge of their own, so
// that the hash of the block is known when it ends.

/** Every 256 leaves an export tells the hash of the subtree over them. */
export const BLOCK_LEAVES = 256
const BLOCK_LEVEL = 8

type Subtree = { level: number; hash: Uint8Array }
export type Tree = { blocks: Subtree[]; block: Subtree[] }

/** `hash` covers 2^level leaves from `from` on. */
export function addSubtree(tree: Tree, { from, level, hash }: Subtree & { from: number }): void {
  if (from % BLOCK_LEAVES === 0) {
    for (const subtree of tree.block) append(tree.blocks, subtree)
    tree.block = []
  }
  append(level < BLOCK_LEVEL ? tree.block : tree.blocks, { level, hash })
}

export function copyTree({ blocks, block }: Tree): Tree {
  return { blocks: [...blocks], block: [...block] }
}

export function blockHash({ block }: Tree): Uint8Array {
  return fold(block)
}

export function hasRoot({ blocks, block }: Tree, root: Uint8Array): boolean {
  return isSame(fold([...blocks, ...block]), root)
}

function append(edge: Subtree[], { level, hash }: Subtree): void {
  let added = { level, hash }
  for (let last = edge.at(-1); last?.level === added.level; last = edge.at(-1)) {
    added = { level: last.level + 1, hash: hashNode(last.hash, added.hash) }
    edge.pop()
  }
  edge.push(added)
}

function fold(edge: Subtree[]): Uint8Array {
  const last = edge.at(-1)
  if (!last) return sha256()
  return edge.slice(0, -1).reduceRight((right, { hash }) => hashNode(hash, right), last.hash)
}
