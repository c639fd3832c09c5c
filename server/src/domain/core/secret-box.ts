import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts secrets of account holders, so that the database, its backups and its logs do not reveal them. */
export type SecretBox = {
  /** `owner` is the row's id: a sealed value copied to another row does not open there. */
  seal(text: string, owner: string): string
  open(sealed: string, owner: string): string
  /** Of a text that must be recognised and not read: by each key, the newest first. */
  hashes(text: string): string[]
  /** Ids of the keys, which are not secret; the first key seals. */
  keyIds(): string[]
}

const IV_BYTES = 12
const TAG_BYTES = 16

/** The first key seals; all of them open, so that a key can be replaced while rows sealed with the old one remain. */
export function makeSecretBox(readKeys: () => string[]): SecretBox {
  let keys: Key[] | undefined
  const loaded = () => (keys ??= readKeys().map(deriveKey))

  return {
    keyIds: () => loaded().map(({ id }) => id),
    seal(text, owner) {
      const { id, key } = loaded()[0]!
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(owner))
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${id}:${sealed.toString('base64')}`
    },
    hashes: (text) => loaded().map(({ hashKey }) => createHmac('sha256', hashKey).update(text).digest('hex')),
    open(sealed, owner) {
      const [id, encoded = ''] = sealed.split(':')
      const found = loaded().find((candidate) => candidate.id === id)
      if (!found)
        throw new Error(
          `a secret was sealed with another SECRET_KEY (id ${id}): add that key to SECRET_KEY, after a comma`,
        )
      const bytes = Buffer.from(encoded, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', found.key, bytes.subarray(0, IV_BYTES))
      decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
    },
  }
}

type Key = { id: string; key: Buffer; hashKey: Buffer }

function deriveKey(secret: string): Key {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', use, 32))
  const key = derive('guiche secret box')
  const hashKey = derive('guiche keyed hash')
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key, hashKey }
}
