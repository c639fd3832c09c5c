import { formatReais } from '../base/money.ts'
import type { LiveProcess, LiveProvider, LiveView } from './live-view.ts'
import { count, cut, mebibytes, type Cell } from './format.ts'

export type Line = { text: string; style?: 'bold' | 'dim' | 'yellow' | 'red' }

// Ages of the oldest entry of a queue. The alert rules page at the second.
const SLOW_SECONDS = 60
const STUCK_SECONDS = 300
// Names of machines in a cluster are long, and their end tells them apart.
const MAX_HOST = 24
const MAX_CELL = 40

const NONE = '–'
const EMPTY: Line = { text: '' }

export function describeView(view: LiveView, { database, mode }: { database: string; mode: 'test' | 'live' }): Line[] {
  const time = view.at.toISOString().slice(11, 19)
  const about = `guiche, ${mode === 'test' ? 'sandbox' : 'live'} mode   ${database}`
  return [
    { text: `${about}   ${time} UTC`, style: 'bold' },
    EMPTY,
    ...activity(view),
    EMPTY,
    ...queues(view),
    EMPTY,
    ...attention(view),
    ...providers(view.providers),
    EMPTY,
    ...processes(view.processes),
  ]
}

function activity({ perSecond, today }: LiveView): Line[] {
  const rows = [
    ['deposits', rate(perSecond.deposits), today?.deposits ?? NONE, 'created'],
    [
      'payments',
      rate(perSecond.payments),
      today?.payments ?? NONE,
      today ? `credited, ${formatReais(today.paidCents)}` : '',
    ],
    [
      'webhooks',
      perSecond.delivered === null ? NONE : rate(perSecond.delivered),
      today?.delivered ?? NONE,
      'delivered',
    ],
  ]
  return headed(['', 'PER SECOND', 'TODAY', ''], rows, { right: [1, 2] })
}

function queues({ queues: all }: LiveView): Line[] {
  const entries = Object.entries(all)
  const rows = entries.map(([name, { due, oldestSeconds }]) => [name, due, ageOf(oldestSeconds)])
  const [head, ...lines] = headed(['QUEUE', 'DUE', 'OLDEST'], rows, { right: [1, 2] })
  return [head!, ...lines.map(({ text }, index) => ({ text, ...urgency(entries[index]![1].oldestSeconds ?? 0) }))]
}

function urgency(seconds: number): Pick<Line, 'style'> {
  if (seconds >= STUCK_SECONDS) return { style: 'red' }
  return seconds >= SLOW_SECONDS ? { style: 'yellow' } : {}
}

function attention({
  refundsInDoubt,
  exceptionsOpen,
  suspenseCents,
  webhooksFailing,
  processes: running,
}: LiveView): Line[] {
  const parts = [
    ...(exceptionsOpen > 0 ? [`${count(exceptionsOpen, 'exception')} open`] : []),
    ...(refundsInDoubt > 0 ? [`${count(refundsInDoubt, 'refund')} in doubt`] : []),
    ...(suspenseCents > 0 ? [`${formatReais(suspenseCents)} in suspense`] : []),
    ...(webhooksFailing > 0 ? [`${count(webhooksFailing, 'webhook')} failing`] : []),
  ]
  const hasWorker = running.some(({ role }) => role === 'all' || role === 'worker')
  const isServed = running.some(({ role }) => role !== 'command')
  const lines: Line[] = []
  if (parts.length > 0) lines.push({ text: parts.join(', '), style: 'yellow' })
  if (isServed && !hasWorker) lines.push({ text: 'no process runs workers: payments wait', style: 'red' })
  return lines.length > 0 ? [...lines, EMPTY] : []
}

function providers(all: LiveProvider[]): Line[] {
  const ago = (seconds: number | null) => (seconds === null ? 'never' : `${ageOf(seconds)} ago`)
  // It is recorded once a minute.
  const notified = (seconds: number | null) => (seconds !== null && seconds < 60 ? '< 1 min ago' : ago(seconds))
  const rows = all.map((provider) => [
    provider.name,
    stateOf(provider),
    rate(provider.callsPerSecond),
    notified(provider.notifiedSecondsAgo),
    ago(provider.listReadSecondsAgo),
  ])
  const [head, ...lines] = headed(['PROVIDER', 'STATE', 'CALLS/S', 'NOTIFIED', 'LIST READ'], rows, { right: [2, 3, 4] })
  return [
    head!,
    ...lines.map(({ text }, index): Line => (all[index]!.breakersOpen > 0 ? { text, style: 'red' } : { text })),
  ]
}

function stateOf({ breakers, breakersOpen }: LiveProvider): string {
  if (breakers === 0) return 'unknown'
  if (breakersOpen === 0) return 'up'
  return breakersOpen === breakers ? 'down' : `down in ${breakersOpen} of ${breakers}`
}

function processes(all: LiveProcess[]): Line[] {
  const isServed = all.some(({ role }) => role !== 'command')
  const missing: Line[] = isServed ? [] : [{ text: 'no process of the service runs', style: 'yellow' }]
  if (all.length === 0) return missing
  const rows = all.map(({ role, host, version, upSeconds, status }) => [
    role,
    host.length > MAX_HOST ? `…${host.slice(1 - MAX_HOST)}` : host,
    version,
    ageOf(upSeconds),
    status ? `${Math.round(status.eventLoop * 100)} %` : NONE,
    status ? connections(status.pool) : NONE,
    status ? mebibytes(status.memoryBytes) : NONE,
  ])
  return [
    ...missing,
    ...headed(['ROLE', 'HOST', 'VERSION', 'UP', 'LOOP', 'CONNECTIONS', 'MEMORY'], rows, { right: [3, 4, 5, 6] }),
  ]
}

function connections({ inUse, max, waiting }: { inUse: number; max: number; waiting: number }): string {
  return `${inUse} of ${max}${waiting > 0 ? ` +${waiting}` : ''}`
}

/** A table with a dim head. `right`: the columns that are flush right. */
function headed(head: string[], rows: Cell[][], { right }: { right: number[] }): Line[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => cut(String(cell), MAX_CELL)))
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  const aligned = (cell: string, column: number) =>
    right.includes(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)
  const [first = '', ...others] = cells.map((row) => row.map(aligned).join('  ').trimEnd())
  return [{ text: first, style: 'dim' }, ...others.map((text) => ({ text }))]
}

const RATE = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false })

function rate(perSecond: number): string {
  return RATE.format(perSecond)
}

const UNITS: [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
]

/** A time in the future counts as now. */
function ageOf(seconds: number | null): string {
  if (seconds === null) return NONE
  const [name, length] = UNITS.find(([, least]) => seconds >= least) ?? ['s', 1]
  return `${Math.max(0, Math.floor(seconds / length))} ${name}`
}
