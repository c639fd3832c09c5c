// What a slow phone waits for: until the largest thing of a page is painted, and what it loads for it. See README.md.
import { createReadStream } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createGzip } from 'node:zlib'
import { chromium } from 'playwright-core'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { CHROMIUM } from '../scripts/chromium-path.mjs'
import { withService } from './own-service.mjs'
import { percentile } from './turns.mjs'

const EMAIL = 'ana@loja.example'
const DEPOSITS = 2_000
const DAYS = 30
// A phone of a few years ago with a weak signal: what Lighthouse calls slow 4G.
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 }
const CPU_SLOWDOWN = 4
const SCREEN = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }
const LOAD_WITHIN_MS = 60_000
// What is painted later is not part of the first load.
const SETTLED_MS = 1_500
const GOALS = { 'payment page': { lcpMs: 1_000 }, overview: { lcpMs: 2_500, kB: 180 } }

const { values: options } = parseArgs({
  options: {
    loads: { type: 'string', default: '5' },
    dist: { type: 'string', default: join(root, 'server/dist') },
    data: { type: 'string', default: '/var/tmp' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node bench/phone.mjs [--loads 5] [--dist DIR] [--data DIR]

Opens the payment page, the overview and the counter --loads times each, every time without a cache, on a phone with 150 ms
of latency, 1.6 Mbit/s and a processor that is ${CPU_SLOWDOWN} times slower than this machine's. The table has the median and the worst
time to the largest contentful paint, and what the first load weighs with gzip, documents and answers included.

Exit 0: every page meets its goal. 1: one does not, or the bench failed.`)
  process.exit(0)
}

await ensureBuilt()
await withService({ name: 'phone', dist: options.dist, data: options.data }, measure)

async function measure(service) {
  const cookie = await service.signIn(EMAIL, await service.create('account', EMAIL))
  await service.seed(EMAIL, DEPOSITS, DAYS)
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  const pages = {
    'payment page': { path: await makeDeposit(service, cookie) },
    overview: { path: '/', cookie },
    counter: { path: '/counter', cookie },
  }
  console.log(
    `\n${'page'.padEnd(14)} ${'LCP p50'.padStart(9)} ${'worst'.padStart(9)} ${'first load'.padStart(12)} requests`,
  )
  const missed = []
  for (const [name, page] of Object.entries(pages)) {
    if (!(await isThere(service.url, page))) {
      console.log(`${name.padEnd(14)} is not there: skipped`)
      continue
    }
    const loads = []
    for (let load = 0; load < Number(options.loads); load++) loads.push(await open(browser, service.url, page))
    const lcpMs = loads.map((load) => load.lcpMs)
    const [p50, worst] = [percentile(lcpMs, 0.5), percentile(lcpMs, 1)]
    const kB = (await weigh(service.url, page, loads[0].paths)) / 1_000
    const ms = (value) => `${Math.round(value)} ms`.padStart(9)
    console.log(
      `${name.padEnd(14)} ${ms(p50)} ${ms(worst)} ${`${kB.toFixed(1)} kB gz`.padStart(12)} ${loads[0].paths.length}`,
    )
    if (p50 > (GOALS[name]?.lcpMs ?? Infinity)) missed.push(`${name} is painted late`)
    if (kB > (GOALS[name]?.kB ?? Infinity)) missed.push(`${name} is heavy`)
  }
  await browser.close()
  const element = join(root, 'web/dist/elements/guiche-pix.js')
  console.log(
    `\n/elements/guiche-pix.js: ${((await sizeOf(createReadStream(element).pipe(createGzip()))) / 1_000).toFixed(1)} kB gz`,
  )
  console.log(missed.length === 0 ? 'Every page meets its goal.' : `Missed: ${missed.join('; ')}`)
  return missed.length === 0
}

async function makeDeposit({ url }, cookie) {
  const answer = await fetch(`${url}/dashboard/api/deposit`, {
    method: 'POST',
    headers: { cookie, origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ value: 5_000, description: 'Bolo de cenoura' }),
  })
  if (!answer.ok) throw new Error(`No deposit: ${answer.status} ${await answer.text()}`)
  return new URL((await answer.json()).charge.paymentLinkUrl).pathname
}

async function isThere(url, { path }) {
  return (await fetch(url + path)).status !== 404
}

/** Loads a page once, as a phone that was never there. */
async function open(browser, url, { path, cookie }) {
  const context = await browser.newContext({ ...SCREEN, locale: 'pt-BR' })
  try {
    for (const pair of cookie?.split('; ') ?? []) {
      const [name, value] = pair.split(/=(.*)/)
      // Browsers keep Secure cookies of this machine over plain http too.
      await context.addCookies([{ name, value, url: url.replace('http:', 'https:'), secure: true }])
    }
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', NETWORK)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN })
    const paths = []
    page.on('request', (request) => {
      if (request.method() === 'GET' && !request.url().includes('/events')) paths.push(request.url().slice(url.length))
    })
    await page.addInitScript(() => {
      globalThis.paints = []
      new PerformanceObserver((list) =>
        globalThis.paints.push(...list.getEntries().map(({ startTime }) => startTime)),
      ).observe({ type: 'largest-contentful-paint', buffered: true })
    })
    await page.goto(url + path, { timeout: LOAD_WITHIN_MS })
    await quiet(page)
    return { lcpMs: await page.evaluate(() => globalThis.paints.at(-1)), paths }
  } finally {
    await context.close()
  }
}

/** A stream stays open, so the network is never idle: it is enough that nothing is painted any more. */
async function quiet(page) {
  const deadline = performance.now() + LOAD_WITHIN_MS
  for (let before = -1; performance.now() < deadline;) {
    const count = await page.evaluate(() => globalThis.paints.length + performance.getEntriesByType('resource').length)
    if (count === before) return
    before = count
    await sleep(SETTLED_MS)
  }
  throw new Error('The page is never done')
}

/** What the paths weigh with gzip. This browser would get Brotli, which others get over https alone. */
async function weigh(url, { cookie = '' }, paths) {
  const sizes = await Promise.all(
    [...new Set(paths)]
      .filter((path) => path.startsWith('/'))
      .map(
        (path) =>
          new Promise((resolve, reject) => {
            const headers = { 'accept-encoding': 'gzip', cookie, origin: url }
            get(url + path, { headers }, (answer) => resolve(sizeOf(answer))).on('error', reject)
          }),
      ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

async function sizeOf(stream) {
  let bytes = 0
  for await (const chunk of stream) bytes += chunk.length
  return bytes
}
