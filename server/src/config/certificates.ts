import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { findCertificateProblem, readChain, type ClientCertificate } from '../base/client-certificate.ts'
import { file, refusal, secret, type Env } from './variables.ts'

// Client certificates arrive in every form. Each mistake has a sentence of its own, which quotes no password.

/** `name` is the variable that gave it. */
type Material = { name: string; bytes: Buffer }

type Source = { name: string; read(): Buffer }

/** Refuses what no connection could use. */
export function loadTls(env: Env, prefix: string): ClientCertificate | undefined {
  const [cert, key, pfx] = ['CERT', 'CERT_KEY', 'PFX'].map((part) => findSource(env, `${prefix}_${part}`))
  if (pfx && (cert || key)) throw refusal(pfx.name, `and ${(cert ?? key)?.name} exclude each other: set one`)
  if (pfx) return readPfx(open(pfx), prefix, secret(env, `${prefix}_PFX_PASSWORD`))
  if (!cert && !key) return undefined
  if (!cert) throw refusal(`${prefix}_CERT`, `must be set, since ${key!.name} is`)
  return readPair(prefix, open(cert), key && open(key))
}

/** NAME is the path of a file, and NAME_BASE64 is its content. */
function findSource(env: Env, name: string): Source | undefined {
  const path = env[name]
  const inBase64 = `${name}_BASE64`
  const encoded = secret(env, inBase64)
  if (path && encoded !== undefined) throw refusal(inBase64, `and ${name} exclude each other: set one`)
  if (path) return { name, read: () => file(name, path) }
  return encoded === undefined ? undefined : { name: inBase64, read: () => decode(inBase64, encoded) }
}

function open({ name, read }: Source): Material {
  const bytes = read()
  if (bytes.length === 0) throw refusal(name, 'must not be an empty file')
  return { name, bytes }
}

function decode(name: string, encoded: string): Buffer {
  const text = encoded.replaceAll(/\s/g, '')
  if (text.length % 4 === 1 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text))
    throw refusal(name, 'must be a file in Base64, for example the output of: base64 -w0 <file>')
  return Buffer.from(text, 'base64')
}

function isPem({ bytes }: Material): boolean {
  return bytes.includes('-----BEGIN ')
}

function readPfx(pfx: Material, prefix: string, password: string | undefined): ClientCertificate {
  if (isPem(pfx)) throw refusal(pfx.name, `holds PEM and not PFX: set ${pfx.name.replace('_PFX', '_CERT')} instead`)
  const tls = { pfx: pfx.bytes, ...(password === undefined ? {} : { password }) }
  try {
    createSecureContext({ pfx: pfx.bytes, ...(password === undefined ? {} : { passphrase: password }) })
    return tls
  } catch (error) {
    throw refusal(pfx.name, `cannot be opened ${whyClosed((error as Error).message, prefix, password)}`)
  }
}

function whyClosed(text: string, prefix: string, password: string | undefined): string {
  const variable = `${prefix}_PFX_PASSWORD`
  if (/mac verify/i.test(text))
    return password === undefined ? `without a password: set ${variable}` : `with this password: check ${variable}`
  // OpenSSL 3 rejects the ciphers of old files.
  if (/unsupported/i.test(text)) return 'because its ciphers are too old: convert it to PEM'
  return `(${text}): it is no PFX file, or it is damaged`
}

/** One file may hold certificate and key. */
function readPair(prefix: string, cert: Material, key: Material | undefined): ClientCertificate {
  const chain = readCertificates(cert)
  const certPem = cert.bytes.toString()
  if (!key && !certPem.includes('PRIVATE KEY-----'))
    throw refusal(`${prefix}_CERT_KEY`, `must be set, since ${cert.name} is and holds no private key`)
  const keyPem = (key ?? cert).bytes.toString()
  const keyName = (key ?? cert).name
  if (keyPem.includes('ENCRYPTED'))
    throw refusal(keyName, 'holds a private key with a password: remove it with openssl pkey -in <file> -out <file>')
  const privateKey = attempt(() => createPrivateKey(keyPem))
  if (!privateKey) throw refusal(keyName, 'must be a file with a private key in PEM form')
  const at = chain.findIndex((certificate) => certificate.checkPrivateKey(privateKey))
  if (at === -1) throw refusal(keyName, `is not the key of the certificate in ${cert.name}`)
  requireOrder(cert.name, chain, at)
  return { certPem, keyPem }
}

/** Servers get the chain as it stands in the file. */
function requireOrder(name: string, chain: X509Certificate[], at: number): void {
  if (at > 0) throw refusal(name, 'must begin with our own certificate; those of its issuers follow it')
  for (const [index, issuer] of chain.slice(1).entries()) {
    const issued = chain[index]!
    if (!issued.checkIssued(issuer))
      throw refusal(
        name,
        `lacks the certificate of ${issued.issuer.replaceAll('\n', ', ')} behind that which it issued`,
      )
  }
}

export function readCertificates({ name, bytes }: Material): X509Certificate[] {
  const chain = attempt(() => readChain(bytes.toString()))
  if (chain && chain.length > 0) return chain
  if (bytes[0] !== DER_SEQUENCE) throw refusal(name, 'must be a file with a certificate in PEM form')
  const isCertificate = attempt(() => new X509Certificate(bytes)) !== undefined
  const convert = 'is a certificate in DER form: convert it with openssl x509 -inform der -in <file> -out <file>'
  throw refusal(
    name,
    isCertificate ? convert : `holds PFX (P12) and not PEM: set ${name.replace('_CERT', '_PFX')} instead`,
  )
}

const DER_SEQUENCE = 0x30

export function loadAuthorities(name: string, path: string): string {
  const pem = file(name, path).toString()
  if (!attempt(() => readChain(pem))?.length) throw refusal(name, 'must be a file with a certificate in PEM form')
  return pem
}

/** Not refused: everything else still works, and another provider may take over. */
export type CertificateTrouble = { provider: string; text: string; stopsCalls: boolean }

export function certificateTroubles(
  providers: { name: string; tls?: ClientCertificate | undefined; signsCertificates?: boolean }[],
  now: Date,
): CertificateTrouble[] {
  return providers.flatMap<CertificateTrouble>(({ name: provider, tls, signsCertificates }) => {
    const problem = tls && findCertificateProblem(tls, now)
    if (!problem || (problem.kind === 'no_issuer' && signsCertificates)) return []
    if (problem.kind === 'no_issuer') {
      const text = `comes without the certificate of its issuer (${problem.issuer}): append it, or banks may refuse ours`
      return [{ provider, text, stopsCalls: false }]
    }
    const day = problem.at.toISOString().slice(0, 10)
    const text =
      problem.kind === 'expired'
        ? `expired on ${day}: get a new one from the bank`
        : `is valid only from ${problem.at.toISOString()} on: wait until then, or check the clock of this machine`
    return [{ provider, text, stopsCalls: true }]
  })
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
