import { InvalidArgumentError, type Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { audit, type AuditReport } from '../domain/audit/audit.ts'
import { DAY_ZONE, dayOf, isDay } from '../domain/core/business-days.ts'
import { makeProgress } from './progress.ts'
import { json, withContext, type Terminal } from './terminal.ts'

// A script that only asks for 0 or not 0 is told of both. 2 is what shells and commander use for wrong arguments.
const EXIT_DIFFERENCES = 1
const EXIT_NOT_COMPARED = 3

type Options = { json?: boolean; since?: string }

export function auditCommand(program: Command, terminal: Terminal): void {
  program
    .command('audit')
    .description(
      "prove that balances, charges, payments, refunds, events and the provider's list agree; names each difference",
    )
    .option('--since <day>', 'compare with providers from this day on; the books are proved whole all the same', day)
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
Nothing is booked or changed. Days are days in Brazil (${DAY_ZONE}).

Exit codes:
  0  everything was compared, and agrees
  1  there are differences, or the audit could not be carried out
  3  no difference was found, but something could not be compared: the output says what, and why`,
    )
    .action((options: Options) => runAudit(terminal, options))
}

type Cost = { tookSeconds: number; peakMemoryBytes: number }

async function runAudit(terminal: Terminal, options: Options): Promise<void> {
  const startMs = performance.now()
  const report = await withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const bar = makeProgress(terminal.screen, Date.now)
    try {
      const onProgress = ({ done, text }: { done: number; text: string }) => bar.show(done, text)
      return await audit(ctx, { since: options.since, onProgress })
    } finally {
      bar.end()
    }
  })
  const cost: Cost = {
    tookSeconds: Math.round((performance.now() - startMs) / 100) / 10,
    // Told in kilobytes.
    peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
  }
  terminal.print(options.json ? json({ ...report, ...cost }) : describe(report, cost))
  if (report.differences.length > 0) terminal.setExitCode(EXIT_DIFFERENCES)
  else if (report.notCompared.length > 0) terminal.setExitCode(EXIT_NOT_COMPARED)
}

function describe(report: AuditReport, { tookSeconds, peakMemoryBytes }: Cost): string {
  return [
    `charges    ${report.charges}`,
    `payments   ${report.payments}`,
    `transfers  ${report.transfers}`,
    `credited   ${formatReais(report.creditedCents)}`,
    `fees       ${formatReais(report.feesCents)}`,
    `suspense   ${formatReais(report.suspenseCents)}`,
    `refunded   ${formatReais(report.refundedCents)}, and ${formatReais(report.refundingCents)} on its way`,
    ...(report.missingCents === 0 ? [] : [`missing    ${formatReais(report.missingCents)}`]),
    ...(report.writtenOffCents === 0 ? [] : [`written off ${formatReais(report.writtenOffCents)}`]),
    ...report.compared.map(
      ({ provider, payments, totalCents, from }) =>
        `compared   ${provider}: ${payments} received since ${dayOf(from)}, ${formatReais(totalCents)}`,
    ),
    `took       ${tookSeconds} s, and ${Math.ceil(peakMemoryBytes / 1024 / 1024)} MiB of memory at the most`,
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
    const count = `${isCut ? 'More than ' : ''}${named.length} difference${named.length > 1 ? 's' : ''}:`
    return [count, ...named, ...unread]
  }
  if (unread.length > 0) return ['No difference was found, but not everything could be compared.', ...unread]
  const providers = report.compared.map(({ provider }) => provider).join(', ')
  const reach = since === null ? '' : `, as far as it was asked for: since ${since}`
  return [`Everything agrees: ledger, charges, payments, refunds, events, and the list of ${providers}${reach}.`]
}

function day(text: string): string {
  if (!isDay(text)) throw new InvalidArgumentError('It must be a day such as 2026-01-31.')
  return text
}
