import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, verify, type KeyObject } from 'node:crypto'

// Signed notes and checkpoints of C2SP: c2sp.org/signed-note and c2sp.org/tlog-checkpoint. Existing verifiers and
// witnesses understand them.

export type NoteKey = { name: string; privateKey: KeyObject; publicBytes: Buffer }

const ED25519 = Buffer.from([1])
// The beginning of an Ed25519 private key in PKCS #8 (RFC 8410). The 32 bytes of the key follow.
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_KEY_BYTES = 32
// The beginning of a public one (RFC 8410).
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')
const COSIGNATURE = 4
// The key’s id, the time and the signature.
const COSIGNATURE_BYTES = 4 + 8 + 64

/** The same key in every process that has the secret. A name belongs to one log, so each log has its own key. */
export function deriveNoteKey(secret: string, name: string): NoteKey {
  const seed = Buffer.from(hkdfSync('sha256', secret, name, 'guiche history head', 32))
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return { name, privateKey, publicBytes: der.subarray(-PUBLIC_KEY_BYTES) }
}

function keyId({ name, publicBytes }: NoteKey): Buffer {
  return createHash('sha256').update(`${name}\n`).update(ED25519).update(publicBytes).digest().subarray(0, 4)
}

/** The public key as verifiers are configured with it. */
export function verifierKey(key: NoteKey): string {
  const material = Buffer.concat([ED25519, key.publicBytes]).toString('base64')
  return `${key.name}+${keyId(key).toString('hex')}+${material}`
}

/** `text` ends with a newline. Every key signs: while keys are replaced, verifiers may know either. */
export function signNote(text: string, keys: NoteKey[]): string {
  const lines = keys.map((key) => {
    const signature = Buffer.concat([keyId(key), sign(null, Buffer.from(text), key.privateKey)])
    return `— ${key.name} ${signature.toString('base64')}\n`
  })
  return `${text}\n${lines.join('')}`
}

export type Checkpoint = { origin: string; size: number; root: Buffer }

export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** Of a checkpoint that we signed. Undefined if it is no checkpoint. */
export function parseCheckpoint(note: string): Checkpoint | undefined {
  const [origin, size, root, blank] = note.split('\n')
  if (!origin || !size || !/^(0|[1-9]\d{0,15})$/.test(size) || !root || blank !== '') return undefined
  const bytes = Buffer.from(root, 'base64')
  return bytes.length === 32 ? { origin, size: Number(size), root: bytes } : undefined
}

type Cosigner = { name: string; id: string; publicBytes: Buffer }

function parseCosignerKey(key: string): Cosigner | undefined {
  const [, name, id, material = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(key) ?? []
  const bytes = Buffer.from(material, 'base64')
  if (!name || !id || bytes[0] !== COSIGNATURE || bytes.length !== 1 + PUBLIC_KEY_BYTES) return undefined
  return { name, id, publicBytes: bytes.subarray(1) }
}

export function isCosignerKey(key: string): boolean {
  return parseCosignerKey(key) !== undefined
}

/** Whether a line is the cosignature of a checkpoint by this verifier key: c2sp.org/tlog-cosignature. */
export function verifyCosignature(note: string, line: string, key: string): boolean {
  const cosigner = parseCosignerKey(key)
  const [dash, signer, encoded] = line.split(' ')
  if (!cosigner || dash !== '—' || signer !== cosigner.name || !encoded) return false
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.length !== COSIGNATURE_BYTES || bytes.subarray(0, 4).toString('hex') !== cosigner.id) return false
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
  const signed = `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n${text}`
  const spki = Buffer.concat([SPKI_HEAD, cosigner.publicBytes])
  return verify(
    null,
    Buffer.from(signed),
    createPublicKey({ key: spki, format: 'der', type: 'spki' }),
    bytes.subarray(12),
  )
}
