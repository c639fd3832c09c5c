import { hostname } from 'node:os'
import { inspect } from 'node:util'
import type { Log } from './base/log.ts'
import { Fault } from './base/fault.ts'
import { DatabaseUnavailable } from './db/failure.ts'
import { ProviderError } from './domain/ports/provider.ts'

type Line = { level: number; time: number; msg: string; err?: { message?: string; stack?: string } } & Record<
  string,
  unknown
>

export type Logger = Log & { fatal(fields: object, text: string): void }

export type Destination = { write(line: string, level: number): unknown }

export type Screen = {
  isTTY?: boolean
  columns?: number
  rows?: number
  hasColors?(): boolean
  write(text: string): unknown
}

const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Infinity }
const LABELS: Record<number, string> = { 20: 'debug', 40: 'warning', 50: 'error', 60: 'fatal' }
const HIDDEN = /^(level|time|msg|err|pid|hostname|requestId|keyId|method|route|status|ms)$/

/**
 * JSON lines on standard error, or readable ones on a terminal. pino repeats the failed write of a fatal line forever,
 * so on a full disk the process would not end.
 */
export function makeLog(least: keyof typeof LEVELS, destination: Destination = standardError()): Logger {
  const origin = `,"pid":${process.pid},"hostname":${JSON.stringify(hostname())}`
  const at = (level: number) => {
    if (level < LEVELS[least]) return () => {}
    return (fields: object, text: string) => {
      if (isOutage(fields) && level < LEVELS.fatal && LEVELS[least] > LEVELS.debug) return
      const line = `{"level":${level},"time":${Date.now()}${origin}${fieldsText(fields)},"msg":${JSON.stringify(text)}}\n`
      destination.write(line, level)
    }
  }
  return {
    debug: at(LEVELS.debug),
    info: at(LEVELS.info),
    warn: at(LEVELS.warn),
    error: at(LEVELS.error),
    fatal: at(LEVELS.fatal),
  }
}

/**
 * During an outage every request meets the same failure, which the pool or the guard of the provider logs once. A call
 * to a provider that was made keeps its line: its outcome may be unknown.
 */
function isOutage(fields: object): boolean {
  return 'err' in fields && (fields.err instanceof DatabaseUnavailable || isDown(fields.err))
}

function isDown(error: unknown): boolean {
  return error instanceof Error && ((error instanceof ProviderError && error.isDown) || isDown(error.cause))
}

function fieldsText(fields: object): string {
  try {
    const text = JSON.stringify('err' in fields ? { ...fields, err: errorFields(fields.err) } : fields)
    return text === '{}' ? '' : `,${text.slice(1, -1)}`
  } catch {
    // A circle, or a bigint.
    return `,"fields":${JSON.stringify(inspect(fields))}`
  }
}

function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const fields = { type: error.name, message: messageOf(error) }
  // The inspected text has the causes, and what else an error carries.
  return isExpected(error) ? fields : { ...fields, stack: inspect(error) }
}

/** A refused request or a failure of a provider, whose message says it all. */
function isExpected(error: unknown): boolean {
  if (!(error instanceof Fault || error instanceof ProviderError)) return false
  return error.cause === undefined || isExpected(error.cause)
}

function messageOf(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${messageOf(error.cause)}` : error.message
}

const MAX_GATHERED = 16 * 1024
// How late a line may be, and what a killed process may lose.
const MAX_GATHER_MS = 50

function standardError(): Destination {
  process.stderr.on('error', () => {})
  if (process.stderr.isTTY) return logTo(process.stderr)
  const { flush, ...destination } = gatherLines(process.stderr)
  process.on('exit', flush)
  return destination
}

/**
 * Writes many lines at once, because a write each would cost a busy service more than all else. A warning or an error
 * is written at once.
 */
export function gatherLines(out: { write(text: string): unknown }): Destination & { flush(): void } {
  let lines = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (lines === '') return
    const text = lines
    lines = ''
    out.write(text)
  }
  return {
    flush,
    write(line, level) {
      lines += line
      if (level >= LEVELS.warn || lines.length >= MAX_GATHERED) flush()
      else timer ??= setTimeout(flush, MAX_GATHER_MS).unref()
    },
  }
}

export function logTo(screen: Screen): Destination {
  const shown = (line: string) => (screen.isTTY ? `${inWords(JSON.parse(line) as Line)}\n` : line)
  return { write: (line) => void screen.write(shown(line)) }
}

function inWords(line: Line): string {
  const time = new Date(line.time).toTimeString().slice(0, 8)
  const label = LABELS[line.level] ? `${LABELS[line.level]}: ` : ''
  const request = `${time} ${label}${String(line.method)} ${String(line.route)} ${String(line.status)}`
  if (line.msg === 'request completed') return `${request} ${String(line.ms)} ms`
  if (line.msg === 'request refused') return `${request} ${String(line.code)} from ${String(line.address)}`
  const rest = Object.entries(line).filter(([key]) => !HIDDEN.test(key))
  const fields = rest
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('')
  // A stack is for our own bugs.
  const cause = line.err ? `: ${line.level >= 50 ? (line.err.stack ?? '') : (line.err.message ?? '')}` : ''
  return `${time} ${label}${line.msg}${fields}${cause}`
}
