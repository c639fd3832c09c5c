// Follows the signed heads of the log as a stranger would: by the specifications (RFC 9162, C2SP signed-note and
// tlog-checkpoint), without the service's code.

import { createHash, createPublicKey, verify } from 'node:crypto'

const SIGNATURE_LINE = /^\u2014 (\S+) (\S+)\n$/
const ED25519 = 1

/** Takes heads in the order in which they were asked for. `breach(text)` is called for each contradiction. */
export function followHeads(breach) {
  let last
  return {
    count: 0,
    since: () => last?.size,
    /** `consistency` of the head is the proof from the size that was asked for. */
    take(head, since) {
      this.count++
      const known = last?.size === since ? last : undefined
      const next = { historyId: head.historyId, size: head.size, root: rootOf(head, breach) }
      if (last && next.historyId !== last.historyId)
        breach(`another history began: ${last.historyId}, ${next.historyId}`)
      if (known && next.size < known.size) breach(`the head went back from ${known.size} to ${next.size}`)
      else if (known && !isConsistent(known, next, head.consistency.map(bytes)))
        breach(`the head of size ${next.size} does not go on from that of size ${known.size}`)
      if (!last || next.size >= last.size) last = next
    },
  }
}

/** The root that the note signs, which must be the root of the answer. */
function rootOf({ origin, keys, size, root, checkpoint }, breach) {
  const at = checkpoint.lastIndexOf('\n\n') + 1
  const [text, lines] = [checkpoint.slice(0, at), checkpoint.slice(at + 1)]
  const [name, signed] = SIGNATURE_LINE.exec(lines)?.slice(1) ?? []
  if (text !== `${origin}\n${size}\n${root}\n`) breach(`the checkpoint is not that of its head: ${text}`)
  if (name !== origin || !keys.some((key) => isSigned(key, text, bytes(signed))))
    breach(`the checkpoint of size ${size} is not signed by a key of the log`)
  return bytes(root)
}

function isSigned(key, text, signature) {
  const [, id, encoded] = /^[^+]+\+([0-9a-f]{8})\+(.+)$/.exec(key) ?? []
  const [kind, ...publicKey] = bytes(encoded)
  if (kind !== ED25519 || signature.subarray(0, 4).toString('hex') !== id) return false
  const x = Buffer.from(publicKey).toString('base64url')
  const known = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, Buffer.from(text), known, signature.subarray(4))
}

/** RFC 9162, section 2.1.4.2. */
function isConsistent(first, second, proof) {
  if (first.size === second.size) return proof.length === 0 && first.root.equals(second.root)
  if (first.size === 0) return proof.length === 0
  const path = isPowerOfTwo(first.size) ? [first.root, ...proof] : [...proof]
  if (path.length === 0) return false
  let [left, right] = [first.size - 1, second.size - 1].map(BigInt)
  for (; left & 1n; left >>= 1n) right >>= 1n
  let [older, newer] = [path[0], path[0]]
  for (const hash of path.slice(1)) {
    if (right === 0n) return false
    if (left & 1n || left === right) {
      older = nodeHash(hash, older)
      newer = nodeHash(hash, newer)
      for (; left && !(left & 1n); left >>= 1n) right >>= 1n
    } else newer = nodeHash(newer, hash)
    left >>= 1n
    right >>= 1n
  }
  return right === 0n && older.equals(first.root) && newer.equals(second.root)
}

function nodeHash(left, right) {
  return createHash('sha256').update(Buffer.of(1)).update(left).update(right).digest()
}

function isPowerOfTwo(size) {
  return Number.isInteger(Math.log2(size))
}

function bytes(text = '') {
  return Buffer.from(text, 'base64')
}
