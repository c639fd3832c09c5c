import { text } from 'node:stream/consumers'
import { isatty } from 'node:tty'
import { requireListen } from './process/listen.ts'
import { isSupervised, superviseProcesses } from './process/supervise.ts'
import { makeSystemdNotifier } from './process/systemd.ts'
import { runCommand } from './commands/program.ts'

let outputError: Error | undefined
// Without a listener, a reader that hung up would end the process with a stack trace.
process.stdout.on('error', (error) => (outputError ??= error))

const code = await runCommand(process.argv.slice(2), {
  stdout: process.stdout,
  outputError: () => outputError,
  stderr: process.stderr,
  readInput: () => text(process.stdin),
  keyboard: isatty(0) ? process.stdin : undefined,
  async start(config, print, processes) {
    if (processes > 1 && !isSupervised()) {
      await requireListen(config)
      const { makeLog } = await import('./log.ts')
      const systemd = makeSystemdNotifier(config.systemd, makeLog(config.logLevel))
      const told = { say: print, onReady: systemd.ready, onStopping: systemd.stopping }
      process.exit(await superviseProcesses(processes, told))
    }
    // Loading HTTP takes a third of a second. Other commands do not wait for it.
    const { start } = await import('./main.ts')
    await start(config, print)
  },
})
process.exitCode = code
// The channel to its parent would keep a process that failed alive.
if (code !== 0 && isSupervised()) process.exit()
