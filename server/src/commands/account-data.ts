import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { eraseAccount, whyNotErasable } from '../domain/accounts/erase-account.ts'
import type { Context } from '../domain/context.ts'
import type { Core } from '../domain/core/core.ts'
import { cancelOpenCharges } from '../domain/deposits/cancel-open-charges.ts'
import { exportAccount } from '../domain/reports/export-account.ts'
import { requireAccount } from './api.ts'
import { addCommand, OF_ACCOUNT } from './arguments.ts'
import { count } from './format.ts'
import { openPrompt } from './prompt.ts'
import { consoleActor, databaseAction, withContext, type Terminal } from './terminal.ts'
import { addChange } from './user.ts'

// The law entitles account holders to a copy of their data and to its erasure. See docs/privacy.md.

export function accountDataCommands(account: Command, terminal: Terminal): void {
  addCommand(account, 'export', '--email ana@loja.example > ana.json')
    .description('print everything stored about an account and its holder as JSON, without secrets')
    .requiredOption(...OF_ACCOUNT)
    .action(databaseAction(terminal, exportCommand))
  const cancel = (options: ChangeOptions) => withContext(terminal, (ctx) => cancelCommand(ctx, terminal, options))
  addChange(account, 'cancel-charges', 'closed by request', cancel)
    .description('cancel all open charges of a suspended account, so that nobody can pay them')
    .addHelpText('after', '\nExits 1 if a charge can still be paid, and says why. Repeat it then.')
  const erase = (options: EraseOptions) => databaseAction(terminal, eraseCommand)(options)
  addChange(account, 'erase', 'asked for by letter', erase)
    .description('erase the personal data of a suspended account, keeping the books; this cannot be undone')
    .option('--paid-out', 'the balance, if any, was paid to its holder outside of guiche')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      `
It erases e-mail, name, password, second factor, sessions, invitations and webhooks,
revokes the API keys, and deletes what the audit log says about sign-ins, keys and webhooks.
Deposits, refunds and the ledger stay, under the id of the account: the law wants them kept.
First print a copy: npx guiche account export --email <email>`,
    )
}

async function exportCommand(core: Core, terminal: Terminal, { email }: { email: string }): Promise<void> {
  const { accountId } = await requireAccount(core, email)
  for await (const piece of exportAccount(core, accountId)) {
    terminal.requireOutput()
    terminal.output.write(piece)
  }
}

type ChangeOptions = { email: string; reason: string }

async function cancelCommand(ctx: Context, terminal: Terminal, { email, reason }: ChangeOptions): Promise<void> {
  const account = await requireAccount(ctx, email)
  const result = await cancelOpenCharges(ctx, consoleActor(), account.accountId, reason)
  if (result === 'in_use')
    throw new OperatorError(
      `${account.email} is in use and would open new charges; first: guiche account suspend --email ${account.email} --reason "…"`,
    )
  terminal.print(`${account.email}: ${count(result.canceled, 'charge')} canceled`)
  for (const { paymentLinkId, why } of result.left) terminal.say(`${paymentLinkId} can still be paid: ${why}`)
  if (result.left.length > 0) terminal.setExitCode(1)
}

type EraseOptions = ChangeOptions & { paidOut?: boolean; yes?: boolean }

async function eraseCommand(core: Core, terminal: Terminal, options: EraseOptions): Promise<void> {
  const account = await requireAccount(core, options.email)
  const erasure = { accountId: account.accountId, isPaidOut: options.paidOut ?? false }
  refuseIf(account.email, await whyNotErasable(core, erasure))
  if (!options.yes) await confirm(terminal, account)
  const erased = await eraseAccount(core, consoleActor(), erasure, options.reason)
  if ('refusal' in erased) return refuseIf(account.email, erased.refusal)
  const { sessions, keys, webhooks, auditLines } = erased
  terminal.print(`${account.email}: erased; the account is now ${account.accountId}@erased.invalid`)
  terminal.say(
    `${count(sessions, 'session')} ended, ${count(keys, 'key')} revoked, ${count(webhooks, 'webhook')} and ` +
      `${count(auditLines, 'line')} of the audit log erased. Backups keep the data until you delete them.`,
  )
}

function refuseIf(email: string, refusal: string | undefined): void {
  if (refusal !== undefined) throw new OperatorError(`${email} cannot be erased: ${refusal}`)
}

async function confirm(terminal: Terminal, { email, name }: { email: string; name: string }): Promise<void> {
  if (!terminal.keyboard) throw new OperatorError('Nobody can confirm here: add --yes to erase it for good')
  terminal.say(`This erases the personal data of ${name} for good. It cannot be undone.`)
  const prompt = openPrompt(terminal.keyboard, terminal.screen)
  try {
    const typed = await prompt.ask(`Type ${email} to erase it:`)
    if (typed.toLowerCase() !== email) throw new OperatorError('That is another e-mail; nothing was erased')
  } finally {
    prompt.close()
  }
}
