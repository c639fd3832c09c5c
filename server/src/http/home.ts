import type { FastifyInstance } from 'fastify'
import type { Context } from '../domain/context.ts'
import { html } from './html.ts'
import { ICON, sendPage } from './look.ts'

/** What somebody sees who opens the bare address: what runs here and where to go on. */
export function homeRoutes(app: FastifyInstance, ctx: Context): void {
  app.get('/', { schema: { hide: true } }, async (_request, reply) => {
    const isSandbox = ctx.settings.mode === 'test'
    return sendPage(reply, {
      language: 'en',
      title: 'guiche',
      main: html`${isSandbox && html`<header class="sandbox">Sandbox: no real money</header>`}
        <main class="wide">
          <article class="card">
            <h1>guiche is running</h1>
            <p class="note">
              A deposit service for Pix. Your program asks for a deposit, the payer pays it by QR code or by copy and
              paste, and the amount less its fee is credited to your balance.
            </p>
            <h2>Make an API key</h2>
            <p class="note">On the machine where guiche runs:</p>
            <pre>npx guiche key create --email you@example.com --name shop</pre>
            <h2>Ask for a deposit of R$ 50.00</h2>
            <pre>${depositCommand(ctx.settings.publicUrl)}</pre>
            <h2>Read on</h2>
            <ul>
              <li><a href="/docs">Documentation of the API</a>, where requests can be tried</li>
              <li><a href="/openapi.json">openapi.json</a>, the same for programs</li>
              <li><a href="/readyz">readyz</a>, whether this server is ready</li>
            </ul>
          </article>
          <footer>
            ${isSandbox ? 'Payments here are made by a sandbox bank and move no money.' : 'Payments here are real.'}
          </footer>
        </main>`,
    })
  })

  app.get('/icon.svg', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('image/svg+xml; charset=utf-8').header('cache-control', 'public, max-age=86400').send(ICON),
  )
}

function depositCommand(publicUrl: string): string {
  return [
    `curl ${publicUrl}/api/deposit \\`,
    `  -H 'Authorization: Bearer <your key>' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{ "value": 5000 }'`,
  ].join('\n')
}
