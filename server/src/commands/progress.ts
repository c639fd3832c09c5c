import type { Screen } from '../log.ts'

export type Progress = {
  /** Between 0 and 1, and what to say beside it. */
  show(done: number, text: string): void
  /** Leaves the last state behind as a line of its own. */
  end(): void
}

const BAR_WIDTH = 24
const DEFAULT_COLUMNS = 80
// Faster than this the eye does not follow.
const REDRAW_MS = 100
// In a file or a log a line now and then tells that it is still at work.
const LINE_EVERY_MS = 5_000

/** A bar that is drawn over itself on a terminal, and lines now and then where it is none. */
export function makeProgress(screen: Screen, nowMs: () => number): Progress {
  const startMs = nowMs()
  let shownMs = screen.isTTY ? Number.NEGATIVE_INFINITY : startMs
  let last: { done: number; text: string } | undefined

  const line = () => {
    const { done, text } = last!
    const percent = `${String(Math.floor(done * 100)).padStart(3)} %`
    const filled = Math.round(done * BAR_WIDTH)
    const bar = screen.isTTY ? `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ` : ''
    return `${bar}${percent}  ${text}, ${elapsed(nowMs() - startMs)}`.slice(0, (screen.columns ?? DEFAULT_COLUMNS) - 1)
  }
  return {
    show(done, text) {
      last = { done: Math.min(1, Math.max(0, done)), text }
      const now = nowMs()
      if (now - shownMs < (screen.isTTY ? REDRAW_MS : LINE_EVERY_MS)) return
      shownMs = now
      screen.write(screen.isTTY ? `\r\u{1b}[2K${line()}` : `${line()}\n`)
    },
    end() {
      if (last) screen.write(screen.isTTY ? `\r\u{1b}[2K${line()}\n` : `${line()}\n`)
    },
  }
}

function elapsed(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
