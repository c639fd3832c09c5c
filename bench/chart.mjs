// Draws throughput and waiting against the load that was offered, for each measure that has a curve:
//   node bench/chart.mjs bench.json docs/pictures/bench.svg
// The picture is 390 wide, as a phone shows a README, so its texts are legible there, and twice as large elsewhere.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const WIDTH = 390
const SCALE = 2
const ROW_HEIGHT = 150
const PANEL = { left: 34, top: 40, width: 146, height: 72 }
const PANEL_STEP = 197
const TICKS = 3

const STYLE = `
  text { font: 10px sans-serif; fill: #57606a }
  .title { font-size: 12px; font-weight: 600; fill: #1f2328 }
  .panel { font-size: 11px; fill: #1f2328 }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .line { fill: none; stroke: #0969da; stroke-width: 2; stroke-linejoin: round }
  .dot { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 }
    .title, .panel { fill: #f0f6fc }
    .grid { stroke: #3d444d }
    .line { stroke: #4493f8 }
    .dot { fill: #4493f8 }
  }`

/** The SVG of all curves among the results of a run. */
export function drawChart(entries) {
  const rows = entries.filter(({ curve }) => curve)
  const height = rows.length * ROW_HEIGHT
  const names = rows.map(({ name, curve }) => titleOf(curve.name ?? name)).join('; ')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH * SCALE}" height="${height * SCALE}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Throughput and p99 against offered load: ${escape(names)}">
<style>${STYLE}
</style>
${rows.map((entry, index) => drawRow(entry, index * ROW_HEIGHT)).join('\n')}
</svg>
`
}

function drawRow({ name, curve }, top) {
  const panels = [
    { title: 'a second', key: 'perSecond' },
    { title: 'p99, ms', key: 'p99Ms' },
  ]
  const drawn = panels.map((panel, index) => drawPanel(panel, curve, PANEL.left + index * PANEL_STEP))
  return `<g transform="translate(0 ${top})">
<text class="title" x="4" y="16">${escape(titleOf(curve.name ?? name))}</text>
${drawn.join('\n')}
</g>`
}

function drawPanel({ title, key }, { unit, points }, left) {
  const [bottom, right] = [PANEL.top + PANEL.height, left + PANEL.width]
  const highest = niceAbove(Math.max(...points.map((point) => point[key])))
  const x = scaleOf(points, left)
  const y = (value) => bottom - (value / highest) * PANEL.height
  const grid = Array.from({ length: TICKS + 1 }, (_, tick) => {
    const value = (highest * tick) / TICKS
    const label = `<text x="${left - 4}" y="${at(y(value) + 3.5)}" text-anchor="end">${short(value)}</text>`
    return `<line class="grid" x1="${left}" x2="${right}" y1="${at(y(value))}" y2="${at(y(value))}"/>${label}`
  })
  const marks = labelled(points, x).map(
    ({ offered }) => `<text x="${at(x(offered))}" y="${bottom + 13}" text-anchor="middle">${short(offered)}</text>`,
  )
  const places = points.map((point) => [at(x(point.offered)), at(y(point[key]))])
  return `<text class="panel" x="${left}" y="${PANEL.top - 8}">${title}</text>
${grid.join('\n')}
${marks.join('\n')}
<text x="${left + PANEL.width / 2}" y="${bottom + 26}" text-anchor="middle">${escape(unit)}</text>
<polyline class="line" points="${places.map((place) => place.join(',')).join(' ')}"/>
${places.map(([cx, cy]) => `<circle class="dot" cx="${cx}" cy="${cy}" r="2.5"/>`).join('')}`
}

/** Numbers that double get equal steps; rates get their distance. */
function scaleOf(points, left) {
  const offers = points.map(({ offered }) => offered)
  const [first, last] = [offers[0], offers.at(-1)]
  const isDoubling = last / first >= 32
  const place = (value) => (isDoubling ? Math.log2(value / first) / Math.log2(last / first) : value / last)
  return (value) => left + place(value) * PANEL.width
}

/** As many of the points as have room for their number. */
function labelled(points, x) {
  const MIN_DISTANCE = 26
  let lastX = -Infinity
  return points.filter(({ offered }) => {
    const hasRoom = x(offered) - lastX >= MIN_DISTANCE
    if (hasRoom) lastX = x(offered)
    return hasRoom
  })
}

/** The least of 1.5, 3, 6 and 9 times a power of ten that is not below: three ticks of it are round. */
function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-3)))
  return [1.5, 3, 6, 9, 15].map((step) => step * power).find((candidate) => candidate >= value)
}

function short(value) {
  if (value >= 1_000) return `${Number((value / 1_000).toPrecision(2))}k`
  return String(value >= 10 ? Math.round(value) : Number(value.toPrecision(2)))
}

function at(value) {
  return Number(value.toFixed(1))
}

function titleOf(name) {
  return name.split(' ÷ ')[0]
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , from, to] = process.argv
  writeFileSync(to, drawChart(JSON.parse(readFileSync(from, 'utf8'))))
}
