import { userInfo } from 'node:os'
import type { Log } from '../base/log.ts'
import type { Config } from '../config.ts'
import { makeDatabaseClock } from '../db/clock.ts'
import { makeMetrics } from '../base/metrics.ts'
import type { Actor } from '../domain/core/audit-log.ts'
import { makeCore, type Core } from '../domain/core/core.ts'
import type { Context } from '../domain/context.ts'
import { openDatabase, type Say } from '../open-database.ts'
import { logTo, makeLog, type Screen } from '../log.ts'

export type Terminal = {
  /** The answer, on standard output, so that it can be piped. */
  print: Say
  /** What is going on meanwhile, on standard error. */
  say: Say
  /** Standard error itself, for what is drawn over and over, and for the log. */
  screen: Screen
  /** All of standard input. */
  readInput(): Promise<string>
  loadConfig(): Config
  /** For a command that did its work, and whose answer is a no. */
  setExitCode(code: number): void
}

/** Standard input, without the end of its last line. */
export async function readPassword(terminal: Terminal): Promise<string> {
  return (await terminal.readInput()).replace(/\r?\n$/, '')
}

/**
 * Columns as wide as their widest cell. What others made up must not steer the terminal, so a cell is shown without
 * control characters.
 */
export function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows.map((row) => row.map(oneLine))]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')
  return all.map((row) => line(row).trimEnd()).join('\n')
}

/** The beginning of a text, on one line. */
export function cut(text: string, length: number): string {
  const line = oneLine(text)
  return line.length > length ? `${line.slice(0, length)}…` : line
}

export function json(value: object): string {
  return JSON.stringify(value, null, 2)
}

/** UTC, to the minute. */
export function moment(date: Date): string {
  return date.toISOString().slice(0, 16).replace('T', ' ')
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().replaceAll(/\p{C}/gu, '\u{fffd}')
}

/** Whoever sits at the terminal, for the audit log. */
export function consoleActor(): Actor {
  try {
    return { kind: 'console', name: userInfo().username }
  } catch {
    // In a container the user may have a number and no name.
    return { kind: 'console', name: `user ${process.getuid?.() ?? 'unknown'}` }
  }
}

/** A command is quiet about what works; errors still reach the terminal. */
function commandLog(terminal: Terminal): Log {
  return makeLog('error', logTo(terminal.screen))
}

/**
 * `core.now()` is the database's time: the clock of an operator's machine may be wrong, and the service reads what a
 * command writes.
 */
export async function withDatabase<Result>(
  config: Config,
  terminal: Terminal,
  work: (core: Core) => Promise<Result>,
): Promise<Result> {
  const log = commandLog(terminal)
  const { value, close } = await openDatabase(config, log, terminal.say)
  try {
    const clock = makeDatabaseClock(value.pool)
    await clock.measure()
    const { pool } = value
    return await work(makeCore({ pool, clock, log, metrics: makeMetrics(), settings: config.settings, instance: 0 }))
  } finally {
    await close()
  }
}

export async function withContext<Result>(
  config: Config,
  terminal: Terminal,
  work: (ctx: Context, sandboxUrl: string | undefined) => Promise<Result>,
): Promise<Result> {
  // Clients of HTTP take a quarter of a second to load, which commands on the database alone should not wait for.
  const { openContext } = await import('../wiring.ts')
  const { value: ctx, sandboxUrl, close } = await openContext(config, commandLog(terminal), terminal.say)
  try {
    return await work(ctx, sandboxUrl)
  } finally {
    await close()
  }
}
