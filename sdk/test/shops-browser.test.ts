import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, expect, inject, onTestFinished, test, vi } from 'vitest'
import { CHROMIUM } from '../../scripts/chromium-path.mjs'
import { freePort } from '../../scripts/free-port.mjs'
import { makeGuiche } from '../src/client.ts'
import { createAccount } from './guiche-process.ts'
import { serve } from './sockets.ts'

// The example shops, as their customers use them: in a browser, with the real service and the sandbox bank.

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
const source = fileURLToPath(new URL('../src/', import.meta.url))
const NEXT = join(examples, 'next/node_modules/next/dist/bin/next')

const SHOPS = [
  { name: 'plain', start: (shop: Shop) => startShop(join(examples, 'plain'), shop), lacks: () => '' },
  { name: 'react', start: startReact, lacks: () => '' },
  // It has half a gigabyte, so it is no dependency of this repository.
  {
    name: 'next',
    start: startNext,
    lacks: () => (existsSync(NEXT) ? '' : 'Next.js is not installed: see examples/README.md'),
  },
]

let launched: Promise<Browser> | undefined
afterAll(async () => (await launched)?.close())

test.for(SHOPS)(
  'the $name shop moves on when it is paid, and delivers once although it is told twice',
  async ({ name, start, lacks }, { skip }) => {
    skip(!existsSync(CHROMIUM) && !process.env['CI'], `there is no Chromium at ${CHROMIUM}`)
    const lacking = lacks()
    skip(lacking !== '', lacking)
    const { url, bankUrl } = inject('guiche')
    const key = await createAccount(inject('guiche'), `${name}-shop@example.com`)
    const guiche = makeGuiche({ url, key })
    const port = await freePort()
    const relay = await startRelay(`http://127.0.0.1:${port}/webhooks`)
    const { webhook, secret } = await guiche.webhooks.create({ url: relay.url, name: 'shop' })
    onTestFinished(() => guiche.webhooks.delete(webhook.id))
    const folder = mkdtempSync(join(tmpdir(), 'guiche-shop-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const store = join(folder, 'shop.jsonl')
    const env = { GUICHE_URL: url, GUICHE_KEY: key, WEBHOOK_SECRET: secret, STORE: store, PORT: String(port) }
    await start({ folder, env })
    const deliveries = () => (existsSync(store) ? readFileSync(store, 'utf8').trim().split('\n') : [])

    const { page, errors } = await visit(`http://127.0.0.1:${port}/`)
    await buy(page)
    // What the page is told is no proof: a customer who makes the news up gets nothing.
    await page.evaluate(
      `document.querySelector('guiche-pix').dispatchEvent(new CustomEvent('guiche-paid', { detail: {} }))`,
    )
    await page.getByText('Thank you. Your order is on its way…').waitFor()
    expect(deliveries()).toEqual([])

    await page.reload()
    const body = JSON.stringify({ emv: await buy(page) })
    await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    await page.getByText(/^Thank you. Your voucher: coffee-/).waitFor()
    const { id } = JSON.parse(deliveries()[0]!) as { id: string }
    await expect.poll(() => relay.acceptedOf(id)).toBe(1)
    await guiche.events.resend(id)
    await expect.poll(() => relay.acceptedOf(id)).toBe(2)
    expect(deliveries()).toHaveLength(1)
    expect(errors).toEqual([])
  },
)

/** The code to pay, as the customer copies it. */
async function buy(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Pay with Pix' }).click()
  return page.getByLabel('Pix copy and paste').inputValue()
}

/** Passes on what guiche sends, and counts what the shop has accepted. */
async function startRelay(target: string): Promise<{ url: string; acceptedOf(eventId: string): number }> {
  const accepted: unknown[] = []
  const url = await serve((received, response) => {
    const { method, headers } = received
    const onward = request(target, { method, headers }, (answer) => {
      const { statusCode = 500 } = answer
      if (statusCode < 300) accepted.push(headers['webhook-id'])
      answer.pipe(response.writeHead(statusCode))
    })
    received.pipe(onward.on('error', () => response.destroy()))
  })
  return { url, acceptedOf: (eventId) => accepted.filter((id) => id === eventId).length }
}

// ---- The shops ----

type Shop = { folder: string; env: Record<string, string> }

/** In this process, as people start it. It ends with the test's worker. */
async function startShop(page: string, { env }: Shop): Promise<void> {
  for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value)
  const { argv } = process
  process.argv = [process.execPath, 'shop.js', page]
  onTestFinished(() => {
    process.argv = argv
    vi.unstubAllEnvs().resetModules()
  })
  await import(/* @vite-ignore */ join(examples, 'shop.js'))
  await untilAnswers(env['PORT']!)
}

async function startReact(shop: Shop): Promise<void> {
  const page = join(shop.folder, 'page')
  await build({
    root: join(examples, 'react'),
    configFile: false,
    logLevel: 'error',
    resolve: { alias: { '@guiche/sdk/react': join(source, 'react.ts') } },
    build: { outDir: page },
  })
  await startShop(page, shop)
}

async function startNext({ env }: Shop): Promise<void> {
  const cwd = join(examples, 'next')
  const all = { PATH: process.env['PATH'], NEXT_TELEMETRY_DISABLED: '1', ...env }
  const built = spawnSync(process.execPath, [NEXT, 'build'], { cwd, env: all, encoding: 'utf8' })
  if (built.status !== 0) throw new Error(built.stdout + built.stderr)
  const child = spawn(process.execPath, [NEXT, 'start', '-p', env['PORT']!], { cwd, env: all, stdio: 'ignore' })
  onTestFinished(async () => {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  })
  await untilAnswers(env['PORT']!)
}

async function untilAnswers(port: string): Promise<void> {
  const status = async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.status
  await expect.poll(status).toBe(200)
}

async function visit(url: string): Promise<{ page: Page; errors: string[] }> {
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking']
  const browser = await (launched ??= chromium.launch({ executablePath: CHROMIUM, args }))
  const context = await browser.newContext({ locale: 'en-US', reducedMotion: 'reduce' })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  await page.goto(url)
  return { page, errors }
}
