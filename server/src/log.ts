import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import { DatabaseUnavailable } from './db/failure.ts'

type Line = { level: number; time: number; msg: string; err?: { message?: string; stack?: string } } & Record<
  string,
  unknown
>

/** Where lines are shown: standard error, or what a test reads instead. */
export type Screen = { isTTY?: boolean; columns?: number; write(text: string): unknown }

const FATAL = 60
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
  return process.stderr.isTTY ? logTo(process.stderr) : pino.destination(2)
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
