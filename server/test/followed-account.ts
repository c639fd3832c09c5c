import type { Page } from 'playwright-core'
import { onTestFinished, vi } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import type { AppOptions } from '../src/http/app.ts'
import { startNumberWorker } from '../src/workers/number.ts'
import { enter, visit } from './chromium.ts'
import { appWith } from './requests.ts'
import { until, world } from './world.ts'

/** After it nobody is told any more that a deposit was made. */
export const LONG_AGO_MS = 3 * 60_000
/** Longer than lists wait that ask by themselves, and shorter than a page waits that hears nothing. */
export const QUIET_MS = 40_000

type Opened = { after: string | null; lastEventId: string | undefined }

/** A service that numbers events, and an account holder who is signed in to it with a browser. */
export async function signedIn(options: AppOptions = {}) {
  const port = await freePort()
  const baseURL = `http://127.0.0.1:${port}`
  const w = await world({ settings: { publicUrl: baseURL } })
  const account = await w.account()
  const app = await appWith(w.ctx, options)
  const streams: Opened[] = []
  let openCount = 0
  app.server.on('request', ({ url = '', headers }, response) => {
    if (!url.includes('/events/stream')) return
    const after = new URL(url, baseURL).searchParams.get('after')
    streams.push({ after, lastEventId: headers['last-event-id'] as string | undefined })
    openCount++
    response.once('close', () => openCount--)
  })
  await app.listen({ port, host: '127.0.0.1' })
  // Browsers whose stream was cut come back after one second, and not after up to five.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  const worker = startNumberWorker(w.ctx)
  onTestFinished(() => worker.stop())
  const { page, requests } = await visit({ baseURL, locale: 'en', viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(account))
  await page.clock.install({ time: w.clock.now() })
  return {
    w,
    app,
    account,
    page,
    streams,
    openStreams: () => openCount,
    asked: (path: string | RegExp) =>
      requests.filter((one) => (path instanceof RegExp ? path.test(one) : path === one)).length,
    /** Opens a page, and waits until it follows. */
    async open(path: string, tab = page) {
      const opened = streams.length
      requests.length = 0
      await tab.goto(path)
      await until('the page follows', async () => streams.length > opened)
    },
    /** A deposit of R$50 that the bank has the money for. */
    async paid() {
      const { charge, payment } = await w.paidCharge({ account })
      return { charge, settle: () => w.ctx.settlements.add([payment]) }
    },
  }
}

/** As the browser says it of a tab behind another one. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`{
    Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }`)
}
