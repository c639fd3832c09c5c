import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runCli, runProcess, temporaryHome } from './process.ts'

const sample = (name: string) => fileURLToPath(new URL(`../../docs/verify/${name}`, import.meta.url))
const EXPORT = sample('sample.jsonl')
const KEY = ['--key-file', sample('sample.key')]
const RECEIPT = ['--receipt', sample('sample.tlog-proof'), '--event', sample('sample.event')]
// Settings that no command could use.
const NO_SERVICE = { DATABASE_URL: 'postgres://localhost:1/none', PUBLIC_URL: 'none' }

const run = (...args: string[]) => runCli(['verify', ...args], NO_SERVICE)

test('verify proves an export without a database and without settings', async () => {
  const { code, stdout, stderr } = await run(EXPORT, ...KEY)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('Proven: the file is whole')
  const key = readFileSync(sample('sample.key'), 'utf8').trim()
  const asJson = await run(EXPORT, '--key', key, '--json')
  expect(JSON.parse(asJson.stdout)).toMatchObject({ ok: true, size: 11, signedBy: key, problems: [] })
})

test('verify takes the key from a stored answer of the service', async () => {
  const file = join(temporaryHome(), 'guiche-log.json')
  writeFileSync(file, JSON.stringify({ keys: [readFileSync(sample('sample.key'), 'utf8').trim()] }))
  expect(await run(EXPORT, '--key-file', file)).toMatchObject({ code: 0 })
})

test('verify reads an export from standard input', async () => {
  const { code, stdout } = await runProcess(['verify', '-', ...KEY], NO_SERVICE, readFileSync(EXPORT, 'utf8'))
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('Proven') })
})

test('verify names the position that was altered, and ends with 1', async () => {
  const file = join(temporaryHome(), 'history.jsonl')
  const lines = readFileSync(EXPORT, 'utf8').split('\n')
  const index = lines.findIndex((line) => line.includes('"position":3,'))
  writeFileSync(file, lines.with(index, lines[index]!.replace('SUCCESS', 'SUCCESs')).join('\n'))
  const { code, stdout } = await run(file, ...KEY)
  expect(code).toBe(1)
  expect(stdout).toMatch(/NOT PROVEN: 1 problem\n {2}position 3, leaf \d+, line \d+, altered: /)
})

test('verify without a key proves nothing, and says so', async () => {
  const { code, stdout } = await run(EXPORT)
  expect(code).toBe(1)
  expect(stdout).toContain('NOT PROVEN')
  expect(stdout).toContain('Give the key of the log')
  expect(await run(...RECEIPT)).toMatchObject({ code: 1, stdout: expect.stringContaining('Give the key of the log') })
})

test('verify proves the receipt of an event, of its exact bytes only', async () => {
  expect(await run(...RECEIPT, ...KEY)).toMatchObject({ code: 0, stdout: expect.stringContaining('Proven') })
  const event = join(temporaryHome(), 'event.json')
  copyFileSync(sample('sample.event'), event)
  writeFileSync(event, ' ', { flag: 'a' })
  const { code, stdout } = await run('--receipt', sample('sample.tlog-proof'), '--event', event, ...KEY)
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('not_included') })
})

test.each([
  ['a file that is not there', ['none.jsonl', ...KEY], 'none.jsonl'],
  ['a key that is none', [EXPORT, '--key', 'none'], 'verifier key'],
  ['a key file without a key', [EXPORT, '--key-file', EXPORT.replace('.jsonl', '.event')], 'no verifier key'],
  ['no file', KEY, 'Give either an export'],
  ['a receipt without its event', RECEIPT.slice(0, 2), 'Give either an export'],
])('verify that could not run because of %s ends with 2, unlike damage', async (_, args, text) => {
  expect(await run(...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(text) })
})
