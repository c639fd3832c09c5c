import type { Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { formatReais } from '../base/money.ts'
import type { Config } from '../config.ts'
import { findPublicCharge } from '../domain/deposits/charge-reads.ts'
import { positive } from './arguments.ts'
import { withContext, type Terminal } from './terminal.ts'

const PAY_TIMEOUT_MS = 10_000

export function payCommand(program: Command, terminal: Terminal): void {
  program
    .command('pay')
    .description('pay a charge at the sandbox bank, as a payer would')
    .argument('<paymentLinkId>', 'of the charge')
    .option('--amount <cents>', 'another amount than the charge asks for', positive)
    .option('--times <n>', 'pay it this often', positive)
    .action((paymentLinkId, options) => payCharge(terminal, paymentLinkId, options))
}

async function payCharge(
  terminal: Terminal,
  paymentLinkId: string,
  options: { amount?: number; times?: number },
): Promise<void> {
  const config = terminal.loadConfig()
  requireSandbox(config, 'pay')
  await withContext(config, terminal, async (ctx, sandboxUrl) => {
    const charge = await findPublicCharge(ctx, paymentLinkId)
    if (!charge) throw new Fault('not_found', `Charge not found: ${paymentLinkId}`)
    const body = {
      txid: charge.id,
      ...(options.amount && { amountCents: options.amount }),
      ...(options.times && { times: options.times }),
    }
    for (const pix of await pay(sandboxBankUrl(config, sandboxUrl), body))
      terminal.print(`Paid ${formatReais(pix.amountCents)}, endToEndId ${pix.endToEndId}`)
  })
}

/** The provider that is a sandbox; `command` does not work without one. */
export function requireSandbox(config: Config, command: string): Config['providers'][number] {
  const sandbox = config.providers.find((provider) => provider.name === 'sandbox')
  if (!sandbox) throw new Fault('bad_request', `${command} works in sandbox mode only: PROVIDERS names no sandbox`)
  return sandbox
}

/** `sandboxUrl`: of the one that runs in this process or beside it. */
export function sandboxBankUrl(config: Config, sandboxUrl: string | undefined): string {
  const sandbox = requireSandbox(config, 'this')
  return sandbox.kind === 'sandbox' ? sandboxUrl! : sandbox.url
}

async function pay(bank: string, body: object): Promise<{ amountCents: number; endToEndId: string }[]> {
  const { request } = await import('undici')
  const answer = await request(`${bank}/bank/pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    headersTimeout: PAY_TIMEOUT_MS,
    bodyTimeout: PAY_TIMEOUT_MS,
  })
  const content = (await answer.body.json()) as { error?: string; pix?: { amountCents: number; endToEndId: string }[] }
  if (answer.statusCode >= 300 || !content.pix)
    throw new Fault('provider_refused', `the bank refused: ${content.error ?? `status ${answer.statusCode}`}`)
  return content.pix
}
