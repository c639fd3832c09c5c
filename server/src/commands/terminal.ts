import { userInfo } from 'node:os'
import type { Log } from '../base/log.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Config, Remote } from '../config/config.ts'
import { makeDatabaseClock } from '../db/clock.ts'
import { makeMetrics } from '../base/metrics.ts'
import type { Actor } from '../domain/core/audit-log.ts'
import { makeCore, type Core } from '../domain/core/core.ts'
import type { Context } from '../domain/context.ts'
import { openDatabase, type Say } from '../open-database.ts'
import { logTo, makeLog, type Screen } from '../log.ts'
import { json, tableOf, type Columns } from './format.ts'

export type Terminal = {
  /** Writes a line of the result to standard output, so that it can be piped. */
  print: Say
  /** Writes a line about progress or next steps to standard error. */
  say: Say
  /** Standard error itself, for the progress bar and the log. */
  screen: Screen
  /** Standard output itself, for a screen that is redrawn. */
  output: Screen
  /** Throws if standard output could not be written. For long output, which then ends early. */
  requireOutput(): void
  readInput(): Promise<string>
  /** Undefined if nobody can answer a question. */
  keyboard: Keyboard | undefined
  loadConfig(overrides?: { home?: string }): Config
  /** Undefined if commands use the database. */
  loadRemote(): Remote | undefined
  loadHome(): string
  setExitCode(code: number): void
}

export type Keyboard = NodeJS.ReadableStream & {
  /** Undefined if it is not a terminal. */
  setRawMode?(isRaw: boolean): unknown
}

export type JsonOption = { json?: boolean | undefined }

/** `listed` is all of it, or its first page. */
export function printList<Item extends object>(
  terminal: Terminal,
  options: JsonOption,
  listed: Item[] | { items: Item[]; nextCursor: string | null },
  list: { empty: string; columns: Columns<Item> },
): void {
  const { items, nextCursor } = Array.isArray(listed) ? { items: listed, nextCursor: null } : listed
  if (nextCursor) terminal.say(`Showing the newest ${items.length}. To see more, raise --limit.`)
  if (options.json) terminal.print(json(items))
  else if (items.length === 0) terminal.say(list.empty)
  else terminal.print(tableOf(items, list.columns))
}

export function printOne<Value extends object>(
  terminal: Terminal,
  options: JsonOption,
  value: Value,
  describe: (value: Value) => string,
): void {
  terminal.print(options.json ? json(value) : describe(value))
}

export function consoleActor(): Actor {
  try {
    return { kind: 'console', name: userInfo().username }
  } catch {
    // In a container the user may have a number and no name.
    return { kind: 'console', name: `user ${process.getuid?.() ?? 'unknown'}` }
  }
}

export function databaseAction<Args extends unknown[]>(
  terminal: Terminal,
  work: (core: Core, terminal: Terminal, ...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return (...args) => withDatabase(terminal, (core) => work(core, terminal, ...args))
}

/** `core.now()` is the database's time, because the clock of an operator's machine may be wrong. */
export async function withDatabase(terminal: Terminal, work: (core: Core) => Promise<void>): Promise<void> {
  const log = commandLog(terminal)
  const config = databaseConfig(terminal)
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
  work: (ctx: Context) => Promise<Result>,
  config = databaseConfig(terminal),
): Promise<Result> {
  // Loading the HTTP clients takes a quarter of a second. Commands that need the database only do not wait for it.
  const { openContext } = await import('../wiring.ts')
  const { value: ctx, close } = await openContext(config, commandLog(terminal), terminal.say)
  try {
    return await work(ctx)
  } finally {
    await close()
  }
}

/** Refuses GUICHE_URL: a command meant for that service must not change the database of this machine. */
export function databaseConfig(terminal: Terminal): Config {
  const config = terminal.loadConfig()
  if (!config.remote) return config
  throw new OperatorError(
    `This command needs the database, and GUICHE_URL names the service at ${config.remote.url}: ` +
      'run it where that service runs, or unset GUICHE_URL',
  )
}

function commandLog(terminal: Terminal): Log {
  return makeLog('error', logTo(terminal.screen))
}
