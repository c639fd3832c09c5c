import type { Screen } from '../log.ts'

export type Progress = {
  /** `done` is between 0 and 1. */
  show(done: number, text: string): void
  /** Keeps the last state as a line of its own. */
  end(): void
}

type State = { done: number; text: string }

const BAR_WIDTH = 24
const DEFAULT_COLUMNS = 80
const REDRAW_MS = 100
const LINE_EVERY_MS = 5_000

export async function withProgress<Result>(
  screen: Screen,
  work: (show: Progress['show']) => Promise<Result>,
): Promise<Result> {
  const bar = makeProgress(screen, Date.now)
  try {
    return await work(bar.show)
  } finally {
    bar.end()
  }
}

/** A bar on a terminal; elsewhere, a line now and then. */
export function makeProgress(screen: Screen, nowMs: () => number): Progress {
  const startMs = nowMs()
  let shownMs = screen.isTTY ? Number.NEGATIVE_INFINITY : startMs
  let last: State | undefined

  const write = ({ done, text }: State, end: string) => {
    const percent = `${String(Math.floor(done * 100)).padStart(3)} %`
    const filled = Math.round(done * BAR_WIDTH)
    const bar = screen.isTTY ? `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ` : ''
    const line = `${bar}${percent}  ${text}, ${elapsed(nowMs() - startMs)}`
    const start = screen.isTTY ? '\r\u{1b}[2K' : ''
    screen.write(`${start}${line.slice(0, (screen.columns ?? DEFAULT_COLUMNS) - 1)}${end}`)
  }
  return {
    show(done, text) {
      last = { done: Math.min(1, Math.max(0, done)), text }
      const now = nowMs()
      if (now - shownMs < (screen.isTTY ? REDRAW_MS : LINE_EVERY_MS)) return
      shownMs = now
      write(last, screen.isTTY ? '' : '\n')
    },
    end() {
      if (last) write(last, '\n')
    },
  }
}

function elapsed(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
