import { createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'

// A test authority, which signs the certificates of the bank and of its customer. Node reads certificates and makes
// none, so this writes the few fields that TLS needs (X.509 in DER, RFC 5280).

export type CertificateFiles = { ca: string; cert: string; key: string }
export type ServerTls = { ca: string; cert: string; key: string }

// The authority stays, so that a service that trusts it survives a restart of the bank.
export function openAuthority(home: string, host: string): { files: CertificateFiles; server: ServerTls } {
  const at = (name: string) => join(home, name)
  const files = { ca: at('ca.crt'), cert: at('client.crt'), key: at('client.key') }
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const authority = readAuthority(at('ca.key'), files.ca) ?? makeAuthority(at('ca.key'), files)
  const server = issue('sandbox bank', authority, ['127.0.0.1', '::1', 'localhost', host])
  return { files, server: { ...server, ca: authority.cert } }
}

type Authority = { name: string; key: KeyObject; cert: string }

function readAuthority(keyPath: string, certPath: string): Authority | undefined {
  try {
    const cert = readFileSync(certPath, 'utf8')
    return {
      name: new X509Certificate(cert).subject.slice('CN='.length),
      key: createPrivateKey(readFileSync(keyPath)),
      cert,
    }
  } catch {
    return undefined
  }
}

// The key of the authority comes last: without it, the next start makes all of them again.
function makeAuthority(keyPath: string, files: CertificateFiles): Authority {
  const { publicKey, privateKey: key } = newKeys()
  // Its own, or OpenSSL would take the customer of another sandbox for a forgery and end the connection.
  const name = `sandbox authority ${randomBytes(8).toString('hex')}`
  const cert = certificate({ subject: name, issuer: name, publicKey, signer: key, extensions: [IS_AUTHORITY] })
  const client = issue('sandbox customer', { name, key, cert }, [])
  const write = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 })
  write(files.ca, cert)
  write(files.cert, client.cert)
  write(files.key, client.key)
  write(keyPath, pemOf(key))
  return { name, key, cert }
}

function issue(
  subject: string,
  { name: issuer, key: signer }: Authority,
  hosts: string[],
): { cert: string; key: string } {
  const { publicKey, privateKey } = newKeys()
  const extensions = hosts.length > 0 ? [subjectAltName(hosts)] : []
  return { cert: certificate({ subject, issuer, publicKey, signer, extensions }), key: pemOf(privateKey) }
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

// ---- DER ----

const DAY_MS = 86_400_000
// Certificates that outlive the tests that use them; years behind 2049 would need another form.
const VALID_DAYS = 3_650

function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const { length } = body
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(text)))))
const time = (at: Date): Buffer => der(0x17, Buffer.from(`${at.toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`))
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'))
const YES = der(0x01, Buffer.from([0xff]))
// Critical, as a verifier wants it.
const IS_AUTHORITY = sequence(oid('551d13'), YES, der(0x04, sequence(YES)))

// Of addresses of IPv6 only the loopback, which is the one that a sandbox has.
const LOOPBACK_6 = Buffer.from('01'.padStart(32, '0'), 'hex')

function subjectAltName(hosts: string[]): Buffer {
  const names = hosts.map((host) => {
    const version = isIP(host)
    if (version === 0) return der(0x82, Buffer.from(host))
    return der(0x87, version === 4 ? Buffer.from(host.split('.').map(Number)) : LOOPBACK_6)
  })
  return sequence(oid('551d11'), der(0x04, sequence(...names)))
}

type Wanted = { subject: string; issuer: string; publicKey: KeyObject; signer: KeyObject; extensions: Buffer[] }

function certificate({ subject, issuer, publicKey, signer, extensions }: Wanted): string {
  const now = Date.now()
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    // Positive, and never zero.
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(time(new Date(now - DAY_MS)), time(new Date(now + VALID_DAYS * DAY_MS))),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', toBeSigned, signer))
  const text = sequence(toBeSigned, ECDSA_SHA256, signature).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${text.replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END CERTIFICATE-----\n`
}
