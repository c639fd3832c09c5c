import type { Argument, Command, Option } from 'commander'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeMetrics } from '../src/base/metrics.ts'
import { makeProgram } from '../src/commands/program.ts'
import { loadConfig } from '../src/config/config.ts'
import { EVENTS } from '../src/domain/webhooks/event-kinds.ts'
import { HEALTH_CHECK_NAMES } from '../src/domain/reports/health-bounds.ts'
import { OPERATOR_SCOPES, SCOPES } from '../src/domain/accounts/callers.ts'
import { ERRORS } from '../src/http/server/error-codes.ts'
import { makeClientCertificate, PFX_PASSWORD } from './client-certificate.ts'

// Reference pages repeat what the code says. Here each is compared with the code, in both directions.

const ROOT = new URL('../../', import.meta.url)
const UPDATE = 'run `UPDATE_DOCS=1 npx vitest run test/docs.test.ts` and commit it'
const COMMAND_LINE = new URL('docs/command-line.md', ROOT)

const page = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')
const sorted = (items: Iterable<string>) => [...new Set(items)].toSorted()

// ---- Configuration ----

const API_PIX = {
  PROVIDERS: 'bank',
  PUBLIC_URL: 'https://pay.example.com',
  PROVIDER_BANK_KIND: 'api-pix',
  PROVIDER_BANK_URL: 'https://bank.example',
  PROVIDER_BANK_TOKEN_URL: 'https://bank.example/token',
  PROVIDER_BANK_CLIENT_ID: 'id',
  PROVIDER_BANK_CLIENT_SECRET: 'secret',
  PROVIDER_BANK_PIX_KEY: 'pix@example.com',
}
const WOOVI = { ...API_PIX, PROVIDER_BANK_KIND: 'woovi', PROVIDER_BANK_APP_ID: 'app' }
const CERTIFICATE = makeClientCertificate(mkdtempSync(join(tmpdir(), 'guiche-docs-')))
afterAll(() => rmSync(dirname(CERTIFICATE.cert), { recursive: true }))
// Together, these make config.ts read every variable that it knows.
const ENVIRONMENTS = [
  {},
  {
    SMTP_URL: 'smtps://mail.example.com',
    NOTIFY_SOCKET: '/run/systemd/notify',
  },
  { ...API_PIX, PROVIDER_BANK_PFX: CERTIFICATE.pfx, PROVIDER_BANK_PFX_PASSWORD: PFX_PASSWORD },
  { ...API_PIX, PROVIDER_BANK_CERT: CERTIFICATE.cert, PROVIDER_BANK_CERT_KEY: CERTIFICATE.key },
  WOOVI,
]

test('configuration.md lists every variable that the service reads, and no other', () => {
  const read = new Set(ENVIRONMENTS.flatMap(variablesRead).map(anyProvider))
  const secrets = [...read].filter((name) => read.has(`${name}_FILE`))
  const [, listed = ''] = /## Secrets from files\n([^]*?)\n## /.exec(page('docs/configuration.md')) ?? []
  const named = codes(listed).filter((name) => documentedVariables().has(name))
  expect(sorted(named)).toEqual(sorted(secrets))
  for (const name of secrets) read.delete(`${name}_FILE`)
  expect(sorted(documentedVariables().keys())).toEqual(sorted(read))
})

test('every default in configuration.md that is a value is the default', () => {
  const parsed = (env: Record<string, string>) => JSON.stringify(loadConfig(env))
  const wrong = [...documentedVariables()].flatMap(([name, cell]) => {
    const value = /^`([^`]+)`$/.exec(cell)?.[1]
    const base: Record<string, string> = name.startsWith('PROVIDER_') ? API_PIX : {}
    if (value === undefined) return []
    return parsed({ ...base, [name.replace('<NAME>', 'BANK')]: value }) === parsed(base) ? [] : [`${name}: ${value}`]
  })
  expect(wrong).toEqual([])
})

function variablesRead(env: Record<string, string>): string[] {
  const names = new Set<string>()
  const recorder = new Proxy(env, {
    get(target, name) {
      names.add(String(name))
      return target[String(name)]
    },
  })
  loadConfig(recorder)
  return [...names]
}

const anyProvider = (name: string) => name.replace(/^PROVIDER_(BANK|SANDBOX)_/, 'PROVIDER_<NAME>_')

function documentedVariables(): Map<string, string> {
  return new Map(rows(page('docs/configuration.md')).map(([name, value]) => [codes(name!)[0] ?? '', value!]))
}

// ---- The command line ----

// The commands are only described here: none of them runs.
const never = () => {
  throw new Error('no command runs here')
}
const screen = { write: never }
const program = makeProgram(
  {
    print: never,
    say: never,
    screen,
    output: screen,
    requireOutput: never,
    readInput: never,
    keyboard: undefined,
    loadConfig: never,
    loadRemote: never,
    loadHome: never,
    setExitCode: never,
  },
  { stdout: screen, stderr: screen, readInput: never, start: never },
)

test('privacy.md names every table, so that nothing about people is forgotten', () => {
  const guards = readFileSync(new URL('server/data/schema-guards.txt', ROOT), 'utf8')
  const tables = [...guards.matchAll(/^table (\w+)/gm)].map(([, name]) => name!)
  const named = new Set([...page('docs/privacy.md').matchAll(/`(\w+)`/g)].map(([, name]) => name!))
  expect(tables.length).toBeGreaterThan(30)
  expect(tables.filter((table) => !named.has(table))).toEqual([])
})

test('command-line.md shows every command and option as the program describes it', () => {
  const text = page('docs/command-line.md')
  const written = text.slice(0, text.indexOf('-->\n') + 4)
  const expected = written + commandsOf(program).map(describeCommand).join('')
  if (process.env['UPDATE_DOCS']) writeFileSync(COMMAND_LINE, expected)
  expect(page('docs/command-line.md') === expected, `command-line.md is stale: ${UPDATE}`).toBe(true)
})

test('every command line that a document shows exists, with its options', () => {
  const known = new Map(commandsOf(program).map((command) => [nameOf(command), command]))
  const unknown = documents().flatMap(({ path, text }) =>
    [...text.matchAll(/npx (guiche(?: [a-z][a-z-]*)+)([^\n`)#|]*)/g)].flatMap(([, words, rest]) => {
      const command = longestMatch(words!, known)
      const wrong = [...rest!.matchAll(/(?<=\s)--[a-z-]+/g)].filter(
        ([option]) => option !== '--help' && !command?.options.some(({ long }) => long === option),
      )
      return command && wrong.length === 0 ? [] : [`${path}: ${words}${rest}`]
    }),
  )
  expect(unknown).toEqual([])
})

function longestMatch(words: string, known: Map<string, Command>): Command | undefined {
  const parts = words.split(' ')
  const names = parts.map((_, index) => parts.slice(0, parts.length - index).join(' '))
  return known.get(names.find((name) => known.has(name)) ?? '')
}

/** The commands that do something by themselves, and not only hold others. */
function commandsOf(command: Command): Command[] {
  const acts = command.commands.length === 0 || command.registeredArguments.length > 0
  return [...(acts ? [command] : []), ...command.commands.flatMap(commandsOf)]
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}

function describeCommand(command: Command): string {
  const required = command.options.filter((option) => option.mandatory)
  const optional = command.options.filter((option) => !option.mandatory)
  const usage = [
    nameOf(command),
    ...command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    ),
    ...required.map((option) => option.flags),
    ...optional.map((option) => `[${option.flags}]`),
  ]
  const table = [
    ...command.registeredArguments.map((argument) => row(`<${argument.name()}>`, argument)),
    ...command.options.map((option) => row(option.flags, option)),
  ]
  const description = command.description()
  return [
    `\n### ${nameOf(command)}\n`,
    `${description[0]!.toUpperCase()}${description.slice(1)}.\n`,
    `\`\`\`\n${usage.join(' ')}\n\`\`\`\n`,
    ...(table.length > 0 ? [`| | |\n|---|---|\n${table.join('')}`] : []),
  ].join('\n')
}

function row(flags: string, { description, defaultValue, argChoices }: Argument | Option): string {
  const notes = [
    argChoices && `one of ${argChoices.join(', ')}`,
    defaultValue !== undefined && `default: ${defaultValue}`,
  ]
  const more = notes.filter(Boolean).join('; ')
  return `| \`${flags}\` | ${`${description}${more && ` (${more})`}`.replaceAll('|', '\\|')} |\n`
}

// ---- The API ----

type Parameter = { name: string; schema: { enum?: string[] } }
type Paths = Record<string, Record<string, { parameters?: Parameter[] }>>

const openapi = JSON.parse(page('server/openapi.json')) as { paths: Paths }

test('api.md lists every operation of openapi.json, and no other', () => {
  const documented = [...page('docs/api.md').matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/[^`?\s]+)`/g)]
  const described = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(sorted(documented.map(([, method, path]) => `${method} ${path!.replaceAll(/:(\w+)/g, '{$1}')}`))).toEqual(
    sorted(described),
  )
})

test('api.md lists every error code with its status and meaning', () => {
  const errors = Object.entries(ERRORS)
    .map(([code, [status, meaning]]) => ({
      code,
      status,
      meaning,
      isOfDashboard: meaning.startsWith('Dashboard only'),
    }))
    .toSorted((a, b) => a.status - b.status)
  const rows = errors
    .filter(({ isOfDashboard }) => !isOfDashboard)
    .map(({ code, status, meaning }) => `| \`${code}\` | ${status} | ${meaning} |\n`)
  const others = errors.filter(({ isOfDashboard }) => isOfDashboard).map(({ code }) => `\`${code}\``)
  const table = `\n| code | status | meaning |\n|---|---|---|\n${rows.join('')}`
  const text = page('docs/api.md')
  const expected = text.replace(
    /(<!-- Generated from [^>]*error-codes.ts[^>]*-->\n)[^]*?(?=<!-- end -->)/,
    `$1${table}\nOnly the dashboard meets these: ${others.join(', ')}.\n\n`,
  )
  if (process.env['UPDATE_DOCS']) writeFileSync(new URL('docs/api.md', ROOT), expected)
  expect(page('docs/api.md') === expected, `api.md is stale: ${UPDATE}`).toBe(true)
})

test('api.md lists every scope, and no other', () => {
  const scopes = rows(section(page('docs/api.md'), 'Keys and scopes')).flatMap(([cell]) => codes(cell!))
  expect(sorted(scopes)).toEqual(sorted([...SCOPES, ...OPERATOR_SCOPES]))
})

test('webhooks.md lists every kind of event', () => {
  const lines = Object.entries(EVENTS).map(
    ([kind, event]) => `| \`${kind}\` | ${event.summary.en}. ${event.description} |\n`,
  )
  const text = page('docs/webhooks.md')
  const expected = text.replace(
    /(<!-- Generated from [^>]*event-kinds.ts[^>]*-->\n)[^]*?(?=<!-- end -->)/,
    `$1\n| event | sent when |\n|---|---|\n${lines.join('')}\n`,
  )
  if (process.env['UPDATE_DOCS']) writeFileSync(new URL('docs/webhooks.md', ROOT), expected)
  expect(page('docs/webhooks.md') === expected, `webhooks.md is stale: ${UPDATE}`).toBe(true)
  expect(text).toContain('<!-- Generated from server/src/domain/webhooks/event-kinds.ts')
})

test('webhooks.md lists every state of a delivery, and no other', () => {
  const first = (title: string) => rows(section(page('docs/webhooks.md'), title)).flatMap(([cell]) => codes(cell!))
  const states = openapi.paths['/api/events']!['get']!.parameters!.find(({ name }) => name === 'state')!.schema.enum
  expect(sorted(first('Delivery'))).toEqual(sorted(states!))
})

// ---- Metrics ----

test('operations.md lists every metric with its labels, and no document names another one', () => {
  const metrics = makeMetrics().registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[]
  const documented = rows(section(page('docs/operations.md'), 'Metrics')).map(
    ([name, labels]) => `${codes(name!).join()} ${codes(labels!).join()}`,
  )
  expect(sorted(documented)).toEqual(sorted(metrics.map(({ name, labelNames }) => `${name} ${labelNames.join()}`)))

  const names = new Set(metrics.map(({ name }) => name))
  const mentioned = documents().flatMap(({ text }) => text.match(/(?<![\w-])guiche_[a-z_]+/g) ?? [])
  expect(sorted(mentioned.filter((name) => !names.has(name)))).toEqual([])
})

test('operations.md lists every check of the health page, and no other', () => {
  const listed = rows(section(page('docs/operations.md'), 'Health')).flatMap(([cell]) => codes(cell!))
  expect(sorted(listed)).toEqual(sorted(HEALTH_CHECK_NAMES))
})

// ---- Proofs ----

test('the list of mistakes that are made on purpose is complete, and the README counts them', () => {
  const made = [...page('prove/broken.mjs').matchAll(/^ {4}name: '([a-z-]+)'/gm)].map(([, name]) => name!)
  const listed = rows(section(page('prove/README.md'), 'Broken builds: `prove/broken.mjs`')).map(
    ([cell]) => codes(cell!)[0]!,
  )
  expect(page('README.md').replaceAll(/\s+/g, ' ')).toContain(`breaks the build on purpose in ${made.length} ways`)
  expect(sorted(listed)).toEqual(sorted(made))
})

// ---- Links ----

test('SECURITY.md names for each requirement of the ASVS a test that exists, and no requirement twice', () => {
  const [, section = ''] = page('SECURITY.md').split('\n## OWASP ASVS')
  const rows = [...section.matchAll(/^\| (\d+\.\d+\.\d+) (.+) \|$/gm)].map(([, id, rest]) => ({
    id,
    cells: rest!.split(' | '),
  }))
  expect(rows.length).toBeGreaterThan(150)
  expect(rows.map(({ id }) => id).filter((id, at, all) => all.indexOf(id) !== at)).toEqual([])
  const shown = rows.filter(({ cells }) => cells.length === 3)
  expect(shown.length).toBeGreaterThan(100)
  const missing = shown.filter(({ cells }) => {
    const [, file, title] = /^`((?:long\/)?[\w-]+\.test\.ts)`: (.+)$/.exec(cells[2]!.trim()) ?? []
    if (file === undefined || !existsSync(new URL(`server/test/${file}`, ROOT))) return true
    return !page(`server/test/${file}`).includes(`('${title}'`)
  })
  expect(missing).toEqual([])
})

test('every relative link in every document leads to a file, and to a heading in it', () => {
  const broken = documents().flatMap(({ path, text }) =>
    linksOf(text)
      .filter((link) => !leadsSomewhere(path, link))
      .map((link) => `${path}: ${link}`),
  )
  expect(broken).toEqual([])
})

test.each([
  ['a file that is not there', 'docs/api.md', 'nowhere.md'],
  ['a heading that is not there', 'docs/api.md', '../README.md#nowhere'],
  ['a heading of its own page that is not there', 'docs/api.md', '#nowhere'],
])('a link to %s is noticed', (_, from, link) => {
  expect(leadsSomewhere(from, link)).toBe(false)
})

// A document may leave out the folders that its readers know.
const PLACES = [
  '',
  'server/',
  'server/src/',
  'server/test/',
  'web/src/',
  ...['domain/', 'http/', 'providers/', 'db/'].map((folder) => `server/src/${folder}`),
]

test('every file and folder that a document names exists', () => {
  const missing = documents()
    // The changelog names files that no longer exist.
    .filter(({ path }) => path !== 'CHANGELOG.md')
    .flatMap(({ path, text }) =>
      [...text.matchAll(/`((?:[\w.-]+\/)+(?:[\w.-]+\.(?:ts|tsx|mjs|sql|md|json|yml))?)`/g)]
        .filter(([, name]) => !PLACES.some((place) => existsSync(new URL(`${place}${name}`, ROOT))))
        .map(([, name]) => `${path}: ${name}`),
    )
  expect(missing).toEqual([])
})

function leadsSomewhere(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const path = file === '' ? from : posix.join(posix.dirname(from), file)
  if (!existsSync(new URL(path, ROOT))) return false
  return anchor === undefined || (path.endsWith('.md') && anchorsOf(page(path)).includes(anchor))
}

function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^ *```[^]*?^ *```/gm, '')
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map(([, link, source]) => link ?? source!)
  // A path from the root is one of a running service, and a test of the guide follows it there.
  return links.filter((link) => !/^([a-z]+:|\/)/.test(link))
}

/** The anchors that GitHub makes from headings. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>()
  const prose = text.replaceAll(/^ *```[^]*?^ *```/gm, '')
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => {
    const slug = heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    return times === 0 ? slug : `${slug}-${times}`
  })
}

// ---- Markdown ----

function documents(folder = ''): { path: string; text: string }[] {
  return readdirSync(new URL(folder || '.', ROOT)).flatMap((name) => {
    const path = `${folder}${name}`
    if (/^(node_modules|dist|\.git|\.guiche)$/.test(name)) return []
    if (statSync(new URL(path, ROOT)).isDirectory()) return documents(`${path}/`)
    return path.endsWith('.md') ? [{ path, text: page(path) }] : []
  })
}

/** The text from a heading to the next one of the same or a higher level. */
function section(text: string, title: string): string {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => new RegExp(`^#+ ${title}$`).test(line))
  if (start === -1) throw new Error(`no heading is called ${title}`)
  const level = lines[start]!.indexOf(' ')
  const length = lines.slice(start + 1).findIndex((line) => new RegExp(`^#{1,${level}} `).test(line))
  return lines.slice(start, length === -1 ? undefined : start + 1 + length).join('\n')
}

/** The cells of all tables, without their heads. */
function rows(text: string): string[][] {
  const lines = text.split('\n')
  return lines
    .filter(
      (line, index) => line.startsWith('|') && !/^\|[-|]+\|$/.test(line) && !/^\|[-|]+\|$/.test(lines[index + 1] ?? ''),
    )
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    )
}

function codes(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
}
