import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { runCommand } from '../src/commands/program.ts'
import { loadConfig } from '../src/config/config.ts'
import { makeClientCertificate } from './client-certificate.ts'
import { CLI, runCli, startChild, temporaryHome, type Ran } from './process.ts'
import { isInstalled } from './programs.ts'
import { until, world } from './world.ts'

type Exchange = [prompt: string, answer: string]

const ENTER = ''
// This secret needs quotes in the file, and not the most common ones.
const SECRET = `s3cr'et"of#client$1`
const SANDBOX: Exchange[] = [
  ['Mode', ENTER],
  ['Port', ENTER],
  ['outside world', ENTER],
  ['PostgreSQL', ENTER],
]
const LIVE: Exchange[] = [
  ['Mode', 'live'],
  ['Port', ENTER],
  ['outside world', 'https://pay.example.com'],
  ['Trust the proxy', ENTER],
  ['PostgreSQL', ENTER],
]
const API_PIX: Exchange[] = [
  ...LIVE,
  ['Payment provider', ENTER],
  ['Name of the provider', 'my-bank'],
  ['Base URL', 'https://pix.bank.example/v2/'],
  ['OAuth token URL', 'https://pix.bank.example/oauth/token'],
  ['Client id', 'client-1'],
  ['Client secret', SECRET],
  ['Pix key', 'pix@example.com'],
]
const NO_MAIL: Exchange = ['Mail server', ENTER]

/** Runs init, and answers each question when it is asked. `shown` is all that the terminal showed. */
async function converse(exchanges: Exchange[], args: string[] = []) {
  const directory = temporaryHome()
  const keyboard = new PassThrough()
  const left = [...exchanges]
  let stdout = ''
  let shown = ''
  let unanswered = ''
  const write = (text: string) => {
    shown += text
    unanswered += text
    if (left.length === 0 || !unanswered.includes(left[0]![0])) return
    const [, answer] = left.shift()!
    unanswered = ''
    setImmediate(() => keyboard.write(`${answer}\n`))
  }
  const code = await runCommand(['init', '--directory', directory, ...args], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write },
    readInput: async () => '',
    keyboard,
    env: { GUICHE_HOME: temporaryHome() },
    start: () => Promise.reject(new Error('init starts nothing')),
  })
  expect(left).toEqual([])
  return { code, stdout, shown, directory }
}

function init(directory: string, ...args: string[]): Promise<Ran> {
  return runCli(['init', '--directory', directory, ...args], { GUICHE_HOME: temporaryHome() })
}

/** The settings as a service that is started in this directory reads them. */
function loaded(directory: string) {
  const path = join(directory, '.env')
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
  const env = { ...parseEnv(readFileSync(path, 'utf8')) }
  const config = loadConfig(env)
  expect(config.warnings).toEqual([])
  expect(env['SECRET_KEY']).toMatch(/^[0-9a-f]{64}$/)
  return { env, config }
}

test('Enter at every question gives a sandbox, in a file that loads and that only its owner can read', async () => {
  const { code, stdout, shown, directory } = await converse(SANDBOX)
  expect([code, stdout]).toEqual([0, `Wrote ${join(directory, '.env')}\n`])
  expect(shown).toMatch(/\$ npx guiche doctor .*\n {2}\$ npx guiche start .*\n$/)
  const { env, config } = loaded(directory)
  expect(env).toMatchObject({ PORT: '3000', PUBLIC_URL: 'http://localhost:3000', PROVIDERS: 'sandbox' })
  expect([config.settings.mode, config.databaseUrl, config.mail]).toEqual(['test', undefined, undefined])
})

test('a live service with a PEM certificate is asked for all that it needs, and no secret is shown', async () => {
  const files = temporaryHome()
  makeClientCertificate(files)
  const { code, shown, directory } = await converse([
    ...API_PIX,
    ['Client certificate', join(files, 'a.crt')],
    ['private key', join(files, 'a.key')],
    ['Mail server', 'smtps://user:word@mail.example.com:465'],
    ['Sender', ENTER],
  ])
  expect(code).toBe(0)
  const { config } = loaded(directory)
  expect(config.providers).toMatchObject([
    {
      kind: 'api-pix',
      name: 'my-bank',
      url: 'https://pix.bank.example/v2',
      clientSecret: SECRET,
      pixKey: 'pix@example.com',
      tls: { certPem: expect.stringContaining('CERTIFICATE'), keyPem: expect.stringContaining('PRIVATE KEY') },
    },
  ])
  expect(config.mail).toEqual({
    smtpUrl: 'smtps://user:word@mail.example.com:465',
    requiresTls: true,
    from: 'guiche <no-reply@pay.example.com>',
  })
  expect(shown).not.toMatch(/s3cr|user:word/)
})

test('for a bank that is known, only what is its own is asked', async () => {
  const files = temporaryHome()
  const { cert, key } = makeClientCertificate(files)
  const asked = async (bank: string, exchanges: Exchange[]) => {
    const { code, shown, directory } = await converse([
      ...LIVE,
      ['Payment provider', bank],
      ['Name of the provider', ENTER],
      ...exchanges,
      NO_MAIL,
    ])
    expect([code, shown]).toEqual([0, expect.not.stringMatching(/Base URL|key-of-the-app/)])
    return loaded(directory).config.providers
  }
  const certificate: Exchange[] = [
    ['Client certificate, a PEM or PFX file:', cert],
    ['private key', key],
  ]
  const sicoob = await asked('sicoob', [['Client id', 'id'], ['Pix key', 'pix@example.com'], ...certificate])
  expect(sicoob).toMatchObject([{ name: 'sicoob', url: 'https://api.sicoob.com.br/pix/api/v2', clientSecret: '' }])
  const bb = await asked('bb', [
    ['Live or test', 'test'],
    ['Client id', 'id'],
    ['Client secret', 'secret'],
    ['Key of the application (gw-dev-app-key)', 'key-of-the-app&1'],
    ['Pix key', 'pix@example.com'],
  ])
  expect(bb).toMatchObject([
    {
      url: 'https://api.hm.bb.com.br/pix/v2',
      access: { query: { 'gw-dev-app-key': 'key-of-the-app&1' } },
      tls: undefined,
    },
  ])
  // Its token URL is not known for certain.
  const bradesco = await asked('bradesco', [
    ['OAuth token URL', 'https://token.example/token'],
    ['Client id', 'id'],
    ['Client secret', 'secret'],
    ['Pix key', 'pix@example.com'],
    ...certificate,
  ])
  expect(bradesco).toMatchObject([{ tokenUrl: 'https://token.example/token' }])
})

test('a PFX file is opened with its password before it is accepted', async () => {
  const files = temporaryHome()
  makeClientCertificate(files)
  const { code, shown, directory } = await converse([
    ...API_PIX,
    ['Client certificate', join(files, 'a.pfx')],
    ['Password', 'of another file'],
    ['PROVIDER_MY_BANK_PFX cannot be opened', 'of the file'],
    NO_MAIL,
  ])
  expect([code, shown.includes('of the file')]).toEqual([0, false])
  expect(loaded(directory).config.providers).toMatchObject([{ tls: { password: 'of the file' } }])
})

test('a live service trusts the proxy that its https URL needs, unless it is told otherwise', async () => {
  const { shown, directory } = await converse([...API_PIX, ['Client certificate', ENTER], NO_MAIL])
  expect(shown).toContain('Answer true if exactly one proxy is in front and writes that address to\n  X-Forwarded-For.')
  expect(loaded(directory).env['TRUST_PROXY']).toBe('true')

  const woovi = ['--yes', '--mode', 'live', '--provider', 'woovi', '--app-id', 'app']
  const written = async (...args: string[]) => {
    const path = temporaryHome()
    expect((await init(path, ...args)).stderr).not.toContain('Warning')
    return loaded(path).env['TRUST_PROXY']
  }
  expect(await written(...woovi, '--public-url', 'https://pay.example.com')).toBe('true')
  expect(await written(...woovi, '--public-url', 'https://pay.example.com', '--trust-proxy', 'false')).toBe('false')
  expect(await written(...woovi, '--public-url', 'http://localhost:3000')).toBe('false')
  expect(await written('--yes')).toBeUndefined()
  expect(await written('--yes', '--trust-proxy', 'true')).toBe('true')
  const wrong = await init(temporaryHome(), '--yes', '--trust-proxy', 'yes')
  expect(wrong.stderr).toBe('guiche: TRUST_PROXY must be one of true, false, not "yes"\n')
})

test('a live service has a METRICS_TOKEN that opens /metrics, and init says what it is for', async () => {
  const directory = temporaryHome()
  const live = ['--yes', '--mode', 'live', '--public-url', 'https://pay.example.com', '--provider', 'woovi']
  const { stderr } = await init(directory, ...live, '--app-id', 'app')
  const { env, config } = loaded(directory)
  const token = env['METRICS_TOKEN']!
  expect(token).toMatch(/^[0-9a-f]{64}$/)
  expect([config.settings.isMetricsToken(token), token === env['SECRET_KEY']]).toEqual([true, false])
  expect(stderr).toContain('Prometheus reads /metrics with METRICS_TOKEN as its bearer token.')
  expect(stderr).not.toContain(token)

  // The token stays the same, so Prometheus can go on with it.
  await init(directory, ...live, '--app-id', 'other', '--force')
  expect(loaded(directory).env['METRICS_TOKEN']).toBe(token)
  const sandbox = temporaryHome()
  expect((await init(sandbox, '--yes')).stderr).not.toContain('METRICS_TOKEN')
  expect(loaded(sandbox).env).not.toHaveProperty('METRICS_TOKEN')
})

test('woovi needs its app id alone', async () => {
  const { code, shown, directory } = await converse([
    ...LIVE,
    ['Payment provider', 'woovi'],
    ['Name of the provider', ENTER],
    ['AppID', 'Q2xpZW50X0lk=='],
    NO_MAIL,
  ])
  expect([code, shown.includes('Q2xpZW50')]).toEqual([0, false])
  expect(loaded(directory).config.providers).toMatchObject([{ kind: 'woovi', name: 'woovi', appId: 'Q2xpZW50X0lk==' }])
})

test('what cannot be right is told at once, and asked for again', async () => {
  const files = temporaryHome()
  makeClientCertificate(files)
  writeFileSync(join(files, 'text'), 'no certificate')
  const at = (name: string) => join(files, name)
  const { code } = await converse([
    ['Mode', 'production'],
    ['It must be sandbox or live', 'live'],
    ['Port', '99999'],
    ['PORT must be a whole number', '8080'],
    ['outside world', ENTER],
    ['An answer is needed', 'http://pay.example.com'],
    ['PUBLIC_URL must be an https URL', 'https://pay.example.com/guiche'],
    ['PUBLIC_URL must be a scheme and a host', 'https://pay.example.com'],
    ['Trust the proxy', 'yes'],
    ['TRUST_PROXY must be one of true, false', 'false'],
    ['PostgreSQL', 'mysql://here'],
    ['DATABASE_URL must look like', ENTER],
    ['Payment provider', ENTER],
    ['Name of the provider', 'sandbox'],
    ['choose another one', 'My Bank'],
    ['lower-case letters', ENTER],
    ['Base URL', 'ftp://bank.example'],
    ['PROVIDER_BANK_URL must be an http or https URL', 'http://bank.example'],
    ['PROVIDER_BANK_URL must be an https URL', 'https://bank.example'],
    ['OAuth token URL', 'https://bank.example/token'],
    ['Client id', 'two words'],
    ['must not have spaces', 'id'],
    ['Client secret', 'secret'],
    ['Pix key', 'key'],
    ['Client certificate', at('missing.crt')],
    ['ENOENT', at('text')],
    ['neither a PEM nor a PFX file', at('a.key')],
    ['must be a file with a certificate', at('a.crt')],
    ['private key', at('a.crt')],
    ['must be a file with a private key', at('other.key')],
    ['is not the key of', at('a.key')],
    ['Mail server', 'mail.example.com'],
    ['SMTP_URL must look like', ENTER],
  ])
  expect(code).toBe(0)
})

test('a database is tried before it is accepted, and what is wrong is said', async () => {
  const w = await world()
  const dead = `postgresql://guiche:hidden@127.0.0.1:${await freePort()}/guiche`
  const { code, shown, directory } = await converse([
    ['Mode', ENTER],
    ['Port', ENTER],
    ['outside world', ENTER],
    ['PostgreSQL', dead],
    ['cannot be reached', w.databaseUrl],
  ])
  expect([code, shown.includes('hidden')]).toEqual([0, false])
  expect(shown).toMatch(/Connecting to the database…\nIt is PostgreSQL \d+/)
  expect(loaded(directory).config.databaseUrl).toBe(w.databaseUrl)

  const empty = temporaryHome()
  const refused = await init(empty, '--yes', '--database-url', dead)
  expect([refused.code, refused.stderr.split('\n')[1]]).toEqual([1, expect.stringContaining('--no-connect')])
  expect(readdirSync(empty)).toEqual([])
  expect((await init(empty, '--yes', '--database-url', dead, '--no-connect')).code).toBe(0)
  expect(loaded(empty).config.databaseUrl).toBe(dead)
})

test('with --yes options answer, secrets come from files, and one refusal names all that is missing', async () => {
  const directory = temporaryHome()
  const missing = await init(directory, '--yes', '--mode', 'live')
  expect(missing).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'guiche: Add --public-url <url>, --provider-url <url>, --token-url <url>, --client-id <id>, --client-secret <secret>, --pix-key <key>\n',
  })
  const unattended = await init(directory, '--mode', 'live', '--provider', 'woovi')
  expect(unattended.stderr).toBe(
    'guiche: There is no terminal to ask at: add --yes, --public-url <url>, --app-id <id>\n',
  )
  expect(readdirSync(directory)).toEqual([])

  const secret = join(temporaryHome(), 'app-id')
  writeFileSync(secret, 'app\n')
  const woovi = ['--public-url', 'https://pay.example.com', '--provider', 'woovi', '--app-id', `@${secret}`]
  expect((await init(directory, '--yes', '--mode', 'live', ...woovi)).code).toBe(0)
  expect(loaded(directory).config.providers).toMatchObject([{ kind: 'woovi', appId: 'app' }])
  const wrong = await init(temporaryHome(), '--yes', '--port', '0')
  expect(wrong.stderr).toBe('guiche: PORT must be a whole number from 1 to 65535, not "0"\n')
})

test('an existing file is replaced only by --force, which keeps a copy, its key and what is not asked for', async () => {
  const directory = temporaryHome()
  const path = join(directory, '.env')
  writeFileSync(
    path,
    `SECRET_KEY=${'ab'.repeat(32)}\nFEE_BPS=80\nTRUST_PROXY=true\nPORT=4000\nPROVIDER_OLD_URL=https://old.example\n`,
  )
  const before = readFileSync(path, 'utf8')
  const refused = await init(directory, '--yes')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is there already')])
  expect(readFileSync(path, 'utf8')).toBe(before)

  for (const copy of ['.env.old-1', '.env.old-2']) {
    const replaced = await init(directory, '--yes', '--force')
    expect([replaced.code, replaced.stderr]).toEqual([0, expect.stringContaining(copy)])
  }
  expect(readFileSync(join(directory, '.env.old-1'), 'utf8')).toBe(before)
  expect(statSync(join(directory, '.env.old-1')).mode & 0o077).toBe(0)
  const { env, config } = loaded(directory)
  expect(env).toMatchObject({ SECRET_KEY: 'ab'.repeat(32), FEE_BPS: '80', TRUST_PROXY: 'true', PORT: '3000' })
  expect(config.providers).toEqual([{ kind: 'sandbox', name: 'sandbox' }])
  await init(directory, '--yes', '--force', '--trust-proxy', 'false')
  expect(loaded(directory).config.trustProxy).toBe(false)
})

test('secrets that a file names stay there, and those that are asked for are replaced', async () => {
  const directory = temporaryHome()
  const key = join(directory, 'key')
  writeFileSync(key, 'cd'.repeat(32))
  writeFileSync(join(directory, '.env'), `SECRET_KEY_FILE=${key}\nDATABASE_URL_FILE=${key}\nSMTP_URL_FILE=${key}\n`)
  expect((await init(directory, '--yes', '--force')).code).toBe(0)
  const env = parseEnv(readFileSync(join(directory, '.env'), 'utf8'))
  expect(Object.keys(env).toSorted()).toEqual(['PORT', 'PROVIDERS', 'PUBLIC_URL', 'SECRET_KEY_FILE'])
})

test('an embedded database that was used before goes on with its key', async () => {
  const home = temporaryHome()
  writeFileSync(join(home, 'secret-key'), `${'cd'.repeat(32)}\n`)
  const directory = temporaryHome()
  await runCli(['init', '--yes', '--directory', directory], { GUICHE_HOME: home })
  expect(loaded(directory).env['SECRET_KEY']).toBe('cd'.repeat(32))
  const elsewhere = temporaryHome()
  const database = ['--database-url', 'postgresql://a:b@db.example/guiche', '--no-connect']
  await runCli(['init', '--yes', '--directory', elsewhere, ...database], { GUICHE_HOME: home })
  expect(loaded(elsewhere).env['SECRET_KEY']).not.toBe('cd'.repeat(32))
})

test('a directory that cannot be written to is refused before the first question', async () => {
  const { code, shown } = await converse([], ['--directory', join(temporaryHome(), 'missing')])
  expect([code, shown]).toEqual([1, expect.stringMatching(/^guiche: .* cannot be written to: ENOENT/)])
})

/** Runs init in a real terminal, by script(1), and types each answer when its question is there. */
async function typeInto(directory: string, exchanges: Exchange[]) {
  const command = `'${process.execPath}' '${CLI}' init --directory '${directory}'`
  const child = startChild('script', ['-qefc', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], HOME: directory, GUICHE_HOME: join(directory, 'home') },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let shown = ''
  child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const exited = new Promise<number>((done) => void child.once('exit', (code) => done(code ?? -1)))
  let answered = 0
  for (const [prompt, answer] of exchanges) {
    await until(`${prompt} is asked; the terminal shows: ${shown}`, async () => shown.slice(answered).includes(prompt))
    answered = shown.length
    child.stdin.write(answer)
  }
  return { code: await exited, shown }
}

// Every Debian has script(1).
test.skipIf(!isInstalled('script'))('on a real terminal secrets are not shown, and Ctrl-C writes nothing', async () => {
  const directory = temporaryHome()
  const woovi: Exchange[] = [
    ...LIVE,
    ['Payment provider', 'woovi'],
    ['Name of the provider', ENTER],
    ['AppID', 'hidden-app-id'],
    NO_MAIL,
  ]
  const lines = woovi.map(([prompt, answer]): Exchange => [prompt, `${answer}\r`])
  const { code, shown } = await typeInto(directory, lines)
  expect([code, shown.includes('hidden-app-id')]).toEqual([0, false])
  // An answer that is no secret is shown as it is typed.
  expect(shown).toContain('https://pay.example.com')
  expect(loaded(directory).config.providers).toMatchObject([{ appId: 'hidden-app-id' }])

  const other = temporaryHome()
  const stopped = await typeInto(other, [...lines.slice(0, 7), ['AppID', 'half\u0003']])
  expect([stopped.code, stopped.shown]).toEqual([1, expect.stringContaining('Stopped; nothing was written')])
  expect(stopped.shown).not.toContain('half')
  expect(readdirSync(other)).toEqual([])
})
