import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

// What the development server leaves to a guiche that runs beside it.
const SERVED_BY_GUICHE = [
  '/dashboard/api',
  '/api',
  '/openapi.json',
  '/docs',
  '/llms',
  '/icon.svg',
  '/manifest.webmanifest',
  '/payment-link',
  '/qr',
]

const config = defineConfig({
  plugins: [react(), tailwindcss(), ofElement(), compressed(), preloads()],
  // The server puts a fresh one in its place for each answer.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    // The policy allows images from data: and nothing else, so no file may become a data: address.
    assetsInlineLimit: 0,
    target: 'es2023',
    // A chunk of its own changes less often than our pages do, and stays in the browser's cache.
    rolldownOptions: {
      input: {
        index: join(import.meta.dirname, 'index.html'),
        // Shops name this file in their pages, so its name says nothing of its content.
        'guiche-pix': join(import.meta.dirname, 'src/element/guiche-pix.ts'),
      },
      output: {
        entryFileNames: ({ name }) => (name === 'guiche-pix' ? 'elements/[name].js' : 'assets/[name]-[hash].js'),
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/ },
            { name: 'tanstack', test: /node_modules[\\/]@tanstack[\\/]/ },
            // Every page has them, and a request for each would cost more than its file.
            {
              name: 'every-page',
              test: /src[\\/](base[\\/](language|dates)|ui[\\/](button|badge|data[\\/](values|table)))\.tsx?$/,
            },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(SERVED_BY_GUICHE.map((path) => [path, 'http://localhost:3000'])),
  },
})

export default defineConfig(({ command }) => {
  // Built beside tests or by a developer, NODE_ENV may say otherwise, and React would come with its development half.
  if (command === 'build') process.env['NODE_ENV'] = 'production'
  return config
})

/**
 * The element is one file, which shops load from another origin. So it gets a copy of its own of what it shares with
 * the dashboard; a module of both would be a file of its own.
 */
function ofElement(): Plugin {
  return {
    name: 'of-element',
    enforce: 'pre',
    async resolveId(source, importer = '') {
      if (!importer.includes('/src/element/') || !source.startsWith('../')) return
      const shared = await this.resolve(source, importer, { skipSelf: true })
      return shared && `${shared.id}?element`
    },
  }
}

/** Smaller files fit into one packet anyway. */
const WORTH_COMPRESSING_BYTES = 1400
/** The last two steps would take ten times as long for a few per cent, while somebody waits for the first start. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }

/**
 * Beside each script and style its compressed forms, so that the server has nothing to compress on the way. From what
 * was written: other plugins change files until the last moment.
 */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle({ dir = '' }, bundle) {
      for (const name of Object.keys(bundle).filter((name) => /^assets\/.*\.(js|css)$/.test(name))) {
        const content = readFileSync(join(dir, name))
        if (content.length < WORTH_COMPRESSING_BYTES) continue
        writeFileSync(join(dir, `${name}.br`), brotliCompressSync(content, BROTLI))
        writeFileSync(join(dir, `${name}.gz`), gzipSync(content, { level: 9 }))
      }
    },
  }
}

/** What the pages of the router load: `page(…, '/deposits', lazy(() => import('./deposits-page.tsx')…`. */
const PAGE = /page\(\w+, '([^']+)', (?:lazy\(\(\) => import\('([^']+)'\)|(\w+))/g
const NAMED = /const (\w+) = lazy\(\(\) => import\('([^']+)'\)/g

/**
 * Writes which files each page needs besides those of the document, so that the server names them in it. Otherwise the
 * browser would learn of them when the script runs and knows who is signed in.
 */
function preloads(): Plugin {
  const source = join(import.meta.dirname, 'src')
  return {
    name: 'preloads',
    apply: 'build',
    writeBundle({ dir = '' }, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
      const needed = (name: string): string[] => {
        const chunk = chunks.find(({ fileName }) => fileName === name)
        return [name, ...(chunk?.imports ?? []).flatMap(needed)]
      }
      const inDocument = new Set(
        chunks.filter(({ name, isEntry }) => isEntry && name === 'index').flatMap(({ fileName }) => needed(fileName)),
      )
      const filesOf = (module: string) => {
        const chunk = chunks.find(({ facadeModuleId }) => facadeModuleId === join(source, module))
        if (!chunk) throw new Error(`router.tsx names ${module}, which has no file of its own`)
        return [...new Set(needed(chunk.fileName))].filter((name) => !inDocument.has(name)).map((name) => `/${name}`)
      }
      const router = readFileSync(join(source, 'router.tsx'), 'utf8')
      const named = new Map([...router.matchAll(NAMED)].map(([, name = '', module = '']) => [name, module]))
      const pages = [...router.matchAll(PAGE)].flatMap(([, path = '', module, name = '']) => {
        const found = module ?? named.get(name)
        return found === undefined ? [] : [[path, filesOf(found)]]
      })
      writeFileSync(join(dir, 'preloads.json'), JSON.stringify(Object.fromEntries(pages)))
    },
  }
}
