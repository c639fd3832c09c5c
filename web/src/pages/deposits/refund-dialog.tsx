import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { ApiError, freshKey, isCanceled, post } from '../../base/api.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyInputText, moneyText, parseMoney } from '../../base/money.ts'
import { useService } from '../../base/session.ts'
import { Button } from '../../ui/button.tsx'
import { Facts } from '../../ui/card.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Input } from '../../ui/field.tsx'
import { Money } from '../../ui/money.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { useRefusalText } from './refusals.ts'
import { refundableCents, returnedFeeCents, type DepositLife, type Refund } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Devolver ao pagador',
    text: 'O dinheiro volta para a conta de onde o Pix saiu.',
    value: 'Valor da devolução',
    left: (money: string) => `Até ${money}`,
    valueWrong: (money: string) => `Informe um valor de até ${money}`,
    all: 'Devolver tudo',
    reason: 'Motivo',
    reasonHint: 'Uma anotação sua; o pagador não vê.',
    next: 'Continuar',
    back: 'Voltar',
    confirmTitle: (money: string) => `Devolver ${money}?`,
    confirmText: 'Não dá para desfazer. O valor sai do seu saldo agora; se o banco recusar, ele volta.',
    remaining: 'Ainda poderá devolver',
    fee: 'Tarifa',
    feeReturned: (money: string) => `${money} voltam para você`,
    feeLost: 'não volta: você arca com ela',
    cost: 'Sai do seu saldo',
    note: (fee: string) => `A tarifa de ${fee} deste depósito não volta com a devolução.`,
    noteReturned: 'A parte da tarifa que corresponde à devolução volta para o seu saldo.',
    confirm: (money: string) => `Devolver ${money}`,
    done: 'Devolução concluída',
    processing: 'Devolução pedida: o banco está processando',
    failed: 'O banco recusou a devolução. O valor voltou ao saldo.',
  },
  en: {
    title: 'Refund the payer',
    text: 'The money goes back to the account that the Pix came from.',
    value: 'Amount to refund',
    left: (money: string) => `Up to ${money}`,
    valueWrong: (money: string) => `Enter an amount of up to ${money}`,
    all: 'Refund all of it',
    reason: 'Reason',
    reasonHint: 'A note of yours; the payer does not see it.',
    next: 'Continue',
    back: 'Back',
    confirmTitle: (money: string) => `Refund ${money}?`,
    confirmText: 'This cannot be undone. Your balance pays for it now, and gets it back if the bank refuses.',
    remaining: 'Left to refund after it',
    fee: 'Fee',
    feeReturned: (money: string) => `${money} comes back to you`,
    feeLost: 'does not come back: you bear it',
    cost: 'Your balance pays',
    note: (fee: string) => `The fee of ${fee} for this deposit does not come back with a refund.`,
    noteReturned: 'The share of the fee that belongs to the refund comes back to your balance.',
    confirm: (money: string) => `Refund ${money}`,
    done: 'Refund done',
    processing: 'Refund requested: the bank is working on it',
    failed: 'The bank refused the refund. Your balance has the amount again.',
  },
})

type Props = { life: Pick<DepositLife, 'deposit' | 'refunds'>; onClose: () => void; onRefunded: () => void }

const FORM = 'refund'

/** First how much, then whether really: two steps, since money that left does not come back by a click. Mounted while it is open. */
export function RefundDialog({ life, onClose, onRefunded }: Props) {
  const t = useWords()
  const { paymentLinkId, fee } = life.deposit
  const refundable = refundableCents(life)
  const { refundsReturnFee } = useService()
  const language = useLanguage()
  const refusalText = useRefusalText()
  const [typed, setTyped] = useState({ value: moneyInputText(refundable, language), reason: '' })
  const [step, setStep] = useState<'form' | 'tried' | 'confirm'>('form')
  const [idempotencyKey, setKey] = useState(freshKey)
  const cents = parseMoney(typed.value) ?? 0
  const isValid = cents > 0 && cents <= refundable
  const refund = useMutation({
    mutationFn: async () => {
      const body = { value: cents, reason: typed.reason.trim() || null }
      const answer = await post<{ refund: Refund }>(`/deposit/${paymentLinkId}/refund`, body, { idempotencyKey })
      // To whoever asked for it that is a refusal, and the same key would only tell of it again.
      if (answer.refund.status === 'FAILED') {
        setKey(freshKey())
        throw new ApiError(200, 'refund_failed', t.failed)
      }
      return answer.refund
    },
    onSuccess: ({ status }) => {
      toast.good(status === 'DONE' ? t.done : t.processing)
      onClose()
    },
    // Refused or not: what is left may have changed.
    onSettled: onRefunded,
  })
  const change = (changes: Partial<typeof typed>) => {
    setTyped({ ...typed, ...changes })
    setKey(freshKey())
    refund.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setStep(isValid ? 'confirm' : 'tried')
  }
  const money = moneyText(cents, language)
  const returned = refundsReturnFee ? returnedFeeCents(life, cents) : 0
  if (step === 'confirm')
    return (
      <Dialog
        isOpen
        onClose={() => !refund.isPending && onClose()}
        title={t.confirmTitle(money)}
        text={t.confirmText}
        footer={
          <>
            <Button onClick={() => setStep('form')} disabled={refund.isPending}>
              {t.back}
            </Button>
            <Button kind="danger" isBusy={refund.isPending} onClick={() => refund.mutate()}>
              {t.confirm(money)}
            </Button>
          </>
        }
      >
        <div className="space-y-4">
          <Facts
            facts={[
              { name: t.value, value: <Money cents={cents} /> },
              {
                name: t.fee,
                value: fee === 0 ? null : returned > 0 ? t.feeReturned(moneyText(returned, language)) : t.feeLost,
              },
              { name: t.cost, value: <Money cents={cents - returned} className="font-semibold" /> },
              { name: t.remaining, value: <Money cents={refundable - cents} /> },
              { name: t.reason, value: typed.reason.trim() || null },
            ]}
          />
          {refund.error && !isCanceled(refund.error) && <Notice tone="bad">{refusalText(refund.error)}</Notice>}
        </div>
      </Dialog>
    )
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t.title}
      text={t.text}
      footer={
        <>
          <Button onClick={onClose}>{t.back}</Button>
          <Button kind="primary" type="submit" form={FORM}>
            {t.next}
          </Button>
        </>
      }
    >
      <form id={FORM} noValidate onSubmit={submit} className="space-y-5">
        <div className="space-y-2">
          <Input
            label={t.value}
            value={typed.value}
            onChange={(event) => change({ value: event.target.value })}
            inputMode="decimal"
            autoComplete="off"
            className="figures text-xl font-semibold"
            hint={t.left(moneyText(refundable, language))}
            error={!isValid && step === 'tried' && t.valueWrong(moneyText(refundable, language))}
          />
          {cents !== refundable && (
            <Button size="small" onClick={() => change({ value: moneyInputText(refundable, language) })}>
              {t.all}
            </Button>
          )}
        </div>
        <Input
          label={t.reason}
          isOptional
          value={typed.reason}
          onChange={(event) => change({ reason: event.target.value })}
          maxLength={140}
          autoComplete="off"
          hint={t.reasonHint}
        />
        {fee > 0 && <Notice>{refundsReturnFee ? t.noteReturned : t.note(moneyText(fee, language))}</Notice>}
      </form>
    </Dialog>
  )
}
