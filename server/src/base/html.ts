const markup = Symbol('markup')

/** Text that is already HTML. Only this file creates it, so a template cannot confuse escaped and unescaped text. */
export type Html = { readonly [markup]: string }

type Value = string | number | Html | null | undefined | false | readonly Value[]

/**
 * Escapes every value unless it is Html itself. The result is safe as element content and inside double quotes. Never
 * put a value into a script, a style or an unquoted attribute.
 */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return {
    [markup]: outdented(strings)
      .map((text, index) => text + render(values[index]))
      .join(''),
  }
}

const templates = new WeakMap<TemplateStringsArray, string[]>()

/** Removes the indentation of the source, once per template. */
function outdented(strings: TemplateStringsArray): string[] {
  const known = templates.get(strings)
  if (known) return known
  const texts = strings.map((text) => text.replaceAll(/\n\s+/g, '\n'))
  templates.set(strings, texts)
  return texts
}

/** For our own constants that must not be escaped. A style or script is passed with its tags, because it is hashed. */
export function verbatim(constant: string): Html {
  return { [markup]: constant }
}

export function htmlText(value: Html): string {
  return value[markup]
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (typeof value === 'string' || typeof value === 'number') return escape(String(value))
  if (isList(value)) return value.map(render).join('')
  return value[markup]
}

function isList(value: Html | readonly Value[]): value is readonly Value[] {
  return Array.isArray(value)
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!)
}
