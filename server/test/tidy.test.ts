import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'

// The house rules that a machine can check. Each is tried on the tree, where it must find nothing, and on samples that
// break it, where it must find something: a rule that cannot fail guards nothing.

type File = { path: string; text: string }
/** The text of each file, by its path. */
type Sample = Record<string, string>
/** A line for each breach: where, and what to do. */
type Check = (files: File[]) => string[]
type Rule = { guarantee: string; check: Check; broken: Sample[] }

const THIS_FILE = 'server/test/tidy.test.ts'
const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 60
// The formatter's width, which it does not apply to comments.
const MAX_COLUMNS = 120

/** An import stays in its folder or goes to an earlier one in the list. Folders on one line never import each other. */
type Order = string[][]

const TREES: Record<string, { layers: Order; folders: Record<string, Order> }> = {
  'server/src/': {
    layers: [
      ['base'],
      ['process'],
      ['db'],
      ['domain'],
      ['http', 'workers', 'providers', 'egress', 'mail', 'sandbox'],
      // It takes the profiles of banks from providers/.
      ['config'],
      ['open-database.ts', 'log.ts', 'process-status.ts'],
      ['wiring.ts'],
      ['commands', 'main.ts'],
      ['cli.ts'],
    ],
    // The same rule within a folder. '.' stands for the files that lie directly in it.
    folders: {
      db: [['.'], ['embedded']],
      domain: [
        ['core'],
        ['ports'],
        ['ledger'],
        ['webhooks'],
        ['history'],
        ['users'],
        ['accounts'],
        ['exceptions'],
        ['deposits'],
        ['refunds'],
        ['disputes'],
        ['payouts'],
        ['reconciliation'],
        ['notices'],
        ['search'],
        ['reports'],
        ['audit'],
        ['demo'],
        ['.'],
      ],
      http: [['server'], ['auth'], ['api'], ['operator'], ['dashboard'], ['pay'], ['docs'], ['.']],
      providers: [['http'], ['api-pix', 'woovi']],
    },
  },
  'web/src/': {
    layers: [
      ['contract'],
      ['base'],
      ['ui'],
      ['deposits'],
      ['account', 'operator', 'sign-in'],
      ['search'],
      ['shell.tsx'],
      ['router.tsx'],
      ['main.tsx', 'element'],
    ],
    folders: {},
  },
}

// A reader cannot survey a folder with more files than this.
const MAX_FOLDER_FILES = 16
const LARGE_FOLDERS: Record<string, string> = {
  'server/src/base': 'small tools that tell no common story',
  'server/src/commands': 'one file for each command',
  'server/src/domain/deposits': 'the life of a charge, one file for each step',
  'server/src/domain/webhooks': 'one file for each group of kinds, and the queue that delivers them',
  'server/src/http/api': 'the routes of account holders, one file for each thing that they name',
  'server/src/sandbox': 'a bank of its own, read as one',
}

// Any file may import this type: functions that may call a provider take the Context. The type is put together on top.
const CONTEXT = 'server/src/domain/context.ts'

const SQL_START =
  /[`'"]\s*(select\s|insert into\s|update\s+\w+\s+(\w+\s+)?set\s|delete from\s|with\s+\w+\s+as\s*\(|(create|alter|drop)\s+(unique\s+)?(table|index|function|trigger|database|role)\s|truncate\s|set (local|session)\s)/g

const inSource = (path: string) => path.startsWith('server/src/')
const inEitherSource = (path: string) => /^(server|web)\/src\/.*\.tsx?$/.test(path)
const inDomain = (path: string) => path.startsWith('server/src/domain/')
const inCode = (path: string) => /\.(ts|tsx|mjs|js|sql)$/.test(path)

const RULES: Rule[] = [
  {
    guarantee:
      'imports go down: cli → commands, main → wiring → http | workers | providers | egress | mail | sandbox → domain → db → base, and within each folder in its order',
    check: (files) =>
      importsOf(files).flatMap(({ from, to, isType }) =>
        mayImport(from, to) || (to === CONTEXT && isType)
          ? []
          : `${from} imports ${to}: move what they share down, or wire them on top (order: ${THIS_FILE})`,
      ),
    broken: [
      { 'server/src/base/a.ts': `import { b } from '../domain/b.ts'` },
      { 'server/src/http/a.ts': `import type { B } from '../providers/b.ts'` },
      { 'server/src/http/a.ts': `import { loadConfig } from '../config/config.ts'` },
      { 'server/src/commands/a.ts': `import { start } from '../main.ts'` },
      { 'server/src/sandbox/a.ts': `const b = await import('../domain/b.ts')` },
      { 'server/src/attic/a.ts': `import { b } from '../base/b.ts'` },
      { 'server/src/cli.ts': `import { a } from './attic/a.ts'` },
      { 'server/src/domain/ledger/a.ts': `import { b } from '../deposits/b.ts'` },
      { 'server/src/domain/ledger/a.ts': `import { makeContext } from '../context.ts'` },
      { 'server/src/domain/attic/a.ts': `import { b } from '../ledger/b.ts'` },
      { 'server/src/http/api/a.ts': `import { b } from '../app.ts'` },
      { 'server/src/providers/woovi/a.ts': `import { b } from '../api-pix/b.ts'` },
      { 'server/src/db/a.ts': `import { b } from './embedded/b.ts'` },
      { 'web/src/ui/a.tsx': `import { b } from '../account/b.tsx'` },
      { 'web/src/account/deposits/a.tsx': `import { b } from '../../operator/b.tsx'` },
      { 'web/src/contract/a.ts': `import type { B } from '../base/b.ts'` },
    ],
  },
  {
    guarantee: 'no file imports itself by a detour, not even its types',
    check: findCycles,
    broken: [
      {
        'server/src/domain/a.ts': `import { b } from './b.ts'`,
        'server/src/domain/b.ts': `import { c } from './c.ts'`,
        'server/src/domain/c.ts': `import type { A } from './a.ts'`,
      },
      {
        'web/src/ui/a.tsx': `const B = lazy(() => import('./b.tsx'))`,
        'web/src/ui/b.tsx': `import { a } from './a.tsx'`,
      },
    ],
  },
  {
    // PATH is no setting of ours: it is how a child process finds its programs.
    guarantee: 'config.ts alone reads the environment',
    check: forbid(
      // Code samples of the API reference run at the caller, and read the caller's environment.
      (path) =>
        inSource(path) && !['server/src/config/config.ts', 'server/src/http/docs/reference-samples.ts'].includes(path),
      /process\.env\b(?!\['PATH'\])|from 'node:process'/g,
      'read it in config.ts and hand the value in',
    ),
    broken: [{ 'server/src/http/a.ts': 'const port = process.env.PORT' }, { 'server/src/main.ts': 'f(process.env)' }],
  },
  {
    guarantee: 'SQL stands in domain/ and db/ only',
    check: forbid(
      (path) => inSource(path) && !/^server\/src\/(domain|db)\//.test(path),
      SQL_START,
      'move the statement to a function of domain/ or db/',
    ),
    broken: [
      { 'server/src/http/a.ts': "pool.query('select 1')" },
      { 'server/src/workers/a.ts': 'tx.run(`\n  update charges c set status = $1`)' },
      { 'server/src/commands/a.ts': 'read(pool, `with mine as (select 1)`)' },
    ],
  },
  {
    guarantee: 'a statement gets more time at the database and in the process together',
    check: forbid(
      (path) => inSource(path) && !path.startsWith('server/src/db/'),
      /statement_timeout/g,
      'use tx.setStatementTimeout(), which moves the limit of the process too',
    ),
    broken: [{ 'server/src/domain/a.ts': 'tx.run(`set local statement_timeout = 60000`)' }],
  },
  {
    // A Core or a Context behind a Tx would put a second transaction, or a network call, inside the first.
    guarantee: 'the first argument tells what a function of the domain may do: tx: Tx, core: Core or ctx: Context',
    check: forbid(
      (path) => inDomain(path) && path !== 'server/src/domain/core/core.ts',
      /: Pool\b|\bPick<(Context|Core)\b|\b(?!tx\b)\w+: Tx\b|\b(?!core\b)\w+: Core\b|\b(?!ctx\b)\w+: Context\b|,\s*(tx: Tx|core: Core|ctx: Context)\b/g,
      'take tx: Tx, core: Core or ctx: Context as the first argument',
    ),
    broken: [
      { 'server/src/domain/ledger/a.ts': 'export function f(pool: Pool) {' },
      { 'server/src/domain/ledger/a.ts': "function f(ctx: Pick<Context, 'now'>) {" },
      { 'server/src/domain/ledger/a.ts': 'export function f(tx: Tx, ctx: Context) {' },
      { 'server/src/domain/ledger/a.ts': 'export function f(\n  id: string,\n  tx: Tx,\n) {' },
      { 'server/src/domain/ledger/a.ts': 'export function f(ctx: Core) {' },
    ],
  },
  {
    guarantee: 'time and chance reach the domain as values',
    check: forbid(
      inDomain,
      /Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(/g,
      'take `now` as an argument, or ctx.now()',
    ),
    broken: [
      { 'server/src/domain/a.ts': 'const now = new Date()' },
      { 'server/src/domain/a.ts': 'if (Date.now() > end) return' },
    ],
  },
  {
    guarantee: 'commands write the time of the database, and not that of the terminal',
    check: forbid(
      // listen and webhooks-listen show when something arrived at the terminal, and open no database.
      (path) => path.startsWith('server/src/commands/') && !path.endsWith('listen.ts'),
      /Date\.now\(|new Date\(\)/g,
      'take `now` from withDatabase(), or ctx.now()',
    ),
    broken: [
      { 'server/src/commands/a.ts': 'revokeKey(tx, new Date(), id, consoleActor())' },
      { 'server/src/commands/a.ts': 'const expiresAtMs = Date.now() + DAY_MS' },
    ],
  },
  {
    guarantee: 'no amount is a float',
    check: forbid(inSource, /\bparseFloat\b|\.toFixed\(/g, 'use base/money.ts, which works on digits'),
    broken: [
      { 'server/src/http/a.ts': '(cents / 100).toFixed(2)' },
      { 'server/src/http/a.ts': 'parseFloat(text) * 100' },
    ],
  },
  {
    guarantee: 'every import names the file that it needs: there are no barrels',
    check: (files) => [
      ...files
        .filter(({ path }) => /^server\/.*\/index\.\w+$/.test(path))
        .map(({ path }) => `${path}: name it after what it holds`),
      ...forbid(inSource, /^export \* /gm, 'export from the file itself')(files),
    ],
    broken: [{ 'server/src/http/index.ts': '' }, { 'server/src/http/a.ts': `export * from './b.ts'` }],
  },
  {
    guarantee: 'names are kebab-case, and say what is in the file',
    check: (files) =>
      files
        .filter(({ path }) => /^(server\/(src|test|bin)|scripts|bench|prove)\//.test(path))
        .filter(({ path }) => !path.endsWith('/README.md'))
        .flatMap(({ path }) => {
          const words = path.split('/').flatMap((part) => part.split(/[.-]/))
          if (words.some((word) => /^(util|helper|manager|common|misc)s?$/.test(word)))
            return `${path}: name it after what it holds`
          return path.split('/').every((part) => /^[a-z0-9]+([.-][a-z0-9]+)*$/.test(part))
            ? []
            : `${path}: rename it to kebab-case`
        }),
    broken: [
      { 'server/src/http/helpers.ts': '' },
      { 'server/src/utils/money.ts': '' },
      { 'server/src/base/tokenBucket.ts': '' },
    ],
  },
  {
    guarantee: `a file has at most ${MAX_FILE_LINES} lines`,
    check: (files) =>
      files
        .filter(({ path, text }) => inEitherSource(path) && !text.startsWith('// Generated '))
        .map(({ path, text }) => ({ path, length: text.split('\n').length - 1 }))
        .flatMap(({ path, length }) =>
          length > MAX_FILE_LINES ? `${path} has ${length} lines: split it by concept` : [],
        ),
    broken: [
      { 'server/src/http/a.ts': 'line\n'.repeat(MAX_FILE_LINES + 1) },
      { 'web/src/ui/a.tsx': 'line\n'.repeat(MAX_FILE_LINES + 1) },
    ],
  },
  {
    guarantee: `a folder has at most ${MAX_FOLDER_FILES} files, or a reason`,
    check: (files) => {
      const counts = new Map<string, number>()
      for (const { path } of files.filter((file) => inEitherSource(file.path)))
        counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
      return [...counts].flatMap(([folder, count]) =>
        count > MAX_FOLDER_FILES && !LARGE_FOLDERS[folder] ? `${folder} has ${count} files: fold it by concept` : [],
      )
    },
    broken: [
      Object.fromEntries(Array.from({ length: MAX_FOLDER_FILES + 1 }, (_, index) => [`web/src/ui/${index}.tsx`, ''])),
    ],
  },
  {
    guarantee: `a comment has at most ${MAX_COLUMNS} columns`,
    check: (files) =>
      files
        .filter(({ path }) => inCode(path))
        .flatMap(({ path, text }) =>
          text
            .split('\n')
            .flatMap((line, index) =>
              line.length > MAX_COLUMNS && /^\s*(\/\/|\*|\/\*\*|--) /.test(line)
                ? `${path}:${index + 1} has ${line.length} columns: wrap it`
                : [],
            ),
        ),
    broken: [
      { 'server/src/base/a.ts': `// ${'word '.repeat(30)}` },
      { 'web/src/ui/a.tsx': `  /** ${'word '.repeat(30)}*/` },
      { 'server/migrations/0001_a.sql': `-- ${'word '.repeat(30)}` },
    ],
  },
  {
    guarantee: `a function has at most ${MAX_FUNCTION_LINES} lines of its own`,
    check: (files) =>
      files
        .filter(({ path }) => inEitherSource(path))
        .flatMap((file) =>
          functionsOf(file).flatMap(({ line, length }) =>
            length > MAX_FUNCTION_LINES
              ? `${file.path}:${line} is a function of ${length} lines: take steps out of it`
              : [],
          ),
        ),
    broken: [
      {
        'server/src/http/a.ts': `export async function a(\n  b: number,\n): Promise<void> {\n${'  b()\n'.repeat(60)}}\n`,
      },
      { 'server/src/http/a.ts': `function a() {\n  return {\n    b() {\n${'      c()\n'.repeat(60)}    },\n  }\n}\n` },
      { 'server/src/http/a.ts': `const a = () => {\n${'  b()\n'.repeat(60)}}\n` },
    ],
  },
  {
    guarantee: 'nothing is left to be done later',
    check: forbid((path) => inCode(path) || path.endsWith('.md'), /\b(TODO|FIXME|XXX)\b/g, 'do it, or open an issue', {
      comments: true,
    }),
    broken: [{ 'server/src/http/a.ts': '// TODO: retry' }, { 'server/migrations/0001_a.sql': '-- FIXME' }],
  },
  {
    guarantee: 'no test is left out without a reason beside it',
    check: (files) =>
      files
        .filter(({ path }) => path.includes('.test.'))
        .flatMap(({ path, text }) =>
          text.split('\n').flatMap((line, index, lines) => {
            const hasReason = line.includes('// ') || lines[index - 1]?.trim().startsWith('//')
            if (!/\.(only|skip)\(/.test(line) || hasReason) return []
            return `${path}:${index + 1} ${line.trim()}: remove it, or say why in a comment`
          }),
        ),
    broken: [
      { 'server/test/a.test.ts': `test.only('a', () => {})` },
      { 'server/test/a.test.ts': `\ndescribe.skip('a')\n` },
    ],
  },
  {
    guarantee: 'migrations are numbered without gaps',
    check: (files) => misnumbered(files, 'server/migrations/', /^(\d{4})_[a-z0-9_-]+\.sql$/),
    broken: [
      { 'server/migrations/0001_a.sql': '', 'server/migrations/0003_c.sql': '' },
      { 'server/migrations/0001_a.sql': '', 'server/migrations/0001_b.sql': '' },
      { 'server/migrations/first.sql': '' },
    ],
  },
  {
    guarantee: 'decisions are numbered without gaps',
    check: (files) => misnumbered(files, 'docs/decisions/', /^(\d{4})-[a-z0-9-]+\.md$/),
    broken: [{ 'docs/decisions/0002-postgresql.md': '' }, { 'docs/decisions/postgresql.md': '' }],
  },
  {
    guarantee: 'nothing points to the machine that it was written on',
    check: forbid(
      () => true,
      /(?<![\w.~*-])\/(work|root|Users\/\w+|home\/\w+)\/|"resolved": "https?:|\bregistry\s*=\s*https?:|_authToken/g,
      'make it relative, or take it from the configuration',
      { comments: true },
    ),
    broken: [
      { 'scripts/start.mjs': `import '/root/guiche/x.mjs'` },
      { 'README.md': 'cd /home/ana/guiche' },
      { 'package-lock.json': '"resolved": "https://npm.example/pg.tgz"' },
      { '.npmrc': 'registry=http://npm.example' },
    ],
  },
]

const tree = readTree()

const byName = RULES.map((rule) => [rule.guarantee, rule] as const)

test.each(byName)('%s', (_, { check }) => {
  expect(check(tree)).toEqual([])
})

test.each(byName)('the rule can fail: %s', (_, { check, broken }) => {
  const filesOf = (sample: Sample) => Object.entries(sample).map(([path, text]) => ({ path, text }))
  expect(broken.filter((sample) => check(filesOf(sample)).length === 0)).toEqual([])
})

test('the rules look at every folder', () => {
  const rooms = tree.flatMap(({ path }) => roomOf(path) ?? [])
  for (const [root, { layers, folders }] of Object.entries(TREES)) {
    for (const outer of layers.flat()) expect(rooms).toContainEqual(expect.objectContaining({ root, outer }))
    for (const [outer, order] of Object.entries(folders))
      for (const inner of order.flat()) expect(rooms).toContainEqual({ root, outer, inner })
  }
  expect(functionsOf(tree.find(({ path }) => path.endsWith('/settle.ts'))!).length).toBeGreaterThan(10)
})

// ---- Imports ----

type Import = { from: string; to: string; isType: boolean }

function importsOf(files: File[]): Import[] {
  return files
    .filter(({ path }) => inEitherSource(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/(?:(import type )[^']*?from|\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)].map(
        ([, type, specifier]) => ({
          from: path,
          to: posix.join(posix.dirname(path), specifier!),
          isType: type !== undefined,
        }),
      ),
    )
    .filter(({ to }) => /\.tsx?$/.test(to))
}

type Room = { root: string; outer: string; inner: string }

/** `outer` is the folder, or the file itself when it lies directly in src. `inner` is the folder within that one. */
function roomOf(path: string): Room | undefined {
  const root = Object.keys(TREES).find((prefix) => path.startsWith(prefix))
  if (root === undefined) return undefined
  const [outer, inner, ...rest] = path.slice(root.length).split('/')
  return { root, outer: outer!, inner: rest.length > 0 ? inner! : '.' }
}

function mayImport(from: string, to: string): boolean {
  const [own, other] = [roomOf(from), roomOf(to)]
  if (!own || !other || own.root !== other.root) return false
  const { layers, folders } = TREES[own.root]!
  // The sandbox is a bank: it knows nothing of the service that calls it.
  if (own.outer === 'sandbox' && other.outer !== 'sandbox') return other.outer === 'base'
  if (own.outer !== other.outer) return isPlaced(own) && isPlaced(other) && isBefore(layers, other.outer, own.outer)
  const order = folders[own.outer]
  if (!order || own.inner === other.inner) return isPlaced(own)
  return isPlaced(own) && isPlaced(other) && isBefore(order, other.inner, own.inner)
}

function isPlaced({ root, outer, inner }: Room): boolean {
  const { layers, folders } = TREES[root]!
  return levelOf(layers, outer) >= 0 && (!folders[outer] || levelOf(folders[outer], inner) >= 0)
}

function isBefore(order: Order, first: string, second: string): boolean {
  return levelOf(order, first) < levelOf(order, second)
}

function levelOf(order: Order, room: string): number {
  return order.findIndex((rooms) => rooms.includes(room))
}

function findCycles(files: File[]): string[] {
  const all = importsOf(files)
  const done = new Set<string>()
  const visit = (path: string, way: string[]): string[] => {
    const seenAt = way.indexOf(path)
    if (seenAt >= 0) return [`${[...way.slice(seenAt), path].join(' → ')}: move what both need to a third file`]
    if (done.has(path)) return []
    done.add(path)
    return all.filter(({ from }) => from === path).flatMap(({ to }) => visit(to, [...way, path]))
  }
  return files.flatMap(({ path }) => visit(path, []))
}

// ---- Text ----

function forbid(
  where: (path: string) => boolean,
  pattern: RegExp,
  advice: string,
  options = { comments: false },
): Check {
  return (files) =>
    files
      .filter(({ path }) => where(path))
      .flatMap(({ path, text }) => {
        const searched = options.comments ? text : withoutComments(text)
        return [...searched.matchAll(pattern)].map(
          (match) => `${path}:${searched.slice(0, match.index).split('\n').length} ${match[0].trim()}: ${advice}`,
        )
      })
}

// Blanks out whole-line and trailing comments. Line numbers stay as they are.
function withoutComments(text: string): string {
  return text.replaceAll(/^\s*\/\*[^]*?\*\/|(^|\s)\/\/.*$/gm, (comment) => comment.replaceAll(/[^\n]/g, ' '))
}

/**
 * Finds functions by indentation, which the formatter guarantees: a function ends at the first brace that closes at its
 * own indentation. Functions within it are counted apart, so that a factory of small ones is not taken for a long one.
 */
function functionsOf({ text }: File): { line: number; length: number }[] {
  const lines = text.split('\n')
  const blocks = lines.flatMap((line, start) => {
    if (!/(\bfunction\b.*|=>|\)(: .+)?) \{$/.test(line) || /^\s*(\} )?(if|else|for|while|switch|catch|do)\b/.test(line))
      return []
    const indent = /^\s*/.exec(line)![0]
    const end = lines.findIndex((other, at) => at > start && other.startsWith(`${indent}}`))
    return end < 0 ? [] : [{ start, end, line: start + 1 }]
  })
  return blocks.map(({ start, end, line }) => {
    const within = blocks.filter((other) => other.start > start && other.end < end)
    const isOwn = (at: number) => !within.some((other) => at > other.start && at < other.end)
    return { line, length: lines.slice(start, end + 1).filter((_, offset) => isOwn(start + offset)).length }
  })
}

function misnumbered(files: File[], folder: string, shape: RegExp): string[] {
  const names = files.flatMap(({ path }) => (path.startsWith(folder) ? path.slice(folder.length) : [])).toSorted()
  return names.flatMap((name, index) => {
    const wanted = String(index + 1).padStart(4, '0')
    return shape.exec(name)?.[1] === wanted
      ? []
      : `${folder}${name}: should be number ${wanted} and match ${shape.source}`
  })
}

// ---- The tree ----

function readTree(): File[] {
  const root = new URL('../../', import.meta.url)
  // Leaves out what .gitignore leaves out, and this file, whose samples break every rule.
  const isForeign =
    /(^|\/)(node_modules|dist|server\/dashboard|coverage|\.git|\.guiche|\.env|[^/]+\.log|[^/]+\.tsbuildinfo)$/
  const walk = (folder: string): File[] =>
    readdirSync(new URL(folder, root), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}${entry.name}`
      if (isForeign.test(path) || path === THIS_FILE) return []
      if (entry.isDirectory()) return walk(`${path}/`)
      return entry.isFile() ? { path, text: readFileSync(new URL(path, root), 'utf8') } : []
    })
  return walk('').filter(({ text }) => !text.includes('\0'))
}
