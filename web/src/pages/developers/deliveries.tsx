import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useCursorList } from '../../base/cursor-list.ts'
import { useFilters } from '../../base/filters.ts'
import { words } from '../../base/language.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { FilterBar, SelectFilter } from '../../ui/filter-bar.tsx'
import { RefreshIcon, WebhookIcon } from '../../ui/icons.tsx'
import { Pagination } from '../../ui/pagination.tsx'
import { Empty, Table, type Column } from '../../ui/table.tsx'
import { DeliveryStatus, LastAnswer, useDeliveryStatuses } from './delivery-status.tsx'
import { ResendMany } from './resend-many.tsx'
import { EVENTS, useEventName, webhooksQuery, type Delivery } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Entregas',
    text: 'O que foi enviado a cada webhook, e o que ele respondeu.',
    resend: 'Reenviar várias',
    event: 'Evento',
    webhook: 'Webhook',
    status: 'Situação',
    answer: 'Resposta',
    attempts: 'Tentativas',
    created: 'Criada',
    noneFound: 'Nenhuma entrega com estes filtros',
    notHere: 'Nenhuma entre os eventos mais recentes',
    further: 'Procurar nos anteriores',
    clear: 'Limpar filtros',
    emptyTitle: 'Nenhuma entrega ainda',
    emptyText: 'Quando um depósito for pago, o aviso a cada webhook aparece aqui.',
    toWebhooks: 'Ver webhooks',
  },
  en: {
    title: 'Deliveries',
    text: 'What was sent to each webhook, and what it answered.',
    resend: 'Resend many',
    event: 'Event',
    webhook: 'Webhook',
    status: 'Status',
    answer: 'Answer',
    attempts: 'Attempts',
    created: 'Created',
    noneFound: 'No delivery fits these filters',
    notHere: 'None among the newest events',
    further: 'Look at earlier ones',
    clear: 'Clear the filters',
    emptyTitle: 'No delivery yet',
    emptyText: 'When a deposit is paid, the notice to each webhook appears here.',
    toWebhooks: 'See webhooks',
  },
})

/** Whoever watches a payment arrive should not have to reload. */
const REREAD_MS = 5_000

export function Deliveries() {
  const t = useWords()
  const eventName = useEventName()
  const statuses = useDeliveryStatuses()
  const filters = useFilters(['status', 'endpointId', 'event'])
  const [isResending, setResending] = useState(false)
  const webhooks = useQuery(webhooksQuery).data?.webhooks
  const list = useCursorList<Delivery>({
    path: '/deliveries',
    query: filters.values,
    rows: (answer: { deliveries: Delivery[] }) => answer.deliveries,
    refetchIntervalMs: REREAD_MS,
  })
  return (
    <Card
      isFlush
      text={t.text}
      actions={
        <Button onClick={() => setResending(true)}>
          <RefreshIcon className="size-4" />
          {t.resend}
        </Button>
      }
    >
      <div className="border-y border-line">
        <FilterBar filters={filters}>
          <SelectFilter filters={filters} name="status" label={t.status} choices={statuses} />
          <SelectFilter
            filters={filters}
            name="event"
            label={t.event}
            choices={[...EVENTS, 'WEBHOOK_TEST'].map((value) => ({ value, label: eventName(value) }))}
          />
          {/* Last: it grows when the names are here. */}
          <SelectFilter
            filters={filters}
            name="endpointId"
            label={t.webhook}
            choices={(webhooks ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          />
        </FilterBar>
      </div>
      <Table
        caption={t.title}
        columns={useColumns()}
        rows={list.rows}
        rowKey={({ eventId, endpointId }) => eventId + endpointId}
        rowLink={({ eventId, endpointId }) => `/developers/deliveries/${eventId}/${endpointId}`}
        error={list.error}
        onRetry={list.retry}
        isStale={list.isStale}
        empty={<Nothing isFiltered={filters.isFiltered} onClear={filters.clear} onFurther={list.next} />}
      />
      <Pagination list={list} />
      {isResending && <ResendMany onClose={() => setResending(false)} />}
    </Card>
  )
}

function useColumns(): Column<Delivery>[] {
  const t = useWords()
  const eventName = useEventName()
  return [
    { key: 'event', header: t.event, width: 'w-52', cell: ({ event }) => eventName(event) },
    { key: 'status', header: t.status, width: 'w-36', cell: ({ status }) => <DeliveryStatus status={status} /> },
    {
      key: 'webhook',
      header: t.webhook,
      width: 'w-56',
      cell: ({ endpointName }) => <span className="wrap-anywhere">{endpointName}</span>,
    },
    { key: 'answer', header: t.answer, cell: (delivery) => <LastAnswer delivery={delivery} /> },
    {
      key: 'attempts',
      header: t.attempts,
      align: 'right',
      isWideOnly: true,
      width: 'w-28',
      cell: ({ attempts }) => attempts,
    },
    {
      key: 'created',
      header: t.created,
      align: 'right',
      width: 'w-56',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
  ]
}

/** The server looks at so many events for one page; where none of them fits, there may be some further back. */
function Nothing(props: { isFiltered: boolean; onClear: () => void; onFurther: (() => void) | undefined }) {
  const t = useWords()
  const icon = <WebhookIcon className="size-6" />
  if (props.onFurther)
    return <Empty icon={icon} title={t.notHere} action={<Button onClick={props.onFurther}>{t.further}</Button>} />
  if (props.isFiltered)
    return <Empty icon={icon} title={t.noneFound} action={<Button onClick={props.onClear}>{t.clear}</Button>} />
  return (
    <Empty
      icon={icon}
      title={t.emptyTitle}
      text={t.emptyText}
      action={<ButtonLink to="/developers/webhooks">{t.toWebhooks}</ButtonLink>}
    />
  )
}
