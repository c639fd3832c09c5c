import { existsSync } from 'node:fs'
import axe, { type AxeResults } from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { beforeEach, expect, onTestFinished } from 'vitest'
import { CHROMIUM } from '../../scripts/chromium-path.mjs'
import { freePort } from '../../scripts/free-port.mjs'
import type { Settings } from '../src/domain/core/settings.ts'
import { PASSWORD } from './sign-in-client.ts'
import { patient, world, type TestSession, type World } from './world.ts'

// These tests use a real browser, for what only a browser can show. Without one they are skipped and say so; CI must
// have one.

const isSkipped = !existsSync(CHROMIUM) && !process.env['CI']

/** A file whose tests visit pages calls this once. */
export function useChromium(): void {
  beforeEach((context) => {
    // Developers without a browser still run everything else.
    if (isSkipped) context.skip(`there is no Chromium at ${CHROMIUM}: install it, or set CHROMIUM_PATH`)
  })
}

// Long enough for a busy machine: on an idle one, everything comes at once.
const WAIT_MS = 90_000

let launched: Promise<Browser> | undefined

/** One browser for all files of a worker, started when first needed. It ends with the worker. */
async function theBrowser(): Promise<Browser> {
  // Some tests send signals to this process, and Playwright would then close the browser.
  const [handleSIGINT, handleSIGTERM, handleSIGHUP] = [false, false, false]
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking']
  if (!(await launched)?.isConnected())
    launched = chromium.launch({ executablePath: CHROMIUM, args, handleSIGINT, handleSIGTERM, handleSIGHUP })
  return launched!
}

/** Starts a service that listens at its own public URL: a browser's Origin must be exactly that. */
export async function serve(settings: Partial<Settings> = {}): Promise<{ w: World; url: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const w = await world({ settings: { publicUrl: url, ...settings } })
  await w.app.listen({ port, host: '127.0.0.1' })
  return { w, url }
}

export type Visit = {
  page: Page
  /** Paths that the page asked for. */ requests: string[]
  /** Errors of the page. */ errors: string[]
}

// With transitions, an inherited colour changes in as many frames as elements are nested, and each frame redraws the
// page.
const WITHOUT_TRANSITIONS = `{
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('*, ::before, ::after { transition: none !important }')
  document.adoptedStyleSheets = [sheet]
}`

/** Opens a page without cookies and cache, and records its requests and errors. */
export async function visit(options: BrowserContextOptions = {}): Promise<Visit> {
  // Without animations an idle page is not redrawn 60 times a second.
  const context = await (await theBrowser()).newContext({ reducedMotion: 'reduce', ...options })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(patient(WAIT_MS))
  await context.addInitScript(WITHOUT_TRANSITIONS)
  const page = await context.newPage()
  const requests: string[] = []
  const errors: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  return { page, requests, errors }
}

/** Signs in by the form, in either language. */
export async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel(/^E-?mail$/).fill(email)
  await page.getByLabel(/^(Senha|Password)$/).fill(password)
  await page.getByRole('button', { name: /^(Entrar|Sign in)$/ }).click()
}

/** Signs in by cookie, which is faster than the form. */
export async function enter(page: Page, { cookie }: Pick<TestSession, 'cookie'>): Promise<void> {
  const [name, value] = cookie.split('=') as [string, string]
  // Browsers keep Secure cookies of this machine over plain http too, and cookies do not depend on the port.
  await page.context().addCookies([{ name, value, url: 'https://127.0.0.1', secure: true, httpOnly: true }])
}

/** Checks the page by all rules of axe, or by those that are named. */
export async function expectAccessible(page: Page, what: string, rules?: readonly string[]): Promise<void> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) }
  // Only violations leave the page: the full result of axe is a thousand times as long.
  const run = `(${MARK_TEXTS})(); axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`
  const violations = await page.evaluate<AxeResults['violations']>(run)
  const found = violations.map((one) => `${one.id}: ${one.help} (${one.nodes.map((node) => node.html).join(' | ')})`)
  expect([what, found]).toEqual([what, []])
}

// Checking the contrast of a text takes longer than all other rules together. So axe checks one text per look, which is
// everything that contrast depends on.
const MARK_TEXTS = `() => {
  const layers = new Map([[null, 0]])
  const numbers = new Map()
  /** The same number for elements that have the same behind them. */
  const layersOf = (element) => {
    if (!layers.has(element)) {
      const style = getComputedStyle(element)
      const layer = [layersOf(element.parentElement), element.ariaDisabled, element.inert, style.backgroundColor]
      layer.push(style.backgroundImage, style.opacity, style.visibility, style.display, style.position)
      const look = layer.concat(style.textShadow, style.filter).join()
      if (!numbers.has(look)) numbers.set(look, numbers.size + 1)
      layers.set(element, numbers.get(look))
    }
    return layers.get(element)
  }
  const seen = new Set()
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '')
    if (!hasText && !('value' in element)) continue
    const { color, fontSize, fontWeight } = getComputedStyle(element)
    const isShown = element.getBoundingClientRect().width > 1
    const look = [element.localName, element.className, element.disabled, isShown, color, fontSize, fontWeight]
    const isNew = seen.size < seen.add([...look, layersOf(element)].join()).size
    element.toggleAttribute('data-look', isNew)
  }
  axe.configure({ rules: [{ id: 'color-contrast', selector: '[data-look]' }] })
}`

/** How many pixels the page is wider than the window: anything but 0 makes a reader scroll sideways. */
export function overflowPx(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}
