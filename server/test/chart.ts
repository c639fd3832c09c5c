import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'

// Renders the chart as Helm would. The templates keep to a handful of Helm's functions, so that this can be short and
// they stay plain manifests; anything else is refused.

type Values = Record<string, unknown>
export type Manifest = { kind: string; metadata: { name: string }; spec: Record<string, unknown> } & Values

/** Templates by name, which others include. */
const PARTS = Symbol('parts')
type Root = Values & { [PARTS]: Map<string, string> }

/** As `helm template shop <chart> -f values`. A template whose condition is false gives no manifest. */
export function renderChart(chart: string, values: Values): Manifest[] {
  const read = (path: string) => readFileSync(join(chart, path), 'utf8')
  const root = {
    Values: merged(parse(read('values.yaml')) as Values, values),
    Chart: { AppVersion: (parse(read('Chart.yaml')) as { appVersion: string }).appVersion },
    Release: { Name: 'shop' },
  }
  const names = readdirSync(join(chart, 'templates'))
  const shared = names.filter((name) => name.endsWith('.tpl')).map((name) => read(`templates/${name}`))
  const parts = new Map(shared.flatMap(partsOf))
  return names
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => render(read(`templates/${name}`), { ...root, [PARTS]: parts }))
    .filter((text) => text.trim() !== '')
    .map((text) => parse(text, { version: '1.1', uniqueKeys: true, strict: true }) as Manifest)
}

/** Each ends at the last `end` before the next one, because an `if` within it ends too. */
function partsOf(text: string): [name: string, template: string][] {
  return text.split(/\{\{- define /).flatMap((piece): [string, string][] => {
    const [, name, template] = /^"([^"]+)" -\}\}([^]*)\{\{- end \}\}\s*$/.exec(piece) ?? []
    return name === undefined ? [] : [[name, template!.trim()]]
  })
}

function merged(defaults: Values, given: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const over = Object.entries(given).map(([key, value]) => {
    const before = defaults[key]
    return [key, isMap(value) && isMap(before) ? merged(before, value) : value]
  })
  return { ...defaults, ...Object.fromEntries(over) }
}

function render(template: string, root: Root): string {
  const shown: boolean[] = []
  const trimmed = template.replaceAll(/\s*\{\{-/g, '{{').replaceAll(/-\}\}\s*/g, '}}')
  const text = trimmed.replaceAll(/\{\{\s*(.*?)\s*\}\}|[^{]+|\{/g, (piece, action: string | undefined) => {
    const isShown = !shown.includes(false)
    if (action === undefined) return isShown ? piece : ''
    if (action === 'end') {
      if (shown.pop() === undefined) throw new Error('an end without an if')
      return ''
    }
    if (action.startsWith('if ')) {
      shown.push(isTrue(evaluate(action.slice(3), root)))
      return ''
    }
    return isShown ? String(evaluate(action, root)) : ''
  })
  if (shown.length > 0) throw new Error('an if without an end')
  return text
}

/** Of a pipeline: the value before `|` is the last argument of the function after it. */
function evaluate(pipeline: string, root: Root): unknown {
  return pipeline.split(' | ').reduce<unknown[]>((before, stage) => {
    const [first = '', ...rest] = stage.match(/"[^"]*"|\S+/g) ?? []
    if (first.startsWith('.')) return [lookUp(first, root)]
    if (first === 'include') return [include(rest, root)]
    const work = FUNCTIONS[first]
    if (!work) throw new Error(`${first} is not among the functions that the chart may use`)
    return [work(...([...rest.map((word) => argument(word, root)), ...before] as never[]))]
  }, [])[0]
}

function include([name = '', dot]: string[], root: Root): string {
  const part = root[PARTS].get(name.slice(1, -1))
  if (part === undefined || dot !== '.') throw new Error(`include ${name} ${dot}: only a defined part, with everything`)
  return render(part, root)
}

function argument(word: string, root: Root): unknown {
  if (word.startsWith('.')) return lookUp(word, root)
  return word.startsWith('"') ? word.slice(1, -1) : Number(word)
}

function lookUp(path: string, root: Root): unknown {
  return path
    .slice(1)
    .split('.')
    .reduce<unknown>((value, key) => {
      if (typeof value !== 'object' || value === null || !(key in value)) throw new Error(`values.yaml lacks ${path}`)
      return (value as Values)[key]
    }, root)
}

/** As Go templates decide it: empty maps and lists are false. */
function isTrue(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}

const FUNCTIONS: Record<string, (...given: never[]) => unknown> = {
  toYaml: (value: unknown) => stringify(value).trimEnd(),
  quote: (value: unknown) => JSON.stringify(String(value)),
  nindent: (columns: number, text: string) => `\n${text.replaceAll(/^(?=.)/gm, ' '.repeat(columns))}`,
  sha256sum: (text: string) => createHash('sha256').update(text).digest('hex'),
  not: (value: unknown) => !isTrue(value),
  add: (one: number, other: number) => one + other,
  default: (fallback: unknown, value: unknown) => (isTrue(value) ? value : fallback),
  ternary: (yes: unknown, no: unknown, value: unknown) => (isTrue(value) ? yes : no),
  required(message: string, value: unknown) {
    if (!isTrue(value)) throw new Error(message)
    return value
  },
}
