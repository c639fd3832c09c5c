import { X509Certificate } from 'node:crypto'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { OperatorError } from './operator-error.ts'

/** How a provider recognises us: a PEM pair, or a PFX file. */
export type ClientCertificate = { certPem: string; keyPem: string } | { pfx: Buffer; password?: string }

/** When the first certificate of the chain expires; undefined if it cannot be read. */
export function certificateExpiry(given: ClientCertificate): Date | undefined {
  try {
    const chain = chainOf(given)
    const times = chain.map(({ validTo }) => Date.parse(validTo))
    return times.length === 0 ? undefined : new Date(Math.min(...times))
  } catch {
    return undefined
  }
}

export type CertificateProblem = { kind: 'expired' | 'not_yet_valid'; at: Date } | { kind: 'no_issuer'; issuer: string }

/** What may keep a server from accepting it. A private authority's customers may send the certificate alone. */
export function findCertificateProblem(given: ClientCertificate, now: Date): CertificateProblem | undefined {
  const chain = chainOf(given)
  for (const { validFrom, validTo } of chain) {
    if (Date.parse(validTo) <= now.getTime()) return { kind: 'expired', at: new Date(validTo) }
    if (Date.parse(validFrom) > now.getTime()) return { kind: 'not_yet_valid', at: new Date(validFrom) }
  }
  const [own] = chain
  const isAlone = own && chain.length === 1 && !own.checkIssued(own)
  return isAlone ? { kind: 'no_issuer', issuer: own.issuer.replaceAll('\n', ', ') } : undefined
}

function chainOf(given: ClientCertificate): X509Certificate[] {
  return 'certPem' in given ? readChain(given.certPem) : readPfx(given)
}

export function readChain(pem: string): X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return found.map((certificate) => new X509Certificate(certificate))
}

/** Node cannot read PFX files, but a TLS context tells which certificate it would present, and its issuer's. */
function readPfx({ pfx, password }: { pfx: Buffer; password?: string }): X509Certificate[] {
  const options = password === undefined ? { pfx } : { pfx, passphrase: password }
  type Shown = { getCertificate?: () => Buffer | null; getIssuer?: () => Buffer | null }
  const { context }: { context: Shown } = createSecureContext(options)
  return [context.getCertificate?.(), context.getIssuer?.()].flatMap((der) => (der ? [new X509Certificate(der)] : []))
}

/** Throws at the start, and not at the first call, if a certificate cannot be read. */
export function makeSecureContext(options: { tls?: ClientCertificate; caPem?: string }): SecureContext {
  const { tls, caPem } = options
  const ca = caPem === undefined ? {} : { ca: [...rootCertificates, ...readAuthorities(caPem)] }
  if (!tls) return createSecureContext(ca)
  try {
    if ('certPem' in tls) return createSecureContext({ ...ca, cert: tls.certPem, key: tls.keyPem })
    const passphrase = tls.password === undefined ? {} : { passphrase: tls.password }
    return createSecureContext({ ...ca, pfx: tls.pfx, ...passphrase })
  } catch (error) {
    // OpenSSL 3 rejects the ciphers of old PFX files as "unsupported".
    const text = `The client certificate cannot be read (${messageOf(error)}); if it is an old PFX, convert it to PEM`
    throw new OperatorError(text, { cause: error })
  }
}

// Node accepts a text without any, and then every connection fails.
function readAuthorities(pem: string): string[] {
  try {
    const found = readChain(pem)
    if (found.length === 0) throw new Error('No certificate in PEM form')
    return found.map((certificate) => certificate.toString())
  } catch (error) {
    const text = `The certificate of the authority to trust cannot be read (${messageOf(error)})`
    throw new OperatorError(text, { cause: error })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason'
}
