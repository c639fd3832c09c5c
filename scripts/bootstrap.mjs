// Prepares a fresh clone for the service: checks Node's version, installs the dependencies, and builds. It has no
// dependencies of its own, since it runs before there are any. It writes to standard error only: standard output
// belongs to the command that runs afterwards.

import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const NODE_MIN = [20, 19]
/** The stamps hold the hash of what was installed or built; they are written last, so a killed attempt is redone. */
const INSTALL_STAMP = join(root, 'node_modules', '.guiche-installed')
const BUILD_STAMP = '.guiche-built'
/** Processes that want to install or build queue up in this folder. Git ignores every dist. */
const LOCKS = join(root, 'dist', 'locks')
/** A first install on a slow line takes minutes, so a process waits as long for another one. */
const LOCK_WAIT_MS = 15 * 60_000
const LOCK_RETRY_MS = 100
/** A child that was asked to end gets this long before it is killed: npm and tsc have nothing to save. */
const KILL_AFTER_MS = 3_000
/** How much of a failed command's output is shown: the cause is at the end. */
const TAIL_LINES = 20
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SPINNER_MS = 100

/** Everything that is compiled. `args` gets the directory to write to; `sources` are hashed to see what changed. */
const builds = [
  {
    // The server's package contains the client that its commands use, so it needs no other package of ours.
    name: 'client',
    out: 'server/sdk/dist',
    sources: ['sdk/src', 'sdk/tsconfig.build.json', 'tsconfig.base.json'],
    tool: 'node_modules/typescript/bin/tsc',
    args: (/** @type {string} */ out) => ['-p', join(root, 'sdk/tsconfig.build.json'), '--outDir', out],
  },
  {
    name: 'server',
    out: 'server/dist',
    sources: ['server/src', 'server/tsconfig.build.json', 'tsconfig.base.json'],
    tool: 'node_modules/typescript/bin/tsc',
    args: (/** @type {string} */ out) => ['-p', join(root, 'server/tsconfig.build.json'), '--outDir', out],
  },
  {
    name: 'dashboard',
    out: 'web/dist',
    sources: ['web/src', 'web/index.html', 'web/vite.config.ts', 'web/package.json', 'sdk/examples'],
    tool: 'node_modules/vite/bin/vite.js',
    args: (/** @type {string} */ out) => ['build', join(root, 'web'), '--outDir', out, '--logLevel', 'warn'],
  },
]

export function ensureNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return
  fail(`guiche needs Node ${NODE_MIN.join('.')} or newer, and this is ${process.versions.node}: see https://nodejs.org`)
}

/** Installs the dependencies when they are missing or not those of the lockfile. */
export async function ensureInstalled() {
  const wanted = hashOf(['package.json', 'package-lock.json', ...workspaces().map((name) => `${name}/package.json`)])
  if (readStamp(INSTALL_STAMP) === wanted) return
  await withLock(async () => {
    if (readStamp(INSTALL_STAMP) === wanted) return
    if (!isInstalledByHand()) {
      const first = !existsSync(join(root, 'node_modules'))
      // npm records here what it installed. Without this file, an installation that is killed half-way cannot pass for
      // complete.
      rmSync(join(root, 'node_modules', '.package-lock.json'), { force: true })
      const label = first ? 'Installing dependencies (first time, about 20 s)' : 'Installing changed dependencies'
      const flags = ['--ignore-scripts', '--include=dev', '--include=optional', '--loglevel=error']
      const npm = process.env.npm_execpath?.endsWith('.js') ? [process.execPath, process.env.npm_execpath] : ['npm']
      await runOrFail([...npm, 'ci', ...flags], { label, hint: 'The dependencies could not be installed.' })
    }
    writeFileSync(INSTALL_STAMP, wanted)
  })
}

/** Builds what changed since the last build. */
export async function ensureBuilt() {
  for (const build of builds) {
    const out = join(root, build.out)
    const wanted = hashOf([...build.sources, 'package-lock.json'])
    const isBuilt = () => readStamp(join(out, BUILD_STAMP)) === wanted
    if (isBuilt()) continue
    if (!existsSync(join(root, build.tool))) fail('The dependencies are not installed: run "npm start", or "npm ci".')
    await withLock(async () => {
      if (!isBuilt()) await buildInto(build, out, wanted)
    })
  }
}

/** Compiles beside the old build and then replaces it, so that nobody ever loads half a build. */
async function buildInto(build, out, wanted) {
  const fresh = `${out}.new`
  const old = `${out}.old`
  rmSync(fresh, { recursive: true, force: true })
  rmSync(old, { recursive: true, force: true })
  await runOrFail([process.execPath, join(root, build.tool), ...build.args(fresh)], {
    label: `Building the ${build.name}`,
    hint: `The ${build.name} could not be built.`,
  })
  writeFileSync(join(fresh, BUILD_STAMP), wanted)
  if (existsSync(out)) renameSync(out, old)
  renameSync(fresh, out)
  rmSync(old, { recursive: true, force: true })
}

/**
 * Runs a program to its end. A signal to us ends it and then us, so nothing goes on after a Ctrl-C.
 * @param {string[]} command
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, inherit?: boolean }} [options]
 * @returns {Promise<{ code: number, output: string }>}
 */
export async function run([program, ...args], options = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: options.cwd ?? root,
      env: options.env ?? process.env,
      stdio: options.inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout?.on('data', (text) => (output += text))
    child.stderr?.on('data', (text) => (output += text))
    let wanted
    const stop = (signal) => {
      wanted = signal
      child.kill(signal)
      setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref()
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, stop)
    const end = (code) => {
      for (const signal of signals) process.off(signal, stop)
      if (wanted) {
        if (process.stderr.isTTY) process.stderr.write('\n')
        for (const release of releases) release()
        // Ends this process by the same signal, so that the shell sees what happened. The handlers are off by now.
        process.kill(process.pid, wanted)
      } else resolve({ code, output })
    }
    child.once('error', (error) => {
      output += error.message
      end(127)
    })
    child.once('close', (code) => end(code ?? 1))
  })
}

/** Shows that something long is running: a moving line at a terminal, a plain one in a log. */
export async function withProgress(label, work) {
  const began = performance.now()
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(0)} s`
  if (!process.stderr.isTTY) {
    process.stderr.write(`${label}…\n`)
    return work()
  }
  let turn = 0
  const draw = () => process.stderr.write(`\r\x1b[K${SPINNER[turn++ % SPINNER.length]} ${label}… ${seconds()}`)
  draw()
  const timer = setInterval(draw, SPINNER_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    process.stderr.write(`\r\x1b[K${label}: ${seconds()}\n`)
  }
}

export function fail(message) {
  process.stderr.write(`${message}\n`)
  for (const release of releases) release()
  process.exit(1)
}

async function runOrFail(command, { label, hint }) {
  const { code, output } = await withProgress(label, () => run(command))
  if (code === 0) return
  const tail = output.trim().split('\n').slice(-TAIL_LINES).join('\n')
  fail(`${tail}\n\n${hint}${networkHint(output)} The command was: ${command.join(' ')}`)
}

/** If npm cannot reach its registry, it prints many lines, and none of them says what to check. */
export function networkHint(output) {
  return /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/.test(
    output,
  )
    ? ' No network? npm could not reach its registry: check the connection, or the proxy in npm config.'
    : ''
}

/** Functions that release this process's locks, also when it ends early. */
const releases = new Set()

/**
 * Lets one process at a time install or build. Each makes a file named after itself and looks whether a living process
 * has a file too. If so, it removes its own and waits. The file of a dead process has a name that nobody else will use,
 * so it can be removed without a race.
 */
async function withLock(work) {
  mkdirSync(LOCKS, { recursive: true })
  const mine = `${process.pid}-${startOf(process.pid)}-${randomBytes(4).toString('hex')}`
  const path = join(LOCKS, mine)
  const release = () => rmSync(path, { force: true })
  const deadline = performance.now() + LOCK_WAIT_MS
  for (let told = false; ;) {
    writeFileSync(path, '', { flag: 'wx' })
    const other = readdirSync(LOCKS).find((name) => name !== mine && isAlive(name))
    if (other === undefined) break
    release()
    if (performance.now() > deadline)
      fail(`The process ${other.split('-')[0]} has been installing or building for too long.`)
    if (!told) process.stderr.write(`Waiting for the process ${other.split('-')[0]}, which installs or builds…\n`)
    told = true
    await sleep(LOCK_RETRY_MS * (1 + Math.random()))
  }
  releases.add(release)
  try {
    return await work()
  } finally {
    releases.delete(release)
    release()
  }
}

function isAlive(name) {
  const [pid, start] = name.split('-')
  if (startOf(Number(pid)) === start) return true
  rmSync(join(LOCKS, name), { force: true })
  return false
}

/** Returns when a process started, if the system tells it in a file; elsewhere only whether it is alive. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    if (existsSync('/proc/self/stat')) return undefined
  }
  try {
    process.kill(pid, 0)
    return 'alive'
  } catch (error) {
    return error.code === 'EPERM' ? 'alive' : undefined
  }
}

/**
 * Tells whether somebody ran `npm install` or `npm ci`: all of the lockfile that this machine needs is in its place.
 */
function isInstalledByHand() {
  try {
    const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
    const found = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8')).packages
    if (Object.keys(found).some((path) => !(path in wanted))) return false
    return Object.entries(wanted).every(([path, entry]) => {
      if (!path.includes('node_modules/') || entry.link) return true
      if (entry.optional && !isForThisMachine(entry)) return true
      return found[path]?.version === entry.version && existsSync(join(root, path, 'package.json'))
    })
  } catch {
    return false
  }
}

/** Returns false for a package that names a C library. npm decides about it, and both absent and present are right. */
function isForThisMachine({ os, cpu, libc }) {
  if (libc || [...(os ?? []), ...(cpu ?? [])].some((name) => name.startsWith('!'))) return false
  return (!os || os.includes(process.platform)) && (!cpu || cpu.includes(process.arch))
}

/** The parts of the repository that have a package of their own. */
export function workspaces() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).workspaces.filter((name) =>
    existsSync(join(root, name, 'package.json')),
  )
}

/** Hashes names and contents. Modification times differ between clones, and would cause needless builds. */
export function hashOf(paths) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}\0`)
  const add = (path, entry) => {
    if (entry.isDirectory()) {
      const names = readdirSync(join(root, path), { withFileTypes: true })
      for (const below of names.toSorted((a, b) => (a.name < b.name ? -1 : 1))) add(`${path}/${below.name}`, below)
    } else {
      const content = readFileSync(join(root, path))
      hash.update(`${path}\0${content.length}\0`).update(content)
    }
  }
  for (const path of paths) add(path, { isDirectory: () => !/\.\w+$/.test(path) })
  return hash.digest('hex')
}

function readStamp(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
