// The results as a table: for the terminal, and as Markdown.
import { cpus, totalmem } from 'node:os'
import { loadName } from './stage/http-load.mjs'

/** A measure and its result as the JSON file has it. */
export function toEntry({ id, name, reference, atLeast }, result) {
  const { met, target, referenceName, ...figures } = result
  return {
    id,
    name: `${name} ÷ ${referenceName ?? reference}`,
    ...figures,
    target: target ?? `≥ ${atLeast}`,
    met: met ?? figures.ratio >= atLeast,
  }
}

export async function describeRun(options, { database, home }) {
  return {
    processor: `${cpus().length} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`,
    node: process.version,
    postgres: await database.describe(),
    load: loadName,
    connections: options.connections,
    rounds: options.rounds,
    seconds: options.seconds,
    quick: options.quick,
    data: home,
  }
}

const COLUMNS = {
  '#': ({ id }) => String(id),
  'measure ÷ reference': ({ name }) => name,
  ours: ({ ours, unit, details }) => figure(ours, unit, details?.ours?.range),
  reference: ({ reference, unit, details }) => figure(reference, unit, details?.reference?.range),
  ratio: ({ ratio }) => (ratio === undefined ? '' : ratio.toFixed(2)),
  target: ({ target }) => String(target),
  met: ({ met }) => (met ? 'yes' : 'no'),
  'p50, p99': ({ details }) => times(details?.ours),
  'CPU each: node, postgres, bank, load': ({ details }) => cpu(details?.ours?.cost),
  'WAL each': ({ details }) => (details?.ours?.cost?.walBytes > 0 ? `${details.ours.cost.walBytes} B` : ''),
  note: ({ note }) => note ?? '',
}

export function renderText(entries, run) {
  const rows = [Object.keys(COLUMNS), ...entries.map((entry) => Object.values(COLUMNS).map((cell) => cell(entry)))]
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  )
  return [...lines, '', describe(run)].join('\n')
}

export function renderMarkdown(entries, run) {
  const rows = entries.map((entry) => Object.values(COLUMNS).map((cell) => cell(entry)))
  const names = Object.keys(COLUMNS)
  const lines = [names, names.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  return `${lines.join('\n')}\n\n${describe(run)}\n`
}

function describe(run) {
  const turns = `${run.rounds} rounds of ${run.seconds} s${run.quick ? ' (quick)' : ''}, median and range`
  const load = `${run.load} with ${run.connections} connections`
  return `${run.processor}; Node ${run.node}; PostgreSQL ${run.postgres} with full durability, data in ${run.data}; ${load}; ${turns}.`
}

function figure(value, unit, range) {
  if (value === undefined) return ''
  if (unit !== undefined) return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')} ${unit}`
  const whole = (number) => Math.round(number).toLocaleString('en')
  return range && range[0] !== range[1]
    ? `${whole(value)}/s (${whole(range[0])}–${whole(range[1])})`
    : `${whole(value)}/s`
}

function times(side) {
  return side?.p50Ms === undefined ? '' : `${side.p50Ms.toFixed(1)}, ${side.p99Ms.toFixed(1)} ms`
}

function cpu(cost) {
  if (!cost?.cpuMicroseconds) return ''
  const { node, postgres, bank, load } = cost.cpuMicroseconds
  return `${node}, ${postgres}, ${bank}, ${load} µs`
}
