import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { npmEnv } from '../../../scripts/npm-env.ts'
import { CONSUMER, EXPRESS_TYPES, RESOLUTIONS, STRICT } from '../consumer.ts'
import { SECRET, sign, DEPOSIT } from '../signer.ts'

// Tests the package as others install it: packed, and installed by npm in an empty folder.

const run = promisify(execFile)
const sdk = fileURLToPath(new URL('../..', import.meta.url))
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
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  // The package depends on nothing, so npm has nothing to fetch.
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename)], {
    cwd: folder,
    env: npmEnv,
  })
  writeFileSync(join(folder, 'program.mjs'), PROGRAM)
  return () => rmSync(folder, { recursive: true, force: true })
})

test('the package holds what its exports name, its licence and its guides, and nothing else', () => {
  const { exports } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8')) as {
    exports: object
  }
  const named = JSON.stringify(exports).match(/dist\/[^"]+/g)
  expect(paths).toEqual(expect.arrayContaining(named ?? []))
  expect(paths.filter((path) => !/^(dist|examples)\//.test(path)).toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'package.json',
    'webhooks.md',
  ])
})

describe.each(RUNTIMES)('$name', ({ name, args }) => {
  test('runs every entry of the package, against the real server', async ({ skip }) => {
    // Only Node is needed to develop guiche.
    skip(spawnSync(name, ['--version']).status !== 0, `${name} is not installed`)
    const { stdout } = await run(name, args, { cwd: folder })
    expect(JSON.parse(stdout)).toEqual([700, 'field_invalid', true, 204])
  })
})

test('a program in CommonJS can require every entry', async () => {
  const program = `for (const name of ['', '/express', '/fastify', '/hono', '/next'])
    console.log(Object.keys(require('@guiche/sdk' + name)).length > 0, require('@guiche/sdk').makeGuiche.length)`
  writeFileSync(join(folder, 'program.cjs'), program)
  const { stdout } = await run('node', ['program.cjs'], { cwd: folder })
  expect(stdout).toBe('true 1\n'.repeat(5))
})

// The oldest compiler that we promise, the last one without generic typed arrays, and the one that we use, which no
// longer knows node10.
describe.each(['typescript-5.0', 'typescript-5.6', 'typescript'])('%s', (compiler) => {
  const known = RESOLUTIONS.filter(({ moduleResolution }) => compiler !== 'typescript' || moduleResolution !== 'node10')
  const compile = compiler === 'typescript' ? compileByCommand : makeCompile(compiler)
  test.each(known)(
    'finds the types of every entry, and nothing wrong in them, by $moduleResolution',
    async (resolution) => {
      const { files, ...options } = resolution
      for (const file of files) writeFileSync(join(folder, file), CONSUMER)
      expect(await compile({ compilerOptions: { ...STRICT, ...options }, files })).toEqual([])
    },
  )
})

type Config = { compilerOptions: object; files: string[] }

/** Reads the platform's declarations once and does not check them: that takes ten times as long as checking ours. */
function makeCompile(compiler: string): (config: Config) => Promise<string[]> {
  const ts = createRequire(import.meta.url)(compiler) as Compiler
  const platform = new Map<string, SourceFile | undefined>()
  return async (config) => {
    const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
    const host = ts.createCompilerHost(options)
    const read = host.getSourceFile.bind(host)
    host.getSourceFile = (name, ...rest) => {
      if (!/[/\\]lib\.[^/\\]*$/.test(name)) return read(name, ...rest)
      if (!platform.has(name)) platform.set(name, read(name, ...rest))
      return platform.get(name)
    }
    const program = ts.createProgram(fileNames, options, host)
    const checked = program.getSourceFiles().filter((file) => !program.isSourceFileDefaultLibrary(file))
    const found = [
      ...program.getOptionsDiagnostics(),
      ...checked.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
    ]
    return found.map(
      ({ code, file, messageText }) =>
        `${file?.fileName}: TS${code} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    )
  }
}

// The part of the compiler's API that this test uses. Older versions are installed under other names, and so are their
// types.
type SourceFile = { fileName: string }
type Diagnostic = { code: number; file?: SourceFile; messageText: object }
type Host = { getSourceFile(name: string, ...rest: unknown[]): SourceFile | undefined }
type Program = {
  getSourceFiles(): SourceFile[]
  isSourceFileDefaultLibrary(file: SourceFile): boolean
  getOptionsDiagnostics(): Diagnostic[]
  getSyntacticDiagnostics(file: SourceFile): Diagnostic[]
  getSemanticDiagnostics(file: SourceFile): Diagnostic[]
}
type Compiler = {
  sys: object
  parseJsonConfigFileContent(config: Config, host: object, folder: string): { options: object; fileNames: string[] }
  createCompilerHost(options: object): Host
  createProgram(files: string[], options: object, host: Host): Program
  flattenDiagnosticMessageText(text: object, newLine: string): string
}

async function compileByCommand(config: Config): Promise<string[]> {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
  const { stdout } = await run('node', [tsc, '-p', folder, '--pretty', 'false']).catch(
    (error: { stdout: string }) => error,
  )
  return stdout.split('\n').filter((line) => line !== '')
}

test.each(['README.md', 'webhooks.md'])('every sample of %s compiles in strict mode', async (name) => {
  const samples = [...readFileSync(join(sdk, name), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, code = '']) => code,
  )
  expect(samples.length).toBeGreaterThan(1)
  const files = samples.map((code) => ({ file: nameOf(code, samples.indexOf(code)), code }))
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
  // The samples use these frameworks. Their own dependencies come with the links.
  for (const used of ['fastify', 'hono', '@types/node']) link(used)
  writeFileSync(join(folder, 'express.d.ts'), EXPRESS_TYPES)
  for (const { file, code } of files) writeFileSync(join(folder, file), code)
  const compilerOptions = { ...STRICT, skipLibCheck: true, module: 'nodenext', lib: ['es2023'], types: ['node'] }
  expect(
    await compileByCommand({ compilerOptions, files: ['express.d.ts', ...files.map(({ file }) => file)] }),
  ).toEqual([])
})

const CHECKOUT = `
import { GuichePix, type GuichePixDetail } from '@guiche/sdk/react'
export const page = (link: string) => <GuichePix paymentLink={link} onPaid={({ status }: GuichePixDetail) => void status} />
export const element = (link: string) => <guiche-pix payment-link={link} theme="dark" />
// @ts-expect-error
export const wrong = <GuichePix />
`

test('the component for React has its types, and the element has them in JSX', async () => {
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
  for (const used of ['react', '@types/react']) link(used)
  writeFileSync(join(folder, 'checkout.tsx'), CHECKOUT)
  const compilerOptions = { ...STRICT, module: 'nodenext', jsx: 'react-jsx', lib: ['es2022', 'dom'] }
  expect(await compileByCommand({ compilerOptions, files: ['checkout.tsx'] })).toEqual([])
})

/** One sample is imported by the others as `store.ts`. */
function nameOf(code: string, place: number): string {
  return code.includes('export async function store') ? 'store.ts' : `sample-${place}.ts`
}

function link(name: string): void {
  const target = fileURLToPath(new URL(`../../../node_modules/${name}`, import.meta.url))
  rmSync(join(folder, 'node_modules', name), { force: true, recursive: true })
  symlinkSync(target, join(folder, 'node_modules', name))
}
