import { useEffect, useRef } from 'react'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { PaymentData } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { QrCode } from '../../ui/data/qr-code.tsx'
import { CheckIcon, ClockIcon, CloseIcon, InfoIcon, PrintIcon, type Icon } from '../../ui/icons.tsx'
import { Share } from '../deposits/share.tsx'
import { amountSize } from './amount-size.ts'
import { More } from './more.tsx'
import { GROUNDS, useOutcomeTexts, type Outcome } from './outcomes.ts'
import type { MadeSale } from './till.ts'

const useTexts = translations({
  receipt: ['Recibo', 'Receipt'],
  receiptQr: ['QR code do recibo, para o celular do cliente', 'QR code of the receipt, for the customer’s phone'],
  next: ['Próxima cobrança', 'Next charge'],
  again: ['Cobrar de novo', 'Charge again'],
})

const ICONS: Record<Outcome, Icon> = {
  COMPLETED: CheckIcon,
  TWICE: InfoIcon,
  HELD: ClockIcon,
  KEPT: InfoIcon,
  REFUNDED: InfoIcon,
  EXPIRED: ClockIcon,
  CANCELED: CloseIcon,
  CLOSING: ClockIcon,
}

type Props = {
  outcome: Outcome
  data: PaymentData
  sale: MadeSale
  onNext: () => void
  onAgain: () => void
}

/** The whole screen says what became of the charge. Enter goes on to the next one. */
export function OutcomeScreen({ outcome, data, sale: { charge }, onNext, onAgain }: Props) {
  const t = useTexts()
  const { title, text } = useOutcomeTexts()[outcome]
  const { money, time } = useFormat()
  const next = useRef<HTMLDivElement>(null)
  useEffect(() => next.current?.querySelector('button')?.focus(), [])
  const isPaid = data.status === 'COMPLETED'
  const amount = money(data.shownValue)
  const OutcomeIcon = ICONS[outcome]
  const advice = text(data, money)
  return (
    <div
      className={`flex grow flex-col items-center justify-center gap-4 p-6 pb-[calc(1.5rem+env(safe-area-inset-bottom))] text-center ${GROUNDS[outcome]}`}
    >
      <OutcomeIcon className={outcome === 'COMPLETED' ? 'size-28' : 'size-14'} />
      <h1 className="text-3xl font-semibold">{title}</h1>
      <p className={`figures font-semibold tracking-tight ${amountSize(amount)}`}>{amount}</p>
      {data.paidAt !== null && <p className="figures text-lg">{time(data.paidAt)}</p>}
      {data.description && <p className="max-w-md wrap-anywhere">{data.description}</p>}
      {advice && <p className="max-w-md">{advice}</p>}
      <div ref={next} className="mt-4 flex flex-wrap justify-center gap-2">
        <Button onClick={onNext} className="min-h-14! min-w-56 text-lg">
          {t.next}
        </Button>
        {(outcome === 'EXPIRED' || outcome === 'CANCELED') && (
          <Button onClick={onAgain} className="min-h-14! text-lg">
            {t.again}
          </Button>
        )}
      </div>
      {isPaid && (
        <More icon={PrintIcon} label={t.receipt}>
          <Share deposit={{ paymentLinkUrl: charge.paymentLinkUrl, value: data.shownValue, status: 'COMPLETED' }} />
          <QrCode
            text={`${charge.paymentLinkUrl}/receipt`}
            label={t.receiptQr}
            className="mx-auto size-48 rounded-lg"
          />
        </More>
      )}
    </div>
  )
}
