import { useParams } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { Closing } from '../../contract/types.ts'
import { DialogButton } from '../../ui/button.tsx'
import { Card, Empty, Page, Skeleton } from '../../ui/page.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { RefreshIcon, ScalesIcon } from '../../ui/icons.tsx'
import { ComparisonResult } from './comparison.tsx'
import { ReconcileDialog } from './reconcile-dialog.tsx'
import { useProviders } from './reconciliation-page.tsx'

const useTexts = translations({
  title: ['Fechamento', 'Closing'],
  back: ['Conciliação', 'Reconciliation'],
  run: ['Conciliar de novo', 'Reconcile again'],
  closedAt: ['Fechado em', 'Closed'],
  revision: (number: number) => [number === 1 ? '' : `, revisão ${number}`, number === 1 ? '' : `, revision ${number}`],
  none: ['Este dia ainda não foi fechado', 'This day is not closed yet'],
  noneText: [
    'Cada dia é fechado duas horas depois de terminar. Você também pode conciliar agora.',
    'Each day is closed two hours after it ends. You can also reconcile it now.',
  ],
})

export function ClosingPage() {
  const t = useTexts()
  const { day: dayText } = useFormat()
  const { day = '' } = useParams({ strict: false })
  const providers = useProviders()
  const query = { from: day, to: day }
  const closings = useGet<{ closings: Closing[] }>(['closings', query], '/operator/closings', { query })
  const { data } = closings
  return (
    <Page
      query={closings}
      title={`${t.title}, ${dayText(day)}`}
      back={{ to: '/operator/reconciliation', label: t.back }}
      actions={
        <DialogButton dialog={(onClose) => <ReconcileDialog providers={providers} day={day} onClose={onClose} />}>
          <RefreshIcon className="size-5" />
          {t.run}
        </DialogButton>
      }
    >
      {closings.isPending && (
        <Card>
          <Skeleton className="h-64 w-full" />
        </Card>
      )}
      {data?.closings.length === 0 && (
        <Card>
          <Empty title={t.none} text={t.noneText} icon={ScalesIcon} />
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
          <ComparisonResult comparison={closing} />
        </Card>
      ))}
    </Page>
  )
}
