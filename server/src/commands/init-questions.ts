import { resolve } from 'node:path'
import { plainHttpNames } from '../base/local-url.ts'
import { OperatorError } from '../base/operator-error.ts'
import { file, origin, refusal, url, type Env } from '../config/variables.ts'
import { loadConfig } from '../config/config.ts'
import { loadTls, readCertificates } from '../config/certificates.ts'
import { checkProviderName, prefixOf } from '../config/providers.ts'
import type { BankEnvironment, BankProfile } from '../providers/api-pix/banks/bank-profile.ts'
import { BANK_NAMES, BANK_PROFILES, type BankName } from '../providers/api-pix/banks/bank-profiles.ts'

const PROVIDER_KINDS = [...BANK_NAMES, 'api-pix', 'woovi']

/** Options that answer a question beforehand, by the name that Commander gives them. */
export const ANSWERS = {
  mode: ['--mode <mode>', 'sandbox or live (default: sandbox)'],
  port: ['--port <port>', 'port to listen on (default: 3000)'],
  publicUrl: ['--public-url <url>', 'how the outside world reaches guiche; required for live'],
  trustProxy: [
    '--trust-proxy <answer>',
    'true if exactly one proxy is in front, else false (default: true if live and https)',
  ],
  databaseUrl: ['--database-url <url>', 'your PostgreSQL (default: the embedded one)'],
  provider: ['--provider <kind>', `${PROVIDER_KINDS.join(', ')} (default: api-pix)`],
  providerName: ['--provider-name <name>', 'name of the provider in the settings (default: the bank, bank, or woovi)'],
  environment: ['--environment <environment>', 'of a bank that is named: live or test (default: live)'],
  providerUrl: ['--provider-url <url>', 'api-pix: base URL of the API'],
  tokenUrl: ['--token-url <url>', 'api-pix: OAuth token URL'],
  clientId: ['--client-id <id>', 'api-pix: OAuth client id'],
  clientSecret: ['--client-secret <secret>', 'api-pix: OAuth client secret'],
  appKey: ['--app-key <key>', 'bb: the key of the application'],
  pixKey: ['--pix-key <key>', 'api-pix: the Pix key that is paid'],
  certificate: ['--certificate <file>', 'api-pix: client certificate, a PEM or PFX file (default: none)'],
  certificateKey: ['--certificate-key <file>', 'api-pix: private key of a PEM certificate'],
  certificatePassword: ['--certificate-password <password>', 'api-pix: password of a PFX file'],
  appId: ['--app-id <id>', 'woovi: the AppID'],
  smtpUrl: ['--smtp-url <url>', 'mail server (default: none)'],
  mailFrom: ['--mail-from <sender>', 'sender of e-mail (default: no-reply at the host of the public URL)'],
} as const satisfies Record<string, readonly [flags: string, text: string]>

export type AnswerName = keyof typeof ANSWERS

export type Question = {
  name: AnswerName
  text: string
  /** A person reads this before the question. */
  advice?: string
  /** Empty: nothing is set. Undefined: an answer is required. */
  fallback?: string | undefined
  isSecret?: boolean
  /** Resolves to what is written, or throws an OperatorError. */
  check(answer: string): string | Promise<string>
}

export type Asker = {
  ask(question: Question): Promise<string>
  isGiven(name: AnswerName): boolean
}

export async function askSettings(
  { ask, isGiven }: Asker,
  tryDatabase: (databaseUrl: string) => Promise<void>,
): Promise<Record<string, string>> {
  const mode = await ask({
    name: 'mode',
    text: 'Mode: sandbox, in which no real money moves, or live',
    fallback: 'sandbox',
    check: oneOf('sandbox', 'live'),
  })
  const isLive = mode === 'live'
  const port = await ask({ name: 'port', text: 'Port to listen on', fallback: '3000', check: byConfig('PORT') })
  const publicUrl = await ask({
    name: 'publicUrl',
    text: `How the outside world reaches guiche${isLive ? ', such as https://pay.example.com' : ''}`,
    fallback: isLive ? undefined : `http://localhost:${port}`,
    check(answer) {
      const checked = origin({ PUBLIC_URL: answer }, 'PUBLIC_URL')
      return isLive ? encrypted('PUBLIC_URL', checked) : checked
    },
  })
  const proxy = isLive || isGiven('trustProxy') ? await askProxy(ask, publicUrl) : {}
  const databaseUrl = await ask({
    name: 'databaseUrl',
    text: 'URL of your PostgreSQL, or Enter for the embedded one',
    fallback: '',
    isSecret: true,
    async check(answer) {
      byConfig('DATABASE_URL')(answer)
      await tryDatabase(answer)
      return answer
    },
  })
  return {
    PORT: port,
    PUBLIC_URL: publicUrl,
    ...proxy,
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    ...(isLive ? await askProvider(ask) : { PROVIDERS: 'sandbox' }),
    // The sandbox logs what it would mail.
    ...(isLive || isGiven('smtpUrl') ? await askMail(ask, publicUrl) : {}),
  }
}

/** guiche speaks plain HTTP, so an https URL has a proxy in front. */
async function askProxy(ask: Asker['ask'], publicUrl: string): Promise<Record<string, string>> {
  const trustProxy = await ask({
    name: 'trustProxy',
    advice: `  Limits go by the caller's address. Answer true if exactly one proxy is in front and writes that address to
  X-Forwarded-For. Answer false if there is none, or if it passes on what callers write there.`,
    text: 'Trust the proxy: true or false',
    fallback: String(!publicUrl.startsWith('http:')),
    check: byConfig('TRUST_PROXY'),
  })
  return { TRUST_PROXY: trustProxy }
}

async function askProvider(ask: Asker['ask']): Promise<Record<string, string>> {
  const kind = await ask({
    name: 'provider',
    text: `Payment provider: ${BANK_NAMES.join(', ')}, woovi, or api-pix for any other bank`,
    fallback: 'api-pix',
    check: oneOf(...PROVIDER_KINDS),
  })
  const bank = BANK_NAMES.find((known) => known === kind)
  const name = await ask({
    name: 'providerName',
    text: 'Name of the provider in the settings and in reports',
    fallback: kind === 'api-pix' ? 'bank' : kind,
    check: providerName,
  })
  const prefix = prefixOf(name)
  const own = bank
    ? { BANK: bank, ...(await askBank(ask, prefix, bank)) }
    : { KIND: kind, ...(await (kind === 'woovi' ? askWoovi(ask) : askApiPix(ask, prefix))) }
  return {
    PROVIDERS: name,
    ...Object.fromEntries(Object.entries(own).map(([variable, value]) => [`${prefix}_${variable}`, value])),
  }
}

async function askWoovi(ask: Asker['ask']): Promise<Record<string, string>> {
  return { APP_ID: await ask({ name: 'appId', text: 'AppID', isSecret: true, check: oneWord }) }
}

/** Only what the profile of the bank leaves open. */
async function askBank(ask: Asker['ask'], prefix: string, bank: BankName): Promise<Record<string, string>> {
  const profile: BankProfile = BANK_PROFILES[bank]
  const environment = profile.test.url
    ? await ask({ name: 'environment', text: 'Live or test', fallback: 'live', check: oneOf('live', 'test') })
    : 'live'
  const known = environment === 'test' ? profile.test : profile.live
  return {
    ...(environment === 'test' && { ENVIRONMENT: environment }),
    ...(await askApiPix(ask, prefix, { ...known, ...profile })),
  }
}

type Known = Partial<BankEnvironment & Pick<BankProfile, 'auth'>>

async function askApiPix(ask: Asker['ask'], prefix: string, known: Known = {}): Promise<Record<string, string>> {
  const httpsUrl = (variable: string) => (answer: string) => encrypted(variable, url({ [variable]: answer }, variable))
  const askUrl = (name: 'providerUrl' | 'tokenUrl', variable: string, text: string) =>
    ask({ name, text, check: httpsUrl(`${prefix}_${variable}`) })
  const { asksQuery, needsCertificate } = known
  return {
    ...(!known.url && { URL: await askUrl('providerUrl', 'URL', 'Base URL of its API') }),
    ...(!known.tokenUrl && { TOKEN_URL: await askUrl('tokenUrl', 'TOKEN_URL', 'OAuth token URL') }),
    CLIENT_ID: await ask({ name: 'clientId', text: 'Client id', check: oneWord }),
    ...(known.auth !== 'certificate' && {
      CLIENT_SECRET: await ask({ name: 'clientSecret', text: 'Client secret', isSecret: true, check: oneWord }),
    }),
    ...(asksQuery && { QUERY: `${asksQuery}=${encodeURIComponent(await askAppKey(ask, asksQuery))}` }),
    PIX_KEY: await ask({ name: 'pixKey', text: 'Pix key that is paid', check: oneWord }),
    ...(needsCertificate !== false && (await askCertificate(ask, prefix, needsCertificate ?? false))),
  }
}

function askAppKey(ask: Asker['ask'], parameter: string): Promise<string> {
  return ask({ name: 'appKey', text: `Key of the application (${parameter})`, isSecret: true, check: oneWord })
}

/** Banks hand out either a PEM certificate with its key, or both in a PFX file. */
async function askCertificate(ask: Asker['ask'], prefix: string, isNeeded: boolean): Promise<Record<string, string>> {
  const read = (path: string) => file('The certificate', path).toString('latin1')
  const path = await ask({
    name: 'certificate',
    text: `Client certificate, a PEM or PFX file${isNeeded ? '' : ', or Enter for none'}`,
    fallback: isNeeded ? undefined : '',
    check(answer) {
      // Absolute, because the service may start in another directory.
      const found = resolve(answer)
      const content = read(found)
      if (isPem(content)) readCertificates({ name: `${prefix}_CERT`, bytes: Buffer.from(content, 'latin1') })
      // A PFX file begins with 0x30, the tag of a DER sequence. Opening it with its password checks the rest.
      else if (!content.startsWith('\x30')) throw new OperatorError(`${found} is neither a PEM nor a PFX file`)
      return found
    },
  })
  if (path === '') return {}
  const content = read(path)
  if (!isPem(content)) return { PFX: path, ...(await askPfxPassword(ask, prefix, path)) }
  const key = await ask({
    name: 'certificateKey',
    text: 'Its private key, a PEM file',
    fallback: content.includes('PRIVATE KEY-----') ? path : undefined,
    check(answer) {
      const found = resolve(answer)
      loadTls({ [`${prefix}_CERT`]: path, [`${prefix}_CERT_KEY`]: found }, prefix)
      return found
    },
  })
  return { CERT: path, CERT_KEY: key }
}

function isPem(content: string): boolean {
  return content.includes('-----BEGIN ')
}

async function askPfxPassword(ask: Asker['ask'], prefix: string, path: string): Promise<Record<string, string>> {
  const check = (password: string) => {
    loadTls({ [`${prefix}_PFX`]: path, [`${prefix}_PFX_PASSWORD`]: password }, prefix)
    return password
  }
  try {
    check('')
    return {}
  } catch {
    const question = { text: 'Password of the PFX file', isSecret: true, check }
    return { PFX_PASSWORD: await ask({ name: 'certificatePassword', ...question }) }
  }
}

async function askMail(ask: Asker['ask'], publicUrl: string): Promise<Record<string, string>> {
  const smtpUrl = await ask({
    name: 'smtpUrl',
    text: 'Mail server, such as smtps://user:password@mail.example.com:465, or Enter for none',
    fallback: '',
    isSecret: true,
    check: byConfig('SMTP_URL'),
  })
  if (smtpUrl === '') return {}
  const from = await ask({
    name: 'mailFrom',
    text: 'Sender of e-mail',
    fallback: `guiche <no-reply@${URL.canParse(publicUrl) ? new URL(publicUrl).hostname : 'localhost'}>`,
    check: byConfig('MAIL_FROM', { SMTP_URL: smtpUrl }),
  })
  return { SMTP_URL: smtpUrl, MAIL_FROM: from }
}

// ---- Checks ----

function oneOf(...choices: string[]) {
  return (answer: string) => {
    if (choices.includes(answer)) return answer
    throw new OperatorError(`It must be ${choices.join(' or ')}, not ${JSON.stringify(answer)}`)
  }
}

/** The rule that config.ts has for a variable. */
function byConfig(variable: string, others: Env = {}) {
  return (answer: string) => {
    loadConfig({ ...others, [variable]: answer })
    return answer
  }
}

function encrypted(variable: string, answer: string): string {
  if (plainHttpNames([[variable, answer]]).length === 0) return answer
  throw refusal(variable, 'must be an https URL')
}

function providerName(answer: string): string {
  checkProviderName(answer)
  if (answer === 'sandbox') throw new OperatorError('The sandbox bank has the name sandbox: choose another one')
  return answer
}

/** Spaces show that too little or too much was pasted. */
function oneWord(answer: string): string {
  if (/^\S+$/.test(answer)) return answer
  throw new OperatorError('It must not have spaces within')
}
