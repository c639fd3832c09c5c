import { once } from 'node:events'
import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { Fault } from '../src/base/fault.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { gatherLines, makeLog } from '../src/log.ts'
import { startChild } from './process.ts'
import { until } from './world.ts'

function setUp() {
  const writes: string[][] = []
  const destination = gatherLines({
    write: (text) =>
      void writes.push(
        text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).msg as string),
      ),
  })
  return { writes, log: makeLog('info', destination) }
}

test('a line has its level, its time, its process and its fields, and an error also its causes and its stack', () => {
  const lines: string[] = []
  const log = makeLog('warn', { write: (line) => void lines.push(line) })
  const err = new TypeError('the check failed', { cause: new Error('fetch failed', { cause: new Error('refused') }) })
  log.debug({}, 'not shown')
  log.info({}, 'not shown')
  log.warn({ err, chargeId: 'abc', none: undefined }, 'said "no"')
  log.error({}, 'two')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      level: 40,
      time: expect.any(Number),
      pid: process.pid,
      hostname: hostname(),
      err: {
        type: 'TypeError',
        message: 'the check failed: fetch failed: refused',
        stack: expect.stringMatching(/^TypeError: the check failed\n {4}at [^]*fetch failed[^]*refused/),
      },
      chargeId: 'abc',
      msg: 'said "no"',
    },
    { level: 50, time: expect.any(Number), pid: process.pid, hostname: hostname(), msg: 'two' },
  ])
})

test('a refused request and a failure of a provider are logged without a stack, unless there is a bug behind', () => {
  const lines: { err: object }[] = []
  const log = makeLog('warn', { write: (line) => void lines.push(JSON.parse(line)) })
  const lost = new ProviderError('unknown', 'bank: create: no response within 4000 ms')
  const refused = (cause: unknown) => new Fault('provider_unavailable', 'please try again', { cause })
  for (const err of [lost, refused(lost), refused(new TypeError('a bug'))]) log.warn({ err }, 'a line')
  expect(lines.map(({ err }) => err)).toEqual([
    { type: 'ProviderError', message: lost.message },
    { type: 'Fault', message: `please try again: ${lost.message}` },
    { type: 'Fault', message: 'please try again: a bug', stack: expect.stringContaining('TypeError: a bug') },
  ])
})

// The guard of the provider logs the outage: see api-pix-guard.test.ts.
test('lines about a call that a breaker held back are left out, whatever says so, except at level debug', () => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line).msg) }
  const log = makeLog('info', destination)
  const down = new ProviderError('unreachable', 'bank: create: the provider is down', { isDown: true })
  const errors = [
    down,
    new Fault('provider_unavailable', 'please try again', { cause: down }),
    new ProviderError('unknown', down.message, { cause: down }),
  ]
  for (const err of errors) log.warn({ err }, 'request refused')
  for (const err of errors) log.error({ err }, 'worker round failed')
  expect(lines).toEqual([])
  log.warn({ err: new ProviderError('unknown', 'bank: create: HTTP 503') }, 'provider did not create a charge')
  makeLog('debug', destination).warn({ err: down }, 'request refused')
  expect(lines).toEqual(['provider did not create a charge', 'request refused'])
})

test('fields that are no JSON are logged all the same', () => {
  const lines: string[] = []
  const log = makeLog('info', { write: (line) => void lines.push(line) })
  const circle: { self?: object; amount: bigint } = { amount: 5n }
  circle.self = circle
  log.info(circle, 'one')
  expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'one', fields: expect.stringContaining('amount: 5n') })
})

test('lines are written together, in order, and within a moment', async () => {
  const { writes, log } = setUp()
  for (const line of ['one', 'two', 'three']) log.info({}, line)
  expect(writes).toEqual([])
  await until('the lines are written', async () => writes.length > 0)
  expect(writes).toEqual([['one', 'two', 'three']])
})

test('a warning or an error is written at once, and the lines before it with it', () => {
  const { writes, log } = setUp()
  log.info({}, 'one')
  log.warn({}, 'two')
  log.error({}, 'three')
  log.fatal({}, 'four')
  expect(writes).toEqual([['one', 'two'], ['three'], ['four']])
})

test('lines that fill the buffer are written at once', () => {
  const { writes, log } = setUp()
  for (let line = 0; line < 1_000; line++) log.info({ padding: 'x'.repeat(100) }, String(line))
  expect(writes.length).toBeGreaterThan(1)
  expect(writes.flat()).toEqual(writes.flat().map((_, index) => String(index)))
})

test.each(['process.exit(1)', "throw new Error('a bug')", ''])('a process that ends loses no line: %s', async (end) => {
  const program = `
    import { makeLog } from ${JSON.stringify(new URL('../dist/log.js', import.meta.url).href)}
    const log = makeLog('info')
    for (let line = 0; line < 100; line++) log.info({}, 'line ' + line)
    ${end}`
  const child = startChild(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(child, 'close')
  const lines = text.split('\n').filter((line) => line.startsWith('{'))
  expect(lines.map((line) => JSON.parse(line).msg as string)).toEqual(lines.map((_, index) => `line ${index}`))
  expect(lines).toHaveLength(100)
})

test('a service whose log has no reader any more goes on', async () => {
  const program = `
    import { makeLog } from ${JSON.stringify(new URL('../dist/log.js', import.meta.url).href)}
    const log = makeLog('info')
    process.stdin.once('data', () => {
      for (let line = 0; line < 3; line++) log.error({}, 'line ' + line)
      setTimeout(() => process.exit(7), 50)
    })`
  const child = startChild(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stderr.destroy()
  child.stdin.write('now')
  expect(await once(child, 'exit')).toEqual([7, null])
})
