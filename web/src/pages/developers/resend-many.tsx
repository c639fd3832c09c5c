import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { get, post } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Input, Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { toast } from '../../ui/toast.tsx'
import { webhooksQuery, type Delivery, type Webhook } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Reenviar entregas?',
    text: 'Vão de novo com o mesmo id e o mesmo conteúdo, do mais antigo ao mais novo. O seu sistema reconhece repetições pelo id.',
    which: 'O que reenviar',
    failed: 'Tudo o que falhou, também o que está sendo tentado de novo',
    since: 'Tudo desde um momento',
    from: 'Desde',
    to: 'Para',
    all: 'Todos os webhooks ativos',
    resend: 'Reenviar',
    none: 'Não há nada a reenviar.',
    one: '1 entrega será reenviada.',
    many: (count: number) => `${count} entregas serão reenviadas.`,
    atLeast: (count: number) => `${count} entregas ou mais serão reenviadas.`,
    queued: (count: number) => (count === 1 ? '1 entrega na fila.' : `${count} entregas na fila.`),
  },
  en: {
    title: 'Resend deliveries?',
    text: 'They go again with the same id and the same content, oldest first. Your system tells repetitions by the id.',
    which: 'What to resend',
    failed: 'Everything that failed, also what is being retried',
    since: 'Everything since a time',
    from: 'Since',
    to: 'To',
    all: 'All active webhooks',
    resend: 'Resend',
    none: 'There is nothing to resend.',
    one: '1 delivery will be resent.',
    many: (count: number) => `${count} deliveries will be resent.`,
    atLeast: (count: number) => `${count} deliveries or more will be resent.`,
    queued: (count: number) => (count === 1 ? '1 delivery in the queue.' : `${count} deliveries in the queue.`),
  },
})

const DAY_MS = 24 * 3_600_000
/** A page of events: beyond it, "or more" tells enough. */
const COUNTED_EVENTS = 100

type Which = { since: string | null; webhookId: string }

export function ResendMany({ onClose }: { onClose: () => void }) {
  const t = useWords()
  const queryClient = useQueryClient()
  const [kind, setKind] = useState<'failed' | 'since'>('failed')
  const [from, setFrom] = useState(() => localText(new Date(Date.now() - DAY_MS)))
  const [webhookId, setWebhookId] = useState('')
  const enabled = useQuery(webhooksQuery).data?.webhooks.filter((webhook) => webhook.enabled) ?? []
  const which = { since: kind === 'since' ? isoOf(from) : null, webhookId }
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t.title}
      text={t.text}
      action={t.resend}
      onConfirm={async () => {
        const { queued } = await post<{ queued: number }>('/events/resend', {
          ...(which.since ? { since: which.since } : { failed: true }),
          ...(webhookId && { webhookId }),
        })
        toast.good(queued === 0 ? t.none : t.queued(queued))
        await queryClient.invalidateQueries({ queryKey: ['list', '/deliveries'] })
      }}
    >
      <Select
        label={t.which}
        value={kind}
        onChange={(event) => setKind(event.target.value as typeof kind)}
        choices={[
          { value: 'failed', label: t.failed },
          { value: 'since', label: t.since },
        ]}
      />
      {kind === 'since' && (
        <Input
          type="datetime-local"
          label={t.from}
          value={from}
          onChange={(event) => event.target.value && setFrom(event.target.value)}
        />
      )}
      <Select
        label={t.to}
        value={webhookId}
        onChange={(event) => setWebhookId(event.target.value)}
        choices={[{ value: '', label: t.all }, ...enabled.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      <HowMany which={which} enabled={enabled} />
    </ConfirmDialog>
  )
}

const TROUBLED = ['failed', 'retrying'] as const

type CountedEvent = {
  id: string
  event: string
  createdAt: string
  deliveries: { webhookId: string; state: Delivery['status'] }[]
}

/** Before it is done: how many will go. Counted as the server will pick them, as far as a page of events goes. */
function HowMany({ which, enabled }: { which: Which; enabled: Webhook[] }) {
  const t = useWords()
  const events = useQuery({
    queryKey: ['resend', which],
    queryFn: async ({ signal }) => {
      const filters = which.since ? [{}] : TROUBLED.map((state) => ({ state, webhookId: which.webhookId }))
      const pages = await Promise.all(
        filters.map((filter) =>
          get<{ events: CountedEvent[]; nextCursor: string | null }>(
            '/events',
            { ...filter, limit: COUNTED_EVENTS },
            { signal },
          ),
        ),
      )
      // An event that failed at one webhook may be retried at another.
      const events = new Map(pages.flatMap((page) => page.events).map((event) => [event.id, event]))
      return { events: [...events.values()], isMore: pages.some((page) => page.nextCursor !== null) }
    },
    staleTime: 0,
  })
  if (events.isPending) return <Skeleton className="block! h-12 w-full" />
  // It can be done without knowing how many.
  if (!events.data) return null
  const { since } = which
  const receivers = enabled.filter(({ id }) => which.webhookId === '' || id === which.webhookId)
  const meant = events.data.events.filter(({ createdAt }) => since === null || createdAt >= since)
  const count = meant.reduce((sum, event) => sum + receivers.filter((one) => wouldGet(one, event, since)).length, 0)
  const isMore = events.data.isMore && meant.length === events.data.events.length
  if (isMore) return <Notice tone="mark">{t.atLeast(count)}</Notice>
  return (
    <Notice tone={count === 0 ? 'still' : 'mark'}>{count === 0 ? t.none : count === 1 ? t.one : t.many(count)}</Notice>
  )
}

function wouldGet({ id, events }: Webhook, { event, deliveries }: CountedEvent, since: string | null): boolean {
  if (!events.some((kind) => kind === event)) return false
  return (
    since !== null ||
    deliveries.some(({ webhookId, state }) => webhookId === id && (state === 'failed' || state === 'retrying'))
  )
}

/** As such a field writes it: the reader's own time, to the minute. */
function localText(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 16)
}

function isoOf(text: string): string | null {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
