import type { ReactNode } from 'react'
import { translations } from '../base/language.ts'
import { TONES, type Tone } from './notice.tsx'

export function Badge({ tone = 'still', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center rounded-full px-2.5 py-0.5 text-[0.8125rem] leading-5 font-semibold whitespace-nowrap ${TONES[tone]}`}
    >
      {children}
    </span>
  )
}

const useTexts = translations({
  OPENING: ['Em criação', 'Being created'],
  PENDING: ['Aguardando', 'Pending'],
  COMPLETED: ['Pago', 'Paid'],
  EXPIRED: ['Expirado', 'Expired'],
  CANCELED: ['Cancelado', 'Canceled'],
  PROCESSING: ['Em andamento', 'Processing'],
  DONE: ['Concluída', 'Succeeded'],
  FAILED: ['Falhou', 'Failed'],
  REQUESTED: ['Pedido', 'Requested'],
  PAID: ['Pago', 'Paid'],
  REJECTED: ['Recusado', 'Rejected'],
  OPEN: ['Aberto', 'Open'],
  CLOSED: ['Encerrado', 'Closed'],
  charge: {
    COMPLETED: ['Paga', 'Paid'],
    EXPIRED: ['Expirada', 'Expired'],
    CANCELED: ['Cancelada', 'Canceled'],
  },
})

const STATUS_TONES = {
  OPENING: 'wait',
  PENDING: 'wait',
  COMPLETED: 'good',
  EXPIRED: 'still',
  CANCELED: 'still',
  PROCESSING: 'wait',
  DONE: 'good',
  FAILED: 'bad',
  REQUESTED: 'wait',
  PAID: 'good',
  REJECTED: 'bad',
  OPEN: 'good',
  CLOSED: 'still',
} as const

type AnyStatus = keyof typeof STATUS_TONES

export function isStatus(status: string): status is AnyStatus {
  return status in STATUS_TONES
}

export function Status({ status }: { status: AnyStatus }) {
  return <Badge tone={STATUS_TONES[status]}>{useStatusText()(status)}</Badge>
}

/** Operators call a deposit a charge, which is feminine in Portuguese. */
export function ChargeStatus({ status }: { status: AnyStatus }) {
  return <Badge tone={STATUS_TONES[status]}>{useChargeStatusText()(status)}</Badge>
}

export function useChargeStatusText(): (status: AnyStatus) => string {
  const t = useTexts()
  const own: Partial<Record<AnyStatus, string>> = t.charge
  return (status) => own[status] ?? t[status]
}

export function useStatusText(): (status: AnyStatus) => string {
  const t = useTexts()
  return (status) => t[status]
}
