import { html, type Html } from '../../base/html.ts'

// The part of Markdown that the guide is written in. What is not known here is shown as it is written, and a test of
// the guide would see it.

export type Block =
  | { kind: 'heading'; level: number; id: string; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'list'; isOrdered: boolean; items: string[] }
  | { kind: 'table'; head: string[]; rows: string[][] }
  | { kind: 'code'; language: string; text: string }
  /** `{{sample name}}`: the same in each programming language. */
  | { kind: 'sample'; name: string }

const FENCE = /^(```[^\n]*\n[^]*?\n```)$/m

export function parseMarkdown(text: string): Block[] {
  return text
    .split(FENCE)
    .flatMap((part) => (part.startsWith('```') ? [part] : part.split(/\n\s*\n/)))
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseBlock)
}

function parseBlock(text: string): Block {
  const [, fence, code] = /^```(\w*)\n([^]*)\n```$/.exec(text) ?? []
  if (code !== undefined) return { kind: 'code', language: fence!, text: code }
  const [, marks, heading] = /^(#+) (.+)$/.exec(text) ?? []
  if (heading !== undefined) return { kind: 'heading', level: marks!.length, id: anchorOf(heading), text: heading }
  const [, name] = /^\{\{sample ([\w-]+)\}\}$/.exec(text) ?? []
  if (name !== undefined) return { kind: 'sample', name }
  if (text.startsWith('|')) return parseTable(text)
  const isOrdered = /^\d+\. /.test(text)
  if (isOrdered || text.startsWith('- '))
    return { kind: 'list', isOrdered, items: text.replace(/^(- |\d+\. )/, '').split(/\n(?:- |\d+\. )/) }
  return { kind: 'paragraph', text }
}

function parseTable(text: string): Block {
  const [head = [], , ...rows] = text.split('\n').map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  )
  return { kind: 'table', head, rows }
}

/** As GitHub makes them, so that a link is right in both places. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

export type Rendering = {
  /** Where a link of the text leads to. */
  linkTo: (href: string) => string
  sample: (name: string) => Html
}

export function renderBlock(block: Block, { linkTo, sample }: Rendering): Html {
  const inline = (text: string) => renderInline(text, linkTo)
  switch (block.kind) {
    case 'heading':
      return renderHeading(block, inline)
    case 'paragraph':
      return html`<p>${inline(block.text)}</p>`
    case 'list': {
      const items = block.items.map((item) => html`<li>${inline(item)}</li>`)
      return block.isOrdered
        ? html`<ol>
            ${items}
          </ol>`
        : html`<ul>
            ${items}
          </ul>`
    }
    case 'table':
      return renderTable(block, inline)
    case 'code':
      return html`<pre><code>${block.text}</code></pre>`
    case 'sample':
      return sample(block.name)
  }
}

type Inline = (text: string) => Html[]

function renderHeading({ level, id, text }: Extract<Block, { kind: 'heading' }>, inline: Inline): Html {
  if (level === 1) return html`<h1>${inline(text)}</h1>`
  const link = html`<a href="#${id}">${inline(text)}</a>`
  return level === 2 ? html`<h2 id="${id}">${link}</h2>` : html`<h3 id="${id}">${link}</h3>`
}

/** A table without a head is a list of terms, and its first cells name the rows. */
function renderTable({ head, rows }: Extract<Block, { kind: 'table' }>, inline: Inline): Html {
  const hasHead = head.some((cell) => cell !== '')
  const cellsOf = ([first = '', ...rest]: string[]) =>
    html`<tr>
      ${hasHead ? html`<td>${inline(first)}</td>` : html`<th scope="row">${inline(first)}</th>`}
      ${rest.map((cell) => html`<td>${inline(cell)}</td>`)}
    </tr>`
  return html`<table>
    ${
      hasHead &&
      html`<thead>
        <tr>
          ${head.map((cell) => (cell === '' ? html`<td></td>` : html`<th scope="col">${inline(cell)}</th>`))}
        </tr>
      </thead>`
    }
    <tbody>
      ${rows.map(cellsOf)}
    </tbody>
  </table>`
}

function renderInline(text: string, linkTo: (href: string) => string): Html[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/).map((part) => {
    if (part.length > 1 && part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
    if (part.startsWith('**')) return html`<b>${renderInline(part.slice(2, -2), linkTo)}</b>`
    const [, label, href] = /^\[([^\]]+)\]\(([^)\s]+)\)$/.exec(part) ?? []
    if (label !== undefined) return html`<a href="${linkTo(href!)}">${renderInline(label, linkTo)}</a>`
    return html`${part}`
  })
}
