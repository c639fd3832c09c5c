type Hmac = { update(data: Uint8Array): Hmac; digest(encoding: 'base64'): string }

/** What is used of node:crypto. Its own types would bind the declarations of this package to Node. */
export type NodeCrypto = {
  createHmac(algorithm: 'sha256', key: Uint8Array): Hmac
  hash(algorithm: 'sha256', data: Uint8Array, encoding: 'buffer'): Uint8Array
  createPublicKey(key: { key: unknown; format: 'jwk' }): object
  verify(algorithm: null, data: Uint8Array, key: object, signature: Uint8Array): boolean
}

let loaded: NodeCrypto | undefined

/**
 * Loads node:crypto at the first use, which Node, Bun and Deno have. With an import, edge runtimes could not load the
 * package at all.
 */
export function nodeCrypto(advice: string): NodeCrypto {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } }
  loaded ??= process?.getBuiltinModule?.('node:crypto') as NodeCrypto | undefined
  if (loaded === undefined) throw new Error(`this runtime has no node:crypto: ${advice}`)
  return loaded
}
