import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { isLocalHost } from '../base/local-url.ts'
import { OperatorError } from '../base/operator-error.ts'

export type DatabaseAddress = {
  connectionString: string
  ssl: false | ConnectionOptions
  hosts: Host[]
}

export type Host = { host: string; port: number }

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
/** node-postgres gives some of them another meaning than libpq, so they are parsed here. */
const SSL_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey']
const EXAMPLE = 'must look like postgresql://user:password@host:5432/database'

/** Words that follow the name of a variable. */
class Refusal extends Error {}

/** Refuses what cannot work, without showing the password. */
export function readDatabaseUrl(url: string, variable = 'DATABASE_URL'): DatabaseAddress {
  try {
    return parse(url)
  } catch (error) {
    throw error instanceof Refusal ? new OperatorError(`${variable} ${error.message}`) : error
  }
}

/** Hosts beyond this machine that are reached without TLS, although nobody wrote sslmode=disable. */
export function unencryptedHosts(url: string): string[] {
  const { connectionString, hosts } = readDatabaseUrl(url)
  const parameters = new URLSearchParams(splitOnce(url, '?')[1])
  if (parameters.has('sslmode')) return []
  // A socket's directory, or a name, in place of the host before the database.
  const first = parameters.get('host') ?? new URL(connectionString.replace('@/', '@localhost/')).hostname
  const names = hosts.length > 0 ? hosts.map(({ host }) => host) : [first]
  return names.filter((name) => name !== '' && !name.startsWith('/') && !isLocalHost(name))
}

function parse(url: string): DatabaseAddress {
  if (!/^postgres(ql)?:\/\//.test(url)) throw new Refusal(EXAMPLE)
  const [given, query] = splitOnce(url, '?')
  const parameters = new URLSearchParams(query)
  const { address, hosts } = readHosts(given)
  refuseOtherChoices(parameters)
  // node-postgres allows an empty host, which stands for a socket's directory in the parameters.
  if (!URL.canParse(address.replace('@/', '@socket/')))
    throw new Refusal(`${EXAMPLE}; write other characters than letters and digits in a password as %-codes`)
  const ssl = readTls(parameters)
  for (const name of [...SSL_PARAMETERS, 'target_session_attrs']) parameters.delete(name)
  return { connectionString: parameters.size > 0 ? `${address}?${parameters.toString()}` : address, ssl, hosts }
}

/** Several hosts are separated by commas, as in libpq: see hosts.ts. */
function readHosts(given: string): { address: string; hosts: Host[] } {
  const [, before = '', list = '', after = ''] = /^([a-z]+:\/\/(?:[^/]*@)?)([^/]*)(.*)$/s.exec(given) ?? []
  const names = list.split(',')
  if (names.length < 2) return { address: given, hosts: [] }
  const hosts = names.map((name) => {
    const [, host, port = '5432'] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(name) ?? []
    if (!host) throw new Refusal('must list hosts as a:5432,b:5432')
    return { host: host.replaceAll(/[[\]]/g, ''), port: Number(port) }
  })
  return { address: `${before}${names[0]}${after}`, hosts }
}

function refuseOtherChoices(parameters: URLSearchParams): void {
  const parameter = parameters.get('host') ?? ''
  if (parameter.includes(',') && !parameter.startsWith('/'))
    throw new Refusal('must list several hosts before the database: postgresql://user:password@a:5432,b:5432/database')
  const wanted = parameters.get('target_session_attrs') ?? 'read-write'
  if (!['read-write', 'primary'].includes(wanted) || parameters.has('load_balance_hosts'))
    throw new Refusal('must lead to the primary: of several hosts, guiche uses the one that writes')
}

/** Without sslmode the connection is not encrypted. */
function readTls(parameters: URLSearchParams): false | ConnectionOptions {
  if (parameters.has('ssl')) throw new Refusal('must not use ssl=…: use sslmode=verify-full')
  const given = parameters.get('sslmode') ?? 'disable'
  const mode = SSL_MODES.find((candidate) => candidate === given)
  if (!mode) throw new Refusal(`has sslmode=${given}: use one of ${SSL_MODES.join(', ')}`)
  const files = Object.fromEntries(
    SSL_PARAMETERS.slice(1).flatMap((name) => {
      const path = parameters.get(name)
      return path ? [[name, readPem(name, path)]] : []
    }),
  )
  const { sslrootcert: ca, sslcert: cert, sslkey: key } = files
  if (mode === 'disable') {
    if (ca || cert || key) throw new Refusal('has certificates but no sslmode: add sslmode=verify-full')
    return false
  }
  if (mode === 'verify-ca' && !ca)
    throw new Refusal('has sslmode=verify-ca without sslrootcert: name the authority’s file, or use verify-full')
  if (!cert !== !key) throw new Refusal('must have both sslcert and sslkey, or neither')
  return {
    ...(ca && { ca }),
    ...(cert && { cert, key }),
    // `require` alone does not check the certificate; with a root certificate it does, as verify-ca.
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  }
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Refusal(`has ${name}=${path}, which cannot be read: ${(error as Error).message}`)
  }
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
