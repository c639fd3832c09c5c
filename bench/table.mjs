// The results as tables: for the terminal, and as Markdown.
//   node bench/table.mjs bench.json    prints the Markdown of a run that was kept with --json
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** A measure and its result as the JSON file has it. */
export function toEntry({ id, name, reference, atLeast }, { met, target, referenceName, ...result }) {
  return {
    id,
    name: `${name} ÷ ${referenceName ?? reference}`,
    ...result,
    target: target ?? `≥ ${atLeast}`,
    met: met ?? result.ratio >= atLeast,
  }
}

const MAX_STEAL = 0.05

const RESULTS = {
  '#': ({ id }) => String(id),
  'measure ÷ reference': ({ name }) => name,
  ours: ({ ours, unit, details }) => figure(ours, unit, details?.ours?.range),
  reference: ({ reference, unit, details }) => figure(reference, unit, details?.reference?.range),
  ratio: ({ ratio }) => ratio.toFixed(2),
  target: ({ target }) => target,
  met: ({ met }) => (met ? 'yes' : 'no'),
}

const COSTS = {
  '#': ({ id }) => String(id),
  'p50, p99': ({ details }) => times(details?.ours),
  'CPU: node, postgres, bank, load': ({ details }) => processor(details?.ours?.cost),
  'CPU steal': ({ steal }) => share(steal),
  WAL: ({ details }) => bytes(details?.ours?.cost?.walBytes),
  answer: ({ details }) => bytes(details?.ours?.bytesPerAnswer),
  'and also': ({ note }) => note ?? '',
}

export function renderText(entries) {
  const parts = [textOf(RESULTS, entries), 'Each operation:', textOf(COSTS, withCosts(entries)), entries[0]?.run]
  return `\n${[...parts, ...warningOf(entries)].join('\n\n')}`
}

export function renderMarkdown(entries) {
  const parts = [markdownOf(RESULTS, entries), 'What each operation costs:', markdownOf(COSTS, withCosts(entries))]
  return `${[...parts, entries[0]?.run].join('\n\n')}\n`
}

/** On a virtual machine whose host is busy, figures tell more about the host than about the service. */
function warningOf(entries) {
  const disturbed = entries.filter(({ steal }) => steal > MAX_STEAL).map(({ id }) => id)
  if (disturbed.length === 0) return []
  const which = `${disturbed.length === 1 ? 'Measure' : 'Measures'} ${disturbed.join(', ')}`
  return [`${which}: more than ${share(MAX_STEAL)} CPU steal. The host of this virtual machine was busy.`]
}

/** As soon as it is known. */
export function renderLine({ id, name, ours, unit, ratio, target, met, note, steal, tookSeconds }) {
  const result = `${figure(ours, unit)}, ratio ${ratio.toFixed(2)}, target ${target}: ${met ? 'met' : 'missed'}`
  const stolen = steal > 0 ? `, CPU steal ${share(steal)}` : ''
  return `${String(id).padStart(2)}  ${name}: ${result}${note ? ` (${note})` : ''}, ${tookSeconds} s${stolen}`
}

function withCosts(entries) {
  const { '#': _id, 'CPU steal': _steal, ...cells } = COSTS
  return entries.filter((entry) => Object.values(cells).some((cell) => cell(entry) !== ''))
}

function rowsOf(columns, entries) {
  return entries.map((entry) => Object.values(columns).map((cell) => cell(entry)))
}

function textOf(columns, entries) {
  const rows = [Object.keys(columns), ...rowsOf(columns, entries)]
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function markdownOf(columns, entries) {
  const names = Object.keys(columns)
  const rows = [names, names.map(() => '---'), ...rowsOf(columns, entries)]
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function figure(value, unit, range) {
  const whole = (number) => Math.round(number).toLocaleString('en')
  if (unit !== undefined) return `${value < 10 ? value.toFixed(1) : whole(value)} ${unit}`
  const isRange = range && range[0] !== range[1]
  return `${whole(value)}/s${isRange ? ` (${whole(range[0])}–${whole(range[1])})` : ''}`
}

function times(side) {
  return side?.p50Ms === undefined ? '' : `${side.p50Ms.toFixed(1)}, ${side.p99Ms.toFixed(1)} ms`
}

function processor(cost) {
  if (!cost?.cpuMicroseconds) return ''
  const { node, postgres, bank, load } = cost.cpuMicroseconds
  return `${[node, postgres, bank, load].map((part) => part.toLocaleString('en')).join(', ')} µs`
}

function share(part) {
  return part === undefined ? '' : `${Math.round(part * 100)} %`
}

function bytes(count) {
  return count > 0 ? `${count.toLocaleString('en')} B` : ''
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  console.log(renderMarkdown(JSON.parse(readFileSync(process.argv[2], 'utf8'))))
