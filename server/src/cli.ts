import { text } from 'node:stream/consumers'
import { runCommand } from './commands/program.ts'

process.exitCode = await runCommand(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  readInput: () => text(process.stdin),
  async start(config, print) {
    // HTTP takes a third of a second to load, which no other command should wait for.
    const { start } = await import('./main.ts')
    await start(config, print)
  },
})
