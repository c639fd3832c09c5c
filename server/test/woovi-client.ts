import { hexFromUuid, newUuid7 } from '../src/base/ids.ts'
import type { Log } from '../src/base/log.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { makeWoovi, type WooviOptions, type WooviTimings } from '../src/providers/woovi/adapter.ts'
import { closeAfterTest, openScriptedPsp, type Script } from './scripted-psp.ts'
import { APP_ID, openWooviServer } from './woovi-server.ts'

// The adapter is at one end of a connection. At the other is a Woovi that behaves, or one whose answers a test writes.

// Small enough that a hang costs a test little, large enough that a busy machine does not look like one.
const QUICK: Partial<WooviTimings> = { writeTimeoutMs: 400, backoffBaseMs: 1, breakerFailures: 1_000 }

export type Changes = Partial<Omit<WooviOptions, 'timings'>> & { timings?: Partial<WooviTimings> }

/** Connects the adapter to a Woovi, with a clock that only the test moves. */
export async function connectWoovi(changes: Changes & { asDescribed?: boolean } = {}) {
  const { asDescribed = true, ...options } = changes
  const clock = makeClock()
  const woovi = await openWooviServer({ now: clock.now, asDescribed })
  closeAfterTest(() => woovi.stop())
  return { woovi, clock, ...connectTo(woovi.url, { now: clock.now, ...options }) }
}

export async function connectScripted(script: Script, changes: Changes = {}) {
  const clock = makeClock()
  const psp = await openScriptedPsp(script)
  closeAfterTest(() => psp.stop())
  return { psp, clock, ...connectTo(psp.url, { now: clock.now, ...changes }) }
}

function connectTo(url: string, { timings, ...options }: Changes) {
  const logged: string[] = []
  const note = (fields: object, text: string) => void logged.push(`${text} ${JSON.stringify(fields)}`)
  const log: Log = { debug: note, info: note, warn: note, error: note }
  const provider = makeWoovi({
    name: 'woovi',
    url: `${url}/`,
    appId: APP_ID,
    callsPerSecond: 0,
    now: () => new Date(),
    log,
    timings: { ...QUICK, ...timings },
    ...options,
  })
  closeAfterTest(() => provider.close())
  return { provider, logged }
}

function makeClock() {
  let ms = Date.parse('2026-03-02T12:00:00Z')
  return { now: () => new Date(ms), advance: (by: number) => void (ms += by) }
}

export const newTxid = () => hexFromUuid(newUuid7(new Date()))

export function requestOf(changes: Partial<Parameters<Provider['create']>[0]> = {}) {
  return { txid: newTxid(), valueCents: 50_00, expiresInSeconds: 3_600, description: null, ...changes }
}

export async function listAll(provider: Provider, window: { from: Date; to: Date }): Promise<ReceivedPayment[][]> {
  const pages: ReceivedPayment[][] = []
  for await (const page of provider.listReceived(window)) pages.push(page)
  return pages
}
