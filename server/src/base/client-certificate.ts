import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'

/** What a provider knows us by: a PEM pair, or a PFX file. */
export type ClientCertificate = { certPem: string; keyPem: string } | { pfx: Buffer; password?: string }

/** When the first certificate of the chain expires. Undefined: it cannot be read. */
export function certificateExpiry(given: ClientCertificate): Date | undefined {
  try {
    const chain = 'certPem' in given ? readChain(given.certPem) : readPfx(given)
    const times = chain.map(({ validTo }) => Date.parse(validTo))
    return times.length === 0 ? undefined : new Date(Math.min(...times))
  } catch {
    return undefined
  }
}

export function readChain(pem: string): X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return found.map((certificate) => new X509Certificate(certificate))
}

/** Node has no reader of PFX files, but its context of TLS tells the certificate that it would present. */
function readPfx({ pfx, password }: { pfx: Buffer; password?: string }): X509Certificate[] {
  const options = password === undefined ? { pfx } : { pfx, passphrase: password }
  const { context }: { context: { getCertificate?: () => Buffer | null } } = createSecureContext(options)
  const certificate = context.getCertificate?.()
  return certificate ? [new X509Certificate(certificate)] : []
}
