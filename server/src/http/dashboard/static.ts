import fastifyStatic from '@fastify/static'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { contentSecurityPolicy, ICON, sendPage } from '../server/page-layout.ts'
import { html } from '../../base/html.ts'

// In a package it is beside the server, in a checkout where web/ builds it. The paths are the same from src and dist.
const PACKED = fileURLToPath(new URL('../../../dashboard/', import.meta.url))
const BUILT = fileURLToPath(new URL('../../../../web/dist/', import.meta.url))
/** Where the pages and scripts are that web/ builds. */
export const DASHBOARD = existsSync(BUILT) ? BUILT : PACKED

/** All pages of the dashboard are one document, whose script renders the path. Other paths get 404. */
const PAGES = [
  '/',
  '/sign-in',
  '/sign-up',
  '/forgot-password',
  '/reset-password',
  '/verify-email',
  '/join',
  '/two-factor',
  '/deposits',
  '/deposits/*',
  '/counter',
  '/codes',
  '/codes/*',
  '/developers',
  '/developers/*',
  '/statement',
  '/statement/print',
  '/payouts',
  '/disputes',
  '/disputes/*',
  '/shop',
  '/team',
  '/notices',
  '/guide',
  '/settings',
  '/operator',
  '/operator/*',
]

// What vite.config.ts of web writes where a nonce belongs.
const NONCE_PLACE = '__CSP_NONCE__'
const YEAR_SECONDS = 365 * 24 * 3600

type Options = { folder?: string; hasSession?: (request: FastifyRequest) => boolean }

export async function dashboardPageRoutes(
  app: FastifyInstance,
  { folder = DASHBOARD, hasSession = () => false }: Options = {},
): Promise<void> {
  app.get('/icon.svg', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('image/svg+xml; charset=utf-8').header('cache-control', 'public, max-age=86400').send(ICON),
  )
  const index = `${folder}index.html`
  if (!existsSync(index)) return unbuiltPages(app)
  const documentOf = readDocuments(folder)

  const send = (request: FastifyRequest, reply: FastifyReply) => {
    const nonce = randomBytes(18).toString('base64')
    return reply
      .type('text/html; charset=utf-8')
      .headers({ 'content-security-policy': policy(nonce), 'cache-control': 'no-store' })
      .send(documentOf(request.url, hasSession(request)).replaceAll(NONCE_PLACE, nonce))
  }
  for (const url of PAGES) app.get(url, { schema: { hide: true } }, async (request, reply) => send(request, reply))
  // The script renders any other path as "not found", with the navigation of who is signed in.
  app.decorate('sendMissingPage', (request, reply) => (hasSession(request) ? send(request, reply) : undefined))
  await app.register(fastifyStatic, {
    root: `${folder}assets`,
    prefix: '/assets/',
    index: false,
    maxAge: YEAR_SECONDS * 1000,
    immutable: true,
    preCompressed: true,
    schemaHide: true,
  })
}

/**
 * The document of a page names what its script asks for first: who is signed in, the page's own files, and for who is
 * signed in its data. So a slow phone loads all of it at once. Nothing about the person stands in it.
 */
function readDocuments(folder: string): (url: string, isSignedIn: boolean) => string {
  const document = readFileSync(`${folder}index.html`, 'utf8')
  const preloads = JSON.parse(readFileSync(`${folder}preloads.json`, 'utf8')) as Readonly<Record<string, string[]>>
  const withLinks = (links: string[]) => document.replace('</head>', `${links.join('')}</head>`)
  const pages = Object.entries(preloads).map(([path, files]) => {
    // `$` stands for the rest of a path, and `$name` for one segment.
    const pattern = new RegExp(`^${path.replace(/\$$/, '.+').replace(/\$\w+/g, '[^/]+')}$`)
    const links = [SESSION, ...files.map((file) => `<link rel="modulepreload" crossorigin href="${file}">`)]
    const data = path === '/' ? [OVERVIEW] : []
    return { pattern, document: withLinks(links), signedIn: withLinks([...links, ...data]) }
  })
  const other = { document: withLinks([SESSION]), signedIn: withLinks([SESSION]) }
  return (url, isSignedIn) => {
    const [path = ''] = url.split('?')
    const page = pages.find(({ pattern }) => pattern.test(path)) ?? other
    return isSignedIn ? page.signedIn : page.document
  }
}

const SESSION = '<link rel="preload" as="fetch" crossorigin href="/dashboard/api/me">'
/** An operator or a cashier, whose first page is another one, is refused this, and nobody sees it. */
const OVERVIEW = '<link rel="preload" as="fetch" crossorigin href="/dashboard/api/overview">'

function policy(nonce: string): string {
  return contentSecurityPolicy({
    'script-src': `'self' 'nonce-${nonce}'`,
    'style-src': `'self' 'nonce-${nonce}'`,
    'img-src': "'self' data:",
    'connect-src': "'self'",
    'font-src': "'self'",
    'manifest-src': "'self'",
    // The preview of the payment page.
    'frame-src': "'self'",
  })
}

/** The API works without the dashboard, so the service starts without it and says how to build it. */
function unbuiltPages(app: FastifyInstance): void {
  for (const url of PAGES) {
    app.get(url, { schema: { hide: true } }, async (_request, reply) =>
      sendPage(reply.code(503), {
        language: 'en',
        title: 'guiche: the dashboard is not built',
        main: html`<main class="wide">
          <article class="card">
            <h1>The dashboard is not built</h1>
            <p class="note">
              The service runs and its API works. To see the dashboard here, build it in the guiche folder and restart
              the service:
            </p>
            <pre>npm run build</pre>
            <p><a href="/docs">API documentation</a></p>
          </article>
        </main>`,
      }),
    )
  }
}
