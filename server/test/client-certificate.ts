import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

// A key on this curve is made in milliseconds; an RSA key takes up to half a second.
const CURVE = 'prime256v1'
/** Arguments of `openssl req` that make a new key. */
export const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', `ec_paramgen_curve:${CURVE}`]

export const PFX_PASSWORD = 'of the file'

/** A client certificate with its key, as PEM and as PFX, and the key of another one. Node itself cannot make them. */
export function makeClientCertificate(directory: string, days = 2) {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' })
  const subject = ['-subj', '/CN=shop', '-days', String(days)]
  openssl('req', '-x509', ...NEW_KEY, '-nodes', ...subject, '-keyout', 'a.key', '-out', 'a.crt')
  openssl('ecparam', '-name', CURVE, '-genkey', '-noout', '-out', 'other.key')
  openssl('pkcs12', '-export', '-in', 'a.crt', '-inkey', 'a.key', '-out', 'a.pfx', '-passout', `pass:${PFX_PASSWORD}`)
  const at = (name: string) => join(directory, name)
  return { cert: at('a.crt'), key: at('a.key'), otherKey: at('other.key'), pfx: at('a.pfx') }
}
