import { useQuery } from '@tanstack/react-query'
import { translations } from '../../base/language.ts'
import { DialogButton } from '../../ui/action-button.tsx'
import { Card } from '../../ui/card.tsx'
import { PlusIcon, WebhookIcon } from '../../ui/icons.tsx'
import { Empty, Failure, Skeleton } from '../../ui/states.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { webhooksQuery } from './webhook-events.ts'
import { WebhookRow } from './webhook-row.tsx'

const useTexts = translations({
  text: [
    'URLs do seu sistema que recebem cada evento, com assinatura.',
    'URLs of your system that receive each event, signed.',
  ],
  add: ['Adicionar webhook', 'Add webhook'],
  loading: ['Carregando', 'Loading'],
  emptyTitle: ['Nenhum webhook ainda', 'No webhooks yet'],
  emptyText: [
    'Adicione uma URL do seu sistema para saber de cada depósito pago.',
    'Add a URL of your system to be notified of each paid deposit.',
  ],
})

export function Webhooks() {
  const t = useTexts()
  const { data, error, refetch, isPending } = useQuery(webhooksQuery)
  return (
    <Card
      isFlush
      text={t.text}
      actions={
        <DialogButton icon={PlusIcon} kind="primary" dialog={(onClose) => <NewWebhook onClose={onClose} />}>
          {t.add}
        </DialogButton>
      }
    >
      {isPending && <LoadingRows label={t.loading} />}
      {!data && error && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.webhooks.length === 0 && <Empty icon={WebhookIcon} title={t.emptyTitle} text={t.emptyText} />}
      <ul className="divide-y divide-line border-t border-line empty:hidden">
        {data?.webhooks.map((webhook) => (
          <WebhookRow key={webhook.id} webhook={webhook} />
        ))}
      </ul>
    </Card>
  )
}

function LoadingRows({ label }: { label: string }) {
  return (
    <div role="status" aria-label={label} className="divide-y divide-line border-t border-line">
      {[0, 1].map((row) => (
        <div key={row} className="space-y-2 px-5 py-4">
          <Skeleton className="block! h-6 w-48" />
          <Skeleton className="block! h-5 w-72" />
          <Skeleton className="block! h-5 w-32" />
        </div>
      ))}
    </div>
  )
}
