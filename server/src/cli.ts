import { text } from 'node:stream/consumers'
import { runCommand } from './commands/program.ts'

process.exitCode = await runCommand(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  readInput: () => text(process.stdin),
  async start(config, print) {
    // Loading HTTP takes a third of a second. Other commands do not wait for it.
    const { start } = await import('./main.ts')
    await start(config, print)
  },
})
