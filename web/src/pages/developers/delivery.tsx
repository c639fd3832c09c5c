import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get, post } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { ChevronRightIcon, RefreshIcon } from '../../ui/icons.tsx'
import { Page } from '../../ui/page.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Failure } from '../../ui/table.tsx'
import { toast } from '../../ui/toast.tsx'
import { DeliveryStatus } from './delivery-status.tsx'
import { useReason } from './reasons.ts'
import { isQueued, useEventName, type Delivery } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Entrega',
    back: 'Entregas',
    resend: 'Reenviar',
    queued: 'Na fila para reenvio.',
    notQueued: 'Nada foi reenviado: o webhook está desativado ou não pede mais este evento.',
    status: 'Situação',
    webhook: 'Webhook',
    event: 'Evento',
    eventId: 'Id do evento',
    deposit: 'Depósito',
    seeDeposit: 'Ver depósito',
    created: 'Criada',
    next: 'Próxima tentativa',
    request: 'Pedido',
    requestText: 'Formatado para leitura: o conteúdo é enviado e assinado sem espaços. Segredos não aparecem.',
    headers: 'Cabeçalhos',
    body: 'Conteúdo',
    attempts: 'Tentativas',
    attemptsText: 'Dos últimos 30 dias, da mais nova à mais antiga.',
    noAttempt: 'Nenhuma tentativa ainda.',
    attempt: (number: number) => `Tentativa ${number}`,
    noAnswer: 'Sem resposta',
    answer: (number: number) => `Resposta à tentativa ${number}`,
    noBody: 'Resposta sem conteúdo.',
  },
  en: {
    title: 'Delivery',
    back: 'Deliveries',
    resend: 'Resend',
    queued: 'In the queue to be sent again.',
    notQueued: 'Nothing was resent: the webhook is disabled, or no longer asks for this event.',
    status: 'Status',
    webhook: 'Webhook',
    event: 'Event',
    eventId: 'Event id',
    deposit: 'Deposit',
    seeDeposit: 'See the deposit',
    created: 'Created',
    next: 'Next attempt',
    request: 'Request',
    requestText: 'Laid out for reading: the content is sent and signed without spaces. Secrets are not shown.',
    headers: 'Headers',
    body: 'Content',
    attempts: 'Attempts',
    attemptsText: 'Of the last 30 days, newest first.',
    noAttempt: 'No attempt yet.',
    attempt: (number: number) => `Attempt ${number}`,
    noAnswer: 'No answer',
    answer: (number: number) => `Answer to attempt ${number}`,
    noBody: 'An answer without content.',
  },
})

type Attempt = {
  number: number
  at: string
  status: number | null
  error: string | null
  errorCode: string | null
  errorDetail: string | null
  latencyMs: number
  excerpt: string
}
type Answer = {
  delivery: Delivery
  request: { url: string; headers: Record<string, string>; body: string }
  attempts: Attempt[]
}

/** While it is in the queue. */
const REREAD_MS = 2_000

/** One event at one webhook: what was sent, and what came back each time. */
export function DeliveryPage({ eventId, endpointId }: { eventId: string; endpointId: string }) {
  const t = useWords()
  const eventName = useEventName()
  const queryClient = useQueryClient()
  const queryKey = ['delivery', eventId, endpointId]
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => get<Answer>(`/deliveries/${eventId}/${endpointId}`, {}, { signal }),
    refetchInterval: (query) => (isQueued(query.state.data?.delivery) ? REREAD_MS : false),
  })
  const resend = useMutation({
    mutationFn: () => post<{ queued: number }>(`/events/${eventId}/resend`, { webhookId: endpointId }),
    onSuccess: async ({ queued }) => {
      if (queued > 0) toast.good(t.queued)
      await queryClient.invalidateQueries({ queryKey })
      await queryClient.invalidateQueries({ queryKey: ['list', '/deliveries'] })
    },
    onError: toast.bad,
  })
  // A test is sent from its webhook, and never resent.
  const canResend = data?.delivery.event !== 'WEBHOOK_TEST'
  return (
    <Page
      title={data ? eventName(data.delivery.event) : t.title}
      back={{ to: '/developers/deliveries', label: t.back }}
      actions={
        canResend && (
          <Button
            kind={data?.delivery.status === 'failed' || data?.delivery.status === 'retrying' ? 'primary' : 'secondary'}
            isBusy={resend.isPending}
            disabled={!data}
            onClick={() => resend.mutate()}
          >
            <RefreshIcon className="size-4" />
            {t.resend}
          </Button>
        )
      }
    >
      {resend.data?.queued === 0 && (
        <p role="alert" className="text-wait">
          {t.notQueued}
        </p>
      )}
      {!data && error ? (
        <Card isFlush>
          <Failure error={error} onRetry={() => void refetch()} />
        </Card>
      ) : (
        <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
          <About delivery={data?.delivery} />
          <div className="min-w-0 space-y-6">
            <Attempts attempts={data?.attempts} />
            <Request request={data?.request} />
          </div>
        </div>
      )}
    </Page>
  )
}

function About({ delivery }: { delivery: Delivery | undefined }) {
  const t = useWords()
  const names = [t.status, t.webhook, t.event, t.eventId, t.deposit, t.created]
  if (!delivery)
    return (
      <Card>
        <Facts facts={names.map((name) => ({ name, value: <Skeleton className="h-5 w-32" /> }))} />
      </Card>
    )
  const { paymentLinkId } = delivery.subject
  return (
    <Card>
      <Facts
        facts={[
          { name: t.status, value: <DeliveryStatus status={delivery.status} /> },
          {
            name: t.webhook,
            value: (
              <Link to="/developers/webhooks" className="link">
                {delivery.endpointName}
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

function Attempts({ attempts }: { attempts: Attempt[] | undefined }) {
  const t = useWords()
  return (
    <Card title={t.attempts} text={t.attemptsText}>
      {!attempts && <Skeleton className="block! h-24 w-full" />}
      {attempts?.length === 0 && <p className="text-soft">{t.noAttempt}</p>}
      <ol className="divide-y divide-line">
        {attempts?.map((attempt, index) => (
          <AttemptItem key={`${attempt.at} ${attempt.number}`} attempt={attempt} isOpen={index === 0} />
        ))}
      </ol>
    </Card>
  )
}

/** The newest is open: it says what to mend. */
function AttemptItem({ attempt, isOpen }: { attempt: Attempt; isOpen: boolean }) {
  const t = useWords()
  const reasonText = useReason()
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

function Request({ request }: { request: Answer['request'] | undefined }) {
  const t = useWords()
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
