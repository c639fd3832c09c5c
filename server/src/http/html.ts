const markup = Symbol('markup')

/** Text that is HTML already. Only this file makes it, so what a template escapes and what not cannot be mixed up by its author. */
export type Html = { readonly [markup]: string }

type Value = string | number | Html | null | undefined | false | readonly Value[]

/**
 * Escapes every value it is given, unless it came out of this function itself. The result is safe as element content and inside
 * double quotes; never put a value into a script, a style or an unquoted attribute.
 */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return { [markup]: strings.map((text, index) => text + render(values[index])).join('') }
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
