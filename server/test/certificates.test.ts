import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../src/config/config.ts'
import { NEW_KEY, PFX_PASSWORD, makeClientCertificate } from './client-certificate.ts'
import { runCli, temporaryHome } from './process.ts'
import { closeAfterTest, openScriptedPsp } from './scripted-psp.ts'
import { CHARGE_SECRET } from './databases.ts'
import { world } from './world.ts'

// The mistakes that people make with the certificate of a bank, at the start and in `guiche doctor`.

let files: ReturnType<typeof makeClientCertificate>
let folder: string
const at = (name: string) => join(folder, name)
const text = (path: string) => readFileSync(path, 'utf8')
const write = (name: string, content: string | Buffer) => (writeFileSync(at(name), content), at(name))
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })

/** A leaf, signed by an intermediate, signed by a root, with which its file does not begin. */
function makeChain() {
  const request = (name: string) =>
    openssl('req', ...NEW_KEY, '-nodes', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
  const sign = (name: string, by: string) =>
    openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${by}.crt`, '-CAkey', `${by}.key`, '-CAcreateserial', '-out', `${name}.crt`) // prettier-ignore
  openssl('req', '-x509', ...NEW_KEY, '-nodes', '-subj', '/CN=root', '-keyout', 'root.key', '-out', 'root.crt')
  for (const [name, by] of [['middle', 'root'], ['leaf', 'middle']] as const) { request(name); sign(name, by) } // prettier-ignore
}

/** Valid at another time. Only `openssl ca` takes dates. */
function makeDated(name: string, start: string, end: string): string {
  mkdirSync(at(name))
  write(`${name}/index`, '')
  write(`${name}/serial`, '01')
  const lines = [`database=${name}/index`, `serial=${name}/serial`, `new_certs_dir=${name}`, 'default_md=sha256']
  write(
    `${name}/ca.cnf`,
    ['[ca]', 'default_ca=d', '[d]', ...lines, 'policy=p', '[p]', 'commonName=supplied'].join('\n'),
  )
  openssl('ca', '-batch', '-config', `${name}/ca.cnf`, '-selfsign', '-keyfile', 'leaf.key', '-in', 'leaf.csr', '-notext',
    '-startdate', start, '-enddate', end, '-out', `${name}.crt`) // prettier-ignore
  return at(`${name}.crt`)
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'guiche-certificates-'))
  files = makeClientCertificate(folder)
  makeChain()
  makeDated('expired', '20200101000000Z', '20200201000000Z')
  makeDated('future', '20490101000000Z', '20491201000000Z')
})

afterAll(() => rmSync(folder, { recursive: true }))

const PREFIX = 'PROVIDER_SANDBOX_'
const named = (variables: Record<string, string>) =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [`${PREFIX}${name}`, value]))
const envOf = (variables: Record<string, string>) => ({
  GUICHE_HOME: folder,
  ...named({ URL: 'http://127.0.0.1:9', TOKEN_URL: 'http://127.0.0.1:9', ...variables }),
})
const load = (variables: Record<string, string>) => loadConfig(envOf(variables))
const tlsOf = (variables: Record<string, string>) => {
  const [provider] = load(variables).providers
  return provider?.kind === 'api-pix' ? provider.tls : undefined
}

test('a certificate is taken as a PEM pair, as one PEM file, as PFX, and each of them in Base64', () => {
  const pair = { certPem: text(files.cert), keyPem: text(files.key) }
  const both = write('both.pem', text(files.key) + text(files.cert))
  const base64 = (path: string) => readFileSync(path).toString('base64')
  expect(tlsOf({ CERT: files.cert, CERT_KEY: files.key })).toEqual(pair)
  expect(tlsOf({ CERT: both })).toEqual({ certPem: text(both), keyPem: text(both) })
  expect(tlsOf({ CERT_BASE64: base64(files.cert), CERT_KEY_BASE64: base64(files.key) })).toEqual(pair)
  expect(tlsOf({ CERT_BASE64: base64(both) })).toEqual({ certPem: text(both), keyPem: text(both) })
  const wrapped = write('pfx.b64', `${base64(files.pfx).replaceAll(/.{64}/g, '$&\n')}\n`)
  const pfx = { pfx: readFileSync(files.pfx), password: PFX_PASSWORD }
  expect(tlsOf({ PFX: files.pfx, PFX_PASSWORD })).toEqual(pfx)
  expect(tlsOf({ PFX_BASE64_FILE: wrapped, PFX_PASSWORD })).toEqual(pfx)
  const chain = write('chain.crt', text(at('leaf.crt')) + text(at('middle.crt')))
  const inOrder = load({ CERT: chain, CERT_KEY: at('leaf.key') })
  expect(inOrder.certificateTroubles).toEqual([])
})

/** Each names the file that is wrong, as the person who set it up would. */
const REFUSED: [mistake: string, variables: () => Record<string, string>, sentence: string][] = [
  [
    'the key of another certificate',
    () => ({ CERT: files.cert, CERT_KEY: files.otherKey }),
    'CERT_KEY is not the key of the certificate in PROVIDER_SANDBOX_CERT',
  ],
  [
    'no key',
    () => ({ CERT: files.cert }),
    'CERT_KEY must be set, since PROVIDER_SANDBOX_CERT is and holds no private key',
  ],
  [
    'a PFX file given as PEM',
    () => ({ CERT: files.pfx, CERT_KEY: files.key }),
    'CERT holds PFX (P12) and not PEM: set PROVIDER_SANDBOX_PFX instead',
  ],
  [
    'a PEM file given as PFX',
    () => ({ PFX: files.cert }),
    'PFX holds PEM and not PFX: set PROVIDER_SANDBOX_CERT instead',
  ],
  [
    'a wrong password',
    () => ({ PFX: files.pfx, PFX_PASSWORD: 'wrong' }),
    'PFX cannot be opened with this password: check PROVIDER_SANDBOX_PFX_PASSWORD',
  ],
  [
    'no password',
    () => ({ PFX: files.pfx }),
    'PFX cannot be opened without a password: set PROVIDER_SANDBOX_PFX_PASSWORD',
  ],
  [
    'a damaged PFX file',
    () => ({ PFX: write('bad.pfx', readFileSync(files.pfx).subarray(0, 200)) }),
    'PFX cannot be opened (not enough data): it is no PFX file, or it is damaged',
  ],
  [
    'a chain with a gap',
    () => ({ CERT: write('gap.crt', text(at('leaf.crt')) + text(at('root.crt'))), CERT_KEY: at('leaf.key') }),
    'CERT lacks the certificate of CN=middle behind that which it issued',
  ],
  [
    'a chain from its other end',
    () => ({ CERT: write('back.crt', text(at('middle.crt')) + text(at('leaf.crt'))), CERT_KEY: at('leaf.key') }),
    'CERT must begin with our own certificate; those of its issuers follow it',
  ],
  [
    'a file that is not there',
    () => ({ PFX: '/no/such.pfx' }),
    "PFX must be the path of a file that can be read: ENOENT: no such file or directory, open '/no/such.pfx'",
  ],
  ['an empty file', () => ({ PFX: write('empty.pfx', '') }), 'PFX must not be an empty file'],
  [
    'text that is no Base64',
    () => ({ PFX_BASE64: '***' }),
    'PFX_BASE64 must be a file in Base64, for example the output of: base64 -w0 <file>',
  ],
]

test.each(REFUSED)(
  '%s is refused at the start and told by doctor, in a sentence of its own',
  async (_, make, sentence) => {
    const variables = make()
    expect(() => load(variables)).toThrow(`${PREFIX}${sentence}`)
    const { code, stdout } = await runCli(['doctor'], envOf(variables))
    expect([code, stdout]).toEqual([1, `✗ configuration        ${PREFIX}${sentence}\n`])
  },
)

test('no two mistakes share a sentence', () => {
  expect(new Set(REFUSED.map(([, , sentence]) => sentence)).size).toBe(REFUSED.length)
})

test('a certificate that works at another time only, or lacks its issuer, is told and does not stop the service', () => {
  const troubles = (CERT: string) => load({ CERT, CERT_KEY: at('leaf.key') }).certificateTroubles
  const trouble = (words: string, stopsCalls: boolean) => [
    { provider: 'sandbox', text: expect.stringContaining(words) as string, stopsCalls },
  ]
  expect(troubles(at('expired.crt'))).toEqual(trouble('expired on 2020-02-01: get a new one', true))
  expect(troubles(at('future.crt'))).toEqual(trouble('is valid only from 2049-01-01T00:00:00.000Z on', true))
  expect(troubles(at('leaf.crt'))).toEqual(
    trouble('without the certificate of its issuer (CN=middle): append it', false),
  )
  openssl('pkcs12', '-export', '-in', 'leaf.crt', '-inkey', 'leaf.key', '-out', 'leaf.pfx', '-passout', 'pass:')
  expect(load({ PFX: at('leaf.pfx') }).certificateTroubles).toEqual(trouble('(CN=middle)', false))
  // A bank that signs them itself knows the rest.
  const bank = { BANK: 'efi', CERT: at('leaf.crt'), CERT_KEY: at('leaf.key') }
  expect(load(bank).certificateTroubles).toEqual([])
})

test('doctor fails for a certificate that expired, and for scopes that the bank did not grant', async () => {
  const w = await world()
  const psp = await openScriptedPsp(() => ({ status: 404, json: { title: 'Cobrança não encontrada' } }), {
    token: () => ({ status: 200, json: { access_token: 't', expires_in: 60, scope: 'cob.read cob.write pix.read' } }),
  })
  closeAfterTest(() => psp.stop())
  const settings = { URL: psp.url, CERT: at('expired.crt'), CERT_KEY: at('leaf.key') }
  const env = { DATABASE_URL: w.databaseUrl, SECRET_KEY: CHARGE_SECRET, GUICHE_HOME: temporaryHome() }
  const { code, stdout } = await runCli(['doctor'], { ...env, ...named(settings) })
  expect(code).toBe(1)
  expect(stdout).toMatch(/^✗ certificate sandbox +expired on 2020-02-01: get a new one from the bank$/m)
  expect(stdout.match(/expired on/g)).toHaveLength(1)
  const missing = 'pix.write webhook.read webhook.write'
  expect(stdout).toMatch(new RegExp(`^✗ provider sandbox +the bank did not grant ${missing}: have it granted`, 'm'))
})
