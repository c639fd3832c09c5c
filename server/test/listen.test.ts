import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { makeGuiche, verify } from '#sdk'
import { newUuid7 } from '../src/base/ids.ts'
import { forwardEvents, type ForwardOptions } from '../src/commands/listen.ts'
import { transact } from '../src/db/tx.ts'
import { eventName, insertEvents } from '../src/domain/webhooks/events.ts'
import type { SentKind } from '../src/domain/webhooks/event-kinds.ts'
import { makeSigningSecret } from '../src/domain/webhooks/signature.ts'
import { startNumberWorker } from '../src/workers/number.ts'
import { CLI, runCli, startChild } from './process.ts'
import { startReceiver } from './receiver.ts'
import { portOf } from './requests.ts'
import { until, world } from './world.ts'

const SECRET = makeSigningSecret()

/** A service with an account, whose events the test writes. */
async function served() {
  const w = await world()
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  const worker = startNumberWorker(w.ctx)
  onTestFinished(() => worker.stop())
  const { accountId, key } = await w.account()
  const url = `http://127.0.0.1:${portOf(w.app)}`
  const tell = async (kind: SentKind = 'WEBHOOK_TEST') => {
    const at = w.clock.now()
    const event = { kind, accountId, subjectId: newUuid7(at), createdAt: at, data: { message: 'olá' } }
    const [stored] = await transact(w.pool, (tx) => insertEvents(tx, at, [event]))
    return { name: eventName(event), body: stored!.body }
  }
  return { w, url, key, tell, guiche: makeGuiche({ url, key, retryForMs: 0 }) }
}

/** Forwards in this process. `lines` is what it printed on both outputs. */
function forwarding(
  { guiche }: Awaited<ReturnType<typeof served>>,
  options: Partial<ForwardOptions> & { forwardTo: string },
) {
  const lines: string[] = []
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const note = (line: string) => void lines.push(line)
  const given = { from: 'beginning', secret: SECRET, ...options }
  const ended = forwardEvents(guiche.events, { print: note, say: note }, given, { signal: stopping.signal })
  const stop = async () => {
    stopping.abort()
    await ended
    return lines.at(-1)
  }
  return { lines, stop, ended }
}

test('each event is posted in order, with the bytes and the signature of a webhook', async () => {
  const service = await served()
  const told = [await service.tell(), await service.tell('DEPOSIT_REFUNDED')]
  const receiver = await startReceiver()
  const { lines, stop } = forwarding(service, { forwardTo: receiver.url })
  await receiver.got(2)
  told.push(await service.tell())
  const received = await receiver.got(3)
  expect(received.map(({ id, body }) => ({ name: id, body }))).toEqual(told)
  for (const { body, headers } of received) expect(verify(body, headers, SECRET)).toEqual(JSON.parse(body))
  await until('it is printed', async () => lines.length === 4)
  expect(lines[2]).toMatch(/^\d\d:\d\d:\d\d {2}DEPOSIT_REFUNDED +✓ 200 +\d+ ms {2}#2 {2}evt_DEPOSIT_REFUNDED_\w{32}$/)
  expect(await stop()).toMatch(/^Stopped\. To go on from here: --from [0-9a-f]{32}\.3$/)
})

test('an event that is refused is posted again, and those after it wait', async () => {
  const service = await served()
  const told = [await service.tell(), await service.tell()]
  let posts = 0
  const receiver = await startReceiver((_, response) => void response.writeHead(++posts === 1 ? 302 : 204).end())
  const { lines, stop } = forwarding(service, { forwardTo: receiver.url })
  const received = await receiver.got(3)
  expect(received.map(({ id }) => id)).toEqual([told[0]!.name, ...told.map(({ name }) => name)])
  expect(lines[1]).toMatch(/WEBHOOK_TEST +✗ answered 302: again in 1 s$/)
  await stop()
})

test('a stop during a post that nobody answers leaves the event to the next start', async () => {
  const service = await served()
  await service.tell()
  const silent = await startReceiver(() => {})
  const { stop, lines } = forwarding(service, { forwardTo: silent.url })
  await silent.got(1)
  expect(await stop()).toBe(lines[0])
  expect(lines).toHaveLength(1)
})

test('from a cursor, only the kinds that were asked for are posted', async () => {
  const service = await served()
  await service.tell('DEPOSIT_REFUNDED')
  await service.tell()
  const wanted = await service.tell('DEPOSIT_REFUNDED')
  await until('all have positions', async () => (await service.w.count('history', 'event_id is not null')) === 3)
  const receiver = await startReceiver()
  const { stop } = forwarding(service, { forwardTo: receiver.url, from: '1', events: ['DEPOSIT_REFUNDED'] })
  const received = await receiver.got(1)
  expect(received.map(({ id }) => id)).toEqual([wanted.name])
  await stop()
})

test('a cursor that the service does not know ends it with what to do', async () => {
  const service = await served()
  const { ended } = forwarding(service, { forwardTo: 'http://127.0.0.1:9/', from: '7' })
  await expect(ended).rejects.toThrow('--from beginning')
})

test('the command says its secret, follows from now on with a key alone, and Ctrl-C ends it', async () => {
  const { url, key, tell } = await served()
  await tell()
  const receiver = await startReceiver()
  const child = startChild(process.execPath, [CLI, 'listen', '--forward-to', receiver.url], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], GUICHE_URL: url, GUICHE_KEY: key },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await until('it introduced itself', async () => output.includes('Ctrl-C'))
  const [, secret = ''] = /Secret +(whsec_\S+)/.exec(output)!
  // It asks for its place after it introduced itself, so the first events may be before now.
  const teller = setInterval(() => void tell(), 100)
  onTestFinished(() => clearInterval(teller))
  const [first] = await receiver.got(1)
  clearInterval(teller)
  expect(verify(first!.body, first!.headers, secret)).toMatchObject({ id: first!.id })
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(output).toMatch(/Stopped\. To go on from here: --from [0-9a-f]{32}\.\d+\n$/)
})

test.each([
  [['--forward-to', 'localhost:4000'], 'It must be a URL, such as http://localhost:4000/webhooks.'],
  [['--forward-to', 'http://localhost:4000', '--from', 'then'], 'It must be now, beginning, or a cursor.'],
  [['--forward-to', 'http://localhost:4000', '--events', 'DEPOSIT'], 'There is no event DEPOSIT.'],
  [['--forward-to', 'http://localhost:4000'], 'Set GUICHE_URL to the service'],
])('%j is refused with what to give', async (args, text) => {
  const refused = await runCli(['listen', ...args], {})
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(text)])
})
