import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { translations } from '../../base/language.ts'
import { useMay } from '../../base/session.ts'
import type { Overview } from '../../contract/types.ts'
import { Card, Page, Skeleton } from '../../ui/page.tsx'
import { Table } from '../../ui/data/table.tsx'
import { depositCard, useDepositColumns } from '../../deposits/deposit-columns.tsx'
import { NewDepositButton } from '../deposits/new-deposit-button.tsx'
import { ActivityCharts } from './activity-charts.tsx'
import { AttentionList } from './attention-list.tsx'
import { Figures } from './figures.tsx'
import { FirstSteps } from './first-steps.tsx'
import { overviewQuery } from './overview-query.ts'

const useTexts = translations({
  title: ['Visão geral', 'Overview'],
  latest: ['Últimos depósitos', 'Latest deposits'],
  all: ['Ver todos', 'View all'],
})

/** The stream does not tell of webhooks that fail or work again, of keys that soon expire, and that a day begins. */
const REFRESH_MS = 5 * 60_000

export function OverviewPage() {
  const t = useTexts()
  const overview = useQuery({ ...overviewQuery, refetchInterval: REFRESH_MS })
  const { data } = overview
  return (
    <Page title={t.title} query={overview} actions={<NewDepositButton />}>
      <Figures overview={data} />
      {/* One placeholder for the rest: how much needs attention is not known yet. */}
      {data ? <Rest overview={data} /> : <Skeleton className="h-180 w-full rounded-2xl" />}
    </Page>
  )
}

function Rest({ overview }: { overview: Overview }) {
  const t = useTexts()
  const may = useMay()
  const columns = useDepositColumns()
  const { attention, latest } = overview
  const isEmpty = latest.length === 0
  return (
    <>
      {isEmpty && may('keys:write') && <FirstSteps attention={attention} />}
      <AttentionList attention={attention} isEmpty={isEmpty} />
      {!isEmpty && (
        <>
          <ActivityCharts overview={overview} />
          <Card
            title={t.latest}
            isFlush
            actions={
              <Link to="/deposits" className="link inline-flex min-h-9 items-center font-medium">
                {t.all}
              </Link>
            }
          >
            <Table
              caption={t.latest}
              columns={columns}
              list={{ rows: latest }}
              rowKey={(deposit) => deposit.id}
              rowLink={(deposit) => `/deposits/${deposit.paymentLinkId}`}
              card={depositCard}
            />
          </Card>
        </>
      )}
    </>
  )
}
