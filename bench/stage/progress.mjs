/** One line at a terminal that says what goes on, and lines that stay. Where nobody watches, only those that stay. */
export function makeProgress(screen = process.stderr) {
  const began = performance.now()
  const clear = () => screen.isTTY && screen.write('\r\x1b[K')
  return {
    clear,
    say(text) {
      if (!screen.isTTY) return
      const seconds = Math.round((performance.now() - began) / 1000)
      screen.write(`\r\x1b[K${`${seconds} s  ${text}`.slice(0, (screen.columns ?? 80) - 1)}`)
    },
    keep(text) {
      clear()
      screen.write(`${text}\n`)
    },
  }
}
