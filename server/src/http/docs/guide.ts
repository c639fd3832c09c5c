import { readdirSync, readFileSync } from 'node:fs'
import { EVENTS } from '../../domain/webhooks/event-kinds.ts'
import { RETRY_AFTER_MS } from '../../domain/webhooks/attempts.ts'
import { DEADLINE_MS } from '../../domain/webhooks/delivery-queue.ts'
import { parseMarkdown, type Block } from './markdown.ts'

// What the guide for developers says: Markdown in both languages, and programs that a test runs. The pages at /docs,
// their Markdown and the texts for language models are all made from these files.

const FOLDER = new URL('../../../data/guide/', import.meta.url)

export const GUIDE_LANGUAGES = ['pt-BR', 'en'] as const
export type GuideLanguage = (typeof GUIDE_LANGUAGES)[number]

/** In the order in which they are read. The first is at /docs itself. */
export const GUIDE_PAGES = [
  'start',
  'deposits',
  'codes',
  'payers',
  'webhooks',
  'catching-up',
  'exactly-once',
  'refunds',
  'held-money',
  'statement',
  'testing',
  'errors',
  'keys',
] as const
export type GuidePageName = (typeof GUIDE_PAGES)[number]

/** The first is shown to whoever chose none. */
export const CODE_LANGUAGES = [
  { id: 'typescript', name: 'TypeScript', ending: 'ts' },
  { id: 'python', name: 'Python', ending: 'py' },
  { id: 'php', name: 'PHP', ending: 'php' },
  { id: 'curl', name: 'curl', ending: 'sh' },
] as const
export type CodeLanguage = (typeof CODE_LANGUAGES)[number]
type Sample = { language: CodeLanguage; text: string }

export type GuideText = { title: string; blocks: Block[] }

export function readGuide(page: GuidePageName, language: GuideLanguage, publicUrl: string): GuideText {
  const [title, ...blocks] = parseMarkdown(guideMarkdown(page, language, publicUrl))
  if (title?.kind !== 'heading' || title.level !== 1) throw new Error(`${page} does not begin with its title`)
  return { title: title.text, blocks }
}

/** With what is known from the code, and with links and samples as they are written. */
export function guideMarkdown(page: GuidePageName, language: GuideLanguage, publicUrl: string): string {
  return fillFacts(readFileSync(new URL(`${language}/${page}.md`, FOLDER), 'utf8'), language, publicUrl)
}

/** The same program in each language that it is written in. */
export function readSample(name: string): Sample[] {
  const files = new Set(readdirSync(new URL('samples/', FOLDER)))
  return CODE_LANGUAGES.filter(({ ending }) => files.has(`${name}.${ending}`)).map((language) => {
    const text = readFileSync(new URL(`samples/${name}.${language.ending}`, FOLDER), 'utf8')
    return { language, text: text.trimEnd() }
  })
}

/** What is the same for every reader of a text in Markdown: all samples, and addresses that lead here from anywhere. */
export function plainMarkdown(text: string, publicUrl: string): string {
  return text
    .replaceAll(/^\{\{sample ([\w-]+)\}\}$/gm, (_, name: string) => readSample(name).map(fenced).join('\n\n'))
    .replaceAll(/\]\((\/[^)\s]*|[\w-]+\.md)(#[^)\s]*)?\)/g, (_, place: string, anchor = '') => {
      const path = place.startsWith('/') ? place : `/docs/${place}`
      return `](${publicUrl}${path}${anchor})`
    })
}

function fenced({ language, text }: Sample): string {
  return `${language.name}:\n\n\`\`\`${language.ending}\n${text}\n\`\`\``
}

/** What the code knows is not written a second time: `{{retries}}`. */
export function fillFacts(text: string, language: GuideLanguage, publicUrl: string): string {
  const facts: Record<string, string> = {
    url: publicUrl,
    retries: RETRY_AFTER_MS.map(shortTime).join(', '),
    'retry-count': String(RETRY_AFTER_MS.length),
    'answer-seconds': String(DEADLINE_MS / 1000),
    events: Object.entries(EVENTS)
      .map(([kind, { summary }]) => `| \`${kind}\` | ${summary[language]} |`)
      .join('\n'),
  }
  return text.replaceAll(/\{\{([\w-]+)\}\}/g, (_, name: string) => {
    const fact = facts[name]
    if (fact === undefined) throw new Error(`the guide names the fact ${name}, which is not known`)
    return fact
  })
}

function shortTime(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds} s`
  return seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`
}
