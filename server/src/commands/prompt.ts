import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { OperatorError } from '../base/operator-error.ts'
import type { Screen } from '../log.ts'
import type { Keyboard } from './terminal.ts'

export type Prompt = {
  /** Resolves to the line, trimmed. A secret is not shown. */
  ask(text: string, options?: { isSecret?: boolean }): Promise<string>
  close(): void
}

export function openPrompt(keyboard: Keyboard, screen: Screen): Prompt {
  let isSilent = false
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      if (!isSilent) screen.write(chunk.toString())
      done()
    },
  })
  // Readline needs the width to place the cursor in a long line.
  Object.assign(output, { columns: screen.columns })
  // Without a history the arrow keys cannot show a secret.
  const lines = createInterface({ input: keyboard, output, terminal: true, historySize: 0 })
  // Keeps lines that are pasted at once until they are asked for.
  const typed = lines[Symbol.asyncIterator]()
  return {
    async ask(text, { isSecret = false } = {}) {
      lines.setPrompt(`${text} `)
      lines.prompt()
      isSilent = isSecret
      const { value, done } = await typed.next()
      isSilent = false
      if (isSecret) screen.write('\n')
      // Ctrl-C and Ctrl-D.
      if (done) throw new OperatorError('Stopped; nothing was written')
      return value.trim()
    },
    close: () => lines.close(),
  }
}
