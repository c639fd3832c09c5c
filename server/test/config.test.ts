import { OperatorError } from '../src/base/operator-error.ts'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { certificateExpiry, type ClientCertificate } from '../src/base/client-certificate.ts'
import { loadConfig } from '../src/config/config.ts'
import { UNKNOWN_BANK } from '../src/providers/api-pix/banks/bank-profile.ts'
import { makeClientCertificate, PFX_PASSWORD } from './client-certificate.ts'

test('without any configuration, everything has the default that configuration.md names', () => {
  const config = loadConfig({})
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    publicUrl: 'http://localhost:3000',
    home: process.getuid?.() === 0 ? '/var/lib/guiche' : join(homedir(), '.guiche'),
    databaseUrl: undefined,
    databasePoolSize: 20,
    warnings: [],
    logLevel: 'info',
    trustProxy: false,
    providers: [{ kind: 'sandbox', name: 'sandbox' }],
    sandboxHost: '127.0.0.1',
    sandboxPort: 0,
    plainHttp: [],
    webhooks: {
      allowNetworks: ['127.0.0.0/8', '::1/128'],
      allowHttp: false,
      showsPrivateAnswers: true,
      proxyUrl: undefined,
    },
  })
  expect(config.settings).toMatchObject({
    mode: 'test',
    publicUrl: 'http://localhost:3000',
    terms: {
      feeBps: 100,
      feeFixedCents: 0,
      feeMinCents: null,
      feeMaxCents: null,
      feeBearer: 'account',
      valueMinCents: 1,
      valueMaxCents: 999_999_999_999,
      reversalPolicy: 'charge',
    },
    chargeExpiresSeconds: 3600,
    chargeMaxExpiresSeconds: 2_592_000,
    pendingMaxPerAccount: 10_000,
    rateLimit: { perSecond: 100, burst: 200 },
    publicRateLimit: { perSecond: 20, burst: 100 },
    hstsIncludesSubdomains: false,
  })
})

test('operators’ sessions are shorter than account holders’, unless the deployment says otherwise', () => {
  const { sessions, requireSecondFactor } = loadConfig({}).settings.signIn
  expect(sessions).toEqual({ account: { hours: 168, idleMinutes: 1440 }, operator: { hours: 12, idleMinutes: 30 } })
  expect(requireSecondFactor).toBe('off')
  const set = {
    SESSION_HOURS: '24',
    SESSION_IDLE_MINUTES: '60',
    OPERATOR_SESSION_HOURS: '1',
    REQUIRE_SECOND_FACTOR: 'operators',
  }
  expect(loadConfig({ ...set, OPERATOR_SESSION_IDLE_MINUTES: '0' }).settings.signIn).toMatchObject({
    sessions: { account: { hours: 24, idleMinutes: 60 }, operator: { hours: 1, idleMinutes: 0 } },
    requireSecondFactor: 'operators',
  })
  expect(() => loadConfig({ SESSION_HOURS: '0' })).toThrow('SESSION_HOURS must be a whole number from 1 to 720')
  expect(() => loadConfig({ REQUIRE_SECOND_FACTOR: 'all' })).toThrow(
    'REQUIRE_SECOND_FACTOR must be one of operators, everybody, off',
  )
})

test('anybody signs up where no money is real, and by invitation where it is, unless SIGNUP says', () => {
  expect(loadConfig({}).settings.signIn.signup).toBe('open')
  expect(loadConfig(BANK).settings.signIn.signup).toBe('invite')
  expect(loadConfig({ ...BANK, SIGNUP: 'closed' }).settings.signIn.signup).toBe('closed')
  expect(() => loadConfig({ SIGNUP: 'yes' })).toThrow('SIGNUP must be one of open, invite, closed, not "yes"')
})

test('breached passwords are looked up only where BREACHED_PASSWORDS_URL says', () => {
  const url = 'https://api.pwnedpasswords.com/range'
  expect(loadConfig({}).breachedPasswordsUrl).toBeUndefined()
  expect(loadConfig({ BREACHED_PASSWORDS_URL: url }).breachedPasswordsUrl).toBe(url)
  expect(() => loadConfig({ BREACHED_PASSWORDS_URL: 'api.pwnedpasswords.com' })).toThrow(
    'BREACHED_PASSWORDS_URL must be an http or https URL, not "api.pwnedpasswords.com"',
  )
})

test('mail goes out where SMTP_URL says, from MAIL_FROM or an address at the host of PUBLIC_URL', () => {
  const SMTP_URL = 'smtps://user:pa%40ss@mail.example.com:465'
  expect(loadConfig({}).mail).toBeUndefined()
  expect(loadConfig({ ...BANK, SMTP_URL }).mail).toEqual({
    smtpUrl: SMTP_URL,
    requiresTls: true,
    from: 'guiche <no-reply@pay.example.com>',
  })
  for (const MAIL_FROM of ['pix@example.com', 'Loja da Ana <pix@example.com>'])
    expect(loadConfig({ SMTP_URL, MAIL_FROM }).mail?.from).toBe(MAIL_FROM)
  for (const wrong of ['mail.example.com', 'https://mail.example.com', 'smtp:', 'smtp:///x'])
    expect(() => loadConfig({ SMTP_URL: wrong })).toThrow('SMTP_URL must look like smtps://')
  for (const MAIL_FROM of ['pix', 'Loja <pix@example.com', 'pix@example.com>', 'a@b.example, c@d.example'])
    expect(() => loadConfig({ SMTP_URL, MAIL_FROM })).toThrow('MAIL_FROM must look like')
  expect(() => loadConfig({ MAIL_FROM: 'pix@example.com' })).toThrow('SMTP_URL must be set, since MAIL_FROM is')
})

test('a live service sends mail to another machine by TLS alone, and refuses a URL that turns it off', () => {
  const requiresTls = (SMTP_URL: string, env = {}) => loadConfig({ ...env, SMTP_URL }).mail?.requiresTls
  expect(requiresTls('smtp://mail.example.com:587', BANK)).toBe(true)
  for (const local of ['smtp://localhost', 'smtp://127.0.0.1:1025', 'smtp://[::1]:25'])
    expect(requiresTls(local, BANK)).toBe(false)
  expect(requiresTls('smtp://mailpit:1025')).toBe(false)
  for (const weak of ['ignoreTLS=true', 'requireTLS=false', 'secure=false', 'tls.rejectUnauthorized=false']) {
    const SMTP_URL = `smtp://user:word@mail.example.com?pool=true&${weak}`
    expect(() => loadConfig({ ...BANK, SMTP_URL })).toThrow(
      new OperatorError(`SMTP_URL must use TLS to reach another machine in live mode: remove ${weak}`),
    )
    expect(loadConfig({ SMTP_URL }).mail?.requiresTls).toBe(false)
  }
})

test('cookies are signed with a key derived from SECRET_KEY, which is not the key itself', () => {
  const [one, two] = ['1'.repeat(32), '2'.repeat(32)]
  const { secrets } = loadConfig({ SECRET_KEY: `${one},${two}` }).settings.signIn
  expect(secrets()).toHaveLength(2)
  expect(new Set([...secrets(), one, two]).size).toBe(4)
  expect(secrets()[1]).toBe(loadConfig({ SECRET_KEY: two }).settings.signIn.secrets()[0])
})

const BANK = {
  PUBLIC_URL: 'https://pay.example.com/',
  PROVIDERS: 'big-bank',
  PROVIDER_BIG_BANK_KIND: 'api-pix',
  PROVIDER_BIG_BANK_URL: 'https://pix.bank.example/v2/',
  PROVIDER_BIG_BANK_TOKEN_URL: 'https://pix.bank.example/oauth/token',
  PROVIDER_BIG_BANK_CLIENT_ID: 'id',
  PROVIDER_BIG_BANK_CLIENT_SECRET: 'secret',
  PROVIDER_BIG_BANK_PIX_KEY: 'loja@example.com',
}

test('a bank is a provider, and makes the service live', () => {
  const config = loadConfig(BANK)
  expect(config.settings).toMatchObject({ mode: 'live', publicUrl: 'https://pay.example.com' })
  expect(config.providers).toEqual([
    {
      kind: 'api-pix',
      name: 'big-bank',
      bank: undefined,
      signsCertificates: false,
      access: UNKNOWN_BANK,
      url: 'https://pix.bank.example/v2',
      tokenUrl: 'https://pix.bank.example/oauth/token',
      clientId: 'id',
      clientSecret: 'secret',
      pixKey: 'loja@example.com',
      merchant: { name: 'guiche', city: 'SAO PAULO' },
      tls: undefined,
      caPem: undefined,
      callsPerSecond: 10,
    },
  ])
})

test('Woovi is a provider, which needs its AppID and nothing else', () => {
  const { providers, settings } = loadConfig({
    PUBLIC_URL: BANK.PUBLIC_URL,
    PROVIDERS: 'woovi',
    PROVIDER_WOOVI_APP_ID: 'app',
  })
  expect(settings.mode).toBe('live')
  expect(providers).toEqual([
    { kind: 'woovi', name: 'woovi', url: 'https://api.woovi.com', appId: 'app', callsPerSecond: 10 },
  ])
})

test('another name, address and rate of Woovi are as they are set', () => {
  const { providers } = loadConfig({
    PUBLIC_URL: BANK.PUBLIC_URL,
    PROVIDERS: 'pix',
    PROVIDER_PIX_KIND: 'woovi',
    PROVIDER_PIX_URL: 'https://api.woovi-sandbox.com/',
    PROVIDER_PIX_APP_ID: 'app',
    PROVIDER_PIX_CALLS_PER_SECOND: '50',
  })
  expect(providers).toEqual([
    { kind: 'woovi', name: 'pix', url: 'https://api.woovi-sandbox.com', appId: 'app', callsPerSecond: 50 },
  ])
})

test('a sandbox elsewhere needs its address and nothing else', () => {
  const { providers, settings } = loadConfig({ PROVIDER_SANDBOX_URL: 'http://127.0.0.1:4000' })
  expect(settings.mode).toBe('test')
  expect(providers).toMatchObject([
    { kind: 'api-pix', name: 'sandbox', url: 'http://127.0.0.1:4000', tokenUrl: 'http://127.0.0.1:4000/oauth/token' },
  ])
})

test('webhooks of a live service reach no special network unless it is named', () => {
  expect(loadConfig(BANK).webhooks.allowNetworks).toEqual([])
  const named = loadConfig({ ...BANK, WEBHOOK_ALLOW_NETWORKS: '10.1.0.0/16, fd00::/8' })
  expect(named.webhooks.allowNetworks).toEqual(['10.1.0.0/16', 'fd00::/8'])
})

test('webhooks of a sandbox reach this machine only where the service is not published', () => {
  const allowed = (PUBLIC_URL: string) => loadConfig({ PUBLIC_URL }).webhooks.allowNetworks
  for (const local of ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000', 'https://shop.localhost'])
    expect(allowed(local)).toEqual(['127.0.0.0/8', '::1/128'])
  for (const published of [
    'https://demo.example.com',
    'http://192.168.1.5:3000',
    'https://localhost.example.com',
    'http://127.example.com',
  ])
    expect(allowed(published)).toEqual([])
  const named = loadConfig({ PUBLIC_URL: 'https://demo.example.com', WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' })
  expect(named.webhooks).toMatchObject({ allowNetworks: ['127.0.0.0/8'], showsPrivateAnswers: false })
})

test('webhooks of a sandbox reach this machine only where no other machine reaches the service', () => {
  const webhooks = (HOST: string) => loadConfig({ HOST, PUBLIC_URL: 'http://localhost:3000' }).webhooks
  for (const local of ['127.0.0.1', '127.8.8.8', '::1', 'localhost'])
    expect(webhooks(local)).toMatchObject({ allowNetworks: ['127.0.0.0/8', '::1/128'], showsPrivateAnswers: true })
  for (const open of ['0.0.0.0', '::', '192.168.1.5', 'shop.example.com'])
    expect(webhooks(open)).toMatchObject({ allowNetworks: [], showsPrivateAnswers: false })
})

test('a sandbox that strangers reach says so, and a bank that they reach too', () => {
  const open = 'whoever reaches it can create an account, unless SIGNUP is set'
  expect(loadConfig({ HOST: '0.0.0.0' }).warnings).toEqual([
    `the sandbox is open to other machines (HOST is 0.0.0.0): ${open}`,
  ])
  expect(loadConfig({ PUBLIC_URL: 'https://demo.example.com' }).warnings).toEqual([
    `the sandbox is open to other machines (PUBLIC_URL is https://demo.example.com): ${open}`,
  ])
  expect(loadConfig({ SANDBOX_HOST: '0.0.0.0' }).warnings).toEqual([
    'SANDBOX_HOST is 0.0.0.0: whoever reaches the sandbox bank can pay any charge and cause faults',
  ])
  expect(loadConfig({ HOST: '0.0.0.0', SIGNUP: 'invite' }).warnings).toEqual([])
  expect(loadConfig({ ...BANK, HOST: '0.0.0.0' }).warnings).toEqual([])
})

test('a live service takes plain http on this machine, and elsewhere only where ALLOW_PLAIN_HTTP says so', () => {
  const local = { PUBLIC_URL: 'http://localhost:3000', PROVIDER_BIG_BANK_URL: 'http://127.0.0.1:4000' }
  expect(loadConfig({ ...BANK, ...local, PROVIDER_BIG_BANK_TOKEN_URL: 'http://[::1]/token' }).plainHttp).toEqual([])
  const plain = { ...BANK, PUBLIC_URL: 'http://pay.example.com', PROVIDER_BIG_BANK_TOKEN_URL: 'http://10.0.0.9/token' }
  expect(() => loadConfig(plain)).toThrow('PUBLIC_URL must be an https URL')
  expect(loadConfig({ ...plain, ALLOW_PLAIN_HTTP: 'true' }).plainHttp).toEqual([
    'PUBLIC_URL',
    'PROVIDER_BIG_BANK_TOKEN_URL',
  ])
  expect(loadConfig({ PUBLIC_URL: 'http://demo.example.com' }).publicUrl).toBe('http://demo.example.com')
})

test('providers keep the order of preference', () => {
  const { providers } = loadConfig({ ...BANK, PROVIDERS: 'woovi, big-bank', PROVIDER_WOOVI_APP_ID: 'app' })
  expect(providers.map((provider) => provider.name)).toEqual(['woovi', 'big-bank'])
})

test('the sandbox is refused beside a bank, since invented money would be credited to live balances', () => {
  for (const PROVIDERS of ['sandbox,big-bank', 'big-bank, sandbox'])
    for (const elsewhere of [{}, { PROVIDER_SANDBOX_URL: 'http://127.0.0.1:4000' }])
      expect(() => loadConfig({ ...BANK, ...elsewhere, PROVIDERS })).toThrow(
        'PROVIDERS must not name sandbox beside other providers',
      )
})

test('two names of one bank account are refused, since each payment would be reported twice', () => {
  const twin = {
    PROVIDERS: 'big-bank,twin',
    PROVIDER_TWIN_KIND: 'api-pix',
    PROVIDER_TWIN_URL: 'https://pix.bank.example/v2',
    PROVIDER_TWIN_TOKEN_URL: 'https://pix.bank.example/oauth/token',
    PROVIDER_TWIN_CLIENT_SECRET: 'secret',
  }
  const load = (clientId: string, pixKey: string, changes = {}) =>
    loadConfig({ ...BANK, ...twin, PROVIDER_TWIN_CLIENT_ID: clientId, PROVIDER_TWIN_PIX_KEY: pixKey, ...changes })
  const refused =
    'PROVIDERS must not name one bank account twice: big-bank and twin have the same URL and the same client id or Pix key. Remove one'
  expect(() => load('id', 'other@example.com')).toThrow(refused)
  expect(() => load('other', 'loja@example.com')).toThrow(refused)
  expect(load('other', 'other@example.com').providers).toHaveLength(2)
  const elsewhere = { PROVIDER_TWIN_URL: 'https://pix.other.example' }
  expect(load('id', 'other@example.com', elsewhere).providers).toHaveLength(2)
})

test('certificates are read from their files, and what no connection could use is refused by its variable', () => {
  const folder = temporaryFolder()
  const { cert, key, otherKey, pfx } = makeClientCertificate(folder)
  const nonsense = join(folder, 'nonsense')
  writeFileSync(nonsense, 'nonsense')
  const load = (variables: Record<string, string>) => {
    const named = Object.entries(variables).map(([name, value]) => [`PROVIDER_BIG_BANK_${name}`, value])
    return loadConfig({ ...BANK, ...Object.fromEntries(named) }).providers[0]
  }
  const text = (path: string) => readFileSync(path, 'utf8')
  expect(load({ CERT: cert, CERT_KEY: key })).toMatchObject({ tls: { certPem: text(cert), keyPem: text(key) } })
  expect(load({ PFX: pfx, PFX_PASSWORD })).toMatchObject({ tls: { pfx: readFileSync(pfx), password: PFX_PASSWORD } })
  expect(load({ CA: cert })).toMatchObject({ caPem: text(cert), tls: undefined })

  const refused: [Record<string, string>, string][] = [
    [{ CERT: cert, CERT_KEY: otherKey }, 'CERT_KEY is not the key of the certificate in PROVIDER_BIG_BANK_CERT'],
    [{ CERT: nonsense, CERT_KEY: key }, 'CERT must be a file with a certificate in PEM form'],
    [{ CERT: cert, CERT_KEY: cert }, 'CERT_KEY must be a file with a private key in PEM form'],
    [{ PFX: pfx, PFX_PASSWORD: 'wrong' }, 'PFX cannot be opened with this password: check PROVIDER_BIG_BANK_PFX_'],
    [{ PFX: cert }, 'PFX holds PEM and not PFX: set PROVIDER_BIG_BANK_CERT instead'],
    [{ CA: nonsense }, 'CA must be a file with a certificate in PEM form'],
  ]
  for (const [variables, words] of refused) expect(() => load(variables)).toThrow(`PROVIDER_BIG_BANK_${words}`)
})

test('when a client certificate expires is read from PEM and PFX, and of a chain the first end counts', () => {
  const [long, short] = [temporaryFolder(), temporaryFolder()]
  const { cert, key, pfx } = makeClientCertificate(long, 400)
  const pem = (path: string) => readFileSync(path, 'utf8')
  const days = (tls: ClientCertificate) => Math.round((certificateExpiry(tls)!.getTime() - Date.now()) / 86_400_000)
  expect(days({ certPem: pem(cert), keyPem: pem(key) })).toBe(400)
  expect(days({ pfx: readFileSync(pfx), password: PFX_PASSWORD })).toBe(400)
  const chain = `${pem(cert)}\n${pem(makeClientCertificate(short, 3).cert)}`
  expect(days({ certPem: chain, keyPem: pem(key) })).toBe(3)
  expect(certificateExpiry({ certPem: 'nonsense', keyPem: '' })).toBeUndefined()
})

const DATABASE_SHAPE = 'DATABASE_URL must look like postgresql://user:password@host:5432/database'

test.each<[env: Record<string, string>, text: string]>([
  [{ PORT: 'http' }, 'PORT must be a whole number from 1 to 65535, not "http"'],
  [{ PORT: '65536' }, 'PORT must be a whole number from 1 to 65535, not "65536"'],
  [{ SANDBOX_PORT: '-1' }, 'SANDBOX_PORT must be a whole number from 0 to 65535, not "-1"'],
  [{ PUBLIC_URL: 'pay.example.com' }, 'PUBLIC_URL must be an http or https URL, not "pay.example.com"'],
  [{ PUBLIC_URL: 'ftp://pay.example.com' }, 'PUBLIC_URL must be an http or https URL, not "ftp://pay.example.com"'],
  [{ ...BANK, PUBLIC_URL: '' }, 'PUBLIC_URL must be set'],
  [
    { PUBLIC_URL: 'http://pay.example.com/sub/' },
    'PUBLIC_URL must be a scheme and a host without a path, such as https://pay.example.com, not "http://pay.example.com/sub"',
  ],
  [{ DATABASE_URL: 'mysql://me:word@db/guiche' }, DATABASE_SHAPE],
  [{ DATABASE_READ_URL: 'mysql://me:word@db/guiche' }, DATABASE_SHAPE.replace('URL', 'READ_URL')],
  [
    { DATABASE_READ_URL: 'postgresql://me:word@a,b/guiche' },
    'DATABASE_READ_URL must name one address, such as that of HAProxy for the standbys',
  ],
  [{ DATABASE_POOL_SIZE: '4' }, 'DATABASE_POOL_SIZE must be a whole number from 5 to 500, not "4"'],
  [{ DATABASE_POOL_SIZE: '501' }, 'DATABASE_POOL_SIZE must be a whole number from 5 to 500, not "501"'],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"'],
  [{ TRUST_PROXY: 'yes' }, 'TRUST_PROXY must be one of true, false, not "yes"'],
  [{ FEE_BPS: '1.5' }, 'FEE_BPS must be a whole number from 0 to 10000, not "1.5"'],
  [{ FEE_BPS: '1\n2' }, 'FEE_BPS must be a whole number from 0 to 10000, not "1\\n2"'],
  [{ FEE_FIXED_CENTS: '-1' }, 'FEE_FIXED_CENTS must be a whole number from 0 to 999999999999, not "-1"'],
  [{ FEE_MIN_CENTS: '1e3' }, 'FEE_MIN_CENTS must be a whole number from 0 to 999999999999, not "1e3"'],
  [{ FEE_MIN_CENTS: '9', FEE_MAX_CENTS: '8' }, 'FEE_MIN_CENTS must not be greater than FEE_MAX_CENTS'],
  [{ FEE_BEARER: 'nobody' }, 'FEE_BEARER must be one of account, payer, not "nobody"'],
  [{ VALUE_MIN_CENTS: '0' }, 'VALUE_MIN_CENTS must be a whole number from 1 to 999999999999, not "0"'],
  [{ VALUE_MIN_CENTS: '9', VALUE_MAX_CENTS: '8' }, 'VALUE_MIN_CENTS must not be greater than VALUE_MAX_CENTS'],
  [{ CHARGE_EXPIRES_SECONDS: '299' }, 'CHARGE_EXPIRES_SECONDS must be a whole number from 300 to 2592000, not "299"'],
  [
    { CHARGE_EXPIRES_SECONDS: '2592001' },
    'CHARGE_EXPIRES_SECONDS must be a whole number from 300 to 2592000, not "2592001"',
  ],
  [
    { CHARGE_MAX_EXPIRES_SECONDS: '86400', CHARGE_EXPIRES_SECONDS: '86401' },
    'CHARGE_EXPIRES_SECONDS must be a whole number from 300 to 86400, not "86401"',
  ],
  [
    { CHARGE_MAX_EXPIRES_SECONDS: '2592001' },
    'CHARGE_MAX_EXPIRES_SECONDS must be a whole number from 300 to 2592000, not "2592001"',
  ],
  [{ RATE_LIMIT_PER_SECOND: 'x' }, 'RATE_LIMIT_PER_SECOND must be a whole number from 0 to 1000000, not "x"'],
  [{ RATE_LIMIT_BURST: '0' }, 'RATE_LIMIT_BURST must be a whole number from 1 to 1000000, not "0"'],
  [{ PENDING_MAX_PER_ACCOUNT: '-1' }, 'PENDING_MAX_PER_ACCOUNT must be a whole number from 0 to 1000000, not "-1"'],
  [
    { PUBLIC_RATE_LIMIT_PER_SECOND: '1.5' },
    'PUBLIC_RATE_LIMIT_PER_SECOND must be a whole number from 0 to 1000000, not "1.5"',
  ],
  [{ PUBLIC_RATE_LIMIT_BURST: '0' }, 'PUBLIC_RATE_LIMIT_BURST must be a whole number from 1 to 1000000, not "0"'],
  [{ HSTS_INCLUDE_SUBDOMAINS: 'yes' }, 'HSTS_INCLUDE_SUBDOMAINS must be one of true, false, not "yes"'],
  [{ ALLOW_PLAIN_HTTP: 'yes' }, 'ALLOW_PLAIN_HTTP must be one of true, false, not "yes"'],
  [
    { ...BANK, PUBLIC_URL: 'http://pay.example.com' },
    'PUBLIC_URL must be an https URL, or ALLOW_PLAIN_HTTP must be true',
  ],
  [
    { ...BANK, PROVIDER_BIG_BANK_URL: 'http://pix.bank.example' },
    'PROVIDER_BIG_BANK_URL must be an https URL, or ALLOW_PLAIN_HTTP must be true',
  ],
  [
    { ...BANK, PROVIDER_BIG_BANK_TOKEN_URL: 'http://pix.bank.example/token' },
    'PROVIDER_BIG_BANK_TOKEN_URL must be an https URL, or ALLOW_PLAIN_HTTP must be true',
  ],
  [
    {
      PUBLIC_URL: BANK.PUBLIC_URL,
      PROVIDERS: 'woovi',
      PROVIDER_WOOVI_APP_ID: 'a',
      PROVIDER_WOOVI_URL: 'http://woovi.example',
    },
    'PROVIDER_WOOVI_URL must be an https URL, or ALLOW_PLAIN_HTTP must be true',
  ],
  [
    { SECRET_KEY: 'short' },
    'SECRET_KEY must have at least 32 characters, for example the output of: openssl rand -hex 32',
  ],
  [{ PROVIDERS: 'Big Bank' }, 'PROVIDERS must list names of lower-case letters, digits and dashes, not "Big Bank"'],
  [
    { WEBHOOK_ALLOW_NETWORKS: '10.0.0.0/8, 10.1' },
    'WEBHOOK_ALLOW_NETWORKS must list networks such as 10.1.0.0/16, or none, not "10.1"',
  ],
  [
    { WEBHOOK_ALLOW_NETWORKS: '10.0.0.0/33' },
    'WEBHOOK_ALLOW_NETWORKS must list networks such as 10.1.0.0/16, or none, not "10.0.0.0/33"',
  ],
  [{ WEBHOOK_ALLOW_HTTP: '1' }, 'WEBHOOK_ALLOW_HTTP must be one of true, false, not "1"'],
  [{ WEBHOOK_PROXY_URL: 'proxy:3128' }, 'WEBHOOK_PROXY_URL must be an http or https URL, not "proxy:3128"'],
  [{ PROVIDERS: 'sandbox,sandbox' }, 'PROVIDERS must not name a provider twice'],
  [
    {
      PROVIDERS: 'woovi,again',
      PROVIDER_WOOVI_APP_ID: 'app',
      PROVIDER_AGAIN_KIND: 'woovi',
      PROVIDER_AGAIN_URL: 'https://api.woovi.com/',
      PROVIDER_AGAIN_APP_ID: 'app',
    },
    'PROVIDERS must not name one bank account twice: woovi and again have the same URL and the same app id. Remove one',
  ],
  [{ PROVIDERS: 'bank' }, 'PROVIDER_BANK_KIND must be one of api-pix, woovi'],
  [{ PROVIDERS: 'woovi' }, 'PROVIDER_WOOVI_APP_ID must be set'],
  [{ PROVIDERS: 'bank', PROVIDER_BANK_KIND: 'card' }, 'PROVIDER_BANK_KIND must be one of api-pix, woovi, not "card"'],
  [{ PROVIDERS: 'bank', PROVIDER_BANK_KIND: 'api-pix' }, 'PROVIDER_BANK_URL must be set'],
  [{ ...BANK, PROVIDER_BIG_BANK_CLIENT_SECRET: '' }, 'PROVIDER_BIG_BANK_CLIENT_SECRET must be set'],
  [
    { ...BANK, PROVIDER_BIG_BANK_CERT_KEY: 'k' },
    'PROVIDER_BIG_BANK_CERT must be set, since PROVIDER_BIG_BANK_CERT_KEY is',
  ],
  [
    { ...BANK, PROVIDER_BIG_BANK_PFX: 'p', PROVIDER_BIG_BANK_CERT: 'c' },
    'PROVIDER_BIG_BANK_PFX and PROVIDER_BIG_BANK_CERT exclude each other: set one',
  ],
  [
    { ...BANK, PROVIDER_BIG_BANK_PFX: '/no/such/file' },
    "PROVIDER_BIG_BANK_PFX must be the path of a file that can be read: ENOENT: no such file or directory, open '/no/such/file'",
  ],
])('%j is refused with one line that says what to set', (env, text) => {
  expect(() => loadConfig(env)).toThrow(new OperatorError(text))
  expect(text).not.toContain('\n')
})

test('a variable that is blank counts as unset', () => {
  const names =
    'HOST PORT PUBLIC_URL GUICHE_HOME DATABASE_URL PROVIDERS PROVIDER_SANDBOX_URL SANDBOX_PORT FEE_BPS FEE_FIXED_CENTS ' +
    'FEE_MIN_CENTS FEE_MAX_CENTS FEE_BEARER VALUE_MIN_CENTS VALUE_MAX_CENTS CHARGE_EXPIRES_SECONDS ' +
    'CHARGE_MAX_EXPIRES_SECONDS RATE_LIMIT_PER_SECOND ' +
    'DATABASE_READ_URL DATABASE_POOL_SIZE RATE_LIMIT_BURST PENDING_MAX_PER_ACCOUNT PUBLIC_RATE_LIMIT_PER_SECOND PUBLIC_RATE_LIMIT_BURST HSTS_INCLUDE_SUBDOMAINS ' +
    'ALLOW_PLAIN_HTTP SECRET_KEY LOG_LEVEL TRUST_PROXY WEBHOOK_ALLOW_NETWORKS WEBHOOK_ALLOW_HTTP WEBHOOK_PROXY_URL'
  const blank = loadConfig(Object.fromEntries(names.split(' ').map((name) => [name, ''])))
  expect(JSON.stringify(blank)).toBe(JSON.stringify(loadConfig({})))
})

test('a variable with a mistyped name of ours is named, with the one that was probably meant', () => {
  const warnings = (env: Record<string, string>) => loadConfig(env).warnings
  expect(warnings({ FEE_BSP: '100' })).toEqual(['FEE_BSP is set, but nothing reads it: did you mean FEE_BPS?'])
  expect(warnings({ PROT: '80', PORTT: '80', SECRET_KEYS: 'x', GUICHE_DIRECTORY: '/x' })).toEqual([
    'GUICHE_DIRECTORY is set, but nothing reads it',
    'PORTT is set, but nothing reads it: did you mean PORT?',
    'PROT is set, but nothing reads it: did you mean PORT?',
    'SECRET_KEYS is set, but nothing reads it: did you mean SECRET_KEY?',
  ])
  expect(warnings({ ...BANK, PROVIDER_BIG_BANK_CLIENTID: 'x', PROVIDER_OTHER_URL: 'x' })).toEqual([
    'PROVIDER_BIG_BANK_CLIENTID is set, but nothing reads it',
    'PROVIDER_OTHER_URL is set, but nothing reads it',
  ])
})

test('a misspelt DATABASE_URL is refused, since the embedded database would be used in its place', () => {
  for (const name of ['DATABSE_URL', 'DATABASEURL', 'DATABASE_URI', 'DATABASE_ULR'])
    expect(() => loadConfig({ [name]: 'postgresql://me:word@db/guiche' })).toThrow(
      new OperatorError(`${name} must be written DATABASE_URL: as it is, guiche would use the embedded database`),
    )
  expect(() => loadConfig({ DATABASE_URL_FIEL: '/run/secrets/url' })).toThrow('must be written DATABASE_URL_FILE')
  const set = { DATABASE_URL: 'postgresql://me:word@localhost/guiche', DATABASE_URI: 'of another program' }
  expect(loadConfig(set).warnings).toEqual([])
})

test('variables that are not ours are nobody’s mistake', () => {
  const others = {
    PATH: '/bin',
    HOME: '/x',
    HOSTNAME: 'x',
    LOGNAME: 'x',
    MAIL: 'x',
    NODE_ENV: 'x',
    PGHOST: 'x',
    FEE: '',
  }
  expect(loadConfig({ ...others, LANG: 'C', SHELL: '/bin/sh', USER: 'x', PWD: '/x', TERM: 'x' }).warnings).toEqual([])
  expect(loadConfig({ ...BANK, PORT: '80', FEE_BPS: '1', SECRET_KEY: GOOD_KEY }).warnings).toEqual([])
})

test('a GUICHE_HOME that is a file is refused in words', () => {
  const file = join(temporaryFolder(), 'home')
  writeFileSync(file, '')
  expect(() => loadConfig({ GUICHE_HOME: file })).toThrow(`GUICHE_HOME must be a directory, and ${file} is a file`)
})

test('.env fills what the environment leaves out, and the environment wins', () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, '.env'), 'PORT=4000\nFEE_BPS=250 # of each deposit\n')
  const before = process.cwd()
  process.chdir(folder)
  onTestFinished(() => {
    process.chdir(before)
    vi.unstubAllEnvs()
  })
  vi.stubEnv('PORT', '5000')
  vi.stubEnv('FEE_BPS', undefined)
  const config = loadConfig()
  expect(config.port).toBe(5000)
  expect(config.settings.terms.feeBps).toBe(250)
  expect(config.secretFiles).toEqual([])
  writeFileSync(join(folder, '.env'), `SECRET_KEY=${GOOD_KEY}\n`)
  expect(loadConfig().secretFiles).toEqual([join(folder, '.env')])
  writeFileSync(join(folder, '.env'), 'COLOUR=blue\nPORTT=80\nBLANK=\n')
  vi.stubEnv('PORT', undefined)
  // These variables choose how the tests run. The service does not read them.
  for (const name of ['GUICHE_TEST_POSTGRES', 'GUICHE_TEST_POOLER']) vi.stubEnv(name, undefined)
  expect(loadConfig().warnings).toEqual([
    'COLOUR is set in .env, but nothing reads it',
    'PORTT is set, but nothing reads it: did you mean PORT?',
  ])
})

test('each provider’s callback has a secret of its own, the same in every process that shares SECRET_KEY', () => {
  const secretOf = (SECRET_KEY: string) => {
    const { callbackSecrets } = loadConfig({ SECRET_KEY }).settings
    return (provider: string) => callbackSecrets(provider)[0]!
  }
  const [one, same, other] = [secretOf('a'.repeat(32)), secretOf('a'.repeat(32)), secretOf('b'.repeat(32))]
  expect(one('bank')).toMatch(/^[0-9a-f]{64}$/)
  expect(same('bank')).toBe(one('bank'))
  expect(new Set([one('bank'), one('sandbox'), other('bank')]).size).toBe(3)
})

test('while SECRET_KEY is rotated, every key’s callback is accepted, and the first one’s is registered', () => {
  const [before, after] = ['a'.repeat(32), 'b'.repeat(32)]
  const secretsOf = (SECRET_KEY: string) => loadConfig({ SECRET_KEY }).settings.callbackSecrets('bank')
  expect(secretsOf(`${after},${before}`)).toEqual([...secretsOf(after), ...secretsOf(before)])
})

test('DRAIN_SECONDS is a whole number of seconds, and 0 unless set', () => {
  expect(loadConfig({}).drainSeconds).toBe(0)
  expect(loadConfig({ DRAIN_SECONDS: '20' }).drainSeconds).toBe(20)
  expect(() => loadConfig({ DRAIN_SECONDS: 'soon' })).toThrow('DRAIN_SECONDS must be a whole number from 0 to 300')
})

test('without SECRET_KEY one is made in the home, once, for its owner’s eyes', () => {
  const home = join(temporaryFolder(), 'new')
  const load = () => loadConfig({ GUICHE_HOME: home }).settings.callbackSecrets('sandbox')[0]!
  const first = load()
  const file = join(home, 'secret-key')
  expect(load()).toBe(first)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(first).not.toContain(readFileSync(file, 'utf8').trim())
})

test('a live service with a database of its own needs SECRET_KEY, since another home would make another key', () => {
  const GUICHE_HOME = temporaryFolder()
  const shared = { ...BANK, GUICHE_HOME, DATABASE_URL: 'postgresql://me:word@db/guiche' }
  const needed = 'SECRET_KEY must be set in live mode with DATABASE_URL, the same for all processes'
  expect(() => loadConfig(shared)).toThrow(`${needed}, for example the output of: openssl rand -hex 32`)
  writeFileSync(join(GUICHE_HOME, 'secret-key'), GOOD_KEY)
  expect(() => loadConfig(shared)).toThrow(`${needed}: this machine has used the one in ${GUICHE_HOME}/secret-key`)
  expect(loadConfig({ ...shared, SECRET_KEY: GOOD_KEY }).databaseUrl).toBe(shared.DATABASE_URL)
  expect(loadConfig({ ...BANK, GUICHE_HOME }).settings.callbackSecrets('x')).toHaveLength(1)
  expect(loadConfig({ DATABASE_URL: shared.DATABASE_URL }).databaseUrl).toBe(shared.DATABASE_URL)
})

const GOOD_KEY = '8f14e45fceea167a5a36dedd4bea2543'

test('a live service refuses a SECRET_KEY that can be guessed, and takes one behind a good one', () => {
  const load = (SECRET_KEY: string) => () => loadConfig({ ...BANK, SECRET_KEY })
  const guessable = [
    'k'.repeat(32),
    'ab'.repeat(32),
    'secret-of-guiche'.repeat(2),
    'password123password123password123p',
    'abcdefghijklmnopqrstuvwxyz0123456789',
    '01'.repeat(10) + '10'.repeat(11),
    '1234567890'.repeat(4),
  ]
  for (const key of guessable) {
    expect(load(key)).toThrow(
      'SECRET_KEY is easy to guess: put the output of "openssl rand -hex 32" first, and a comma behind it',
    )
    expect(load(`${GOOD_KEY},${key}`)).not.toThrow()
    expect(() => loadConfig({ SECRET_KEY: key })).not.toThrow()
  }
  for (const random of [randomBytes(16).toString('hex'), randomBytes(32).toString('base64'), randomUUID()])
    expect(load(random)).not.toThrow()
  expect(load('a sentence of a person who wrote it by hand')).not.toThrow()
})

test('every secret can come from a file, without its last line break, and never from two places', () => {
  const folder = temporaryFolder()
  const at = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const { PROVIDER_BIG_BANK_CLIENT_ID: _id, PROVIDER_BIG_BANK_CLIENT_SECRET: _secret, ...bank } = BANK
  const config = loadConfig({
    ...bank,
    PROVIDER_BIG_BANK_CLIENT_ID_FILE: at('id', 'id of a file\n'),
    PROVIDER_BIG_BANK_CLIENT_SECRET_FILE: at('secret', ' secret of a file \r\n'),
    PROVIDER_BIG_BANK_PFX: makeClientCertificate(folder).pfx,
    PROVIDER_BIG_BANK_PFX_PASSWORD_FILE: at('password', PFX_PASSWORD),
    DATABASE_URL_FILE: at('database', 'postgresql://me:word@localhost/guiche\n'),
    DATABASE_READ_URL_FILE: at('read', 'postgresql://me:word@localhost/standby\n'),
    SECRET_KEY_FILE: at('key', `${GOOD_KEY}\n`),
    METRICS_TOKEN_FILE: at('token', `${'t'.repeat(32)}\n`),
    SMTP_URL_FILE: at('smtp', 'smtps://user:word@mail.example.com\n'),
    WEBHOOK_PROXY_URL_FILE: at('proxy', 'http://user:word@proxy:3128\n'),
    GUICHE_URL: 'https://pay.example.com',
    GUICHE_KEY_FILE: at('guiche-key', 'gk_live_x\n'),
  })
  expect(config).toMatchObject({
    databaseUrl: 'postgresql://me:word@localhost/guiche',
    databaseReadUrl: 'postgresql://me:word@localhost/standby',
    mail: { smtpUrl: 'smtps://user:word@mail.example.com' },
    webhooks: { proxyUrl: 'http://user:word@proxy:3128' },
    remote: { key: 'gk_live_x' },
    providers: [{ clientId: 'id of a file', clientSecret: ' secret of a file ', tls: { password: PFX_PASSWORD } }],
    warnings: [],
  })
  expect(config.settings.isMetricsToken('t'.repeat(32))).toBe(true)
  expect(config.settings.callbackSecrets('x')).toEqual(
    loadConfig({ SECRET_KEY: GOOD_KEY }).settings.callbackSecrets('x'),
  )
  expect(config.secretFiles).toHaveLength(10)

  const both = { SECRET_KEY: GOOD_KEY, SECRET_KEY_FILE: at('key', GOOD_KEY) }
  expect(() => loadConfig(both)).toThrow('SECRET_KEY_FILE and SECRET_KEY exclude each other: set one')
  expect(() => loadConfig({ SECRET_KEY_FILE: at('empty', '\n') })).toThrow(
    `SECRET_KEY_FILE must name a file that holds the secret: ${folder}/empty is empty`,
  )
  expect(() => loadConfig({ SECRET_KEY_FILE: '/no/such/file' })).toThrow(
    'SECRET_KEY_FILE must be the path of a file that can be read: ENOENT',
  )
})

test('a made key that is empty is refused, not used', () => {
  const home = temporaryFolder()
  writeFileSync(join(home, 'secret-key'), '\n')
  const { callbackSecrets } = loadConfig({ GUICHE_HOME: home }).settings
  expect(() => callbackSecrets('sandbox')).toThrow(/secret-key holds no key: set SECRET_KEY, or delete the file/)
})

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'guiche-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('METRICS_TOKEN is compared as a whole, kept as a hash, and refused if it is short or cannot stand in a header', () => {
  const METRICS_TOKEN = 't'.repeat(32)
  const config = loadConfig({ METRICS_TOKEN })
  expect(JSON.stringify(config)).not.toContain(METRICS_TOKEN)
  const { isMetricsToken } = config.settings
  expect([METRICS_TOKEN, `${METRICS_TOKEN}t`, 't', ''].map(isMetricsToken)).toEqual([true, false, false, false])
  expect(['', 'undefined'].map(loadConfig({}).settings.isMetricsToken)).toEqual([false, false])
  for (const wrong of ['t'.repeat(31), `${METRICS_TOKEN} t`, `${METRICS_TOKEN}ç`]) {
    const refused = () => loadConfig({ METRICS_TOKEN: wrong })
    expect(refused).toThrow('METRICS_TOKEN must have at least 32 characters and no spaces')
    expect(refused).not.toThrow(wrong)
  }
})
