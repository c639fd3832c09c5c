import Fastify, { type FastifyInstance } from 'fastify'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dashboardPageRoutes } from '../src/http/dashboard/static.ts'
import { world } from './world.ts'

const INDEX = `<!doctype html><head><meta property="csp-nonce" nonce="__CSP_NONCE__"><script nonce="__CSP_NONCE__">1</script></head>`
const LINKS = /<link .*(?=<\/head>)/
const PAGES = (
  '/ /sign-in /sign-up /forgot-password /reset-password /verify-email /two-factor /deposits /deposits/7c9f /developers ' +
  '/developers/keys /statement /guide /settings /operator /operator/accounts/1'
).split(' ')

test('every page of the dashboard is the same document, under a policy that names this answer’s nonce alone', async () => {
  const app = await built()
  const nonces = new Set<string>()
  for (const url of [...PAGES, '/sign-up?invitation=x']) {
    const answer = await app.inject(url)
    const nonce = /nonce="([^"]+)"/.exec(answer.body)?.[1] ?? ''
    nonces.add(nonce)
    expect([url, answer.statusCode, answer.headers['content-type']]).toEqual([url, 200, 'text/html; charset=utf-8'])
    expect(answer.body.replace(LINKS, '')).toBe(INDEX.replaceAll('__CSP_NONCE__', nonce))
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['content-security-policy']).toBe(
      `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'self' 'nonce-${nonce}'; ` +
        `style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; font-src 'self'; manifest-src 'self'; frame-src 'self'`,
    )
  }
  expect(nonces.size).toBe(PAGES.length + 1)
  expect([...nonces].every((nonce) => Buffer.from(nonce, 'base64').length === 18)).toBe(true)
})

test('a document names who is asked about and the files of its own page, so that they load beside the script', async () => {
  const links = async (app: FastifyInstance, url: string) =>
    [...(await app.inject(url)).body.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)
  const [me, file] = ['/dashboard/api/me', '/assets/app-1a2b.js']
  const app = await built()
  for (const url of ['/deposits/7c9f', '/deposits/7c9f?x=/deposits', '/developers/keys/x', '/'])
    expect([url, await links(app, url)]).toEqual([url, [me, file]])
  for (const url of ['/deposits', '/settings']) expect([url, await links(app, url)]).toEqual([url, [me]])
  // The overview is asked for only by who has a session.
  const signedIn = await built({ hasSession: () => true })
  expect(await links(signedIn, '/')).toEqual([me, file, '/dashboard/api/overview'])
  expect(await links(signedIn, '/deposits/7c9f')).toEqual([me, file])
})

test('every page of the built dashboard has files that are there, and no document names one that is not', async () => {
  const w = await world()
  const router = readFileSync(new URL('../../web/src/router.tsx', import.meta.url), 'utf8')
  const paths = [...router.matchAll(/page\(\w+, '([^']+)'/g)].map(([, path]) => path!).filter((path) => path !== '/$')
  expect(paths.length).toBeGreaterThan(20)
  for (const path of paths) {
    const { body } = await w.app.inject(path.replaceAll('$', 'x'))
    const files = [...body.matchAll(/<link rel="modulepreload" crossorigin href="([^"]+)">/g)].map(([, href]) => href!)
    expect([path, files.length]).not.toEqual([path, 0])
    for (const file of files) expect([path, file, (await w.app.inject(file)).statusCode]).toEqual([path, file, 200])
  }
})

test('files are kept by browsers for good, and nothing else of the folder is served', async () => {
  const app = await built()
  const file = await app.inject('/assets/app-1a2b.js')
  expect([file.statusCode, file.body, file.headers['cache-control']]).toEqual([
    200,
    'export {}',
    'public, max-age=31536000, immutable',
  ])
  expect(file.headers['content-type']).toMatch(/^(text|application)\/javascript/)
  for (const url of ['/assets/nothing.js', '/assets/../index.html', '/assets/%2e%2e/index.html', '/index.html'])
    expect([url, (await app.inject(url)).statusCode]).toEqual([url, 404])
})

test('other addresses keep their 404, and the icon its address', async () => {
  const w = await world()
  for (const url of ['/nothing', '/sign-in/x', '/dashboard', '/dashboard/x', '/assets/nothing.js'])
    expect([url, (await w.app.inject(url)).statusCode]).toEqual([url, 404])
  const unknown = await w.app.inject({ url: '/dashboard/api/nothing', headers: { accept: 'text/html' } })
  expect([unknown.statusCode, unknown.json()]).toEqual([404, { success: false, error: 'Not found', code: 'not_found' }])
  expect((await w.app.inject('/icon.svg')).headers['content-type']).toBe('image/svg+xml; charset=utf-8')
})

test('who is signed in gets the dashboard for an address that does not exist, still as a 404', async () => {
  const w = await world()
  const session = await w.session(await w.account())
  const open = (cookie: string) =>
    w.app.inject({ url: '/nothing', headers: { accept: 'text/html', 'accept-language': 'en', cookie } })
  const inside = await open(session.cookie)
  expect([inside.statusCode, inside.body.includes('id="root"')]).toEqual([404, true])
  for (const cookie of ['', `${session.cookie}x`]) {
    const outside = await open(cookie)
    expect([outside.statusCode, outside.body.includes('Page not found')]).toEqual([404, true])
  }
})

test('a service whose dashboard was not built says so, and what to run', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  await dashboardPageRoutes(app, { folder: `${temporaryFolder()}/` })
  for (const url of PAGES) {
    const answer = await app.inject(url)
    expect([url, answer.statusCode, answer.body]).toEqual([url, 503, expect.stringContaining('npm run build')])
  }
})

async function built(options: { hasSession?: () => boolean } = {}) {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), INDEX)
  const paths = ['/', '/deposits/$paymentLinkId', '/developers/$']
  const preloads = Object.fromEntries(paths.map((path) => [path, ['/assets/app-1a2b.js']]))
  writeFileSync(join(folder, 'preloads.json'), JSON.stringify(preloads))
  writeFileSync(join(folder, 'assets', 'app-1a2b.js'), 'export {}')
  const app = Fastify()
  onTestFinished(() => app.close())
  await dashboardPageRoutes(app, { folder: `${folder}/`, ...options })
  return app
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'guiche-web-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
