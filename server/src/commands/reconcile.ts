import { InvalidArgumentError, type Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { formatReais } from '../base/money.ts'
import { listClosings, type Closing } from '../domain/reconciliation/closings.ts'
import type { Context } from '../domain/context.ts'
import { DAY_ZONE, dayAfter, dayStart, isDay } from '../domain/core/business-days.ts'
import { reconcileWindow, type ReconcileReport } from '../domain/reconciliation/reconcile.ts'
import type { ComparisonDifference } from '../domain/reconciliation/differences.ts'
import { time, wholeNumber } from './arguments.ts'
import { makeProgress } from './progress.ts'
import { consoleActor, json, moment, table, withContext, type Terminal } from './terminal.ts'

const DEFAULT_LIMIT = 30
const MAX_LIMIT = 1000

/** A day, or a moment. */
type When = { day: string } | { at: Date }

export function reconcileCommand(program: Command, terminal: Terminal): void {
  program
    .command('reconcile')
    .description("settle what notifications missed and compare a provider's list with the books, day by day")
    .option('--from <when>', 'the first day, or a time with its zone', when)
    .option('--to <when>', 'the last day, or the time before which to stop (default: the day of --from, or now)', when)
    .option('--provider <name>', 'of this provider only')
    .option('--list', 'show the closings of the last days instead')
    .option(
      '--limit <n>',
      `with --list: how many, up to ${MAX_LIMIT}`,
      wholeNumber({ min: 1, max: MAX_LIMIT }),
      DEFAULT_LIMIT,
    )
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      `
Days are days in Brazil (${DAY_ZONE}), and --to includes its day. Exits 1 when there are differences, and names each.
A whole day that is over is closed with its totals; the server closes each day by itself, two hours after its end.

Examples:
  $ npx guiche reconcile --from 2026-01-31
  $ npx guiche reconcile --from 2026-01-01 --to 2026-01-31 --provider efi
  $ npx guiche reconcile --from 2026-01-31T09:00:00-03:00 --to 2026-01-31T10:00:00-03:00
  $ npx guiche reconcile --list`,
    )
    .action((options) => (options.list ? listCommand(terminal, options) : compareCommand(terminal, options)))
}

type Options = { from?: When; to?: When; provider?: string; limit: number; json?: boolean }

async function compareCommand(terminal: Terminal, options: Options): Promise<void> {
  const { from, to, provider } = options
  if (!from) throw new OperatorError('say which days: --from 2026-01-31, and --to for more than one; or --list')
  const report = await withContext(terminal.loadConfig(), terminal, (ctx) => {
    const window = { from: startOf(from), to: endOf(to ?? ('day' in from ? from : { at: ctx.now() })) }
    return compareWithProgress(ctx, terminal, { ...window, provider })
  })
  terminal.print(options.json ? json(report) : describe(report))
  if (report.differenceCount > 0) terminal.setExitCode(1)
}

async function compareWithProgress(
  ctx: Context,
  terminal: Terminal,
  request: { from: Date; to: Date; provider: string | undefined },
): Promise<ReconcileReport> {
  const bar = makeProgress(terminal.screen, Date.now)
  const names = request.provider ? [request.provider] : ctx.providers.map((provider) => provider.name)
  const lengthMs = request.to.getTime() - request.from.getTime()
  try {
    return await reconcileWindow(ctx, consoleActor(), request, ({ provider, until, pages, payments }) => {
      const within = (until.getTime() - request.from.getTime()) / lengthMs
      const text = `${provider}: ${count(pages, 'page')}, ${count(payments, 'payment')}`
      bar.show((names.indexOf(provider) + within) / names.length, text)
    })
  } finally {
    bar.end()
  }
}

async function listCommand(terminal: Terminal, options: Options): Promise<void> {
  await withContext(terminal.loadConfig(), terminal, async (ctx) => {
    const closings = await listClosings(ctx, { provider: options.provider, limit: options.limit })
    if (options.json) return terminal.print(json(closings))
    if (closings.length === 0) return terminal.say('No day has been closed yet.')
    terminal.print(describeClosings(closings))
  })
}

function describe({ statements, differenceCount }: ReconcileReport): string {
  const head = ['DAY', 'PROVIDER', 'RECEIVED', 'TOTAL', 'IN BOOKS', 'TOTAL', 'BOOKED NOW', 'DIFFERENCES', 'CLOSING']
  const rows = statements.map((one) => [
    one.day,
    one.provider,
    String(one.providerCount),
    formatReais(one.providerTotalCents),
    String(one.ledgerCount),
    formatReais(one.ledgerTotalCents),
    String(one.settledCount),
    String(one.differenceCount),
    one.revision === null ? 'none, it is not a whole day that is over' : `revision ${one.revision}`,
  ])
  const named = nameDifferences(statements)
  const untold = statements.flatMap(({ day, provider, refundsNotCompared: untoldCount }) => {
    const text = `${provider} does not tell what was given back of ${count(untoldCount, 'payment')}`
    return untoldCount === 0 ? [] : [`  ${day} refunds: ${text}`]
  })
  const agrees = untold.length === 0 ? 'Both sides agree.' : 'Both sides agree, as far as they could be compared.'
  const verdict = differenceCount === 0 ? [agrees] : [`${count(differenceCount, 'difference')}:`, ...named]
  const left = untold.length === 0 ? [] : ['Not compared:', ...untold]
  return [table(head, rows), '', ...verdict, ...left].join('\n')
}

function describeClosings(closings: Closing[]): string {
  const head = ['DAY', 'PROVIDER', 'RECEIVED', 'TOTAL', 'IN BOOKS', 'TOTAL', 'DIFFERENCES', 'REVISION', 'CLOSED (UTC)']
  const rows = closings.map((one) => [
    one.day,
    one.provider,
    String(one.providerCount),
    formatReais(one.providerTotalCents),
    String(one.ledgerCount),
    formatReais(one.ledgerTotalCents),
    String(one.differenceCount),
    String(one.revision),
    moment(one.closedAt),
  ])
  const named = nameDifferences(closings)
  return [table(head, rows), ...(named.length > 0 ? ['', 'Differences when they were closed:', ...named] : [])].join(
    '\n',
  )
}

type Compared = { day: string; provider: string; differenceCount: number; differences: ComparisonDifference[] }

function nameDifferences(days: Compared[]): string[] {
  return days.flatMap(({ day, provider, differenceCount, differences }) => [
    ...differences.map(({ kind, endToEndId, text }) => `  ${day} ${kind}: payment ${endToEndId} ${text}`),
    ...(differenceCount > differences.length
      ? [`  ${day} and ${differenceCount - differences.length} more at ${provider}`]
      : []),
  ])
}

function count(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? '' : 's'}`
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
