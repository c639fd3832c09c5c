import { once } from 'node:events'
import { expect, test } from 'vitest'
import { gatherLines, makeLog } from '../src/log.ts'
import { startChild } from './process.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

function setUp() {
  const writes: string[][] = []
  const { stream } = gatherLines({
    write: (text) =>
      void writes.push(
        text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).msg as string),
      ),
  })
  return { writes, log: makeLog('info', stream) }
}

test('the lines of one turn of the event loop are written at once, and in order', async () => {
  const { writes, log } = setUp()
  for (const line of ['one', 'two', 'three']) log.info({}, line)
  expect(writes).toEqual([])
  await turn()
  expect(writes).toEqual([['one', 'two', 'three']])
  log.info({}, 'four')
  await turn()
  expect(writes).toEqual([['one', 'two', 'three'], ['four']])
})

test('an error is written at once, and the lines before it with it', () => {
  const { writes, log } = setUp()
  log.info({}, 'one')
  log.error({}, 'two')
  log.fatal({}, 'three')
  expect(writes).toEqual([['one', 'two'], ['three']])
})

test('lines that fill the buffer are written within the turn', () => {
  const { writes, log } = setUp()
  for (let line = 0; line < 1_000; line++) log.info({ padding: 'x'.repeat(100) }, String(line))
  expect(writes.length).toBeGreaterThan(1)
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
