import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { prepareHome } from '../db/embedded/home.ts'
import { oneOf } from '../config/variables.ts'
import { BANK_LIST, BANKS, type Bank } from '../sandbox/banks.ts'
import type { Sandbox } from '../sandbox/server.ts'
import { addCommand, positive } from './arguments.ts'
import type { Terminal } from './terminal.ts'

const STOP_WITHIN_MS = 3_000

export function sandboxCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'sandbox', '--port 4000')
    .description('run only the sandbox bank, a payment provider that speaks API Pix')
    .option('--port <port>', 'port to listen on (default: the last one, or any free one)', positive)
    .option('--as <bank>', `behave as one bank, and refuse other ways of being called: ${BANK_LIST.join(', ')}`)
    .option('--host <host>', 'address to listen on (default: SANDBOX_HOST)')
    .addHelpText('after', '\nTo use it, set PROVIDER_SANDBOX_URL=http://127.0.0.1:<port>')
    .action((options) => runSandbox(terminal, options))
}

type Options = { port?: number; host?: string; as?: string }

async function runSandbox(terminal: Terminal, options: Options): Promise<void> {
  const config = terminal.loadConfig()
  const { openSandbox } = await import('../sandbox/server.ts')
  const as = options.as === undefined ? undefined : oneOf({ '--as': options.as }, '--as', BANK_LIST)
  await prepareHome(config.home)
  const home = join(config.home, 'sandbox')
  const { host = config.sandboxHost, port = config.sandboxPort } = options
  const sandbox = await openSandbox({ home, port, host, as })
  if (sandbox.pid !== process.pid)
    throw new OperatorError(`The sandbox of ${home} already runs at ${sandbox.url}, in process ${sandbox.pid}`)
  closeWithGrace({ delay: STOP_WITHIN_MS, logger: false }, () => sandbox.stop())
  if (as) return terminal.print(asBank(as, sandbox))
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

/** With these the whole service runs against this bank. */
export function settingsFor(as: Bank, { customer }: Sandbox): [name: string, value: string | undefined][] {
  const { login, query } = BANKS[as]
  const files = customer?.files
  const settings = {
    BANK: as,
    URL: customer?.url,
    TOKEN_URL: customer?.tokenUrl,
    CLIENT_ID: 'sandbox',
    ...(login !== 'certificate' && { CLIENT_SECRET: 'sandbox' }),
    ...(query.length > 0 && { QUERY: query.map((name) => `${name}=sandbox`).join('&') }),
    CERT: files?.cert,
    CERT_KEY: files?.key,
    CA: files?.ca,
  }
  return [
    ['PROVIDERS', 'sandbox'],
    ...Object.entries(settings).map(([name, value]): [string, typeof value] => [`PROVIDER_SANDBOX_${name}`, value]),
  ]
}

function asBank(as: Bank, sandbox: Sandbox): string {
  const { url } = sandbox
  return [
    `The sandbox bank is listening at ${url}, and behaves as ${BANKS[as].title}. Put this into .env to use it:`,
    '',
    ...settingsFor(as, sandbox).map(([name, value]) => `${name}=${value}`),
    '',
    `Pay as the payer at ${url}/bank/pay, and cause faults at ${url}/bank/faults.`,
  ].join('\n')
}
