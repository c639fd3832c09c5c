import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readDatabaseUrl, unencryptedHosts } from '../src/db/database-url.ts'
import { migrate } from '../src/db/migrate.ts'
import { NEW_KEY } from './client-certificate.ts'
import { startTlsProxy } from './database-proxy.ts'
import { runCli, runProcess, temporaryHome } from './process.ts'
import { world } from './world.ts'

test('several hosts are read as libpq does', () => {
  const url = 'postgresql://me:w,rd@a:3250,[::1],b/guiche?target_session_attrs=read-write'
  expect(readDatabaseUrl(url)).toEqual({
    connectionString: 'postgresql://me:w,rd@a:3250/guiche',
    ssl: false,
    hosts: [
      { host: 'a', port: 3250 },
      { host: '::1', port: 5432 },
      { host: 'b', port: 5432 },
    ],
  })
})

test('hosts beyond this machine without a word about TLS are named', () => {
  const hosts = (address: string) => unencryptedHosts(`postgresql://me:word@${address}`)
  expect(hosts('db.example/guiche')).toEqual(['db.example'])
  expect(hosts('127.0.0.1,db.example:6432,[fd00::1]/guiche')).toEqual(['db.example', 'fd00::1'])
  expect(hosts('/guiche?host=db.example')).toEqual(['db.example'])
  for (const local of ['localhost/guiche', '127.0.0.1:5432/guiche', '[::1]/guiche', '/guiche?host=/run/postgresql'])
    expect(hosts(local)).toEqual([])
  for (const mode of ['disable', 'require', 'verify-full']) expect(hosts(`db.example/x?sslmode=${mode}`)).toEqual([])
})

test.each([
  ['postgresql://me:word@a,,b/guiche', 'must list hosts as a:5432,b:5432'],
  ['postgresql://me:word@/guiche?host=a,b', 'must list several hosts before the database'],
  ['postgresql://me:word@a,b/guiche?target_session_attrs=any', 'must lead to the primary'],
  ['postgresql://me:word@a,b/guiche?load_balance_hosts=random', 'must lead to the primary'],
])('%s is refused', (url, text) => {
  expect(() => readDatabaseUrl(url)).toThrow(`DATABASE_URL ${text}`)
})

test.each([
  [
    'postgresql://me:ses#ame@db/guiche',
    'must look like postgresql://user:password@host:5432/database; write other characters',
  ],
  [
    'postgresql://me:sesame@db:port/guiche',
    'must look like postgresql://user:password@host:5432/database; write other characters',
  ],
  [
    'postgresql://me:sesame@db/guiche?sslmode=prefer',
    'has sslmode=prefer: use one of disable, require, verify-ca, verify-full',
  ],
  ['postgresql://me:sesame@db/guiche?ssl=true', 'must not use ssl=…: use sslmode=verify-full'],
  ['postgresql://me:sesame@db/guiche?sslmode=verify-ca', 'has sslmode=verify-ca without sslrootcert'],
  [
    'postgresql://me:sesame@db/guiche?sslmode=require&sslrootcert=/no/file',
    'has sslrootcert=/no/file, which cannot be read: ENOENT',
  ],
])('%s is refused without its password', (url, text) => {
  const refuse = () => readDatabaseUrl(url)
  expect(refuse).toThrow(`DATABASE_URL ${text}`)
  expect(refuse).not.toThrow('ame@')
})

test('what has nothing to do with TLS is left as it is', () => {
  const url = 'postgresql://guiche:word@/guiche?host=%2Ftmp%2Fa%2Cb&port=5432'
  expect(readDatabaseUrl(url)).toEqual({ connectionString: url, ssl: false, hosts: [] })
  expect(readDatabaseUrl('postgresql://me@db/guiche?sslmode=require&application_name=x')).toMatchObject({
    connectionString: 'postgresql://me@db/guiche?application_name=x',
    ssl: { rejectUnauthorized: false },
  })
})

// ---- A database behind TLS whose certificate a private authority has made, for the address 127.0.0.1 ----

let home: string

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'guiche-tls-'))
  for (const [name, address] of [
    ['right', '127.0.0.1'],
    ['elsewhere', '192.0.2.1'],
  ])
    execFileSync(
      'openssl',
      ['req', '-x509', ...NEW_KEY, '-nodes', '-days', '2', '-subj', `/CN=${name}`]
        .concat('-addext', `subjectAltName=IP:${address}`)
        .concat('-keyout', `${name}.key`, '-out', `${name}.crt`),
      { cwd: home, stdio: 'pipe' },
    )
})

afterAll(() => rmSync(home, { recursive: true }))

const WORKS = 'works'
test.each([
  ['right', 'require', undefined, WORKS],
  ['right', 'require', 'elsewhere', 'self-signed certificate'],
  ['right', 'verify-ca', 'right', WORKS],
  ['right', 'verify-ca', 'elsewhere', 'self-signed certificate'],
  ['right', 'verify-full', 'right', WORKS],
  ['right', 'verify-full', undefined, 'self-signed certificate'],
  ['elsewhere', 'require', undefined, WORKS],
  ['elsewhere', 'verify-ca', 'elsewhere', WORKS],
  ['elsewhere', 'verify-full', 'elsewhere', "IP: 127.0.0.1 is not in the cert's list"],
])('the certificate %s by sslmode=%s with the authority %s: %s', async (certificate, mode, authority, outcome) => {
  const w = await world()
  const pem = (name: string) => readFileSync(join(home, name), 'utf8')
  const url = await startTlsProxy(w.directUrl, { key: pem(`${certificate}.key`), cert: pem(`${certificate}.crt`) })
  const root = authority ? `&sslrootcert=${encodeURIComponent(join(home, `${authority}.crt`))}` : ''
  const tried = await migrate(`${url}?sslmode=${mode}${root}`).then(
    () => WORKS,
    (error: Error) => error.message,
  )
  expect(tried).toContain(outcome)
  if (outcome !== WORKS)
    expect(tried).toMatch(/^The database at DATABASE_URL cannot be reached by TLS: .*docs\/operations\.md$/)
})

test('a command by TLS says nothing but its answer, and a database without TLS is told in one line', async () => {
  const w = await world()
  const pem = (name: string) => readFileSync(join(home, name), 'utf8')
  const url = await startTlsProxy(w.directUrl, { key: pem('right.key'), cert: pem('right.crt') })
  const env = { GUICHE_HOME: temporaryHome() }
  const quiet = await runProcess(['key', 'list', '--json'], { ...env, DATABASE_URL: `${url}?sslmode=require` })
  expect(quiet).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  const plain = await runCli(['key', 'list'], { ...env, DATABASE_URL: `${w.directUrl}&sslmode=require` })
  expect(plain.stderr).toBe(
    'guiche: The database at DATABASE_URL cannot be reached by TLS: The server does not support SSL connections; see sslmode and sslrootcert in docs/operations.md\n',
  )
})
