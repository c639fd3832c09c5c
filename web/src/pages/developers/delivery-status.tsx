import { words } from '../../base/language.ts'
import { Badge } from '../../ui/badge.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { useReason } from './reasons.ts'
import { isAhead, isQueued, type Delivery } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    status: { delivered: 'Entregue', retrying: 'Tentando de novo', failed: 'Falhou', pending: 'Na fila' },
    none: 'Nenhuma ainda',
    next: 'próxima tentativa',
  },
  en: {
    status: { delivered: 'Delivered', retrying: 'Retrying', failed: 'Failed', pending: 'In the queue' },
    none: 'None yet',
    next: 'next attempt',
  },
})

const TONES = { delivered: 'good', retrying: 'bad', failed: 'bad', pending: 'wait' } as const

export function DeliveryStatus({ status }: { status: Delivery['status'] }) {
  return <Badge tone={TONES[status]}>{useWords().status[status]}</Badge>
}

export function useDeliveryStatuses(): { value: string; label: string }[] {
  const { status } = useWords()
  return Object.entries(status).map(([value, label]) => ({ value, label }))
}

/** What the receiver last said: a status, or why there was none. */
export function LastAnswer({ delivery }: { delivery: Delivery }) {
  const { lastStatus, lastError, lastErrorCode, lastErrorDetail, nextAt } = delivery
  const t = useWords()
  const reasonText = useReason()
  return (
    <span className="figures">
      {lastStatus ??
        (lastError === null ? (
          <span className="text-soft">{t.none}</span>
        ) : (
          reasonText({ code: lastErrorCode, detail: lastErrorDetail, text: lastError })
        ))}
      {isQueued(delivery) && nextAt && isAhead(nextAt) && (
        <span className="block text-sm text-soft">
          {t.next} <DateTime at={nextAt} relative />
        </span>
      )}
    </span>
  )
}
