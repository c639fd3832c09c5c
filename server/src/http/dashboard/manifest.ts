import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { readerOf } from '../server/language.ts'

// What a phone needs to install the counter. Without a service worker: a counter that is out of reach takes no money.

/** The logo of page-layout.ts as PNG, in the sizes that phones ask for. The maskable one fills its square. */
const ICONS = ['icon-192', 'icon-512', 'maskable-512', 'apple-touch-icon'] as const
const FOLDER = new URL('../../../data/icons/', import.meta.url)
const CACHED = 'public, max-age=86400'

const TEXTS = {
  'pt-BR': { name: 'guiche Balcão', short_name: 'Balcão', description: 'Receba Pix no balcão.' },
  en: { name: 'guiche Counter', short_name: 'Counter', description: 'Take Pix at the counter.' },
}

export function manifestRoutes(app: FastifyInstance): void {
  app.get('/manifest.webmanifest', { schema: { hide: true } }, async (request, reply) => {
    const lang = readerOf(request).language === 'pt-BR' ? 'pt-BR' : 'en'
    return reply
      .type('application/manifest+json; charset=utf-8')
      .headers({ 'cache-control': CACHED, vary: 'accept-language' })
      .send(JSON.stringify({ ...TEXTS[lang], lang, ...MANIFEST }))
  })
  for (const name of ICONS) {
    const bytes = readFileSync(new URL(`${name}.png`, FOLDER))
    app.get(`/${name}.png`, { schema: { hide: true } }, async (_request, reply) =>
      reply.type('image/png').header('cache-control', CACHED).send(bytes),
    )
  }
}

const MANIFEST = {
  id: '/counter',
  start_url: '/counter',
  // Settings, receipts and payment pages open in the same window.
  scope: '/',
  display: 'standalone',
  // As the page: `--color-ground` and the logo.
  background_color: '#f4f6f5',
  theme_color: '#0a7d5f',
  icons: [
    { src: '/icon-192.png', sizes: '192x192', type: 'image/png' },
    { src: '/icon-512.png', sizes: '512x512', type: 'image/png' },
    { src: '/maskable-512.png', sizes: '512x512', type: 'image/png', purpose: 'maskable' },
  ],
}
