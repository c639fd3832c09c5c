import { get } from '../../base/api.ts'
import { timeZoneText } from '../../base/dates.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { chosenPeriod } from '../../ui/data/periods.ts'
import { useFilters } from '../../base/queries.ts'
import { useMe } from '../../base/session.ts'
import type { Statement, StatementLine } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { PrintIcon } from '../../ui/icons.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, Page, Skeleton } from '../../ui/page.tsx'
import { useQuery } from '@tanstack/react-query'
import { useLineTitle, useNote } from './line.tsx'
import { Summary, useColumnTexts } from './summary.tsx'

const useTexts = translations({
  title: ['Extrato', 'Statement'],
  back: ['Extrato', 'Statement'],
  print: ['Imprimir', 'Print'],
  account: ['Conta', 'Account'],
  period: ['Período', 'Period'],
  days: (from: string, to: string) => [`${from} a ${to}`, `${from} to ${to}`],
  zone: ['Fuso horário', 'Time zone'],
  lines: ['Lançamentos', 'Entries'],
  tooLong: (max: string) => [
    `Este período tem mais de ${max} lançamentos, que são muitos para o papel. Aqui estão os saldos e totais; exporte o extrato para ver todos.`,
    `This period has more than ${max} entries, which are too many for paper. Here are balances and totals; export the statement to see all.`,
  ],
})

/** Some thirty sheets of paper. */
const MAX_LINES = 1_000
/** The limit of the API. */
const PAGE_ROWS = 100

type Printed = { statement: Statement; lines: StatementLine[] | undefined }

/** All lines, oldest first, unless they are too many. */
async function readAll(from: string, to: string, signal: AbortSignal): Promise<Printed> {
  const read = (cursor: string | null) =>
    get<Statement>('/statement', { from, to, cursor, limit: PAGE_ROWS }, { signal })
  const statement = await read(null)
  const count = statement.totals?.reduce((sum, kind) => sum + kind.count, 0)
  if (count === undefined || count > MAX_LINES) return { statement, lines: undefined }
  const lines = [...statement.lines]
  for (let next = statement.nextCursor; next !== null && lines.length < MAX_LINES;) {
    const page = await read(next)
    lines.push(...page.lines)
    next = page.nextCursor
  }
  return { statement, lines: lines.toReversed() }
}

export function PrintPage() {
  const t = useTexts()
  const me = useMe()
  const { language, day, count } = useFormat()
  const { from, to } = chosenPeriod(useFilters(['period', 'from', 'to']), 'month')
  const query = useQuery({ queryKey: ['print', from, to], queryFn: ({ signal }) => readAll(from, to, signal) })
  const printed = query.data
  return (
    <Page
      title={t.title}
      back={{ to: '/statement', label: t.back }}
      query={query}
      actions={
        <Button kind="primary" icon={PrintIcon} disabled={!printed} onClick={() => window.print()}>
          {t.print}
        </Button>
      }
    >
      <dl className="grid gap-x-8 gap-y-1 sm:grid-cols-[auto_1fr] print:grid-cols-[auto_1fr]">
        <dt className="text-soft">{t.account}</dt>
        <dd>
          {me.name} <span className="text-soft">{me.accountId}</span>
        </dd>
        <dt className="text-soft">{t.period}</dt>
        <dd>{t.days(day(from), day(to))}</dd>
        <dt className="text-soft">{t.zone}</dt>
        <dd>
          {timeZoneText(language)}, {me.timeZone}
        </dd>
      </dl>
      {printed ? (
        <>
          <Card isFlush>
            <Summary statement={printed.statement} />
          </Card>
          {printed.lines ? <Lines lines={printed.lines} /> : <Notice>{t.tooLong(count(MAX_LINES))}</Notice>}
        </>
      ) : (
        <Skeleton className="h-40 w-full" />
      )}
    </Page>
  )
}

function Lines({ lines }: { lines: readonly StatementLine[] }) {
  const t = useTexts()
  const columns = useColumnTexts()
  const title = useLineTitle()
  const noteOf = useNote()
  if (lines.length === 0) return null
  return (
    <Card isFlush>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div tabIndex={0} role="region" aria-label={t.lines} className="overflow-x-auto print:overflow-visible">
        <table className="figures w-full text-left text-sm print:text-[8.5pt] [&_:is(td,th)]:px-1.5 [&_:is(td,th)]:py-1.5 [&_:is(td,th):first-child]:pl-5 [&_:is(td,th):last-child]:pr-5">
          <caption className="sr-only">{t.lines}</caption>
          <thead>
            <tr className="text-soft [&>th]:font-semibold">
              <th scope="col">{columns.when}</th>
              <th scope="col">{columns.what}</th>
              {[columns.gross, columns.fee, columns.net, columns.after].map((header) => (
                <th key={header} scope="col" className="text-right">
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line border-t border-line">
            {lines.map((line) => (
              <tr key={line.id} className="break-inside-avoid align-top">
                <td>
                  <DateTime at={line.recordedAt} isShort />
                </td>
                <td className="min-w-40 wrap-anywhere">
                  {title(line.kind)} <span className="text-soft">{noteOf(line)}</span>
                  <span className="block font-mono text-[0.6875rem] text-soft print:text-[6.5pt]">
                    {line.endToEndId}
                  </span>
                </td>
                {[line.gross, line.fee, line.net, line.balance].map((cents, place) => (
                  <td key={place} className="text-right">
                    <Money cents={cents} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
