import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh, useGet } from '../../base/queries.ts'
import { useMay } from '../../base/session.ts'
import type { Delivery, DeliveryAttempt, DeliveryDetails } from '../../contract/types.ts'
import { useEventName } from '../../ui/data/event-names.ts'
import { ActionButton } from '../../ui/button.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Card, DetailList, Page, Skeleton } from '../../ui/page.tsx'
import { CodeBlock, Copyable, DateTime } from '../../ui/data/values.tsx'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { ChevronRightIcon, RefreshIcon } from '../../ui/icons.tsx'
import { toast } from '../../ui/toast.tsx'
import { DeliveryStatus } from './delivery-status.tsx'
import { isQueued } from './webhook-events.ts'

const useTexts = translations({
  title: ['Entrega', 'Delivery'],
  back: ['Entregas', 'Deliveries'],
  resend: ['Reenviar', 'Resend'],
  queued: ['Reenvio agendado.', 'Resend scheduled.'],
  notQueued: [
    'Nada foi reenviado: o webhook está desativado ou não assina mais este evento.',
    'Nothing was resent: the webhook is disabled or no longer subscribes to this event.',
  ],
  status: ['Situação', 'Status'],
  webhook: ['Webhook', 'Webhook'],
  event: ['Evento', 'Event'],
  eventId: ['ID do evento', 'Event ID'],
  deposit: ['Depósito', 'Deposit'],
  seeDeposit: ['Ver depósito', 'View deposit'],
  created: ['Criada', 'Created'],
  next: ['Próxima tentativa', 'Next attempt'],
  request: ['Requisição', 'Request'],
  requestText: [
    'Formatado para leitura; o corpo é enviado e assinado sem espaços. Segredos não aparecem.',
    'Formatted for reading; the body is sent and signed without spaces. Secrets are hidden.',
  ],
  headers: ['Cabeçalhos', 'Headers'],
  body: ['Corpo', 'Body'],
  attempts: ['Tentativas', 'Attempts'],
  attemptsText: ['Da mais nova à mais antiga; as antigas são apagadas.', 'Newest first; old ones are deleted.'],
  noAttempt: ['Nenhuma tentativa ainda.', 'No attempts yet.'],
  attempt: (number: number) => [`Tentativa ${number}`, `Attempt ${number}`],
  noAnswer: ['Sem resposta', 'No response'],
  answer: (number: number) => [`Resposta à tentativa ${number}`, `Response to attempt ${number}`],
  noBody: ['Resposta sem corpo.', 'Empty response.'],
})

/** While another attempt is to come. The history does not tell of attempts. */
const REFRESH_MS = 5_000

/** One event at one webhook: what was sent, and what came back each time. */
export function DeliveryPage({ eventId, webhookId }: { eventId: string; webhookId: string }) {
  const t = useTexts()
  const eventName = useEventName()
  const may = useMay()
  const [isRefused, setRefused] = useState(false)
  const queryKey = ['delivery', eventId, webhookId]
  const details = useGet<DeliveryDetails>(queryKey, `/deliveries/${eventId}/${webhookId}`, {
    refetchInterval: (query) => (isQueued(query.state.data?.delivery) ? REFRESH_MS : false),
  })
  const { data } = details
  const resend = async () => {
    setRefused(false)
    const { queued } = await post<{ queued: number }>(`/events/${eventId}/resend`, { webhookId })
    setRefused(queued === 0)
    if (queued > 0) toast.good(t.queued)
    await refresh(queryKey, ['list', '/deliveries'])
  }
  // Tests are sent from the webhook's own page and never resent.
  const canResend = data?.delivery.event !== 'WEBHOOK_TEST' && may('webhooks:write')
  return (
    <Page
      query={details}
      title={data ? eventName(data.delivery.event) : t.title}
      back={{ to: '/developers/deliveries', label: t.back }}
      actions={
        canResend && (
          <ActionButton
            icon={RefreshIcon}
            kind={data?.delivery.status === 'failed' || data?.delivery.status === 'retrying' ? 'primary' : 'secondary'}
            disabled={!data}
            onAction={resend}
          >
            {t.resend}
          </ActionButton>
        )
      }
    >
      {isRefused && (
        <p role="alert" className="text-wait">
          {t.notQueued}
        </p>
      )}
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
        <About delivery={data?.delivery} />
        <div className="min-w-0 space-y-6">
          <Attempts attempts={data?.attempts} />
          <Request request={data?.request} />
        </div>
      </div>
    </Page>
  )
}

function About({ delivery }: { delivery: Delivery | undefined }) {
  const t = useTexts()
  const names = [t.status, t.webhook, t.event, t.eventId, t.deposit, t.created]
  if (!delivery)
    return (
      <Card>
        <DetailList details={names.map((name) => ({ name, value: <Skeleton className="h-5 w-32" /> }))} />
      </Card>
    )
  const { paymentLinkId } = delivery.subject
  return (
    <Card>
      <DetailList
        details={[
          { name: t.status, value: <DeliveryStatus status={delivery.status} /> },
          {
            name: t.webhook,
            value: (
              <Link to="/developers/$" params={{ _splat: `webhooks/${delivery.webhookId}` }} className="link">
                {delivery.webhookName}
              </Link>
            ),
          },
          { name: t.event, value: <code className="font-mono text-[0.8125rem]">{delivery.event}</code> },
          { name: t.eventId, value: <Copyable text={delivery.eventId} /> },
          {
            name: t.deposit,
            value: paymentLinkId && (
              <Link to="/deposits/$paymentLinkId" params={{ paymentLinkId }} className="link">
                {t.seeDeposit}
              </Link>
            ),
          },
          { name: t.created, value: <DateTime at={delivery.createdAt} /> },
          { name: t.next, value: delivery.nextAt && <DateTime at={delivery.nextAt} relative /> },
        ]}
      />
    </Card>
  )
}

function Attempts({ attempts }: { attempts: DeliveryAttempt[] | undefined }) {
  const t = useTexts()
  return (
    <Card title={t.attempts} text={t.attemptsText}>
      {!attempts && <Skeleton className="block! h-24 w-full" />}
      {attempts?.length === 0 && <p className="text-soft">{t.noAttempt}</p>}
      <ol className="divide-y divide-line">
        {attempts?.map((attempt, index) => (
          <AttemptItem
            key={`${attempt.at} ${attempt.number}`}
            // Attempts come newest first. They are numbered here, because the server starts a new count after a resend.
            attempt={{ ...attempt, number: attempts.length - index }}
            isOpen={index === 0}
          />
        ))}
      </ol>
    </Card>
  )
}

function AttemptItem({ attempt, isOpen }: { attempt: DeliveryAttempt; isOpen: boolean }) {
  const t = useTexts()
  const reasonText = useReasonText()
  const isGood = attempt.status !== null && attempt.status >= 200 && attempt.status < 300
  return (
    <li className="py-1 first:pt-0 last:pb-0">
      <details open={isOpen} className="group">
        <summary className="-mx-2 flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 rounded-lg px-2 py-1.5 hover:bg-hover">
          <ChevronRightIcon className="size-4 text-soft transition-transform group-open:rotate-90" />
          <h3 className="font-semibold">{t.attempt(attempt.number)}</h3>
          <Badge tone={isGood ? 'good' : 'bad'}>{attempt.status ?? t.noAnswer}</Badge>
          <span className="figures text-sm text-soft">{attempt.latencyMs} ms</span>
          <span className="text-sm text-soft max-sm:ml-7 sm:ml-auto">
            <DateTime at={attempt.at} />
          </span>
        </summary>
        <div className="space-y-2 pt-1 pb-3">
          {attempt.error !== null && (
            <p className="text-sm text-bad wrap-anywhere">
              {reasonText({ code: attempt.errorCode, detail: attempt.errorDetail, text: attempt.error })}
            </p>
          )}
          {attempt.status !== null &&
            (attempt.excerpt.trim() === '' ? (
              <p className="text-sm text-soft">{t.noBody}</p>
            ) : (
              <CodeBlock label={t.answer(attempt.number)} code={attempt.excerpt} />
            ))}
        </div>
      </details>
    </li>
  )
}

function Request({ request }: { request: DeliveryDetails['request'] | undefined }) {
  const t = useTexts()
  const headers = Object.entries(request?.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  return (
    <Card title={t.request} text={t.requestText}>
      {request ? (
        <div className="space-y-4">
          <p className="font-mono text-[0.8125rem] wrap-anywhere">
            <b>POST</b> {request.url}
          </p>
          <div className="space-y-1.5">
            <h3 className="text-sm font-semibold">{t.headers}</h3>
            <CodeBlock label={t.headers} code={headers.join('\n')} />
          </div>
          <div className="space-y-1.5">
            <h3 className="text-sm font-semibold">{t.body}</h3>
            <CodeBlock label={t.body} code={pretty(request.body)} />
          </div>
        </div>
      ) : (
        <Skeleton className="block! h-96 w-full" />
      )}
    </Card>
  )
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
