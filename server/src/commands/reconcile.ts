import { InvalidArgumentError, type Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { formatReais } from '../base/money.ts'
import { listClosings, type Closing } from '../domain/reconciliation/closings.ts'
import type { Context } from '../domain/context.ts'
import { DAY_ZONE, dayAfter, dayStart, isDay } from '../domain/core/business-days.ts'
import { reconcileWindow, type ReconcileReport } from '../domain/reconciliation/reconcile.ts'
import type { ComparisonDifference } from '../domain/reconciliation/differences.ts'
import { addCommand, AS_JSON, limit, ONLY_PROVIDER, time } from './arguments.ts'
import { withProgress } from './progress.ts'
import { count, moment, table } from './format.ts'
import { consoleActor, printOne, withContext, type JsonOption, type Terminal } from './terminal.ts'

type When = { day: string } | { at: Date }

export function reconcileCommand(program: Command, terminal: Terminal): void {
  addCommand(
    program,
    'reconcile',
    '--from 2026-01-31',
    '--from 2026-01-01 --to 2026-01-31 --provider efi',
    '--from 2026-01-31T09:00:00-03:00 --to 2026-01-31T10:00:00-03:00',
    '--list',
  )
    .description('book payments that no notification reported, and compare providers with the ledger, day by day')
    .option('--from <when>', 'first day, or start time with its zone', when)
    .option('--to <when>', 'last day, or end time with its zone (default: the day of --from, or now)', when)
    .option(...ONLY_PROVIDER)
    .option('--list', 'list the closed days instead; --limit applies to this only')
    .option(...limit(30))
    .option(...AS_JSON)
    .addHelpText(
      'after',
      `
Days are in Brasília time (${DAY_ZONE}). Exits 1 and lists the differences if there are any.
A finished day is closed with its totals. The server also closes each day, two hours after its end.`,
    )
    .action((options) => (options.list ? listCommand(terminal, options) : compareCommand(terminal, options)))
}

type Options = JsonOption & { from?: When; to?: When; provider?: string; limit: number }

async function compareCommand(terminal: Terminal, options: Options): Promise<void> {
  const { from, to, provider } = options
  if (!from)
    throw new OperatorError(
      'Name the days: --from 2026-01-31, with --to for more than one; or list closed days with --list',
    )
  const report = await withContext(terminal, (ctx) => {
    const window = { from: startOf(from), to: endOf(to ?? ('day' in from ? from : { at: ctx.now() })) }
    return compareWithProgress(ctx, terminal, { ...window, provider })
  })
  printOne(terminal, options, report, describe)
  if (report.differenceCount > 0) terminal.setExitCode(1)
}

function compareWithProgress(
  ctx: Context,
  terminal: Terminal,
  request: { from: Date; to: Date; provider: string | undefined },
): Promise<ReconcileReport> {
  const names = request.provider ? [request.provider] : ctx.providers.map((provider) => provider.name)
  const lengthMs = request.to.getTime() - request.from.getTime()
  return withProgress(terminal.screen, (show) =>
    reconcileWindow(ctx, consoleActor(), request, ({ provider, until, pages, payments }) => {
      const within = (until.getTime() - request.from.getTime()) / lengthMs
      const text = `${provider}: ${count(pages, 'page')}, ${count(payments, 'payment')}`
      show((names.indexOf(provider) + within) / names.length, text)
    }),
  )
}

function listCommand(terminal: Terminal, options: Options): Promise<void> {
  return withContext(terminal, async (ctx) => {
    const closings = await listClosings(ctx, { provider: options.provider, limit: options.limit })
    if (closings.length === 0 && !options.json) return terminal.say('No day has been closed yet.')
    printOne(terminal, options, closings, describeClosings)
  })
}

const TOTALS = ['DAY', 'PROVIDER', 'RECEIVED', 'TOTAL', 'IN LEDGER', 'TOTAL']

function totalsOf(day: ReconcileReport['comparisons'][number] | Closing): (string | number)[] {
  return [
    day.day,
    day.provider,
    day.providerCount,
    formatReais(day.providerTotalCents),
    day.ledgerCount,
    formatReais(day.ledgerTotalCents),
  ]
}

function describe({ comparisons, differenceCount }: ReconcileReport): string {
  const rows = comparisons.map((comparison) => [
    ...totalsOf(comparison),
    comparison.settledCount,
    comparison.differenceCount,
    comparison.revision === null ? 'not closed: not a whole finished day' : `revision ${comparison.revision}`,
  ])
  const unread = comparisons.flatMap(({ day, provider, refundsNotCompared: many }) =>
    many === 0 ? [] : [`  ${day} refunds: ${provider} does not report refunds of ${count(many, 'payment')}`],
  )
  const agrees = unread.length === 0 ? 'Both sides agree.' : 'Both sides agree, as far as they could be compared.'
  return [
    table([...TOTALS, 'BOOKED NOW', 'DIFFERENCES', 'CLOSING'], rows),
    '',
    ...(differenceCount === 0
      ? [agrees]
      : [`${count(differenceCount, 'difference')}:`, ...listDifferences(comparisons)]),
    ...(unread.length === 0 ? [] : ['Not compared:', ...unread]),
  ].join('\n')
}

function describeClosings(closings: Closing[]): string {
  const rows = closings.map((closing) => [
    ...totalsOf(closing),
    closing.differenceCount,
    closing.revision,
    moment(closing.closedAt),
  ])
  const differences = listDifferences(closings)
  return [
    table([...TOTALS, 'DIFFERENCES', 'REVISION', 'CLOSED (UTC)'], rows),
    ...(differences.length > 0 ? ['', 'Differences at the time of closing:', ...differences] : []),
  ].join('\n')
}

type Compared = { day: string; provider: string; differenceCount: number; differences: ComparisonDifference[] }

function listDifferences(days: Compared[]): string[] {
  return days.flatMap(({ day, provider, differenceCount, differences }) => [
    ...differences.map(({ kind, endToEndId, text }) => `  ${day} ${kind}: payment ${endToEndId} ${text}`),
    ...(differenceCount > differences.length
      ? [`  ${day} and ${differenceCount - differences.length} more at ${provider}`]
      : []),
  ])
}

function when(text: string): When {
  if (isDay(text)) return { day: text }
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) throw new InvalidArgumentError('The calendar has no such day.')
  return { at: time(text) }
}

function startOf(at: When): Date {
  return 'day' in at ? dayStart(at.day) : at.at
}

function endOf(at: When): Date {
  return 'day' in at ? dayStart(dayAfter(at.day)) : at.at
}
