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
  /** Writes a line of the result to standard output, so that it can be piped. */
  print: Say
  /** Writes a line about progress or next steps to standard error. */
  say: Say
  /** Standard error itself, for the progress bar and the log. */
  screen: Screen
  /** All of standard input. */
  readInput(): Promise<string>
  loadConfig(): Config
  /** For a command that ran, with a negative result. */
  setExitCode(code: number): void
}

export type JsonOption = { json?: boolean }
type Cell = string | number
type Columns<Item> = Record<string, (item: Item) => Cell>

type List<Item> = {
  columns: Columns<Item>
  /** Said if the list is empty. */
  empty: string
  nextCursor?: string | null
  toJson?: (item: Item) => object
}

/** Prints a list as a table, or as JSON. */
export function printList<Item extends object>(
  terminal: Terminal,
  options: JsonOption,
  items: Item[],
  { columns, empty, nextCursor, toJson = (item) => item }: List<Item>,
): void {
  if (nextCursor) terminal.say(`Showing the newest ${items.length}. To see more, raise --limit.`)
  if (options.json) terminal.print(json(items.map(toJson)))
  else if (items.length === 0) terminal.say(empty)
  else terminal.print(tableOf(items, columns))
}

/** Prints one thing as text, or as JSON. */
export function printOne<Value extends object>(
  terminal: Terminal,
  options: JsonOption,
  value: Value,
  describe: (value: Value) => string,
): void {
  terminal.print(options.json ? json(value) : describe(value))
}

/** The password from standard input, or null if it is to be generated. */
export async function readPassword(terminal: Terminal, options: { passwordStdin?: boolean }): Promise<string | null> {
  return options.passwordStdin ? (await terminal.readInput()).replace(/\r?\n$/, '') : null
}

export function tableOf<Item>(items: Item[], columns: Columns<Item>): string {
  const rows = items.map((item) => Object.values(columns).map((cell) => cell(item)))
  return table(Object.keys(columns), rows)
}

/** Columns as wide as their widest cell. Cells lose control characters, which would steer the terminal. */
export function table(head: string[], rows: Cell[][]): string {
  const all = [head, ...rows.map((row) => row.map((cell) => oneLine(String(cell))))]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
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

/** "1 page", "2 pages". */
export function count(many: number, noun: string, plural = `${noun}s`): string {
  return `${many} ${many === 1 ? noun : plural}`
}

/** The user of the terminal, for the audit log. */
export function consoleActor(): Actor {
  try {
    return { kind: 'console', name: userInfo().username }
  } catch {
    // In a container the user may have a number and no name.
    return { kind: 'console', name: `user ${process.getuid?.() ?? 'unknown'}` }
  }
}

/** An action that needs the database only. */
export function databaseAction<Args extends unknown[]>(
  terminal: Terminal,
  work: (core: Core, terminal: Terminal, ...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return (...args) => withDatabase(terminal, (core) => work(core, terminal, ...args))
}

/** An action that may call providers and webhooks. */
export function contextAction<Args extends unknown[]>(
  terminal: Terminal,
  work: (ctx: Context, terminal: Terminal, ...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return (...args) => withContext(terminal, (ctx) => work(ctx, terminal, ...args))
}

/** `core.now()` is the database's time, because the clock of an operator's machine may be wrong. */
export async function withDatabase(terminal: Terminal, work: (core: Core) => Promise<void>): Promise<void> {
  const log = commandLog(terminal)
  const config = terminal.loadConfig()
  const { value, close } = await openDatabase(config, log, terminal.say)
  try {
    const { pool } = value
    const clock = makeDatabaseClock(pool)
    await clock.measure()
    await work(makeCore({ pool, clock, log, metrics: makeMetrics(), settings: config.settings, instance: 0 }))
  } finally {
    await close()
  }
}

export async function withContext<Result>(
  terminal: Terminal,
  work: (ctx: Context, sandboxUrl: string | undefined) => Promise<Result>,
  config = terminal.loadConfig(),
): Promise<Result> {
  // Loading the HTTP clients takes a quarter of a second. Commands that need the database only do not wait for it.
  const { openContext } = await import('../wiring.ts')
  const { value: ctx, sandboxUrl, close } = await openContext(config, commandLog(terminal), terminal.say)
  try {
    return await work(ctx, sandboxUrl)
  } finally {
    await close()
  }
}

/** Commands log errors only. */
function commandLog(terminal: Terminal): Log {
  return makeLog('error', logTo(terminal.screen))
}
