import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Log } from '../src/base/log.ts'
import type { Provider } from '../src/domain/ports/provider.ts'
import { makeApiPix, type ApiPixOptions } from '../src/providers/api-pix/adapter.ts'
import { NEW_KEY } from './client-certificate.ts'
import { closeAfterTest, cob, openScriptedPsp, TXID, type ScriptedPsp } from './scripted-psp.ts'

// A PSP that refuses clients without a certificate. Node cannot make certificates, so openssl makes them in each run:
// no key is in the repository, and none expires.

const PASSWORD = 'pfx-password-1234'
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

let home: string
let psp: ScriptedPsp

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'guiche-mtls-'))
  for (const name of ['server', 'client', 'stranger']) makeCertificate(name)
  openssl('pkcs12', '-export', '-in', 'client.crt', '-inkey', 'client.key', '-out', 'client.pfx', '-passout', `pass:${PASSWORD}`,
    // Newer versions of openssl no longer read what older ones write by default.
    '-keypbe', 'AES-256-CBC', '-certpbe', 'AES-256-CBC', '-macalg', 'sha256') // prettier-ignore
  psp = await openScriptedPsp(() => ({ status: 200, json: cob() }), {
    tls: {
      cert: file('server.crt'),
      key: file('server.key'),
      ca: file('client.crt'),
      requestCert: true,
      rejectUnauthorized: true,
    },
  })
})

afterAll(async () => {
  await psp.stop()
  rmSync(home, { recursive: true })
})

function openssl(...args: string[]): void {
  try {
    execFileSync('openssl', args, { cwd: home, stdio: 'pipe' })
  } catch (error) {
    throw new Error('this test makes its certificates with the openssl command, which failed or is not installed', {
      cause: error,
    })
  }
}

function makeCertificate(name: string): void {
  openssl('req', '-x509', ...NEW_KEY, '-nodes', '-days', '2', '-subj', `/CN=${name}`,
    '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', `${name}.key`, '-out', `${name}.crt`) // prettier-ignore
}

const file = (name: string) => readFileSync(join(home, name))
const text = (name: string) => file(name).toString()

function connect(options: Partial<ApiPixOptions>): Provider {
  const provider = makeApiPix({
    name: 'bank',
    url: psp.url,
    tokenUrl: psp.tokenUrl,
    clientId: 'client-1',
    clientSecret: 'quite-secret-0815',
    pixKey: 'chave@example.com',
    callsPerSecond: 0,
    now: () => new Date(),
    log: silent,
    caPem: text('server.crt'),
    timings: { backoffBaseMs: 1, readAttempts: 1, writeAttempts: 1 },
    ...options,
  })
  closeAfterTest(() => provider.close())
  return provider
}

test('a PEM pair opens the door, for the token and for the calls', async () => {
  const provider = connect({ tls: { certPem: text('client.crt'), keyPem: text('client.key') } })
  expect(await provider.check(TXID)).toMatchObject({ status: 'active' })
  expect(daysLeft(provider)).toBe(2)
})

const daysLeft = (provider: Provider) =>
  Math.round((provider.certificateExpiresAt!.getTime() - Date.now()) / 86_400_000)

test('a PFX with its password opens the door', async () => {
  const provider = connect({ tls: { pfx: file('client.pfx'), password: PASSWORD } })
  expect(await provider.check(TXID)).toMatchObject({ status: 'active' })
  expect(daysLeft(provider)).toBe(2)
})

test('without a certificate, or with a stranger’s, nothing is done', async () => {
  const before = psp.seen.length
  for (const tls of [undefined, { certPem: text('stranger.crt'), keyPem: text('stranger.key') }]) {
    const provider = connect(tls ? { tls } : {})
    const request = { txid: TXID, valueCents: 50_00, expiresInSeconds: 3_600, description: null }
    await expect(provider.create(request)).rejects.toMatchObject({ outcome: 'unreachable' })
  }
  expect(psp.seen).toHaveLength(before)
})

test('a server whose certificate nobody vouches for is not talked to', async () => {
  const before = psp.seen.length
  const provider = connect({
    caPem: text('stranger.crt'),
    tls: { certPem: text('client.crt'), keyPem: text('client.key') },
  })
  await expect(provider.check(TXID)).rejects.toMatchObject({ outcome: 'unreachable' })
  expect(psp.seen).toHaveLength(before)
})

test('a certificate that cannot be read is refused at the start, without its password', () => {
  expect(() => connect({ tls: { certPem: 'nonsense', keyPem: 'nonsense' } })).toThrow(
    /client certificate cannot be read/,
  )
  const wrong = () => connect({ tls: { pfx: file('client.pfx'), password: 'wrong-password' } })
  expect(wrong).toThrow(/client certificate cannot be read/)
  expect(wrong).not.toThrow(/wrong-password/)
})

test('authorities to trust may be several in one file, and a file that holds none is refused at the start', async () => {
  const tls = { certPem: text('client.crt'), keyPem: text('client.key') }
  const provider = connect({ tls, caPem: `# two\n${text('stranger.crt')}\n${text('server.crt')}` })
  expect(await provider.check(TXID)).toMatchObject({ status: 'active' })
  for (const caPem of ['nonsense', '', text('server.crt').replace('MII', 'AAA')]) {
    expect(() => connect({ tls, caPem })).toThrow(/certificate of the authority to trust cannot be read/)
  }
})
