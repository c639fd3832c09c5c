import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { html, htmlText, verbatim, type Html } from '../../base/html.ts'
import type { Language } from './language.ts'
import { PAGE_STYLE } from './page-style.ts'

/** The content of a page. All pages share the frame, the style, and the policy that allows exactly these. */
export type Page = {
  language: Language
  title: string
  main: Html
  /** Added to the style of all pages. One of our constants, or made of numbers alone. */
  style?: string
  /** One of our constants, never built from values. */
  script?: string
  /** True if the page has a form. */
  isForm?: boolean
  /** Pages of this service may show it in a frame. */
  isFramed?: boolean
  head?: Html
}

export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  return reply
    .headers({ ...pageHeaders(page), 'cache-control': 'no-store', vary: 'accept-language' })
    .send(pageText(page))
}

export function pageHeaders(page: Page): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy({
      'style-src': sourceHash(styleOf(page)),
      'img-src': "'self'",
      ...(page.isForm ? { 'form-action': "'self'" } : {}),
      ...(page.isFramed ? { 'frame-ancestors': "'self'" } : {}),
      ...(page.script === undefined ? {} : { 'script-src': sourceHash(page.script), 'connect-src': "'self'" }),
    }),
    'content-language': page.language,
    ...(page.isFramed ? { 'x-frame-options': 'SAMEORIGIN' } : {}),
  }
}

export function pageText(page: Page): string {
  return htmlText(frame(page))
}

function styleOf({ style = '' }: Page): string {
  return PAGE_STYLE + style
}

function frame(page: Page): Html {
  const { language, title, main, script, head } = page
  return html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" type="image/svg+xml" href="/icon.svg" />
        ${verbatim(`<style>${styleOf(page)}</style>`)} ${head}
      </head>
      <body>
        ${main} ${script !== undefined && verbatim(`<script>${script}</script>`)}
      </body>
    </html> `
}

/** A teller's window. */
export const ICON = htmlText(
  html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
    <rect width="32" height="32" rx="8" fill="#0a7d5f" />
    <path d="M9 24V14a7 7 0 0 1 14 0v10" fill="none" stroke="#fff" stroke-width="3" />
    <path d="M6 24h20" stroke="#fff" stroke-width="3" stroke-linecap="round" />
  </svg>`,
)

export function contentSecurityPolicy(sources: Record<string, string>): string {
  const directives = {
    'default-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...sources,
  }
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')
}

/** Allows one inline style or script by its content, so that an injected one does not run. */
function sourceHash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
