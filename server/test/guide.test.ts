import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { SCOPES } from '../src/domain/accounts/callers.ts'
import { EVENT_KINDS } from '../src/domain/webhooks/event-kinds.ts'
import {
  CODE_LANGUAGES,
  GUIDE_LANGUAGES,
  GUIDE_PAGES,
  guideMarkdown,
  readGuide,
  type GuideLanguage,
} from '../src/http/docs/guide.ts'
import { parseMarkdown, renderBlock, type Block } from '../src/http/docs/markdown.ts'
import { ERRORS } from '../src/http/server/error-codes.ts'
import { html, htmlText } from '../src/base/html.ts'
import { world, type World } from './world.ts'

// The guide at /docs, in both languages, and the same for programs.

const ROOT = new URL('../../', import.meta.url)
const DATA = new URL('server/data/guide/', ROOT)
const URL_HERE = 'https://guiche.example'
const MAX_GZIPPED_BYTES = 60_000

const addressOf = (page: string) => (page === 'start' ? '/docs' : `/docs/${page}`)
const blocksOf = (page: (typeof GUIDE_PAGES)[number], language: GuideLanguage) =>
  readGuide(page, language, URL_HERE).blocks

// ---- Texts ----

test('every page is there in both languages, with the same headings, lists, tables, samples and names in code', () => {
  for (const page of GUIDE_PAGES)
    expect([page, blocksOf(page, 'pt-BR').map(shapeOf)]).toEqual([page, blocksOf(page, 'en').map(shapeOf)])
})

test('a text that one language lacks is noticed', () => {
  const shapes = (text: string) => parseMarkdown(text).map(shapeOf)
  expect(shapes('- a\n- b')).not.toEqual(shapes('- a'))
  expect(shapes('## A\n\nb `c`')).not.toEqual(shapes('## A\n\nb'))
  expect(shapes('| a | b |\n|---|---|\n| c | d |')).not.toEqual(shapes('| a | b |\n|---|---|'))
})

/** What must be the same in every language. */
function shapeOf(block: Block): unknown[] {
  const codes = textsIn(block).flatMap((text) => text.match(/`[^`]+`/g) ?? [])
  const { kind } = block
  if (kind === 'heading') return [kind, block.level]
  if (kind === 'list') return [kind, block.items.length, codes.toSorted()]
  if (kind === 'table') return [kind, block.rows.length, block.head.length, codes.toSorted()]
  return [kind, kind === 'sample' ? block.name : kind === 'code' ? block.text : codes.toSorted()]
}

function textsIn(block: Block): string[] {
  if (block.kind === 'list') return block.items
  if (block.kind === 'table') return [block.head, ...block.rows].flat()
  return block.kind === 'sample' || block.kind === 'code' ? [] : [block.text]
}

const WORDS: Record<GuideLanguage, RegExp> = {
  'pt-BR': /(?<!\p{L})(não|você|uma|com|para|que|dos|das|são|seu|sua|até|já)(?!\p{L})/iu,
  en: /\b(the|and|with|your|you|is|are|of|for|not|from|that|this|it|to|was|by|when|which)\b/i,
}

test('no page has a sentence in the language of the other', () => {
  const found = GUIDE_LANGUAGES.flatMap((language) =>
    GUIDE_PAGES.flatMap((page) =>
      blocksOf(page, language)
        .flatMap(textsIn)
        .map((text) => text.replaceAll(/`[^`]*`|\]\([^)]*\)/g, ''))
        .filter((text) => WORDS[language === 'en' ? 'pt-BR' : 'en'].test(text))
        .map((text) => `${language} ${page}: ${text}`),
    ),
  )
  expect(found).toEqual([])
})

test('account holders read of the service and of deposits, and not of an operator or of charges', () => {
  const wrong = /operador|(the|your) operator\b|cobrança|\bcharges?\b/i
  const found = GUIDE_LANGUAGES.flatMap((language) =>
    GUIDE_PAGES.flatMap((page) => blocksOf(page, language).flatMap(textsIn))
      .map((text) => text.replaceAll(/`[^`]*`/g, ''))
      .filter((text) => wrong.test(text)),
  )
  expect(found).toEqual([])
})

// ---- Facts ----

type Field = { anyOf?: { minimum?: number; maximum?: number }[] }
type Described = {
  tags: string[]
  responses: Record<string, { 'x-error-codes'?: string[] }>
  requestBody?: { content: { 'application/json': { schema: { properties: Record<string, Field> } } } }
}
const { paths } = JSON.parse(readFileSync(new URL('server/openapi.json', ROOT), 'utf8')) as {
  paths: Record<string, Record<string, Described>>
}

test('the page of deposits has each field of a new deposit, and the bounds of its time', () => {
  const { properties } = paths['/api/deposit']!['post']!.requestBody!.content['application/json'].schema
  const [{ minimum, maximum } = {}] = properties['expiresIn']!.anyOf!
  for (const language of GUIDE_LANGUAGES) {
    const rows = tablesOf('deposits', language).find(({ rows: [first] }) => first![0] === '`value`')!.rows
    expect(rows.map(([field]) => field)).toEqual(Object.keys(properties).map((field) => `\`${field}\``))
    const [, bounds] = rows.find(([field]) => field === '`expiresIn`')!
    expect(bounds!.match(/\d+/g)).toEqual([String(minimum), String(maximum)])
  }
})

test('the page of errors has each code that an account holder can meet, with its status, and no other', () => {
  const met = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ tags }) => !tags.includes('Operator'))
    .flatMap(({ responses }) => Object.values(responses).flatMap((answer) => answer['x-error-codes'] ?? []))
  const expected = Object.entries(ERRORS)
    .filter(([code]) => met.includes(code))
    .map(([code, [status]]) => `\`${code}\` ${status}`)
  for (const language of GUIDE_LANGUAGES) {
    const rows = tablesOf('errors', language).find(({ head }) => head.length === 3)!.rows
    expect(rows.map(([code, status]) => `${code} ${status}`).toSorted()).toEqual(expected.toSorted())
  }
})

test('the page of keys has each scope, and that of webhooks each kind of event', () => {
  for (const language of GUIDE_LANGUAGES) {
    const firsts = (page: 'keys' | 'webhooks') =>
      tablesOf(page, language).flatMap(({ rows }) => rows.map(([first]) => first!.replaceAll('`', '')))
    expect(firsts('keys')).toEqual(expect.arrayContaining([...SCOPES]))
    expect(firsts('keys').filter((name) => /^\w+:\w+$/.test(name))).toHaveLength(SCOPES.length)
    expect(firsts('webhooks')).toEqual([...EVENT_KINDS, 'WEBHOOK_TEST'])
  }
})

test('a fact that the code does not know is noticed', () => {
  expect(guideMarkdown('webhooks', 'en', URL_HERE)).toContain('after 5 s, 1 min, 5 min, 30 min, 2 h, 5 h')
  for (const language of GUIDE_LANGUAGES)
    for (const page of GUIDE_PAGES)
      expect(guideMarkdown(page, language, URL_HERE).replaceAll(/^\{\{sample [\w-]+\}\}$/gm, '')).not.toContain('{{')
})

function tablesOf(page: 'deposits' | 'errors' | 'keys' | 'webhooks', language: GuideLanguage) {
  return blocksOf(page, language).filter((block) => block.kind === 'table')
}

// ---- Samples ----

/** Longer programs are those of the client, which run in its tests. */
const COPIES = { receive: 'receiver', follow: 'follow' }
const ENDINGS = ['ts', 'py', 'php']

test('what the guide shows of the client’s examples is what they are', () => {
  for (const [copy, original] of Object.entries(COPIES))
    for (const ending of ENDINGS) {
      const example = readFileSync(new URL(`sdk/examples/${original}.${ending}`, ROOT), 'utf8')
      const file = new URL(`samples/${copy}.${ending}`, DATA)
      if (process.env['UPDATE_DOCS']) writeFileSync(file, example)
      const update = 'run `UPDATE_DOCS=1 npx vitest run test/guide.test.ts` and commit it'
      expect(readFileSync(file, 'utf8') === example, `${copy}.${ending} is stale: ${update}`).toBe(true)
    }
})

test('every sample is shown on a page, and every program is there in TypeScript, Python, PHP and curl', () => {
  const files = readdirSync(new URL('samples/', DATA))
  const names = new Set(files.map((file) => file.replace(/\.\w+$/, '')))
  const shown = GUIDE_PAGES.flatMap((page) => blocksOf(page, 'en')).flatMap((block) =>
    block.kind === 'sample' ? block.name : [],
  )
  expect(new Set(shown)).toEqual(names)
  // What asks the bank is no program of an account holder, and a receiver is none of curl.
  const partial: Record<string, string[]> = { receive: ENDINGS, follow: ENDINGS, pay: ['sh'], faults: ['sh'] }
  for (const name of names) {
    const endings = CODE_LANGUAGES.filter(({ ending }) => files.includes(`${name}.${ending}`)).map(
      ({ ending }) => ending,
    )
    expect([name, endings]).toEqual([name, partial[name] ?? CODE_LANGUAGES.map(({ ending }) => ending)])
  }
})

// ---- Pages ----

test('every link of every page leads to a page, and to a place in it, and keeps what the reader chose', async () => {
  const w = await world()
  const pages = new Map<string, string>()
  const read = async (address: string) => {
    const known = pages.get(address)
    if (known !== undefined) return known
    const { statusCode, body } = await w.app.inject(address)
    // The dashboard may not be built.
    expect([address, [200, 503].includes(statusCode)]).toEqual([address, true])
    pages.set(address, body)
    return body
  }
  for (const page of GUIDE_PAGES)
    for (const query of ['?lang=pt-BR&code=php', '?lang=en']) {
      const own = `${addressOf(page)}${query}`
      const body = await read(own)
      const ids = idsOf(body)
      expect([own, ids]).toEqual([own, [...new Set(ids)]])
      for (const href of linksOf(body)) {
        if (href.startsWith('https:')) continue
        const [path = '', anchor] = href.split('#')
        const target = idsOf(path === '' ? body : await read(path))
        if (anchor !== undefined)
          expect([own, href, target.includes(decodeURIComponent(anchor))]).toEqual([own, href, true])
        if (/^\/docs(\/(?!reference)[\w-]+)?(\?|$)/.test(path))
          expect([own, href]).toEqual([own, expect.stringContaining('lang=')])
      }
    }
})

function linksOf(body: string): string[] {
  return [...body.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href]) => href!.replaceAll('&amp;', '&'))
}

function idsOf(body: string): string[] {
  return [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
}

test('the language is that of the browser unless the address names one, and caches keep them apart', async () => {
  const w = await world()
  const languageOf = async (url: string, accept?: string) => {
    const answer = await w.app.inject({ url, headers: accept === undefined ? {} : { 'accept-language': accept } })
    expect(answer.headers['vary']).toBe('accept-encoding, accept-language')
    expect(answer.body).toContain(`<html lang="${String(answer.headers['content-language'])}">`)
    return answer.headers['content-language']
  }
  expect(await languageOf('/docs')).toBe('pt-BR')
  expect(await languageOf('/docs', 'pt-PT,pt;q=0.9')).toBe('pt-BR')
  expect(await languageOf('/docs/webhooks', 'en-GB')).toBe('en')
  expect(await languageOf('/docs/webhooks', 'es-AR')).toBe('en')
  expect(await languageOf('/docs?lang=en', 'pt-BR')).toBe('en')
  expect(await languageOf('/docs?lang=pt-BR', 'en')).toBe('pt-BR')
  expect(await languageOf('/docs?lang=xx&lang=en&code=cobol', 'en')).toBe('en')
})

test('code is shown in the language that was chosen, or in the first that it is written in', async () => {
  const w = await world()
  const codeOf = async (query: string, name: string) => {
    const { body } = await w.app.inject(`/docs/webhooks?lang=en${query}`)
    return new RegExp(`id="sample-${name}"[^]*?<code>([^]*?)</code>`).exec(body)?.[1]
  }
  expect(await codeOf('', 'add-webhook')).toContain('guiche.webhooks.create')
  expect(await codeOf('&code=python', 'add-webhook')).toContain('from guiche import call')
  expect(await codeOf('&code=php', 'add-webhook')).toContain('&lt;?php')
  expect(await codeOf('&code=curl', 'add-webhook')).toContain('curl -sS')
  expect(await codeOf('&code=curl', 'receive')).toContain('verify, WebhookVerificationError')
})

test('a page runs no script, loads nothing from elsewhere, is small, and is sent once to whoever keeps it', async () => {
  const w = await world()
  for (const page of GUIDE_PAGES) {
    const { headers, body } = await w.app.inject(addressOf(page))
    expect(String(headers['content-security-policy'])).toMatch(
      /^default-src 'none'; .*style-src 'sha256-[^']+'; img-src 'self'$/,
    )
    expect(body).not.toMatch(/<script|<[^>]* (style|src|on\w+)=/)
    expect([page, gzipSync(body).length < MAX_GZIPPED_BYTES]).toEqual([page, true])
    const again = await w.app.inject({ url: addressOf(page), headers: { 'if-none-match': String(headers.etag) } })
    expect([again.statusCode, again.body]).toEqual([304, ''])
  }
  expect((await w.app.inject('/docs/nothing')).statusCode).toBe(404)
})

test('what a text of the guide says is text, and never markup', () => {
  const rendering = { linkTo: (href: string) => href, sample: () => html`` }
  const shown = (text: string) => parseMarkdown(text).map((block) => htmlText(renderBlock(block, rendering)))
  expect(shown('<b>x</b> `<i>` **a & b** [`c`](d.md#e)')).toEqual([
    '<p>&lt;b&gt;x&lt;/b&gt; <code>&lt;i&gt;</code> <b>a &amp; b</b> <a href="d.md#e"><code>c</code></a></p>',
  ])
  expect(shown('```sh\na\n\n# b\n```')).toEqual(['<pre><code>a\n\n# b</code></pre>'])
  expect(parseMarkdown('1. a\n   b\n2. c')).toEqual([{ kind: 'list', isOrdered: true, items: ['a\n   b', 'c'] }])
  expect(parseMarkdown('| a \\| b | |\n|---|---|\n| c | d |')).toEqual([
    { kind: 'table', head: ['a | b', ''], rows: [['c', 'd']] },
  ])
})

// ---- For programs ----

test('llms.txt has the address, the key, the main calls, and a link to each page as Markdown', async () => {
  const w = await world()
  const { headers, body } = await w.app.inject('/llms.txt')
  expect(headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'access-control-allow-origin': '*' })
  expect(body).toMatch(/^# guiche\n\n> A deposit service for Pix/)
  expect(body).toContain('Base URL: https://guiche.example\n')
  expect(body).toContain('Authorization: Bearer <API key>')
  expect(body).toContain("guiche.deposits.ensure({ externalId: 'order-1042'")
  for (const page of GUIDE_PAGES) expect(body).toContain(`](https://guiche.example/docs/${page}.md): `)
  await expectLinksToWork(w, body)
})

test('llms-full.txt is every page, and a page as Markdown has every sample and links that work anywhere', async () => {
  const w = await world()
  const full = (await w.app.inject('/llms-full.txt')).body
  for (const page of GUIDE_PAGES) {
    const { headers, body } = await w.app.inject(`/docs/${page}.md`)
    expect(headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(body).not.toMatch(/\{\{[\w -]+\}\}/)
    expect(full).toContain(body.trim())
    await expectLinksToWork(w, body)
  }
  expect(full).toContain(readFileSync(new URL('samples/follow.php', DATA), 'utf8').trimEnd())
})

async function expectLinksToWork(w: World, markdown: string): Promise<void> {
  const prose = markdown.replaceAll(/^```[^]*?^```/gm, '')
  for (const [, href] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (href!.startsWith('#') || href!.startsWith('https://www.')) continue
    expect([href, href!.startsWith(URL_HERE)]).toEqual([href, true])
    const { statusCode } = await w.app.inject(href!.slice(URL_HERE.length).replace(/#.*/, ''))
    expect([href, statusCode]).not.toEqual([href, 404])
  }
}
