import { fromBase64, isSame, sha256 } from './history-hashes.ts'
import { nodeCrypto } from './node-crypto.ts'

// A checkpoint is a signed note (c2sp.org/signed-note) with the size and the root of a log (c2sp.org/tlog-checkpoint).

export type Checkpoint = { origin: string; historyId: string; size: number; root: Uint8Array }
export type SignatureCode = 'no_key' | 'key_unknown' | 'signature'
export type SignatureProblem = { code: SignatureCode; text: string }
/** `checkpoint` is undefined if the text is none. `signedBy` is the verifier key, of those given, that signed it. */
export type OpenedCheckpoint = {
  checkpoint?: Checkpoint
  signedBy?: string
  problems: { code: 'checkpoint' | SignatureCode; text: string }[]
}

export type VerifierKey = { vkey: string; name: string; id: Uint8Array; publicKey: Uint8Array }
export type Note = { text: string; signatures: { name: string; id: Uint8Array; signature: Uint8Array }[] }

const ED25519 = 1
const KEY_ID_BYTES = 4
const SIGNATURE_BYTES = 64
const ROOT_BYTES = 32
/** The specification asks for 16 at least. Each costs a verification. */
const MAX_SIGNATURES = 64
const UTF8 = new TextEncoder()

export function openCheckpoint(text: string, keys: VerifierKey[]): OpenedCheckpoint {
  const note = parseNote(text)
  const checkpoint = note && parseCheckpoint(note.text)
  if (!note || !checkpoint) return { problems: [{ code: 'checkpoint', text: 'This is not a signed checkpoint.' }] }
  const { signedBy, problem } = verifyNote(note, checkpoint.origin, keys)
  return { checkpoint, ...(signedBy === undefined ? {} : { signedBy }), problems: problem ? [problem] : [] }
}

/** A key signs for the log of its own name only. */
export function verifyNote(
  note: Note,
  origin: string,
  keys: VerifierKey[],
): { signedBy?: string; problem?: SignatureProblem } {
  if (keys.length === 0)
    return { problem: { code: 'no_key', text: 'No key was given, so it is not known who signed the checkpoint.' } }
  let signedBy: string | undefined
  for (const { name, id, signature } of note.signatures) {
    const key = keys.find((key) => key.name === origin && key.name === name && isSame(key.id, id))
    if (!key) continue
    if (!isSignedBy(key, note.text, signature))
      return { problem: { code: 'signature', text: `The signature of ${name} does not fit the checkpoint.` } }
    signedBy ??= key.vkey
  }
  if (signedBy !== undefined) return { signedBy }
  return { problem: { code: 'key_unknown', text: `None of the given keys signed this checkpoint of ${origin}.` } }
}

function isSignedBy({ publicKey }: VerifierKey, text: string, signature: Uint8Array): boolean {
  const { createPublicKey, verify } = nodeCrypto('prove histories in Node, Bun or Deno')
  const x = btoa(String.fromCharCode(...publicKey))
    .replace(/=+$/, '')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return signature.length === SIGNATURE_BYTES && verify(null, UTF8.encode(text), key, signature)
}

/** Throws unless it is an Ed25519 verifier key: without it nothing could be proven. */
export function parseKey(vkey: string): VerifierKey {
  const [, name = '', hexId = '', encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? []
  const key = fromBase64(encoded, 1 + ROOT_BYTES)
  if (key?.[0] !== ED25519) throw new Error(`Not an Ed25519 verifier key, <name>+<id>+<key>: ${vkey}`)
  const id = sha256(UTF8.encode(`${name}\n`), key).slice(0, KEY_ID_BYTES)
  if (Number.parseInt(hexId, 16) !== new DataView(id.buffer, id.byteOffset).getUint32(0))
    throw new Error(`The verifier key has another id than its name and key give, so it was altered: ${vkey}`)
  return { vkey, name, id, publicKey: key.slice(1) }
}

export function parseNote(text: string): Note | undefined {
  const end = text.lastIndexOf('\n\n')
  // oxlint-disable-next-line no-control-regex -- A note holds no control character but the end of a line.
  if (end === -1 || /[\0-\t\v-\x1f]/.test(text)) return undefined
  const lines = text.slice(end + 2).split('\n')
  if (lines.pop() !== '' || lines.length === 0 || lines.length > MAX_SIGNATURES) return undefined
  const signatures: Note['signatures'] = []
  for (const line of lines) {
    const [, name, encoded = ''] = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? []
    const padding = encoded.length - encoded.replace(/=+$/, '').length
    const bytes = fromBase64(encoded, (encoded.length / 4) * 3 - padding)
    if (name === undefined || !bytes || bytes.length <= KEY_ID_BYTES) return undefined
    signatures.push({ name, id: bytes.slice(0, KEY_ID_BYTES), signature: bytes.slice(KEY_ID_BYTES) })
  }
  return { text: text.slice(0, end + 1), signatures }
}

function parseCheckpoint(text: string): Checkpoint | undefined {
  const [origin = '', size = '', root, ...more] = text.split('\n')
  const hash = fromBase64(root, ROOT_BYTES)
  // The text ends with a newline, so the last part is empty; parts before it are extensions.
  if (origin === '' || !hash || more.pop() !== '' || more.includes('')) return undefined
  if (!/^(0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size))) return undefined
  return { origin, historyId: origin.slice(origin.lastIndexOf('/') + 1), size: Number(size), root: hash }
}
