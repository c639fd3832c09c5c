import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../base/api.ts'
import { words } from '../base/language.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { PlusIcon } from '../ui/icons.tsx'
import { Page } from '../ui/page.tsx'
import { Skeleton } from '../ui/skeleton.tsx'
import { Failure, Table } from '../ui/table.tsx'
import { depositCard, useDepositColumns } from './deposits/columns.tsx'
import { NewDepositDoor } from './deposits/new-deposit-door.tsx'
import { ActivityCharts } from './overview/activity-charts.tsx'
import { AttentionList } from './overview/attention.tsx'
import { FirstSteps } from './overview/first-steps.tsx'
import { Figures } from './overview/figures.tsx'
import type { Overview } from './overview/shapes.ts'

const useWords = words({
  'pt-BR': { title: 'Visão geral', create: 'Novo depósito', latest: 'Últimos depósitos', all: 'Ver todos' },
  en: { title: 'Overview', create: 'New deposit', latest: 'Latest deposits', all: 'See all' },
})

/** Money comes in while somebody looks; a hidden page asks for nothing. */
const REFRESH_MS = 20_000

export function OverviewPage() {
  const t = useWords()
  const [isMaking, setMaking] = useState(false)
  const overview = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => get<Overview>('/overview', {}, { signal }),
    refetchInterval: REFRESH_MS,
  })
  const { data } = overview
  return (
    <Page
      title={t.title}
      actions={
        <Button kind="primary" onClick={() => setMaking(true)}>
          <PlusIcon className="size-4" />
          {t.create}
        </Button>
      }
    >
      {!data && overview.error ? (
        <Card>
          <Failure error={overview.error} onRetry={() => void overview.refetch()} />
        </Card>
      ) : (
        <>
          <Figures overview={data} />
          {/* One place for all that follows, since nobody knows yet how much needs attention: nothing jumps when it arrives. */}
          {data ? (
            <Rest overview={data} onDeposit={() => setMaking(true)} />
          ) : (
            <Skeleton className="h-180 w-full rounded-2xl" />
          )}
        </>
      )}
      <NewDepositDoor isOpen={isMaking} onClose={() => setMaking(false)} />
    </Page>
  )
}

function Rest({ overview, onDeposit }: { overview: Overview; onDeposit: () => void }) {
  const t = useWords()
  const columns = useDepositColumns()
  const { attention, latest } = overview
  const isEmpty = latest.length === 0
  return (
    <>
      {isEmpty && <FirstSteps attention={attention} onDeposit={onDeposit} />}
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
              rows={latest}
              rowKey={(deposit) => deposit.id}
              rowLink={(deposit) => `/deposits/${deposit.paymentLinkId}`}
              card={depositCard}
              empty={null}
            />
          </Card>
        </>
      )}
    </>
  )
}
