import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { VERSION } from '../src/base/version.ts'
import { examineDisk } from '../src/commands/doctor-machine.ts'
import { migrate } from '../src/db/migrate.ts'
import { joinPresence, readRunning } from '../src/db/presence.ts'
import { query } from '../src/db/tx.ts'
import { dayOf } from '../src/domain/core/business-days.ts'
import { signUp } from '../src/domain/accounts/sign-up.ts'
import { makeProcessStatus } from '../src/process-status.ts'
import { purge } from '../src/workers/purge.ts'
import { emptyDatabase } from './empty-database.ts'
import { runCli, runProcess, temporaryHome } from './process.ts'
import { makeClientCertificate } from './client-certificate.ts'
import { startSmtp } from './smtp-server.ts'
import { CHARGE_SECRET } from './databases.ts'
import { authenticate, until, world, type World } from './world.ts'

function envOf(w: World): Record<string, string> {
  const bank = { PROVIDER_SANDBOX_URL: w.sandbox.url, SECRET_KEY: CHARGE_SECRET }
  return { DATABASE_URL: w.databaseUrl, ...bank, GUICHE_HOME: temporaryHome() }
}

test('account create prints JSON with a password once, and key create prints a key that works, alone', async () => {
  const w = await world()
  const env = envOf(w)
  const made = await runCli(['account', 'create', '--email', 'Ana@Loja.example', '--name', 'Loja da Ana'], env)
  expect(JSON.parse(made.stdout)).toEqual({
    accountId: expect.any(String),
    email: 'ana@loja.example',
    name: 'Loja da Ana',
    password: expect.stringMatching(/^\S{20}$/),
  })

  const key = await runCli(
    ['key', 'create', '--email', 'ana@loja.example', '--name', 'shop', '--scopes', 'deposits:read'],
    env,
  )
  expect(key.stdout).toMatch(/^gk_test_[0-9A-Za-z]{49}\n$/)
  expect(await authenticate(w.ctx, key.stdout.trim())).toMatchObject({
    accountName: 'Loja da Ana',
    scopes: ['deposits:read'],
  })

  const list = await runCli(['key', 'list', '--json'], env)
  const [listed] = JSON.parse(list.stdout) as { keyId: string }[]
  expect(list.stdout).not.toContain(key.stdout.trim())
  expect((await runCli(['key', 'revoke', listed!.keyId], env)).code).toBe(0)
  w.clock.advance(2000)
  await expect(authenticate(w.ctx, key.stdout.trim())).rejects.toThrow('Invalid API key')
})

test('account create takes a password from standard input and never prints it', async () => {
  const w = await world()
  const made = await runCli(
    ['account', 'create', '--email', 'a@example.com', '--password-stdin'],
    envOf(w),
    'correct horse battery\n',
  )
  expect(made.code).toBe(0)
  expect(made.stdout).not.toContain('correct horse')
})

test('invite prints a link that makes an account, alone, and says whom it is for', async () => {
  const w = await world()
  const env = { ...envOf(w), PUBLIC_URL: 'https://guiche.example' }
  const made = await runCli(['invite', '--email', 'Bia@Loja.example', '--days', '2'], env)
  expect(made.stdout).toMatch(/^https:\/\/guiche\.example\/sign-up\?invitation=[\w-]{32}\n$/)
  expect(made.stderr).toMatch(/^For bia@loja\.example\. It works once, until \S+ \S+ UTC\.\n$/)
  const invitation = new URL(made.stdout.trim()).searchParams.get('invitation')
  const person = { email: 'bia@loja.example', name: 'Bia', password: 'correct horse battery' }
  expect(await signUp(w.ctx, { ...person, invitation })).toMatchObject({ isNew: true, isEmailVerified: true })
  expect((await runCli(['invite', '--days', '91'], env)).stderr).toContain('It must be a whole number from 1 to 90.')
})

test('pay pays at the bank, and audit agrees once the payment is settled and names it before', async () => {
  // The command uses the machine's clock. So the world begins two hours behind it, and can advance.
  const w = await world({ at: new Date(Date.now() - 2 * 3_600_000) })
  const env = envOf(w)
  const account = await w.account()
  const charge = await w.deposit(account)
  await w.sandbox.faults({ dropNotifications: true })
  expect((await runCli(['pay', charge.paymentLinkId], env)).stdout).toMatch(/^Paid R\$ 50,00, endToEndId E\w{31}\n$/)

  const before = await runCli(['audit'], env)
  expect(before.code).toBe(1)
  expect(before.stdout).toMatch(
    /1 difference:\n {2}provider: payment E\w{31} sandbox received 5000 cents \(txid [0-9a-f]{32}\), but it is not in our books/,
  )

  w.clock.advance(3_700_000)
  const { checkDue } = await import('../src/workers/check.ts')
  await checkDue(w.ctx)
  const after = await runCli(['audit'], env)
  expect(after.stdout).toContain('Everything agrees')
  expect(after.code).toBe(0)
})

test('doctor names what is wrong and exits 1', async () => {
  const w = await world()
  const healthy = await runCli(['doctor'], envOf(w))
  expect(healthy.stdout.match(/^✓/gm)).toHaveLength(4)
  expect(healthy.code).toBe(0)
  const mistyped = await runCli(['doctor'], { ...envOf(w), FEE_BSP: '50' })
  expect(mistyped.stdout).toContain(
    '! configuration        FEE_BSP is set, but nothing reads it: did you mean FEE_BPS?\n',
  )
  expect(mistyped.code).toBe(0)
  const sick = await runCli(['doctor'], { ...envOf(w), PROVIDER_SANDBOX_URL: 'http://127.0.0.1:9' })
  expect(sick.stdout).toMatch(/^✗ provider sandbox/m)
  expect(sick.code).toBe(1)
})

test('doctor shows the newest backup, of whatever tool, and that it is too old', async () => {
  const w = await world()
  const shown = async (env = {}) => {
    const { stdout } = await runCli(['doctor'], { ...envOf(w), ...env })
    return stdout.split('\n').filter((line) => line.slice(2).startsWith('backup '))
  }
  expect(await shown()).toEqual([])
  expect(await shown({ BACKUP_EXPECTED_HOURS: '24' })).toEqual([
    expect.stringMatching(/^✗ backup +none was ever recorded: record each with guiche backup --record <place>$/),
  ])
  const recorded = await runCli(['backup', '--record', 's3://guiche'], envOf(w))
  expect(recorded).toMatchObject({ code: 0, stdout: expect.stringContaining('s3://guiche, recorded') })
  expect(await shown()).toEqual([expect.stringMatching(/^✓ backup +the newest ended at \S+Z, in s3:\/\/guiche$/)])
  await query(w.pool, `update backups set ended_at = ended_at - interval '37 hours'`)
  expect(await shown()).toEqual([expect.stringMatching(/^✗ backup .*, and one was expected within 36 hours$/)])
})

test('doctor says which processes run, and that is a failure if none of them is a worker', async () => {
  const w = await world()
  const start = async (role: 'api' | 'worker') => onTestFinished((await joinPresence(w.databaseUrl, { role })).leave)
  await start('api')
  await start('api')
  const alone = await runCli(['doctor'], envOf(w))
  expect(alone.stdout).toMatch(/^✗ processes +2 api, and no worker: .*guiche start --role worker$/m)
  expect(alone.code).toBe(1)
  await start('worker')
  const complete = await runCli(['doctor'], envOf(w))
  expect(complete.stdout).toMatch(/^✓ processes +2 api, 1 worker$/m)
  expect(complete.code).toBe(0)
})

/** The lines that doctor prints on a topic while processes with these states run. */
async function told(w: World, topic: string, ...statuses: object[]): Promise<string[]> {
  const presences = await Promise.all(
    statuses.map(() => joinPresence(w.databaseUrl, { role: 'all', renewEveryMs: 20 })),
  )
  presences.forEach((presence, index) => presence.describe(async () => statuses[index]!))
  const haveTold = async () => (await readRunning(w.pool)).filter(({ status }) => status).length === statuses.length
  await until('all have told', haveTold)
  const { stdout } = await runCli(['doctor'], envOf(w))
  await Promise.all(presences.map((presence) => presence.leave()))
  return stdout.split('\n').filter((line) => line.slice(2).startsWith(`${topic} `))
}

test('doctor warns of a proxy whose headers a running process ignores', async () => {
  const w = await world()
  const status = makeProcessStatus(w.ctx)
  await w.app.inject({ url: '/livez' })
  expect(await told(w, 'proxy', await status())).toEqual([])
  await w.app.inject({ url: '/livez', headers: { 'x-forwarded-for': '203.0.113.9' } })
  await w.app.inject({ url: '/livez', headers: { 'x-forwarded-for': '203.0.113.10' } })
  expect(await told(w, 'proxy', await status())).toEqual([
    expect.stringMatching(/^! proxy +X-Forwarded-For .* was in 2 requests and is ignored: .* Set TRUST_PROXY=true and/),
  ])
})

test('doctor names old rows that no worker could delete for an hour', async () => {
  const w = await world()
  const status = makeProcessStatus(w.ctx)
  const healthy = await status()
  await query(w.pool, 'alter table attempts rename to away')
  await purge(w.ctx)
  await status()
  w.clock.advance(3_599_000)
  expect(await told(w, 'old rows', await status())).toEqual([])
  w.clock.advance(1_000)
  const failing = await status()
  expect(await told(w, 'old rows', failing)).toEqual([
    expect.stringMatching(
      /^✗ old rows +attempts: could not be deleted for more than an hour, .*deleting old rows failed/,
    ),
  ])
  expect(await told(w, 'old rows', failing, healthy)).toEqual([])
  await query(w.pool, 'alter table away rename to attempts')
  await purge(w.ctx)
  expect(await status()).toMatchObject({ purgeFailing: [] })
})

test('doctor names what a live service sends over plain http', async () => {
  const w = await world()
  const bank = { PROVIDERS: 'bank', PROVIDER_BANK_KIND: 'api-pix', PROVIDER_BANK_URL: w.sandbox.url }
  const access = {
    PROVIDER_BANK_CLIENT_ID: 'id',
    PROVIDER_BANK_CLIENT_SECRET: 'secret',
    PROVIDER_BANK_PIX_KEY: 'k@example.com',
  }
  const { stdout, code } = await runCli(['doctor'], {
    ...envOf(w),
    ...bank,
    ...access,
    PROVIDER_BANK_TOKEN_URL: `${w.sandbox.url}/oauth/token`,
    PUBLIC_URL: 'http://pay.example.com',
    ALLOW_PLAIN_HTTP: 'true',
  })
  expect(stdout).toMatch(/^! plain http +PUBLIC_URL: traffic is not encrypted, because ALLOW_PLAIN_HTTP is set$/m)
  expect(code).toBe(0)
})

test('doctor says what a live service without a mail server cannot do, and that is no failure', async () => {
  const w = await world()
  const { url } = w.sandbox
  const live = {
    PROVIDERS: 'mybank',
    PROVIDER_MYBANK_KIND: 'api-pix',
    PROVIDER_MYBANK_URL: url,
    PROVIDER_MYBANK_TOKEN_URL: `${url}/oauth/token`,
    PROVIDER_MYBANK_CLIENT_ID: 'x',
    PROVIDER_MYBANK_CLIENT_SECRET: 'x',
    PROVIDER_MYBANK_PIX_KEY: 'x@guiche.example',
    PUBLIC_URL: 'https://pay.example.com',
  }
  const { stdout, code } = await runCli(['doctor'], { ...envOf(w), ...live })
  expect(stdout).toMatch(/^! mail +SMTP_URL is not set: .*guiche account password/m)
  expect(code).toBe(0)

  const mailed = async (SMTP_URL: string) => (await runCli(['doctor'], { ...envOf(w), ...live, SMTP_URL })).stdout
  expect(await mailed('smtp://127.0.0.1:1')).toMatch(/^✗ mail +the server of SMTP_URL cannot be used: .*ECONNREFUSED/m)
  const server = await startSmtp()
  expect(await mailed(server.url)).toMatch(/^✓ mail +the server of SMTP_URL takes e-mail$/m)
})

test('doctor tells how long the certificate for a bank is valid, warns for a month and fails for a week', async () => {
  const w = await world()
  const doctor = async (days: number) => {
    const { cert, key } = makeClientCertificate(temporaryHome(), days)
    const tls = { PROVIDER_SANDBOX_CERT: cert, PROVIDER_SANDBOX_CERT_KEY: key }
    const { stdout, code } = await runCli(['doctor'], { ...envOf(w), ...tls })
    return [code, /^.*certificate sandbox.*$/m.exec(stdout)?.[0]]
  }
  const day = (pattern: RegExp): unknown => expect.stringMatching(pattern)
  expect(await doctor(31)).toEqual([0, day(/^✓ certificate sandbox +valid until \d{4}-\d\d-\d\d$/)])
  expect(await doctor(20)).toEqual([0, day(/^! certificate sandbox +expires on \S+, in 19 days: get a new one from/)])
  expect(await doctor(2)).toEqual([1, day(/^✗ certificate sandbox +expires on \S+, in 1 day: get a new one from/)])
})

test('doctor names a key of another certificate by its variable', async () => {
  const w = await world()
  const { cert, otherKey } = makeClientCertificate(temporaryHome())
  const tls = { PROVIDER_SANDBOX_CERT: cert, PROVIDER_SANDBOX_CERT_KEY: otherKey }
  expect(await runCli(['doctor'], { ...envOf(w), ...tls })).toEqual({
    code: 1,
    stdout:
      '✗ configuration        PROVIDER_SANDBOX_CERT_KEY is not the key of the certificate in PROVIDER_SANDBOX_CERT\n',
    stderr: '',
  })
})

/** The lines of doctor about what must be fixed. */
async function faults(env: Record<string, string>): Promise<string[]> {
  const { stdout, code } = await runCli(['doctor'], env)
  expect(code).toBe(1)
  return stdout.split('\n').filter((line) => line.startsWith('✗'))
}

test('doctor names a home that cannot be written to, and blames nothing else for what fails there', async () => {
  const w = await world()
  const { PROVIDER_SANDBOX_URL: _, ...env } = envOf(w)
  // Nobody can make a directory in /sys, not even root. The sandbox needs one.
  expect(await faults({ ...env, GUICHE_HOME: '/sys/guiche' })).toEqual([
    expect.stringMatching(
      /^✗ home +\/sys\/guiche cannot be written to \(E\w+: .*\): give it to the user that runs guiche/,
    ),
  ])
})

test('doctor names the rights that a role lacks, and does not take that for a database that is away', async () => {
  const w = await world()
  await w.pool.query('revoke insert on table charges from guiche')
  expect(await faults(envOf(w))).toEqual([
    expect.stringMatching(
      /^✗ permissions +The role of DATABASE_URL may not .* 1 table \(charges\): make it their owner/,
    ),
  ])
  await w.pool.query('revoke all on table migrations from guiche')
  expect(await faults(envOf(w))).toEqual([
    expect.stringMatching(/^✗ permissions +The role of DATABASE_URL lacks a permission \(.* for table migrations\)/),
  ])
})

test('doctor names a full disk, also before it is full', async () => {
  const db = await emptyDatabase()
  await migrate(db.url)
  await db.client.query(`
    create function fail() returns text language plpgsql as $$
    begin raise exception 'No space left on device' using errcode = '53100'; end $$;
    alter table migrations rename to stored;
    create view migrations as select name, fail() as checksum from stored`)
  expect(await faults({ DATABASE_URL: db.url, GUICHE_HOME: temporaryHome() })).toEqual([
    '✗ disk                 The disk of the database is full (No space left on device): make room on it',
  ])
  const MB = 1024 ** 2
  expect(examineDisk('/home', 5_000 * MB)).toEqual([])
  expect(examineDisk('/home', 900 * MB)).toMatchObject([{ mark: '!', what: 'disk' }])
  expect(examineDisk('/home', 99 * MB)).toMatchObject([{ mark: '✗', what: 'disk' }])
})

test('a PostgreSQL that is too old is refused at start, and named by doctor', async () => {
  const db = await emptyDatabase()
  const [name] = await db.names('select current_database() as name')
  await db.client.query(`
    create function public.current_setting(name text) returns text language sql as
    $$ select case name when 'server_version' then '14.9' else pg_catalog.current_setting(name) end $$;
    alter database ${name} set search_path = public, pg_catalog`)
  const env = { DATABASE_URL: db.url, GUICHE_HOME: temporaryHome(), PORT: String(await freePort()) }
  const old = 'The database at DATABASE_URL is PostgreSQL 14.9, and guiche needs 15 or newer'
  expect(await faults(env)).toEqual([`✗ PostgreSQL           ${old}`])
  const started = await runProcess(['start'], env)
  expect([started.code, started.stderr]).toEqual([1, `guiche: ${old}\n`])
})

test('doctor does not blame the database for the port of the sandbox', async () => {
  const w = await world()
  const { PROVIDER_SANDBOX_URL: _, ...env } = envOf(w)
  const SANDBOX_PORT = new URL(w.sandbox.url).port
  expect(await faults({ ...env, SANDBOX_PORT })).toEqual([
    expect.stringMatching(/^✗ sandbox +Port \d+ is in use by another program/),
  ])
})

test('doctor warns of a file with a secret that every user of the machine can read', async () => {
  const w = await world()
  const path = join(temporaryHome(), 'key')
  writeFileSync(path, CHARGE_SECRET)
  const { SECRET_KEY: _, ...env } = envOf(w)
  const doctor = async () => (await runCli(['doctor'], { ...env, SECRET_KEY_FILE: path })).stdout
  chmodSync(path, 0o644)
  expect(await doctor()).toContain(`! secrets              every user of this machine can read ${path}: run chmod o= `)
  chmodSync(path, 0o640)
  expect(await doctor()).not.toContain('secrets ')
})

test('doctor warns of a database on another machine without TLS, unless somebody chose that', async () => {
  const w = await world()
  // No command connects to this standby.
  const read = async (DATABASE_READ_URL: string) =>
    (await runCli(['doctor'], { ...envOf(w), DATABASE_READ_URL })).stdout
  expect(await read('postgresql://me:word@db.example/guiche')).toMatch(
    /^! database TLS +DATABASE_READ_URL leads to db\.example without TLS: add sslmode=verify-full/m,
  )
  expect(await read('postgresql://me:word@db.example/guiche?sslmode=disable')).not.toContain('database TLS')
  expect(await read('postgresql://me:word@db.example/guiche?sslmode=verify-full')).not.toContain('database TLS')
})

test.each([
  [
    'a wrong configuration',
    ['audit'],
    { PORT: 'http' },
    'guiche: PORT must be a whole number from 1 to 65535, not "http"\n',
  ],
  [
    'a database that is away',
    ['key', 'list'],
    { DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none' },
    'guiche: The database at DATABASE_URL cannot be reached: connect ECONNREFUSED 127.0.0.1:9\n',
  ],
  [
    'an unknown account',
    ['key', 'create', '--email', 'no@body.example', '--name', 'x'],
    {},
    'guiche: No account has the e-mail no@body.example; create it with: guiche account create --email no@body.example\n',
  ],
  [
    'an unknown scope',
    ['key', 'create', '--email', 'a@example.com', '--name', 'x', '--scopes', 'all'],
    {},
    'guiche: Unknown scope all: the scopes are deposits:write, deposits:read, refunds:write, balance:read, payouts:write, payouts:read, events:read, webhooks:write\n',
  ],
  [
    'an unknown charge',
    ['pay', '00000000-0000-4000-8000-000000000000'],
    {},
    'guiche: Charge not found: 00000000-0000-4000-8000-000000000000\n',
  ],
  [
    'pay without a sandbox',
    ['pay', 'x'],
    {
      PROVIDERS: 'efi',
      PROVIDER_EFI_KIND: 'api-pix',
      PROVIDER_EFI_URL: 'https://a.example',
      PROVIDER_EFI_TOKEN_URL: 'https://a.example',
      PROVIDER_EFI_CLIENT_ID: 'a',
      PROVIDER_EFI_CLIENT_SECRET: 'b',
      PROVIDER_EFI_PIX_KEY: 'c',
      PUBLIC_URL: 'https://pay.example',
    },
    'guiche: This command works in sandbox mode only: PROVIDERS names no sandbox\n',
  ],
])('%s is refused in one line', async (_, args, env, line) => {
  const w = await world()
  await runCli(['account', 'create', '--email', 'a@example.com'], envOf(w))
  const refused = await runCli(args, { ...envOf(w), ...env })
  expect(refused.stderr).toBe(line)
  expect(refused.code).toBe(1)
})

// ---- As a process ----

// Elsewhere, commands run in the process of the test. Here the built command is a process of its own, as in
// webhooks-listen.test.ts (Ctrl-C) and lifecycle.test.ts (signals).

test('a command that succeeds exits 0, with its answer alone on standard output', async () => {
  const w = await world()
  const ran = await runProcess(['key', 'list', '--json'], envOf(w))
  expect(ran).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
})

test('a command that says how it goes says it on standard error', async () => {
  const w = await world()
  const yesterday = dayOf(new Date(Date.now() - 24 * 3_600_000))
  const { code, stdout, stderr } = await runProcess(['reconcile', '--from', yesterday], envOf(w))
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^DAY [^]*\nBoth sides agree\.\n$/)])
  expect(stderr).toMatch(/^100 % /)
})

test('a command whose answer is a no exits with its own code', async () => {
  const w = await world()
  const away = { ...envOf(w), PROVIDER_SANDBOX_URL: 'http://127.0.0.1:9' }
  await w.deposit(await w.account())
  const ran = await runProcess(['audit'], away)
  expect([ran.code, ran.stdout]).toEqual([3, expect.stringContaining('not everything could be compared')])
})

test('a command without a database exits 1, with one line on standard error alone', async () => {
  const home = temporaryHome()
  expect(await runProcess(['key', 'list'], { GUICHE_HOME: home })).toEqual({
    code: 1,
    stdout: '',
    stderr: `guiche: ${home} holds no database yet: start the service, or run guiche migrate\n`,
  })
})

test('a command reads its password from the standard input of its process', async () => {
  const w = await world()
  const args = ['account', 'create', '--email', 'a@example.com', '--password-stdin']
  expect((await runProcess(args, envOf(w), 'short\n')).stderr).toMatch(/^guiche: A password must have /)
  expect((await runProcess(args, envOf(w), 'correct horse battery\n')).code).toBe(0)
})

test('help and version go to standard output, and an unknown command to standard error, with exit code 1', async () => {
  const bin = fileURLToPath(new URL('../bin/guiche.mjs', import.meta.url))
  const [version, help] = [await runProcess(['--version'], {}, '', bin), await runProcess(['--help'], {})]
  // On standard error the command may say that it builds what changed.
  expect(version).toMatchObject({ code: 0, stdout: `${VERSION}\n` })
  expect([help.code, help.stderr]).toEqual([0, ''])
  expect(help.stdout).toMatch(/^Usage: guiche [^]* {2}start [^]* {2}audit [^]*A first deposit:/)
  const unknown = await runProcess(['nonsense'], {})
  expect([unknown.code, unknown.stdout]).toEqual([1, ''])
  expect(unknown.stderr).toBe("error: unknown command 'nonsense'\n(for help: guiche --help)\n")
})
