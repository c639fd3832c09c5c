import assert from 'node:assert/strict'
import type { Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { formatReais } from '../base/money.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Config, Remote } from '../config/config.ts'
import type { Context } from '../domain/context.ts'
import { findPublicCharge } from '../domain/deposits/charge-reads.ts'
import { readPayerNumber } from '../domain/deposits/payer-numbers.ts'
import { addCommand, id, positive, taxId } from './arguments.ts'
import { withContext, type Terminal } from './terminal.ts'

const PAY_TIMEOUT_MS = 10_000

export function payCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'pay', '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57')
    .description('pay a charge at the sandbox bank, as a payer would')
    .argument('<paymentLinkId>', 'payment link id of the charge', id)
    .option('--amount <cents>', 'amount in cents (default: that of the charge)', positive)
    .option('--times <n>', 'how often to pay (default: once)', positive)
    .option('--payer <taxId>', 'CPF or CNPJ of the person who pays (default: the one that the charge names)', taxId)
    .action((paymentLinkId, options) => payCharge(terminal, paymentLinkId, options))
}

type PayOptions = { amount?: number; times?: number; payer?: string }
type Answer = { error?: string; pix?: { amountCents: number; endToEndId: string }[] }

async function payCharge(terminal: Terminal, paymentLinkId: string, options: PayOptions): Promise<void> {
  const remote = terminal.loadRemote()
  if (remote) return payAt(remote, terminal, paymentLinkId, options)
  const { amount: amountCents, times } = options
  await withSandbox(terminal.loadConfig(), terminal, async (ctx, bank) => {
    const charge = await findPublicCharge(ctx, paymentLinkId)
    if (!charge) throw new Fault('not_found', `Charge not found: ${paymentLinkId}`)
    const payer = options.payer ?? (await readPayerNumber(ctx, charge.id))?.number
    const body = { txid: charge.id, amountCents, times, payer }
    const { status, text } = await postToBank(`${bank.url}/pay`, body, PAY_TIMEOUT_MS)
    const { error, pix } = JSON.parse(text) as Answer
    if (status >= 300 || !pix) throw new Fault('provider_refused', `The bank refused: ${error ?? `status ${status}`}`)
    for (const paid of pix) terminal.print(`Paid ${formatReais(paid.amountCents)}, endToEndId ${paid.endToEndId}`)
  })
}

/** Presses the button of the payment page of a sandbox, which is no part of the API. */
async function payAt({ url }: Remote, terminal: Terminal, paymentLinkId: string, options: PayOptions) {
  if (Object.keys(options).length > 0)
    throw new OperatorError(
      '--amount, --times and --payer need the sandbox bank itself: unset GUICHE_URL where it runs',
    )
  const to = `${url}/payment-link/${encodeURIComponent(paymentLinkId)}/sandbox-payment`
  const init: RequestInit = { method: 'POST', redirect: 'manual', signal: AbortSignal.timeout(PAY_TIMEOUT_MS) }
  const response = await fetch(to, init).catch((cause: Error) => {
    throw new OperatorError(`GUICHE_URL ${url}: no answer: ${(cause.cause as Error | undefined) ?? cause}`, { cause })
  })
  // The answer to a form is a redirect back to the page.
  if (response.status !== 303) {
    const { error } = (await response.json().catch(() => ({}))) as Answer
    throw new OperatorError(error ?? `GUICHE_URL ${url}: status ${response.status}, and the body is not of guiche`)
  }
  terminal.print(`The sandbox bank of ${url} was told to pay ${paymentLinkId}`)
}

export async function withSandbox(
  config: Config,
  terminal: Terminal,
  work: (ctx: Context, bank: { name: string; url: string }) => Promise<void>,
): Promise<void> {
  const sandbox = config.providers.find((provider) => provider.name === 'sandbox')
  if (!sandbox) throw new Fault('bad_request', 'This command works in sandbox mode only: PROVIDERS names no sandbox')
  const run = async (ctx: Context) => {
    const { sandboxBankUrl: url } = ctx.settings
    assert(url, 'the context opens the sandbox')
    await work(ctx, { name: sandbox.name, url })
  }
  await withContext(terminal, run, config)
}

export async function postToBank(url: string, body: object, timeoutMs: number) {
  const { request } = await import('undici')
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  })
  return { status: answer.statusCode, text: await answer.body.text() }
}
