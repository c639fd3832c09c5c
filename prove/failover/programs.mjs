// The programs that the proof of failover needs, from Debian's packages.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { run, withProgress } from '../../scripts/bootstrap.mjs'

/**
 * Options of unshare for a network and a process table of its own. Everything in it ends with its first process, which
 * ends with unshare.
 */
export const NAMESPACES = ['--net', '--pid', '--mount-proc', '--fork', '--kill-child', '--']

/** The Debian package of each program. */
const PACKAGES = {
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  ip: 'iproute2',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
}
const POSTGRESQL = '/usr/lib/postgresql'
/** Patroni speaks to etcd by this library. Debian's package of Patroni only suggests it. */
const ETCD_CLIENT = '/usr/lib/python3/dist-packages/etcd/__init__.py'
/** While this script exits with 101, Debian's packages start no services when they are installed. */
const POLICY = '/usr/sbin/policy-rc.d'
const SYSTEM_PATHS = ['/usr/sbin', '/sbin', '/usr/bin', '/bin']

/** Installs what is missing, if it may. Returns what keeps the proof from running, in words. */
export async function ensurePackages() {
  if (process.platform !== 'linux') return 'it needs Linux, and Debian’s packages of Patroni, etcd and HAProxy'
  const packages = missingPackages()
  const install = `apt-get install ${packages.join(' ')}`
  if (process.getuid() !== 0)
    return `it needs root, for namespaces. Run it with sudo${packages.length > 0 ? `, after "${install}"` : ''}`
  if (packages.length > 0) {
    if (!find('apt-get')) return `install the programs that Debian has in these packages: ${packages.join(', ')}`
    const { code, output } = await withProgress(`Installing ${packages.join(', ')}`, () => aptInstall(packages))
    if (code !== 0) return `"${install}" failed:\n${output.trim().split('\n').slice(-10).join('\n')}`
    const still = missingPackages()
    if (still.length > 0) return `${still.join(', ')} lack what the proof looks for`
  }
  const { code, output } = await run(['unshare', ...NAMESPACES, 'ip', 'link', 'add', 'test', 'type', 'bridge'])
  if (code !== 0)
    return `this machine allows no namespaces (${output.trim()}). In a container, use docker run --privileged`
  return undefined
}

/** Finds the folder of PostgreSQL's programs, in the newest version that has a server. */
export function postgresBin() {
  const versions = existsSync(POSTGRESQL) ? readdirSync(POSTGRESQL) : []
  return versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(POSTGRESQL, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'postgres')))
}

/** Reads the versions for the report, and the settings that deploy/ha/README.md gives for this Patroni. */
export async function readVersions() {
  const first = async (...command) => versionIn((await run(command)).output)
  const patroni = await first('patroni', '--version')
  const [major, minor] = patroni.split('.').map(Number)
  return {
    text: [
      `PostgreSQL ${await first(join(postgresBin(), 'postgres'), '--version')}`,
      `Patroni ${patroni}`,
      `etcd ${await first('etcd', '--version')}`,
      `HAProxy ${await first(find('haproxy'), '-v')}`,
    ].join(', '),
    settings: {
      SYNCHRONOUS_MODE: major >= 4 ? 'quorum' : 'on',
      ETCD_PROTOCOL: major > 3 || (major === 3 && minor >= 1) ? 'etcd3' : 'etcd',
    },
  }
}

/** etcd prints its version after lines of its log, which begin with a date. */
export function versionIn(output) {
  return /\bversion:? *v?(\d+(?:\.\d+)+)/i.exec(output)?.[1] ?? /\d+(?:\.\d+)+/.exec(output)?.[0] ?? 'unknown'
}

/** Finds the path of a program, even if the caller’s PATH lacks the system's folders. */
export function find(program) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_PATHS]
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path))
}

export function readUser(name) {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  if (uid === undefined) throw new Error(`this machine has no user ${name}`)
  return { uid: Number(uid), gid: Number(gid) }
}

function missingPackages() {
  const packages = Object.entries(PACKAGES).flatMap(([program, name]) => (find(program) ? [] : [name]))
  if (!postgresBin()) packages.push('postgresql')
  if (!existsSync(ETCD_CLIENT)) packages.push('python3-etcd')
  return [...new Set(packages)]
}

async function aptInstall(packages) {
  const isOurs = !existsSync(POLICY)
  if (isOurs) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    await run(['apt-get', 'update', '-q'], { env })
    return await run(['apt-get', 'install', '-q', '-y', '--no-install-recommends', ...packages], { env })
  } finally {
    if (isOurs) rmSync(POLICY, { force: true })
  }
}
