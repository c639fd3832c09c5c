import { html, type Html } from '../../base/html.ts'
import type { Schema } from './openapi-postprocess.ts'

/** Text of the document: its only markup is `code` and **bold**. */
export function prose(text: string): Html[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
    return part.startsWith('**') ? html`<b>${part.slice(2, -2)}</b>` : html`${part}`
  })
}

export function objectId(name: string): string {
  return `object-${name}`
}

/** The fields of an object, or of each form that a value may have. */
export function fieldList(schema: Schema, isRequest = false): Html[] {
  return formsOf(schema)
    .filter((form) => form.properties !== undefined && Object.keys(form.properties).length > 0)
    .map(
      ({ properties = {}, required = [] }) =>
        html`<ul class="fields">
          ${Object.entries(properties).map(([name, field]) =>
            fieldItem(name, field, { isRequest, isRequired: isRequest && required.includes(name) }),
          )}
        </ul>`,
    )
}

type Marks = { isRequest?: boolean; isRequired?: boolean | undefined; place?: string }

export function fieldItem(name: string, schema: Schema, { isRequest = false, isRequired, place }: Marks): Html {
  const inner = schema.items ?? schema
  return html`<li>
    <code>${name}</code> <span class="type">${typeOf(schema)}${place && `, ${place}`}</span>
    ${isRequired && html`<b class="required">required</b>`}
    ${schema.description && html`<p>${prose(schema.description)}</p>`} ${limitsOf(inner)} ${fieldList(inner, isRequest)}
  </li>`
}

/** The forms that a value may have, but for null. */
export function formsOf(schema: Schema): Schema[] {
  return (schema.anyOf ?? schema.oneOf ?? [schema]).filter((form) => form.type !== 'null')
}

export function refName({ $ref }: Schema): string | undefined {
  return $ref?.split('/').at(-1)
}

function typeOf(schema: Schema): Html {
  const name = refName(schema)
  if (name !== undefined) return html`<a href="#${objectId(name)}">${name}</a>`
  const forms = schema.anyOf ?? schema.oneOf
  if (forms) return html`${forms.map((form, index) => html`${index > 0 && ' or '}${typeOf(form)}`)}`
  if (schema.type === 'array') return html`array of ${schema.items ? typeOf(schema.items) : 'values'}`
  return html`${[schema.type ?? typeof schema.const].flat().join(' or ')}${schema.format && ` (${schema.format})`}`
}

function limitsOf(schema: Schema): Html | undefined {
  const limits = formsOf(schema).flatMap((form) => [
    ...(form.enum ?? (form.const === undefined ? [] : [form.const])).map((value, index, { length }) => {
      const lead = index > 0 ? ', ' : length > 1 ? 'One of ' : 'Always '
      return html`${lead}<code>${String(value)}</code>`
    }),
    rangeText(form.minimum, form.maximum),
    rangeText(form.minLength, form.maxLength, ' characters'),
    form.format === undefined && form.pattern !== undefined && html`Matches <code>${form.pattern}</code>`,
  ])
  const shown = limits.filter((limit) => limit !== false && limit !== undefined)
  const usual = schema.default !== undefined && html` Default: <code>${JSON.stringify(schema.default)}</code>`
  return shown.length === 0 && !usual ? undefined : html`<p class="soft">${shown}${usual}</p>`
}

function rangeText(min: number | undefined, max: number | undefined, unit = ''): string | undefined {
  if (max === undefined) return min === undefined ? undefined : `At least ${min}${unit}`
  return min === undefined ? `At most ${max}${unit}` : `${min} to ${max}${unit}`
}
