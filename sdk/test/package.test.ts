import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { SECRET, sign, DEPOSIT } from './signer.ts'

// What others install: packed, and installed by npm in an empty folder.

const run = promisify(execFile)
// Names that npm sets for the command that runs the tests would lead another npm to this checkout.
const OUTER_NPM = /^(npm_(package|lifecycle|command|config_local_prefix|config_prefix)|INIT_CWD)/
const npmEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OUTER_NPM.test(name)))
const sdk = fileURLToPath(new URL('..', import.meta.url))
const { url, key } = inject('guiche')
const RUNTIMES = [
  { name: 'node', args: ['program.mjs'] },
  { name: 'bun', args: ['program.mjs'] },
  { name: 'deno', args: ['run', '--allow-all', 'program.mjs'] },
]

const signed = sign(DEPOSIT, { at: new Date() })
const PROGRAM = `
import { GuicheError, makeGuiche, verify, verifyAsync } from '@guiche/sdk'
import '@guiche/sdk/express'
import '@guiche/sdk/fastify'
import '@guiche/sdk/hono'
import { receiveWebhooks } from '@guiche/sdk/next'

const [body, headers, secret] = ${JSON.stringify([signed.body, signed.headers, SECRET])}
const guiche = makeGuiche(${JSON.stringify({ url, key })})
const charge = await guiche.deposits.create({ value: 700 })
const refused = await guiche.deposits.create({ value: 0 }).catch((error) => error)
const response = await receiveWebhooks({ secret, onEvent() {} })(new Request(${JSON.stringify(url)}, { method: 'POST', body, headers }))
console.log(JSON.stringify([
  charge.value,
  refused instanceof GuicheError && refused.code,
  verify(body, headers, secret).id === (await verifyAsync(body, headers, secret)).id,
  response.status,
]))
`

let folder: string
let paths: string[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guiche-sdk-package-'))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: sdk })
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string; files: { path: string }[] }]
  paths = packed.files.map(({ path }) => path)
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  // It depends on nothing, so npm has nothing to fetch.
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename)], {
    cwd: folder,
    env: npmEnv,
  })
  writeFileSync(join(folder, 'program.mjs'), PROGRAM)
  return () => rmSync(folder, { recursive: true, force: true })
})

test('the package holds what its exports name, and nothing but the build', () => {
  const { exports } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8')) as {
    exports: Record<string, Record<string, string>>
  }
  const named = Object.values(exports).flatMap((entry) => Object.values(entry).map((path) => path.replace('./', '')))
  expect(paths).toEqual(expect.arrayContaining(named))
  expect(paths.filter((path) => !/^(dist\/|README\.md$|package\.json$)/.test(path))).toEqual([])
})

describe.each(RUNTIMES)('$name', ({ name, args }) => {
  test('runs every entry of the package, against the real server', async ({ skip }) => {
    // Only Node is needed to develop guiche.
    skip(spawnSync(name, ['--version']).status !== 0, `${name} is not installed`)
    const { stdout } = await run(name, args, { cwd: folder })
    expect(JSON.parse(stdout)).toEqual([700, 'field_invalid', true, 204])
  })
})
