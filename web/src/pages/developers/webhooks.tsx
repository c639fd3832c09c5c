import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { PlusIcon, WebhookIcon } from '../../ui/icons.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Empty, Failure } from '../../ui/table.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { webhooksQuery } from './shapes.ts'
import { WebhookRow } from './webhook-row.tsx'

const useWords = words({
  'pt-BR': {
    text: 'Endereços seus que recebem um aviso assinado a cada evento.',
    add: 'Adicionar webhook',
    loading: 'Carregando',
    emptyTitle: 'Nenhum webhook ainda',
    emptyText: 'Adicione um endereço do seu sistema e ele fica sabendo de cada depósito pago.',
  },
  en: {
    text: 'Addresses of yours that get a signed notice of each event.',
    add: 'Add a webhook',
    loading: 'Loading',
    emptyTitle: 'No webhook yet',
    emptyText: 'Add an address of your system, and it learns of each deposit that is paid.',
  },
})

export function Webhooks() {
  const t = useWords()
  const [isAdding, setAdding] = useState(false)
  const { data, error, refetch, isPending } = useQuery(webhooksQuery)
  return (
    <Card
      isFlush
      text={t.text}
      actions={
        <Button kind="primary" onClick={() => setAdding(true)}>
          <PlusIcon className="size-4" />
          {t.add}
        </Button>
      }
    >
      {isPending && <Waiting label={t.loading} />}
      {!data && error && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.webhooks.length === 0 && (
        <Empty icon={<WebhookIcon className="size-6" />} title={t.emptyTitle} text={t.emptyText} />
      )}
      <ul className="divide-y divide-line border-t border-line empty:hidden">
        {data?.webhooks.map((webhook) => (
          <WebhookRow key={webhook.id} webhook={webhook} />
        ))}
      </ul>
      {isAdding && <NewWebhook onClose={() => setAdding(false)} />}
    </Card>
  )
}

function Waiting({ label }: { label: string }) {
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
