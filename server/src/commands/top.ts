import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { onStopSignal } from '../process/stop-signals.ts'
import type { Config } from '../config/config.ts'
import { explainDatabase } from '../db/failure.ts'
import { describeDatabase } from '../db/ready.ts'
import type { Core } from '../domain/core/core.ts'
import { makeLiveView, type LiveView } from './live-view.ts'
import { addCommand } from './arguments.ts'
import { json } from './format.ts'
import { withDatabase, type JsonOption, type Terminal } from './terminal.ts'
import { describeView, type Line } from './top-screen.ts'

const REFRESH_MS = 1_000
const DEFAULT_COLUMNS = 80
const DEFAULT_ROWS = 24

// The alternate screen leaves what was on the terminal as it was.
const ENTER = '\u{1b}[?1049h\u{1b}[?25l'
const LEAVE = '\u{1b}[?25h\u{1b}[?1049l'
const HOME = '\u{1b}[H'
const CLEAR_LINE = '\u{1b}[K'
const CLEAR_BELOW = '\u{1b}[J'
const CTRL_C = '\u{3}'
// The output was asked whether it has colours; styleText() would ask standard output again.
const ANY_OUTPUT = { validateStream: false }

export function topCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'top', '', '--once', '--json')
    .description('watch the service live: deposits, payments, webhooks, queues, providers, processes')
    .option('--once', 'print once; the default where the output is not a terminal')
    .option('--json', 'print once, as JSON')
    .addHelpText(
      'after',
      `
It refreshes every second; q or Ctrl-C leaves. It needs the database only, so it runs on any machine with DATABASE_URL.
Rates of deposits and payments are means of 10 seconds; those of webhooks and calls, which processes tell, of 2. Today
began at midnight in Brazil; its webhooks are those of events since then.

LOOP is how busy the event loop is: near 100 % the process is at its limit. CONNECTIONS are those to the database that
are in use, of those allowed; +3 means that three callers wait for one.`,
    )
    .action((options: JsonOption & { once?: boolean }) => {
      const config = terminal.loadConfig()
      return withDatabase(terminal, (core) => show(core, terminal, config, options))
    })
}

async function show(
  core: Core,
  terminal: Terminal,
  config: Config,
  options: JsonOption & { once?: boolean },
): Promise<void> {
  const { output } = terminal
  const read = makeLiveView(
    core,
    config.providers.map(({ name }) => name),
  )
  const database = await databaseText(core, config)
  const toJson = (view: LiveView) => json({ database, ...view, mode: view.mode ?? config.settings.mode })
  const describe = (view: LiveView) => describeView(view, { database, mode: view.mode ?? config.settings.mode })
  if (options.json) terminal.print(toJson(await read()))
  else if (options.once || !output.isTTY) for (const { text } of describe(await read())) terminal.print(text)
  else await watch(terminal, async () => describe(await read()))
}

async function databaseText({ pool }: Core, { databaseUrl }: Config): Promise<string> {
  const { version } = await describeDatabase(pool)
  const address = databaseUrl?.replace(/^[a-z]+:\/\/(?:[^/]*@)?([^?]*).*$/s, ' at $1')
  return `PostgreSQL ${version}${address ?? ', embedded'}`
}

/** Redraws until a person leaves. Always restores the terminal. */
async function watch({ output, keyboard }: Terminal, read: () => Promise<Line[]>): Promise<void> {
  const leaving = new AbortController()
  const { signal } = leaving
  const left = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)))
  const leave = () => leaving.abort()
  const onKey = (key: Buffer | string) => ['q', 'Q', CTRL_C].includes(String(key)) && leave()
  const unlisten = onStopSignal(leave, leave)
  output.write(ENTER)
  keyboard?.setRawMode?.(true)
  keyboard?.on('data', onKey)
  let shown: Line[] = []
  try {
    while (!signal.aborted) {
      // A database that hangs must not keep anybody from leaving.
      const lines = await Promise.race([left, read().catch((error: unknown) => [troubleOf(error), ...shown.slice(1)])])
      if (lines && !signal.aborted) output.write(frameOf((shown = lines), output))
      await sleep(REFRESH_MS, undefined, { signal }).catch(() => {})
    }
  } finally {
    keyboard?.off('data', onKey)
    keyboard?.setRawMode?.(false)
    // Otherwise the process would wait for more keys.
    keyboard?.pause()
    output.write(LEAVE)
    unlisten()
  }
}

function troubleOf(error: unknown): Line {
  const { message, cause } = error as Error
  return { text: `the database cannot be read: ${explainDatabase(cause ?? error) ?? message}`, style: 'red' }
}

function frameOf(lines: Line[], output: Terminal['output']): string {
  const { columns = DEFAULT_COLUMNS, rows = DEFAULT_ROWS } = output
  const hasColors = output.hasColors?.()
  const drawn = fitTo(rows - 1, lines).map(({ text, style }) => {
    const cut = text.slice(0, columns)
    return `${style && hasColors ? styleText(style, cut, ANY_OUTPUT) : cut}${CLEAR_LINE}\r\n`
  })
  return `${HOME}${drawn.join('')}${CLEAR_BELOW}`
}

function fitTo(rows: number, lines: Line[]): Line[] {
  if (lines.length <= rows) return lines
  const left = lines.length - rows + 1
  return [...lines.slice(0, rows - 1), { text: `and ${left} lines more: enlarge the terminal`, style: 'dim' }]
}
