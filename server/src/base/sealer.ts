import { createHmac, createSecretKey, hkdfSync, timingSafeEqual, type KeyObject } from 'node:crypto'

/**
 * Marks texts by a key that is not in the database: who can only write to the database cannot make a row that fits its
 * seal.
 */
export type Sealer = {
  seal(text: string): Buffer
  fits(seal: Buffer, text: string): boolean
}

// Half of a digest is beyond any guess, and half as long in each row.
const SEAL_BYTES = 16

/** The first key seals; all of them are tried, so that a key can be replaced. */
export function makeSealer(readKeys: () => string[]): Sealer {
  let keys: KeyObject[] | undefined
  const loaded = () =>
    (keys ??= readKeys().map((key) => createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'guiche row seal', 32)))))
  return {
    seal: (text) => sealBy(loaded()[0]!, text),
    fits: (seal, text) =>
      seal.length === SEAL_BYTES && loaded().some((key) => timingSafeEqual(sealBy(key, text), seal)),
  }
}

/** Of a pool whose user only reads, or writes nothing that has a seal. */
export const NO_SEALER: Sealer = {
  seal: () => {
    throw new Error('This pool was opened without a key for seals')
  },
  fits: () => {
    throw new Error('This pool was opened without a key for seals')
  },
}

// A prepared key makes a seal a quarter cheaper than the same key as bytes.
function sealBy(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest().subarray(0, SEAL_BYTES)
}
