import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { prepareHome } from '../db/embedded/home.ts'
import { addCommand, positive } from './arguments.ts'
import type { Terminal } from './terminal.ts'

const STOP_WITHIN_MS = 3_000

export function sandboxCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'sandbox', '--port 4000')
    .description('run only the sandbox bank, a payment provider that speaks API Pix')
    .option('--port <port>', 'port to listen on (default: the last one, or any free one)', positive)
    .option('--host <host>', 'address to listen on (default: SANDBOX_HOST)')
    .addHelpText('after', '\nTo use it, set PROVIDER_SANDBOX_URL=http://127.0.0.1:<port>')
    .action((options) => runSandbox(terminal, options))
}

async function runSandbox(terminal: Terminal, options: { port?: number; host?: string }): Promise<void> {
  const config = terminal.loadConfig()
  const { openSandbox } = await import('../sandbox/server.ts')
  await prepareHome(config.home)
  const home = join(config.home, 'sandbox')
  const { host = config.sandboxHost, port = config.sandboxPort } = options
  const sandbox = await openSandbox({ home, port, host })
  if (sandbox.pid !== process.pid)
    throw new OperatorError(`The sandbox of ${home} already runs at ${sandbox.url}, in process ${sandbox.pid}`)
  closeWithGrace({ delay: STOP_WITHIN_MS, logger: false }, () => sandbox.stop())
  terminal.print(
    [
      `The sandbox bank is listening at ${sandbox.url}`,
      '',
      `  API Pix     ${sandbox.url}/cob, /pix, /webhook; token at ${sandbox.url}/oauth/token (sandbox / sandbox)`,
      `  Pay         curl ${sandbox.url}/bank/pay -H 'Content-Type: application/json' -d '{"emv":"…"}'`,
      `  Faults      curl -X PUT ${sandbox.url}/bank/faults -H 'Content-Type: application/json' -d '{"dropNotifications":true}'`,
      '',
    ].join('\n'),
  )
}
