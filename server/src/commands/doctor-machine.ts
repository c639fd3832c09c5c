import { statSync } from 'node:fs'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { requireListen } from '../process/listen.ts'
import type { Config } from '../config/config.ts'
import { unencryptedHosts } from '../db/database-url.ts'
import { NO_MAIL } from '../mail/unsent.ts'
import { findRunning } from '../sandbox/address.ts'

/** A warning does not change the exit code. */
export type Finding = { mark: '✓' | '!' | '✗'; what: string; text: string }

export const fine = (what: string, text: string): Finding => ({ mark: '✓', what, text })
export const warning = (what: string, text: string): Finding => ({ mark: '!', what, text })
export const wrong = (what: string, text: string): Finding => ({ mark: '✗', what, text })

export async function examineMachine(config: Config): Promise<Finding[]> {
  return [
    ...examineConfig(config),
    ...config.certificateTroubles.map(({ provider, text, stopsCalls }) =>
      (stopsCalls ? wrong : warning)(`certificate ${provider}`, text),
    ),
    ...examineSecretFiles(config),
    ...examineEncryption(config),
    ...(await examineMail(config)),
    ...(await examineHost(config)),
    ...(await examineHome(config)),
    ...(await examineSandbox(config)),
  ]
}

function examineConfig({ settings, publicUrl, home, warnings }: Config): Finding[] {
  return [
    fine('configuration', `${settings.mode} mode, PUBLIC_URL ${publicUrl}, GUICHE_HOME ${home}`),
    ...warnings.map((text) => warning('configuration', text)),
  ]
}

const OTHERS_MAY_READ = 0o004

function examineSecretFiles({ secretFiles }: Config): Finding[] {
  const open = secretFiles.filter((path) => (statSync(path).mode & OTHERS_MAY_READ) !== 0)
  return open.map((path) => warning('secrets', `every user of this machine can read ${path}: run chmod o= ${path}`))
}

function examineEncryption({ plainHttp, databaseUrl, databaseReadUrl }: Config): Finding[] {
  const unencrypted = `${plainHttp.join(', ')}: traffic is not encrypted, because ALLOW_PLAIN_HTTP is set`
  const urls = Object.entries({ DATABASE_URL: databaseUrl, DATABASE_READ_URL: databaseReadUrl })
  return [
    ...(plainHttp.length > 0 ? [warning('plain http', unencrypted)] : []),
    ...urls.flatMap(([name, url]) => {
      const hosts = url ? unencryptedHosts(url) : []
      if (hosts.length === 0) return []
      const text = `${name} leads to ${hosts.join(', ')} without TLS: add sslmode=verify-full`
      return [warning('database TLS', `${text}, or sslmode=disable if nobody else is on that network`)]
    }),
  ]
}

/** Signs in: the server may be down, refuse the password or lack TLS. */
async function examineMail({ settings, mail }: Config): Promise<Finding[]> {
  if (settings.mode === 'test') return []
  if (!mail) return [warning('mail', NO_MAIL)]
  const { trySmtp } = await import('../mail/smtp.ts')
  try {
    await trySmtp(mail)
    return [fine('mail', `the server of SMTP_URL takes e-mail${mail.requiresTls ? ', over TLS' : ''}`)]
  } catch (error) {
    const lacksTls = (error as { code?: string }).code === 'ETLS' ? '. In live mode another machine must offer TLS' : ''
    return [wrong('mail', `the server of SMTP_URL cannot be used: ${(error as Error).message}${lacksTls}`)]
  }
}

/** On any free port, because the running service holds its own. */
async function examineHost(config: Config): Promise<Finding[]> {
  return requireListen({ host: config.host, port: 0 }).then(
    () => [],
    (error: Error) => [wrong('configuration', error.message)],
  )
}

// PostgreSQL keeps up to 1 GB of WAL, and a busy day needs about as much for its tables.
const DISK_LOW_BYTES = 2 * 1024 ** 3
// With less, the next checkpoint or the next partition may fail.
const DISK_FULL_BYTES = 100 * 1024 ** 2

async function examineHome({ home, databaseUrl, providers }: Config): Promise<Finding[]> {
  const runsBank = providers.some((provider) => provider.kind === 'sandbox')
  if (databaseUrl && !runsBank) return []
  try {
    const place = nearestDirectory(home)
    // access() tells root nothing of read-only file systems.
    await rm(await mkdtemp(join(place, '.guiche-doctor-')), { recursive: true })
    const { bavail, bsize } = await statfs(place)
    return databaseUrl ? [] : examineDisk(home, bavail * bsize)
  } catch (error) {
    const text = `${home} cannot be written to (${(error as Error).message})`
    return [wrong('home', `${text}: give it to the user that runs guiche, or set GUICHE_HOME`)]
  }
}

function nearestDirectory(path: string): string {
  return statSync(path, { throwIfNoEntry: false }) ? path : nearestDirectory(dirname(path))
}

export function examineDisk(home: string, freeBytes: number): Finding[] {
  if (freeBytes >= DISK_LOW_BYTES) return []
  const text = `${Math.floor(freeBytes / 1024 ** 2)} MB are free in ${home}, and a full disk stops the database: make room`
  return [freeBytes < DISK_FULL_BYTES ? wrong('disk', text) : warning('disk', text)]
}

/** withContext starts a sandbox if none is running, so this comes before. */
async function examineSandbox(config: Config): Promise<Finding[]> {
  const home = join(config.home, 'sandbox')
  const isOurs = config.providers.some((provider) => provider.kind === 'sandbox')
  if (!isOurs || (await findRunning(home))) return []
  return [warning('sandbox', `the sandbox of ${home} is not running: run guiche start or guiche sandbox`)]
}
