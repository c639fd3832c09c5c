// The results as one table, in Markdown.

const MAX_STEAL = 0.05

const COLUMNS = {
  measure: ({ name, says }) => `**${name}**: ${says}`,
  guiche: ({ ours }) => rateOf(ours),
  reference: (entry) => `${rateOf(entry.reference)}: ${entry.beside}`,
  ratio: ({ ratio, ratioRange }) => `${ratio.toFixed(2)}${rangeOf(ratioRange, (part) => part.toFixed(2))}`,
  'p50, p99': ({ ours: { p50Ms, p99Ms } }) => (p50Ms ? `${p50Ms.toFixed(1)}, ${p99Ms.toFixed(1)} ms` : ''),
  Node: ({ ours }) => `${whole(ours.cost.nodeMicroseconds)} µs`,
  PostgreSQL: ({ ours }) => `${whole(ours.cost.postgresMicroseconds)} µs`,
  WAL: ({ ours }) => `${whole(ours.cost.walBytes)} B`,
}

export function renderTable(entries) {
  const names = Object.keys(COLUMNS)
  const cells = entries.map((entry) => names.map((name) => COLUMNS[name](entry)))
  const widths = names.map((name, column) => Math.max(...[[...names], ...cells].map((row) => row[column].length)))
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  return [line(names), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n')
}

/** Renders the result of one measure, to print as soon as it is known. */
export function renderLine({ name, ours, ratio, tookSeconds, steal }) {
  // On a virtual machine whose host is busy, figures tell more about the host than about the service.
  const warning = steal > MAX_STEAL ? `, with ${Math.round(steal * 100)} % CPU steal: the host was busy` : ''
  return `${name}: ${rateOf(ours)}, ratio ${ratio.toFixed(2)}, took ${tookSeconds} s${warning}`
}

function rateOf({ perSecond, range }) {
  return `${whole(perSecond)}/s${rangeOf(range, whole)}`
}

function rangeOf([low, high], show) {
  return low === high ? '' : ` (${show(low)}–${show(high)})`
}

function whole(number) {
  return Math.round(number).toLocaleString('en')
}
