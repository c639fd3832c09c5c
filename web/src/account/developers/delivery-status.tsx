import { translations } from '../../base/language.ts'
import type { Delivery } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { DateTime } from '../../ui/data/values.tsx'
import { isFuture, isQueued } from './webhook-events.ts'

const useTexts = translations({
  status: {
    delivered: ['Entregue', 'Delivered'],
    retrying: ['Tentando de novo', 'Retrying'],
    failed: ['Falhou', 'Failed'],
    pending: ['Pendente', 'Pending'],
  },
  none: ['Nenhuma ainda', 'None yet'],
  next: ['próxima tentativa', 'next attempt'],
})

const TONES = { delivered: 'good', retrying: 'bad', failed: 'bad', pending: 'wait' } as const

export function DeliveryStatus({ status }: { status: Delivery['status'] }) {
  return <Badge tone={TONES[status]}>{useTexts().status[status]}</Badge>
}

export function useDeliveryStatuses(): { value: string; label: string }[] {
  const { status } = useTexts()
  return Object.entries(status).map(([value, label]) => ({ value, label }))
}

/** The last response: a status, or why there was none. */
export function LastAnswer({ delivery }: { delivery: Delivery }) {
  const { lastStatus, lastError, lastErrorCode, lastErrorDetail, nextAt } = delivery
  const t = useTexts()
  const reasonText = useReasonText()
  return (
    <span className="figures">
      {lastStatus ??
        (lastError === null ? (
          <span className="text-soft">{t.none}</span>
        ) : (
          reasonText({ code: lastErrorCode, detail: lastErrorDetail, text: lastError })
        ))}
      {isQueued(delivery) && nextAt && isFuture(nextAt) && (
        <span className="block text-sm text-soft">
          {t.next} <DateTime at={nextAt} relative />
        </span>
      )}
    </span>
  )
}
