import type { ReactNode } from 'react'
import { words } from '../base/language.ts'
import type { Tone } from './notice.tsx'

const LOOKS: Record<Tone, string> = {
  good: 'bg-good-ground text-good',
  wait: 'bg-wait-ground text-wait',
  bad: 'bg-bad-ground text-bad',
  mark: 'bg-mark-ground text-mark',
  still: 'bg-still-ground text-still',
}

export function Badge({ tone = 'still', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center rounded-full px-2.5 py-0.5 text-[0.8125rem] leading-5 font-semibold whitespace-nowrap ${LOOKS[tone]}`}
    >
      {children}
    </span>
  )
}

const useWords = words({
  'pt-BR': {
    PENDING: 'Aguardando',
    COMPLETED: 'Pago',
    EXPIRED: 'Expirado',
    CANCELED: 'Cancelado',
    PROCESSING: 'Em andamento',
    DONE: 'Concluído',
    FAILED: 'Falhou',
  },
  en: {
    PENDING: 'Pending',
    COMPLETED: 'Paid',
    EXPIRED: 'Expired',
    CANCELED: 'Canceled',
    PROCESSING: 'In progress',
    DONE: 'Done',
    FAILED: 'Failed',
  },
})

const TONES = {
  PENDING: 'wait',
  COMPLETED: 'good',
  EXPIRED: 'still',
  CANCELED: 'still',
  PROCESSING: 'wait',
  DONE: 'good',
  FAILED: 'bad',
} as const

/** How a deposit or a refund stands. */
export function Status({ status }: { status: keyof typeof TONES }) {
  return <Badge tone={TONES[status]}>{useStatusText()(status)}</Badge>
}

export function useStatusText(): (status: keyof typeof TONES) => string {
  const t = useWords()
  return (status) => t[status]
}
