import { useEffect, useRef, useState, type ReactNode } from 'react'
import type { ApiError } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { ActionButton, Button, Spinner } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/data/values.tsx'
import { QrCode } from '../../ui/data/qr-code.tsx'
import { ShareIcon } from '../../ui/icons.tsx'
import { useDepositErrorText } from '../deposits/deposit-errors.ts'
import { Share } from '../deposits/share.tsx'
import { amountSize } from './amount-size.ts'
import { askFor, keepCanceling, type Trouble } from './ask.ts'
import { announcePayment } from './attention.ts'
import { More } from './more.tsx'
import { OutcomeScreen } from './outcome-screen.tsx'
import { outcomeOf, useOutcomeTexts } from './outcomes.ts'
import { useShopName } from './shop-name.ts'
import { changeSale, type AskedSale, type MadeSale, type Till } from './till.ts'
import { leftText, usePayment, type Payment } from './use-payment.ts'

const useTexts = translations({
  asking: ['Gerando o código…', 'Making the code…'],
  notMadeYet: [
    'Sem resposta ainda. Continuamos tentando, e nada é cobrado duas vezes.',
    'No answer yet. We keep trying, and nothing is charged twice.',
  ],
  giveUp: ['Desistir', 'Give up'],
  giveUpText: [
    'Se desistir, ninguém paga: o código não foi mostrado a ninguém.',
    'If you give up, nobody pays: the code was not shown to anybody.',
  ],
  payTo: ['Pague por Pix para', 'Pay by Pix to'],
  qr: ['QR code para pagar', 'QR code to pay'],
  left: ['Tempo restante', 'Time left'],
  copy: ['Copiar código', 'Copy code'],
  share: ['Compartilhar', 'Share'],
  check: ['Verificar agora', 'Check now'],
  cancel: ['Cancelar', 'Cancel'],
  cancelTitle: ['Cancelar esta cobrança?', 'Cancel this charge?'],
  cancelYes: ['Cancelar cobrança', 'Cancel charge'],
  cancelNo: ['Voltar ao código', 'Back to the code'],
  canceling: ['Cancelando…', 'Canceling…'],
  mayStillPay: [
    'Sem resposta ainda. Até lá, o código ainda pode ser pago: não deixe o cliente usá-lo.',
    'No answer yet. Until then the code may still be paid: do not let the customer use it.',
  ],
  leave: ['Deixar assim', 'Leave it so'],
  ofAnotherDay: [
    'Só dá para cancelar cobranças de hoje. O código vale até o fim do prazo.',
    'Only charges of today can be canceled. The code works until its time ends.',
  ],
  waiting: (money: string) => [`Aguardando ${money}`, `Waiting for ${money}`],
  missing: ['Esta cobrança não existe mais.', 'This charge no longer exists.'],
  next: ['Próxima cobrança', 'Next charge'],
})

/** While it is not known whether the charge was made. It ends without one by a refusal, or by hand. */
export function AskedScreen(props: { till: Till; sale: AskedSale; onEnd: (error?: ApiError) => void }) {
  const { till, sale, onEnd } = props
  const t = useTexts()
  const { money } = useFormat()
  const errorText = useDepositErrorText()
  const [trouble, setTrouble] = useState<Trouble>()
  useEffect(
    () => askFor(till, sale, (told) => (told.isOver ? onEnd(told.error) : setTrouble(told))),
    // The sale changes once it was sent; it is asked for in one go.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [sale.key],
  )
  return (
    <Waiting title={t.asking} amount={money(sale.body.value)}>
      {trouble && (
        <>
          <p role="status">
            {t.notMadeYet} {trouble.error.status > 0 && errorText(trouble.error)}
          </p>
          <p className="text-sm text-soft">{t.giveUpText}</p>
          <Button onClick={() => onEnd()}>{t.giveUp}</Button>
        </>
      )}
    </Waiting>
  )
}

function Waiting({ title, amount, children }: { title: string; amount: string; children: ReactNode }) {
  return (
    <div className="flex grow flex-col items-center justify-center gap-5 p-6 text-center">
      <Spinner className="size-10 text-accent" />
      <h1 className="text-xl font-semibold">{title}</h1>
      <p className={`figures font-semibold ${amountSize(amount)}`}>{amount}</p>
      <div className="flex min-h-40 max-w-md flex-col items-center gap-4">{children}</div>
    </div>
  )
}

type MadeProps = { till: Till; sale: MadeSale; onNext: () => void; onAgain: () => void }

export function MadeScreen({ till, sale, onNext, onAgain }: MadeProps) {
  const t = useTexts()
  const texts = useOutcomeTexts()
  const { money } = useFormat()
  const payment = usePayment(sale)
  const { data } = payment
  const outcome = outcomeOf(data, payment.secondsLeft)
  const canceling = useCanceling(till, sale, payment)
  const isPaid = outcome === 'COMPLETED' || outcome === 'TWICE'
  useEffect(() => {
    if (!isPaid || sale.isPaid) return
    announcePayment()
    changeSale(till, sale, { isPaid: true })
  }, [isPaid, sale, till])
  const news =
    outcome && data ? `${texts[outcome].title} ${money(data.shownValue)}` : t.waiting(money(sale.charge.value))
  return (
    <>
      <p role="status" className="sr-only">
        {news}
      </p>
      {payment.isMissing ? (
        <Missing onNext={onNext} />
      ) : outcome && data ? (
        <OutcomeScreen key={outcome} outcome={outcome} data={data} sale={sale} onNext={onNext} onAgain={onAgain} />
      ) : sale.isCanceling ? (
        <Waiting title={t.canceling} amount={money(sale.charge.value)}>
          {canceling.isLate && (
            <>
              <p role="status">{t.mayStillPay}</p>
              <Button onClick={onNext}>{t.leave}</Button>
            </>
          )}
        </Waiting>
      ) : (
        <CodeScreen sale={sale} payment={payment} refusal={canceling.refusal} onCancel={canceling.begin} />
      )}
    </>
  )
}

function useCanceling(till: Till, sale: MadeSale, { check }: Payment) {
  const t = useTexts()
  const errorText = useDepositErrorText()
  const [isLate, setLate] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  useEffect(
    () => {
      if (!sale.isCanceling) return
      return keepCanceling(sale, {
        trouble: () => setLate(true),
        // Until the new state is known, the code is not shown again.
        canceled: () => void check(),
        refused: async (error) => {
          setRefusal(error.code === 'not_found' ? t.ofAnotherDay : errorText(error))
          await check()
          changeSale(till, sale, { isCanceling: false })
        },
      })
    },
    // Texts are new with each render, and the sale with each change.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [sale.charge.paymentLinkId, sale.isCanceling],
  )
  const begin = () => {
    setRefusal(undefined)
    setLate(false)
    changeSale(till, sale, { isCanceling: true })
  }
  return { isLate, refusal, begin }
}

type CodeProps = { sale: MadeSale; payment: Payment; refusal: string | undefined; onCancel: () => void }

/** What the payer scans. */
function CodeScreen({ sale: { charge }, payment, refusal, onCancel }: CodeProps) {
  const t = useTexts()
  const { money } = useFormat()
  const { data, secondsLeft, check } = payment
  const name = useShopName()
  const emv = charge.emv ?? data?.emv
  const amount = money(charge.value)
  return (
    <div className="mx-auto flex w-full max-w-5xl grow flex-col items-center justify-center gap-x-12 gap-y-4 p-4 pb-[calc(1rem+env(safe-area-inset-bottom))] md:landscape:flex-row">
      <div className="flex size-[min(90vw,52dvh)] items-center justify-center md:landscape:size-[min(48vw,76dvh)]">
        {emv ? <QrCode text={emv} label={t.qr} className="size-full rounded-2xl" /> : <Spinner className="size-10" />}
      </div>
      <div className="flex w-full max-w-md flex-col items-center gap-3 text-center">
        <p className="wrap-anywhere">
          {t.payTo} <b>{data?.payee ?? name}</b>
        </p>
        <h1 className={`figures font-semibold tracking-tight ${amountSize(amount)}`}>{amount}</h1>
        {data?.description && <p className="wrap-anywhere text-soft">{data.description}</p>}
        <p role="timer" aria-label={t.left} className="figures min-h-8 text-2xl text-soft">
          {secondsLeft !== undefined && leftText(secondsLeft)}
        </p>
        {refusal && (
          <p role="alert" className="font-medium text-bad">
            {refusal}
          </p>
        )}
        <div className="flex flex-wrap justify-center gap-2 [&_button]:min-h-11">
          {emv && <CopyButton text={emv} label={t.copy} />}
          <ActionButton onAction={check}>{t.check}</ActionButton>
        </div>
        <More icon={ShareIcon} label={t.share}>
          <Share deposit={{ ...charge, status: 'PENDING' }} />
        </More>
        <Cancel onCancel={onCancel} />
      </div>
    </div>
  )
}

/** Asks once more: a code that is canceled by mistake is gone. */
function Cancel({ onCancel }: { onCancel: () => void }) {
  const t = useTexts()
  const [isAsking, setAsking] = useState(false)
  if (isAsking) return <CancelQuestion onCancel={onCancel} onBack={() => setAsking(false)} />
  return (
    <Button kind="quiet" onClick={() => setAsking(true)}>
      {t.cancel}
    </Button>
  )
}

function CancelQuestion({ onCancel, onBack }: { onCancel: () => void; onBack: () => void }) {
  const t = useTexts()
  const answers = useRef<HTMLDivElement>(null)
  useEffect(() => answers.current?.querySelector('button')?.focus(), [])
  return (
    <div role="group" aria-label={t.cancelTitle} className="space-y-3 rounded-2xl border border-line bg-card p-4">
      <p className="font-semibold">{t.cancelTitle}</p>
      <div ref={answers} className="flex flex-wrap justify-center gap-2">
        <Button onClick={onBack}>{t.cancelNo}</Button>
        <Button kind="danger" onClick={onCancel}>
          {t.cancelYes}
        </Button>
      </div>
    </div>
  )
}

/** For example after the database was restored from a backup. */
function Missing({ onNext }: { onNext: () => void }) {
  const t = useTexts()
  return (
    <div className="flex grow flex-col items-center justify-center gap-5 p-6 text-center">
      <h1 className="text-xl font-semibold">{t.missing}</h1>
      <Button kind="primary" onClick={onNext}>
        {t.next}
      </Button>
    </div>
  )
}
