import { InvalidArgumentError, type Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { formatReais } from '../base/money.ts'
import type { Config } from '../config/config.ts'
import { audit, type AuditReport } from '../domain/audit/audit.ts'
import type { Context } from '../domain/context.ts'
import { DAY_ZONE, dayOf, isDay } from '../domain/core/business-days.ts'
import { addCommand, AS_JSON } from './arguments.ts'
import { withProgress } from './progress.ts'
import { count } from './format.ts'
import { sealAsFound } from '../domain/core/seal-as-found.ts'
import { consoleActor, printOne, withContext, type JsonOption, type Terminal } from './terminal.ts'

// Shells use 2 for wrong arguments.
const EXIT_DIFFERENCES = 1
export const EXIT_NOT_COMPARED = 3

type Options = JsonOption & { since?: string; sealAsFound?: boolean; reason?: string }

export function auditCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'audit', '--since 2026-01-31')
    .description(
      "check that ledger, charges, payments, refunds, events and the providers' lists agree; lists differences",
    )
    .option('--since <day>', 'compare with providers from this day on; the ledger is always checked whole', day)
    .option(
      '--seal-as-found',
      'first take rows whose seals are missing or wrong as genuine, for all to see in the audit log',
    )
    .option('--reason <text>', 'with --seal-as-found: why these rows are genuine')
    .option(...AS_JSON)
    .addHelpText(
      'after',
      `
An audit changes nothing, unless --seal-as-found is given: see docs/operations.md. Days are in Brasília time (${DAY_ZONE}).

Exit codes:
  0  everything was compared and agrees
  1  there are differences, or the audit failed
  3  no differences, but something could not be compared; the output says what and why`,
    )
    .action(async (options: Options) => void (await runAudit(terminal, options, sealing(options))))
}

function sealing({ sealAsFound: isWanted, reason }: Options) {
  if (isWanted !== (reason !== undefined ? true : undefined))
    throw new OperatorError('--seal-as-found and --reason belong together')
  return reason === undefined ? {} : { prepare: (ctx: Context) => sealAsFound(ctx, consoleActor(), reason) }
}

type Cost = { tookSeconds: number; peakMemoryBytes: number }

/** `prepare` runs first, in the same context. */
export async function runAudit(
  terminal: Terminal,
  options: Options,
  { config, prepare }: { config?: Config; prepare?: (ctx: Context) => Promise<void> } = {},
): Promise<AuditReport> {
  const startMs = performance.now()
  const work = async (ctx: Context) => {
    await prepare?.(ctx)
    return withProgress(terminal.screen, (show) =>
      audit(ctx, { since: options.since, onProgress: ({ done, text }) => show(done, text) }),
    )
  }
  const report = await withContext(terminal, work, config)
  const cost: Cost = {
    tookSeconds: Math.round((performance.now() - startMs) / 100) / 10,
    // maxRSS is in kilobytes.
    peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
  }
  printOne(terminal, options, { ...report, ...cost }, describe)
  if (report.differences.length > 0) terminal.setExitCode(EXIT_DIFFERENCES)
  else if (report.notCompared.length > 0) terminal.setExitCode(EXIT_NOT_COMPARED)
  return report
}

function describe(report: AuditReport & Cost): string {
  return [
    `charges    ${report.charges}`,
    `payments   ${report.payments}`,
    `transfers  ${report.transfers}`,
    `credited   ${formatReais(report.creditedCents)}`,
    `fees       ${formatReais(report.feesCents)}`,
    `suspense   ${formatReais(report.suspenseCents)}`,
    `refunded   ${formatReais(report.refundedCents)}, and ${formatReais(report.refundingCents)} in progress`,
    ...(report.missingCents === 0 ? [] : [`missing    ${formatReais(report.missingCents)}`]),
    ...(report.writtenOffCents === 0 ? [] : [`written off ${formatReais(report.writtenOffCents)}`]),
    ...report.compared.map(
      ({ provider, payments, totalCents, from }) =>
        `compared   ${provider}: ${payments} received since ${dayOf(from)}, ${formatReais(totalCents)}`,
    ),
    `took       ${report.tookSeconds} s, at most ${Math.ceil(report.peakMemoryBytes / 1024 / 1024)} MiB of memory`,
    '',
    ...verdict(report),
  ].join('\n')
}

function verdict(report: AuditReport): string[] {
  const { differences, isCut, notCompared, since } = report
  const left = notCompared.map(({ provider, what, why }) => `  ${provider}: ${what}: ${why}`)
  const unread = left.length === 0 ? [] : ['Not compared:', ...left]
  if (differences.length > 0) {
    const named = differences.map(({ check, subject, text }) => `  ${check}: ${subject} ${text}`)
    return [`${isCut ? 'More than ' : ''}${count(named.length, 'difference')}:`, ...named, ...unread]
  }
  if (unread.length > 0) return ['No differences, but not everything could be compared.', ...unread]
  const providers = report.compared.map(({ provider }) => provider).join(', ')
  const reach = since === null ? '' : ` since ${since}`
  return [`Everything agrees: ledger, charges, payments, refunds, events, and the list of ${providers}${reach}.`]
}

function day(text: string): string {
  if (!isDay(text)) throw new InvalidArgumentError('It must be a day such as 2026-01-31.')
  return text
}
