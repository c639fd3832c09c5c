const markup = Symbol('markup')

/** Text that is HTML already. Only this file makes it, so what a template escapes and what not cannot be mixed up by its author. */
export type Html = { readonly [markup]: string }

type Value = string | number | Html | null | undefined | false | readonly Value[]

/**
 * Escapes every value it is given, unless it came out of this function itself. The result is safe as element content and inside
 * double quotes; never put a value into a script, a style or an unquoted attribute.
 */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return {
    [markup]: outdented(strings)
      .map((text, index) => text + render(values[index]))
      .join(''),
  }
}

const templates = new WeakMap<TemplateStringsArray, string[]>()

/** Without the indentation of our source, a tenth of a page. A template is the same object each time, so it is done once. */
function outdented(strings: TemplateStringsArray): string[] {
  const known = templates.get(strings)
  if (known) return known
  const texts = strings.map((text) => text.replaceAll(/\n\s+/g, '\n'))
  templates.set(strings, texts)
  return texts
}

/**
 * For constants of ours that must not be escaped. A style or a script is handed in with its tags: its hash is part of the page's
 * policy, and formatting a template must not move a space into it.
 */
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
