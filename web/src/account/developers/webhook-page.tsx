import { useQuery } from '@tanstack/react-query'
import { post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { refresh, useGet } from '../../base/queries.ts'
import { useMay } from '../../base/session.ts'
import type { Delivery, Webhook, WebhookStats, WebhookWaiting } from '../../contract/types.ts'
import { ActionButton, Button, ButtonLink } from '../../ui/button.tsx'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { RefreshIcon, WebhookIcon } from '../../ui/icons.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, DetailList, Empty, Failure, Page, Skeleton } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { DeliveryStatus, LastAnswer } from './delivery-status.tsx'
import { deliveryPath, isFuture, webhooksQuery } from './webhook-events.ts'
import { useEventName } from '../../ui/data/event-names.ts'
import { WebhookFigures } from './webhook-figures.tsx'
import { useWebhookActions, WebhookState, WebhookTrouble } from './webhooks.tsx'

const useTexts = translations({
  title: ['Webhook', 'Webhook'],
  back: ['Webhooks', 'Webhooks'],
  notFound: ['Este webhook não existe mais', 'This webhook no longer exists'],
  toAll: ['Ver webhooks', 'View webhooks'],
  status: ['Situação', 'Status'],
  url: ['URL', 'URL'],
  events: ['Eventos', 'Events'],
  created: ['Criado', 'Created'],
  isDisabled: ['Este webhook está desativado', 'This webhook is disabled'],
  whatToDo: [
    'Nada é enviado a ele. Corrija seu sistema, ative o webhook e escolha receber o que ele perdeu.',
    'Nothing is sent to it. Fix your system, enable the webhook and choose to get what it missed.',
  ],
  enable: ['Ativar', 'Enable'],
  waiting: ['Aguardando', 'Waiting'],
  waitingNone: ['Nada aguarda: tudo foi entregue ou encerrado.', 'Nothing waits: all was delivered or given up.'],
  waitingText: [
    'Entregas que serão tentadas de novo. Cada nova tentativa conta como a próxima.',
    'Deliveries that will be tried again. A retry counts as the next attempt.',
  ],
  count: ['Entregas aguardando', 'Deliveries waiting'],
  orMore: (count: string) => [`${count} ou mais`, `${count} or more`],
  next: ['Próxima tentativa', 'Next attempt'],
  now: ['agora', 'now'],
  lastFailure: ['Última falha', 'Last failure'],
  retryAll: ['Tentar todas agora', 'Retry all now'],
  retry: ['Tentar agora', 'Retry now'],
  retryOf: (event: string) => [`Tentar agora: ${event}`, `Retry now: ${event}`],
  retried: (count: number) => [
    count === 1 ? '1 entrega será tentada agora.' : `${count} entregas serão tentadas agora.`,
    count === 1 ? '1 delivery will be tried now.' : `${count} deliveries will be tried now.`,
  ],
  retriedNone: ['Nada a tentar: já está sendo enviado.', 'Nothing to retry: it is being sent already.'],
  latest: ['Últimas entregas', 'Latest deliveries'],
  all: ['Ver todas', 'View all'],
  none: ['Nenhuma entrega ainda', 'No deliveries yet'],
  event: ['Evento', 'Event'],
  answer: ['Resposta', 'Response'],
  deliveryCreated: ['Criada', 'Created'],
  actions: ['Ações', 'Actions'],
})

/** The history does not tell of attempts. */
const REFRESH_MS = 5_000
const SHOWN = 50
const WAITING_SHOWN = 10

type Stats = { stats: WebhookStats; waiting: WebhookWaiting }

/** How one webhook fares, what waits for it, and its latest deliveries. */
export function WebhookPage({ webhookId }: { webhookId: string }) {
  const t = useTexts()
  const webhooks = useQuery(webhooksQuery)
  const webhook = webhooks.data?.webhooks.find(({ id }) => id === webhookId)
  if (webhook) return <OneWebhook webhook={webhook} />
  return (
    <Page title={t.title} back={{ to: '/developers/webhooks', label: t.back }} query={webhooks}>
      <Card>
        {webhooks.data ? (
          <Empty
            icon={WebhookIcon}
            title={t.notFound}
            action={<ButtonLink to="/developers/webhooks">{t.toAll}</ButtonLink>}
          />
        ) : (
          <Skeleton className="block! h-64 w-full" />
        )}
      </Card>
    </Page>
  )
}

function OneWebhook({ webhook }: { webhook: Webhook }) {
  const t = useTexts()
  const may = useMay()
  const { actions, outcome, begin } = useWebhookActions(webhook)
  const stats = useGet<Stats>(statsKey(webhook), `/webhooks/${webhook.id}/stats`, { refetchInterval: REFRESH_MS })
  return (
    <Page title={webhook.name} back={{ to: '/developers/webhooks', label: t.back }} actions={actions}>
      {outcome}
      {!webhook.enabled && (
        <Notice
          tone="bad"
          title={t.isDisabled}
          action={
            may('webhooks:write') && (
              <Button size="small" onClick={() => begin('enable')}>
                {t.enable}
              </Button>
            )
          }
        >
          {t.whatToDo}
        </Notice>
      )}
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
        <About webhook={webhook} />
        {stats.data === undefined && stats.error ? (
          <Card>
            <Failure error={stats.error} onRetry={() => void stats.refetch()} />
          </Card>
        ) : (
          <WebhookFigures stats={stats.data?.stats} />
        )}
      </div>
      {webhook.enabled && <WaitingCard webhook={webhook} waiting={stats.data?.waiting} />}
      <Latest webhook={webhook} />
    </Page>
  )
}

const statsKey = ({ id }: Webhook) => ['webhook-stats', id]

function About({ webhook }: { webhook: Webhook }) {
  const t = useTexts()
  const eventName = useEventName()
  return (
    <Card>
      <div className="space-y-3">
        <DetailList
          details={[
            { name: t.status, value: <WebhookState webhook={webhook} /> },
            { name: t.url, value: <span className="font-mono text-[0.8125rem]">{webhook.url}</span> },
            { name: t.events, value: webhook.events.map(eventName).join(', ') },
            { name: t.created, value: <DateTime at={webhook.createdAt} /> },
          ]}
        />
        <WebhookTrouble webhook={webhook} />
      </div>
    </Card>
  )
}

/** One event's delivery, or all that wait. */
function useRetry(webhook: Webhook): (eventId?: string) => Promise<void> {
  const t = useTexts()
  return async (eventId) => {
    const { queued } = await post<{ queued: number }>(`/webhooks/${webhook.id}/retry`, eventId ? { eventId } : {})
    toast.good(queued === 0 ? t.retriedNone : t.retried(queued))
    await refresh(statsKey(webhook), deliveriesKey(webhook))
  }
}

function WaitingCard({ webhook, waiting }: { webhook: Webhook; waiting: WebhookWaiting | undefined }) {
  const t = useTexts()
  const { count } = useFormat()
  const may = useMay()
  const retry = useRetry(webhook)
  const reasonText = useReasonText()
  if (!waiting) return <Skeleton className="block! h-40 w-full rounded-2xl" />
  if (waiting.count === 0)
    return (
      <Card title={t.waiting}>
        <p className="text-soft">{t.waitingNone}</p>
      </Card>
    )
  const { lastFailure, nextAttemptAt } = waiting
  const counted = count(waiting.count)
  return (
    <Card
      title={t.waiting}
      text={t.waitingText}
      isFlush
      actions={
        may('webhooks:write') && (
          <ActionButton icon={RefreshIcon} kind="primary" onAction={() => retry()}>
            {t.retryAll}
          </ActionButton>
        )
      }
    >
      <div className="border-t border-line px-5 py-4">
        <DetailList
          details={[
            { name: t.count, value: waiting.isMore ? t.orMore(counted) : counted },
            {
              name: t.next,
              value: nextAttemptAt && (isFuture(nextAttemptAt) ? <DateTime at={nextAttemptAt} relative /> : t.now),
            },
            {
              name: t.lastFailure,
              value: lastFailure && (
                <>
                  {lastFailure.status ??
                    reasonText({
                      code: lastFailure.errorCode,
                      detail: lastFailure.errorDetail,
                      text: lastFailure.error ?? '',
                    })}{' '}
                  <span className="text-soft">
                    <DateTime at={lastFailure.at} relative />
                  </span>
                </>
              ),
            },
          ]}
        />
      </div>
      <DeliveryTable webhook={webhook} caption={t.waiting} status="retrying" limit={WAITING_SHOWN} />
    </Card>
  )
}

function Latest({ webhook }: { webhook: Webhook }) {
  const t = useTexts()
  return (
    <Card
      title={t.latest}
      isFlush
      actions={
        <ButtonLink size="small" to="/developers/deliveries" search={{ webhookId: webhook.id }}>
          {t.all}
        </ButtonLink>
      }
    >
      <div className="border-t border-line">
        <DeliveryTable webhook={webhook} caption={t.latest} limit={SHOWN} empty={t.none} />
      </div>
    </Card>
  )
}

const deliveriesKey = ({ id }: Webhook) => ['webhook-deliveries', id]

type Listed = { webhook: Webhook; caption: string; limit: number; status?: Delivery['status']; empty?: string }

function DeliveryTable({ webhook, caption, limit, status, empty }: Listed) {
  const eventName = useEventName()
  const list = useGet<{ deliveries: Delivery[] }>([...deliveriesKey(webhook), status, limit], '/deliveries', {
    query: { webhookId: webhook.id, limit, ...(status && { status }) },
    refetchInterval: REFRESH_MS,
  })
  return (
    <Table
      caption={caption}
      columns={useColumns(webhook, status === 'retrying')}
      list={{ rows: list.data?.deliveries, error: list.error, retry: () => void list.refetch() }}
      rowKey={deliveryPath}
      rowLink={deliveryPath}
      skeletonRows={3}
      card={(delivery) => (
        <CardLines
          name={eventName(delivery.event)}
          mark={<DeliveryStatus status={delivery.status} />}
          text={<LastAnswer delivery={delivery} />}
          end={<DateTime at={delivery.createdAt} isShort />}
        />
      )}
      empty={empty && <Empty icon={WebhookIcon} title={empty} />}
    />
  )
}

function useColumns(webhook: Webhook, isWaiting: boolean): Column<Delivery>[] {
  const t = useTexts()
  const eventName = useEventName()
  const may = useMay()
  const retry = useRetry(webhook)
  const event = { header: t.event, width: 'w-52', cell: ({ event: kind }: Delivery) => eventName(kind) }
  const answer = { header: t.answer, cell: (delivery: Delivery) => <LastAnswer delivery={delivery} /> }
  const created: Column<Delivery> = {
    header: t.deliveryCreated,
    align: 'right',
    width: 'w-48',
    cell: ({ createdAt }) => <DateTime at={createdAt} />,
  }
  if (!isWaiting) {
    const status = { header: t.status, width: 'w-40', cell: (one: Delivery) => <DeliveryStatus status={one.status} /> }
    return [event, status, answer, created]
  }
  if (!may('webhooks:write')) return [event, answer, created]
  return [
    event,
    answer,
    created,
    {
      header: <span className="sr-only">{t.actions}</span>,
      align: 'right',
      width: 'w-36',
      isActive: true,
      cell: ({ event: kind, eventId }) => (
        <ActionButton size="small" aria-label={t.retryOf(eventName(kind))} onAction={() => retry(eventId)}>
          {t.retry}
        </ActionButton>
      ),
    },
  ]
}
