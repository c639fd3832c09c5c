import { text } from 'node:stream/consumers'
import { requireListen } from './base/listen.ts'
import { isSupervised, superviseProcesses } from './base/supervise.ts'
import { runCommand } from './commands/program.ts'

const code = await runCommand(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  readInput: () => text(process.stdin),
  async start(config, print, processes) {
    if (processes > 1 && !isSupervised()) {
      await requireListen(config)
      process.exit(await superviseProcesses(processes, print))
    }
    // Loading HTTP takes a third of a second. Other commands do not wait for it.
    const { start } = await import('./main.ts')
    await start(config, print)
  },
})
process.exitCode = code
// The channel to its parent would keep a process that failed alive.
if (code !== 0 && isSupervised()) process.exit()
