import { formatReais } from '../base/money.ts'
import type { Config } from '../config.ts'
import { audit, type AuditReport } from '../domain/audit.ts'
import { withContext, type Terminal } from './terminal.ts'

export async function auditCommand(config: Config, terminal: Terminal, options: { json?: boolean }): Promise<void> {
  const report = await withContext(config, terminal, (ctx) => audit(ctx, terminal.say))
  terminal.print(options.json ? JSON.stringify(report, null, 2) : describe(report))
  if (report.differences.length > 0) process.exitCode = 1
}

function describe(report: AuditReport): string {
  const lines = [
    `charges    ${report.charges}`,
    `payments   ${report.payments}`,
    `transfers  ${report.transfers}`,
    `credited   ${formatReais(report.creditedCents)}`,
    `fees       ${formatReais(report.feesCents)}`,
    `suspense   ${formatReais(report.suspenseCents)}`,
    `refunded   ${formatReais(report.refundedCents)}, and ${formatReais(report.refundingCents)} on its way`,
    ...(report.missingCents === 0 ? [] : [`missing    ${formatReais(report.missingCents)}`]),
    ...(report.writtenOffCents === 0 ? [] : [`written off ${formatReais(report.writtenOffCents)}`]),
    ...report.notCompared.map((name) => `not compared: ${name}, which is not configured any more`),
    '',
  ]
  if (report.differences.length === 0)
    return [...lines, 'Everything agrees: ledger, charges, payments, events, and the provider.'].join('\n')
  const named = report.differences.map(({ check, subject, text }) => `  ${check}: ${subject} ${text}`)
  return [
    ...lines,
    `${report.isCut ? 'More than ' : ''}${named.length} difference${named.length > 1 ? 's' : ''}:`,
    ...named,
  ].join('\n')
}
