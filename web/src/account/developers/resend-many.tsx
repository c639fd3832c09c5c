import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get, post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { DeliveryState, Event, Webhook } from '../../contract/types.ts'
import { Input, Select } from '../../ui/form/form.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Skeleton } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { webhooksQuery } from './webhook-events.ts'

const useTexts = translations({
  title: ['Reenviar entregas?', 'Resend deliveries?'],
  text: [
    'São reenviadas com o mesmo ID e o mesmo corpo, da mais antiga à mais nova. Seu sistema reconhece repetições pelo ID.',
    'They are resent with the same ID and body, oldest first. Your system recognizes duplicates by the ID.',
  ],
  which: ['O que reenviar', 'What to resend'],
  failed: ['Tudo o que falhou ou está sendo tentado de novo', 'Everything that failed or is being retried'],
  since: ['Tudo a partir de uma data', 'Everything since a date'],
  from: ['Desde', 'Since'],
  to: ['Para', 'To'],
  all: ['Todos os webhooks ativos', 'All active webhooks'],
  resend: ['Reenviar', 'Resend'],
  none: ['Nada a reenviar.', 'Nothing to resend.'],
  one: ['1 entrega será reenviada.', '1 delivery will be resent.'],
  many: (count: number) => [`${count} entregas serão reenviadas.`, `${count} deliveries will be resent.`],
  atLeast: (count: number) => [
    `Pelo menos ${count} entregas serão reenviadas.`,
    `At least ${count} deliveries will be resent.`,
  ],
  queued: (count: number) => [
    count === 1 ? '1 entrega agendada.' : `${count} entregas agendadas.`,
    count === 1 ? '1 delivery scheduled.' : `${count} deliveries scheduled.`,
  ],
})

const DAY_MS = 24 * 3_600_000
/** One page of events. If there are more, "at least" is precise enough. */
const COUNTED_EVENTS = 100

type Which = { since: string | null; webhookId: string }

export function ResendMany({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const [kind, setKind] = useState<'failed' | 'since'>('failed')
  const [from, setFrom] = useState(() => localText(new Date(Date.now() - DAY_MS)))
  const [webhookId, setWebhookId] = useState('')
  const enabled = useQuery(webhooksQuery).data?.webhooks.filter((webhook) => webhook.enabled) ?? []
  const which = { since: kind === 'since' ? isoOf(from) : null, webhookId }
  return (
    <ConfirmDialog
      onClose={onClose}
      title={t.title}
      text={t.text}
      action={t.resend}
      onSend={async () => {
        const { queued } = await post<{ queued: number }>('/events/resend', {
          ...(which.since ? { since: which.since } : { failed: true }),
          ...(webhookId && { webhookId }),
        })
        toast.good(queued === 0 ? t.none : t.queued(queued))
      }}
      refreshes={[['list', '/deliveries']]}
    >
      <Select
        label={t.which}
        value={kind}
        onChange={(value) => setKind(value === 'since' ? 'since' : 'failed')}
        choices={[
          { value: 'failed', label: t.failed },
          { value: 'since', label: t.since },
        ]}
      />
      {kind === 'since' && (
        <Input type="datetime-local" label={t.from} value={from} onChange={(value) => value && setFrom(value)} />
      )}
      <Select
        label={t.to}
        value={webhookId}
        onChange={setWebhookId}
        choices={[{ value: '', label: t.all }, ...enabled.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      <HowMany which={which} enabled={enabled} />
    </ConfirmDialog>
  )
}

const FAILING: readonly DeliveryState[] = ['failed', 'retrying']

/** Shows how many will be resent. It counts as the server picks them, up to one page of events. */
function HowMany({ which, enabled }: { which: Which; enabled: Webhook[] }) {
  const t = useTexts()
  const events = useQuery({
    queryKey: ['resend', which],
    queryFn: async ({ signal }) => {
      const filters = which.since ? [{}] : FAILING.map((state) => ({ state, webhookId: which.webhookId }))
      const pages = await Promise.all(
        filters.map((filter) =>
          get<{ events: Event[]; nextCursor: string | null }>(
            '/events',
            { ...filter, limit: COUNTED_EVENTS },
            { signal },
          ),
        ),
      )
      // An event may be on both pages, because it failed at one webhook while another retries it.
      const events = new Map(pages.flatMap((page) => page.events).map((event) => [event.id, event]))
      return { events: [...events.values()], isMore: pages.some((page) => page.nextCursor !== null) }
    },
    staleTime: 0,
  })
  if (events.isPending) return <Skeleton className="block! h-12 w-full" />
  // The dialog works without the count.
  if (!events.data) return null
  const { since } = which
  const webhooks = enabled.filter(({ id }) => which.webhookId === '' || id === which.webhookId)
  const meant = events.data.events.filter(({ createdAt }) => since === null || createdAt >= since)
  const count = meant.reduce(
    (sum, event) => sum + webhooks.filter((webhook) => isResentTo(webhook, event, since)).length,
    0,
  )
  const isMore = events.data.isMore && meant.length === events.data.events.length
  if (isMore) return <Notice tone="mark">{t.atLeast(count)}</Notice>
  return (
    <Notice tone={count === 0 ? 'still' : 'mark'}>{count === 0 ? t.none : count === 1 ? t.one : t.many(count)}</Notice>
  )
}

function isResentTo({ id, events }: Webhook, { event, deliveries }: Event, since: string | null): boolean {
  if (!events.some((kind) => kind === event)) return false
  return since !== null || deliveries.some(({ webhookId, state }) => webhookId === id && FAILING.includes(state))
}

/** The format of a datetime-local field: the reader's own time, to the minute. */
function localText(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 16)
}

function isoOf(text: string): string | null {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
