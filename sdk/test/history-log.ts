import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'

// Makes logs, exports and receipts as docs/history-format.md describes them, with nothing of the code that proves them.

type Leaf = { account: string; class: 'event' | 'line' | 'personal'; body: string; isErased?: boolean }
type Own = Leaf & { leaf: number; position: number; salt: Buffer; commitment: Buffer; hash: Buffer }

const sha256 = (...parts: (Buffer | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

const SEED = sha256('a key for tests')
const KEY = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), SEED]),
  format: 'der',
  type: 'pkcs8',
})
const PUBLIC_KEY = createPublicKey(KEY).export({ format: 'der', type: 'spki' }).subarray(-32)
const TYPED_KEY = Buffer.concat([Buffer.of(1), PUBLIC_KEY])

const HISTORY_ID = '018f6f2b-2c41-7d5e-9a57-0c1d2e3f4a5b'
const ORIGIN = `pay.example.com/${HISTORY_ID}`
export const ACCOUNTS = [1, 2, 3].map((n) => `018f6f2b-0000-7000-8000-00000000000${n}`)

/** The same key under another name, as if it signed for another log, too. */
export const OTHER_NAME = 'pay.example.com/another'
export const vkeyOf = (name: string) => `${name}+${idOf(name).toString('hex')}+${TYPED_KEY.toString('base64')}`

export const VKEY = vkeyOf(ORIGIN)

export function signNote(text: string, name = ORIGIN): string {
  const signature = Buffer.concat([idOf(name), sign(null, Buffer.from(text), KEY)])
  return `${text}\n— ${name} ${signature.toString('base64')}\n`
}

function idOf(name: string): Buffer {
  return sha256(`${name}\n`, TYPED_KEY).subarray(0, 4)
}

export function makeLog(leaves: Leaf[]) {
  const positions = new Map<string, number>()
  const all: Own[] = leaves.map((leaf, index) => {
    const position = (positions.get(leaf.account) ?? 0) + 1
    positions.set(leaf.account, position)
    const salt = sha256(`salt ${index}`).subarray(0, 16)
    const commitment = sha256(placeOf({ ...leaf, salt, position }), leaf.body)
    return { ...leaf, leaf: index, position, salt, commitment, hash: sha256(`\0${leaf.class}\0`, commitment) }
  })
  const hashes = all.map(({ hash }) => hash)
  const root = rootOf(hashes)
  const checkpoint = signNote(`${ORIGIN}\n${all.length}\n${root.toString('base64')}\n`)
  return {
    root,
    export: (account: string) => exportLines(all, account, checkpoint),
    receipt(account: string, position: number) {
      const own = all.find((leaf) => leaf.account === account && leaf.position === position)!
      const path = pathTo(own.leaf, hashes).map((hash) => `${hash.toString('base64')}\n`)
      const extra = placeOf(own).toString('base64')
      return `c2sp.org/tlog-proof@v1\nextra ${extra}\nindex ${own.leaf}\n${path.join('')}\n${checkpoint}`
    },
  }
}

/** RFC 6962, section 2.1, word for word. */
export function rootOf(hashes: Buffer[]): Buffer {
  if (hashes.length === 0) return sha256()
  if (hashes.length === 1) return hashes[0]!
  const half = split(hashes.length)
  return sha256(Buffer.of(1), rootOf(hashes.slice(0, half)), rootOf(hashes.slice(half)))
}

function pathTo(index: number, hashes: Buffer[]): Buffer[] {
  if (hashes.length <= 1) return []
  const half = split(hashes.length)
  return index < half
    ? [...pathTo(index, hashes.slice(0, half)), rootOf(hashes.slice(half))]
    : [...pathTo(index - half, hashes.slice(half)), rootOf(hashes.slice(0, half))]
}

/** The largest power of two below `many`. */
function split(many: number): number {
  return 2 ** (Math.ceil(Math.log2(many)) - 1)
}

function placeOf({ salt, account, position }: { salt: Buffer; account: string; position: number }): Buffer {
  const number = Buffer.alloc(8)
  number.writeBigUInt64BE(BigInt(position))
  return Buffer.concat([salt, Buffer.from(account.replaceAll('-', ''), 'hex'), number])
}

function exportLines(all: Own[], accountId: string, checkpoint: string): string[] {
  const lines: object[] = [{ format: 'guiche-history-1', historyId: HISTORY_ID, accountId, keys: [VKEY], checkpoint }]
  const isOwn = (from: number, to: number) => all.slice(from, to).some(({ account }) => account === accountId)
  let next = 0
  while (next < all.length) {
    let level = 0
    const fits = (size: number) => next % size === 0 && next + size <= all.length && !isOwn(next, next + size)
    while (fits(2 ** (level + 1))) level++
    const { class: leafClass, position, salt, body, commitment, isErased, account, hash } = all[next]!
    const known = isErased ? { commitment: commitment.toString('base64') } : { salt: salt.toString('base64'), body }
    if (account === accountId)
      lines.push({ leaf: next, position, class: leafClass, ...known, hash: hash.toString('base64') })
    else lines.push({ from: next, level, hash: subtree(all, next, next + 2 ** level) })
    next += 2 ** level
    const block = (Math.ceil(next / 256) - 1) * 256
    if ((next % 256 === 0 || next === all.length) && isOwn(block, next))
      lines.push({ block, hash: subtree(all, block, next) })
  }
  return lines.map((line) => JSON.stringify(line))
}

function subtree(all: Own[], from: number, to: number): string {
  return rootOf(all.slice(from, to).map(({ hash }) => hash)).toString('base64')
}
