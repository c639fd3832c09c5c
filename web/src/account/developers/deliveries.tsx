import { useQuery } from '@tanstack/react-query'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { translations } from '../../base/language.ts'
import { useMay } from '../../base/session.ts'
import { EVENTS } from '../../contract/codes.ts'
import type { Delivery } from '../../contract/types.ts'
import { useEventName } from '../../ui/data/event-names.ts'
import { Button, ButtonLink, DialogButton } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/page.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { RefreshIcon, WebhookIcon } from '../../ui/icons.tsx'
import { DeliveryStatus, LastAnswer, useDeliveryStatuses } from './delivery-status.tsx'
import { ResendMany } from './resend-many.tsx'
import { deliveryPath, webhooksQuery } from './webhook-events.ts'

const useTexts = translations({
  title: ['Entregas', 'Deliveries'],
  text: ['O que enviamos a cada webhook e o que ele respondeu.', 'What we sent to each webhook and how it responded.'],
  resend: ['Reenviar várias', 'Resend multiple'],
  event: ['Evento', 'Event'],
  webhook: ['Webhook', 'Webhook'],
  status: ['Situação', 'Status'],
  answer: ['Resposta', 'Response'],
  attempts: ['Tentativas', 'Attempts'],
  created: ['Criada', 'Created'],
  noneFound: ['Nenhuma entrega com estes filtros', 'No deliveries match these filters'],
  notHere: ['Nenhuma entre as mais recentes', 'None among the latest events'],
  earlier: ['Procurar nas anteriores', 'Search earlier events'],
  clear: ['Limpar filtros', 'Clear filters'],
  emptyTitle: ['Nenhuma entrega ainda', 'No deliveries yet'],
  emptyText: [
    'Quando um depósito for pago, as entregas a cada webhook aparecem aqui.',
    'Once a deposit is paid, its deliveries to each webhook appear here.',
  ],
  toWebhooks: ['Ver webhooks', 'View webhooks'],
})

/** The history tells of each event, and not of the attempts to deliver it. */
const REFRESH_MS = 5_000

export function Deliveries() {
  const t = useTexts()
  const eventName = useEventName()
  const statuses = useDeliveryStatuses()
  const filters = useFilters(['status', 'webhookId', 'event'])
  const may = useMay()
  const webhooks = useQuery({ ...webhooksQuery, enabled: may('webhooks:read') }).data?.webhooks ?? []
  const list = useCursorList<Delivery>({
    path: '/deliveries',
    query: filters.values,
    field: 'deliveries',
    refetchIntervalMs: REFRESH_MS,
  })
  return (
    <Card
      isFlush
      text={t.text}
      actions={
        may('webhooks:write') && (
          <DialogButton icon={RefreshIcon} dialog={(onClose) => <ResendMany onClose={onClose} />}>
            {t.resend}
          </DialogButton>
        )
      }
    >
      <div className="border-y border-line">
        <FilterBar
          filters={filters}
          selects={[
            { name: 'status', label: t.status, choices: statuses },
            { name: 'event', label: t.event, choices: choicesOf([...EVENTS, 'WEBHOOK_TEST'], eventName) },
            // This filter is last, because it grows once the names are loaded.
            {
              name: 'webhookId',
              label: t.webhook,
              choices: webhooks.map(({ id, name }) => ({ value: id, label: name })),
            },
          ]}
        />
      </div>
      <Table
        caption={t.title}
        columns={useColumns()}
        list={list}
        rowKey={deliveryPath}
        rowLink={deliveryPath}
        card={(delivery) => (
          <CardLines
            name={eventName(delivery.event)}
            mark={<DeliveryStatus status={delivery.status} />}
            text={delivery.webhookName}
            end={<DateTime at={delivery.createdAt} isShort />}
          />
        )}
        empty={<NoDeliveries isFiltered={filters.isFiltered} onClear={filters.clear} onEarlier={list.next} />}
      />
    </Card>
  )
}

function useColumns(): Column<Delivery>[] {
  const t = useTexts()
  const eventName = useEventName()
  return [
    { header: t.event, width: 'w-52', cell: ({ event }) => eventName(event) },
    { header: t.status, width: 'w-36', cell: ({ status }) => <DeliveryStatus status={status} /> },
    {
      header: t.webhook,
      width: 'w-56',
      cell: ({ webhookName }) => <span className="wrap-anywhere">{webhookName}</span>,
    },
    { header: t.answer, cell: (delivery) => <LastAnswer delivery={delivery} /> },
    {
      header: t.attempts,
      align: 'right',
      isWideOnly: true,
      width: 'w-28',
      cell: ({ attempts }) => attempts,
    },
    {
      header: t.created,
      align: 'right',
      width: 'w-56',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
  ]
}

/** The server searches a bounded number of events per page, so matches may be further back. */
function NoDeliveries(props: { isFiltered: boolean; onClear: () => void; onEarlier: (() => void) | undefined }) {
  const t = useTexts()
  if (props.onEarlier)
    return (
      <Empty icon={WebhookIcon} title={t.notHere} action={<Button onClick={props.onEarlier}>{t.earlier}</Button>} />
    )
  if (props.isFiltered)
    return <Empty icon={WebhookIcon} title={t.noneFound} action={<Button onClick={props.onClear}>{t.clear}</Button>} />
  return (
    <Empty
      icon={WebhookIcon}
      title={t.emptyTitle}
      text={t.emptyText}
      action={<ButtonLink to="/developers/webhooks">{t.toWebhooks}</ButtonLink>}
    />
  )
}
