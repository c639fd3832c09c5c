import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../../base/api.ts'
import { dayText } from '../../base/dates.ts'
import { useLanguage, words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { RefreshIcon, ScalesIcon } from '../../ui/icons.tsx'
import { Page } from '../../ui/page.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Empty, Failure } from '../../ui/table.tsx'
import { Comparison } from './comparison.tsx'
import { useProviders } from './reconciliation.tsx'
import { ReconcileDialog } from './reconcile-dialog.tsx'
import type { Closing } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Fechamento',
    back: 'Conciliação',
    run: 'Conciliar de novo',
    closedAt: 'Fechado em',
    revision: (number: number) => (number === 1 ? '' : `, ${number}ª vez`),
    none: 'Este dia não foi fechado',
    noneText: 'Cada dia é fechado duas horas depois de terminar. Também pode ser conciliado agora.',
  },
  en: {
    title: 'Closing',
    back: 'Reconciliation',
    run: 'Reconcile again',
    closedAt: 'Closed at',
    revision: (number: number) => (number === 1 ? '' : `, time number ${number}`),
    none: 'This day is not closed',
    noneText: 'Each day is closed two hours after its end. It can also be reconciled now.',
  },
})

/** A day of the books, with what differs at each provider. */
export function ReconciliationDayPage() {
  const t = useWords()
  const language = useLanguage()
  const { day = '' } = useParams({ strict: false })
  const [isRunning, setRunning] = useState(false)
  const providers = useProviders()
  const { data, error, refetch } = useQuery({
    queryKey: ['closings', { from: day, to: day }],
    queryFn: ({ signal }) => get<{ closings: Closing[] }>('/operator/closings', { from: day, to: day }, { signal }),
  })
  return (
    <Page
      title={`${t.title}, ${dayText(day, language)}`}
      back={{ to: '/operator/reconciliation', label: t.back }}
      actions={
        <Button onClick={() => setRunning(true)}>
          <RefreshIcon className="size-5" />
          {t.run}
        </Button>
      }
    >
      {!data && (
        <Card>
          {error ? <Failure error={error} onRetry={() => void refetch()} /> : <Skeleton className="h-64 w-full" />}
        </Card>
      )}
      {data?.closings.length === 0 && (
        <Card>
          <Empty title={t.none} text={t.noneText} icon={<ScalesIcon className="size-6" />} />
        </Card>
      )}
      {data?.closings.map((closing) => (
        <Card
          key={closing.provider}
          title={closing.provider}
          text={
            <>
              {t.closedAt} <DateTime at={closing.closedAt} />
              {t.revision(closing.revision)}
            </>
          }
        >
          <Comparison compared={closing} />
        </Card>
      ))}
      {isRunning && <ReconcileDialog providers={providers} day={day} onClose={() => setRunning(false)} />}
    </Page>
  )
}
