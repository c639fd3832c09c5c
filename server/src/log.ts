import { pino, symbols, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import { DatabaseUnavailable } from './db/failure.ts'

type Line = { level: number; time: number; msg: string; err?: { message?: string; stack?: string } } & Record<
  string,
  unknown
>

/** Where lines are shown: standard error, or what a test reads instead. */
export type Screen = { isTTY?: boolean; columns?: number; write(text: string): unknown }

const ERROR = 50
const FATAL = 60
// In characters. A turn that logs more writes several times.
const MAX_GATHERED = 64 * 1024
const LABELS: Record<number, string> = { 20: 'debug', 40: 'warning', 50: 'error', 60: 'fatal' }
const HIDDEN = new Set([
  'level',
  'time',
  'msg',
  'err',
  'pid',
  'hostname',
  'requestId',
  'keyId',
  'method',
  'route',
  'status',
  'ms',
])

/** JSON lines on standard error for programs; readable lines if standard error is a terminal. */
export function makeLog(level: string, destination: DestinationStream = standardError()): Logger {
  return pino({ level, hooks: { logMethod: dropOutages } }, destination)
}

function standardError(): DestinationStream {
  if (process.stderr.isTTY) return logTo(process.stderr)
  const { stream, flush } = gatherLines(pino.destination(2))
  process.on('exit', flush)
  return stream
}

/**
 * Writes the lines of one turn of the event loop at once: under load, a write for each line costs more than its
 * request. An error is written at once, and the lines before it with it.
 */
export function gatherLines(out: DestinationStream): { stream: DestinationStream; flush: () => void } {
  let lines = ''
  let isScheduled = false
  const flush = () => {
    isScheduled = false
    if (lines === '') return
    const text = lines
    lines = ''
    out.write(text)
  }
  const stream = {
    // With this, pino sets lastLevel before each line.
    [symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line: string) {
      lines += line
      if (stream.lastLevel >= ERROR || lines.length >= MAX_GATHERED) return flush()
      if (isScheduled) return
      isScheduled = true
      setImmediate(flush)
    },
  }
  return { stream, flush }
}

export function logTo(screen: Screen): DestinationStream {
  const shown = (line: string) => (screen.isTTY ? `${inWords(JSON.parse(line) as Line)}\n` : line)
  return { write: (line) => void screen.write(shown(line)) }
}

/**
 * While the database is down every request and worker round meets the same failure, and the pool logs it once for all.
 * Dropped here rather than at each place that logs, so that none can be forgotten.
 */
const dropOutages: NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> = function (args, method, level) {
  const [fields] = args as unknown[]
  const isOutage =
    typeof fields === 'object' && fields !== null && 'err' in fields && fields.err instanceof DatabaseUnavailable
  if (!isOutage || level >= FATAL || this.isLevelEnabled('debug')) method.apply(this, args)
}

export function inWords(line: Line): string {
  const time = new Date(line.time).toTimeString().slice(0, 8)
  const label = LABELS[line.level] ? `${LABELS[line.level]}: ` : ''
  if (line.msg === 'answered')
    return `${time} ${label}${String(line.method)} ${String(line.route)} ${String(line.status)} ${String(line.ms)} ms`
  const rest = Object.entries(line).filter(([key]) => !HIDDEN.has(key))
  const fields = rest
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('')
  // A stack is for our own bugs. An expected failure, such as a provider that is down, needs only its message.
  const cause = line.err ? `: ${line.level >= 50 ? (line.err.stack ?? '') : (line.err.message ?? '')}` : ''
  return `${time} ${label}${line.msg}${fields}${cause}`
}
