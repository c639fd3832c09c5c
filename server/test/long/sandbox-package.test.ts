import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { npmEnv } from '../../../scripts/npm-env.ts'

// Tests the sandbox as others install it: packed, and installed by npm in an empty folder.

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)

let folder: string
let paths: string[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guiche-sandbox-package-'))
  const pack = ['pack', '--json', '-w', 'sandbox', '--pack-destination', folder]
  const { stdout } = await run('npm', pack, { cwd: ROOT, env: npmEnv })
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string; files: { path: string }[] }]
  paths = packed.files.map(({ path }) => path)
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, packed.filename)]
  await run('npm', install, { cwd: folder, env: npmEnv })
  return () => rmSync(folder, { recursive: true, force: true })
})

test('the package holds the bank, what the bank uses, and nothing else of the checkout', () => {
  const allowed = /^dist\/(base|sandbox)\/[\w-]+\.(js|d\.ts|d\.cts)$|^(LICENSE|README\.md|package\.json)$/
  expect(paths.filter((path) => !allowed.test(path))).toEqual([])
  expect(paths).toEqual(expect.arrayContaining(['LICENSE', 'dist/sandbox/start-sandbox.js']))
})

test('its dependencies have the versions of the server', () => {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name, 'package.json'), 'utf8')).dependencies
  expect(read('server')).toMatchObject(read('sandbox'))
})

test('the example of the README passes in an empty folder, and fails if the bank’s time does not pass', async () => {
  const example = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(ROOT, 'sandbox/README.md'), 'utf8'))![1]!
  expect(example).toContain("advance('2h')")
  writeFileSync(join(folder, 'example.test.js'), example)
  writeFileSync(join(folder, 'broken.test.js'), example.replace("advance('2h')", "advance('59min')"))
  // Node runs no tests in a process that it takes for a test.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const test = (name: string) => run('node', ['--test', name], { cwd: folder, env })
  expect((await test('example.test.js')).stdout).toMatch(/^(# |ℹ )pass 1$/m)
  await expect(test('broken.test.js')).rejects.toMatchObject({ stdout: expect.stringMatching(/^(# |ℹ )fail 1$/m) })
})

test('a program in CommonJS can require it', async () => {
  const program = `require('@guiche/sandbox').startSandbox({ as: 'sicoob' }).then(async (bank) => {
    const [{ valor }] = await bank.pay({ txid: 'any', amountCents: 100 })
    await bank.close()
    console.log(valor, bank.customer.files.ca.endsWith('ca.crt'))
  })`
  writeFileSync(join(folder, 'program.cjs'), program)
  expect((await run('node', ['program.cjs'], { cwd: folder })).stdout).toBe('1.00 true\n')
})

const CONSUMER = `
import { startSandbox, type Faults, type Payment } from '@guiche/sandbox'
export async function use(): Promise<Payment | undefined> {
  const bank = await startSandbox({ as: 'itau', clock: () => new Date() })
  const faults: Faults = { hangRate: 0.5, seed: 7 }
  bank.fault(faults)
  await bank.advance('15min')
  const [payment] = await bank.pay({ emv: 'code', times: 2 })
  const cents: number | undefined = payment?.amountCents
  console.log(cents, bank.customer?.files.key)
  // @ts-expect-error
  bank.fault({ noSuchFault: true })
  // @ts-expect-error
  await bank.advance('2 weeks')
  return bank.payments()[0]
}
`

// The oldest compiler that we promise, and the one that we use.
test.each(['typescript-5.0', 'typescript'])('%s finds its types, for modules and for CommonJS', async (compiler) => {
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
  rmSync(join(folder, 'node_modules/@types/node'), { recursive: true, force: true })
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'))
  for (const name of ['consumer.mts', 'consumer.cts']) writeFileSync(join(folder, name), CONSUMER)
  const options = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    types: ['node'],
    // zod's own types need 5.4.
    skipLibCheck: compiler === 'typescript-5.0',
  }
  const files = ['consumer.mts', 'consumer.cts']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc')
  const { stdout } = await run('node', [tsc, '-p', folder, '--pretty', 'false']).catch(
    (error: { stdout: string }) => error,
  )
  expect(stdout).toBe('')
})
