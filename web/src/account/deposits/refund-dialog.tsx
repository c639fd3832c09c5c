import { useState } from 'react'
import { ApiError, newIdempotencyKey, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { moneyInputText, parseMoney } from '../../base/money.ts'
import { useService } from '../../base/session.ts'
import type { DepositHistory, Refund } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { DetailList } from '../../ui/page.tsx'
import { Money } from '../../ui/data/values.tsx'
import { Input, useCheck, useFields } from '../../ui/form/form.tsx'
import { ConfirmDialog, FormDialog } from '../../ui/form/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { refundableCents, returnedFeeCents } from '../../deposits/deposit-amounts.ts'
import { useDepositErrorText } from './deposit-errors.ts'

const useTexts = translations({
  title: ['Devolver ao pagador', 'Refund the payer'],
  text: ['O dinheiro volta para a conta de onde o Pix saiu.', 'The money goes back to the account the Pix came from.'],
  value: ['Valor da devolução', 'Refund amount'],
  left: (money: string) => [`Até ${money}`, `Up to ${money}`],
  valueWrong: (money: string) => [`Informe um valor de até ${money}`, `Enter an amount up to ${money}`],
  all: ['Devolver tudo', 'Refund full amount'],
  reason: ['Motivo', 'Reason'],
  reasonHint: ['Para seu controle. O pagador não vê.', 'For your records. The payer does not see it.'],
  next: ['Continuar', 'Continue'],
  confirmTitle: (money: string) => [`Devolver ${money}?`, `Refund ${money}?`],
  confirmText: [
    'Não dá para desfazer. O valor sai do seu saldo agora; se o banco recusar, ele volta.',
    'This cannot be undone. The amount leaves your balance now and returns if the bank declines.',
  ],
  remaining: ['Ainda poderá ser devolvido', 'Still refundable'],
  fee: ['Tarifa', 'Fee'],
  feeReturned: (money: string) => [`${money} voltam para você`, `${money} is returned to you`],
  feeLost: ['não é devolvida', 'not returned'],
  cost: ['Sai do seu saldo', 'Taken from your balance'],
  note: (fee: string) => [
    `A tarifa de ${fee} deste depósito não é devolvida.`,
    `The ${fee} fee for this deposit is not returned when you refund it.`,
  ],
  noteReturned: [
    'A parte da tarifa que corresponde à devolução volta para o seu saldo.',
    'The share of the fee for the refunded amount is returned to your balance.',
  ],
  confirm: (money: string) => [`Devolver ${money}`, `Refund ${money}`],
  done: ['Devolução concluída.', 'Refund succeeded.'],
  processing: ['Devolução pedida. O banco está processando.', 'Refund requested. The bank is processing it.'],
  failed: [
    'O banco recusou a devolução. O valor voltou ao saldo.',
    'The bank declined the refund. The amount is back in your balance.',
  ],
})

/** Names the toast about a refund. */
export function refundToast(refundId: string): string {
  return `refund ${refundId}`
}

type Props = { history: Pick<DepositHistory, 'deposit' | 'refunds'>; onClose: () => void; onRefunded: () => void }

/** First the amount, then the confirmation: two steps, because a refund cannot be undone. */
export function RefundDialog({ history, onClose, onRefunded }: Props) {
  const t = useTexts()
  const { language } = useFormat()
  const refundable = refundableCents(history)
  const [step, setStep] = useState<'form' | 'confirm'>('form')
  const [idempotencyKey, setKey] = useState(newIdempotencyKey)
  const initial = { value: moneyInputText(refundable, language), reason: '' }
  const fields = useFields(initial, () => setKey(newIdempotencyKey()))
  const { typed } = fields
  const cents = parseMoney(typed.value) ?? 0
  if (step === 'form')
    return (
      <AmountForm
        fee={history.deposit.fee}
        refundable={refundable}
        fields={fields}
        cents={cents}
        onNext={() => setStep('confirm')}
        onClose={onClose}
      />
    )
  const reason = typed.reason.trim()
  const refund = async () => {
    const path = `/deposit/${history.deposit.paymentLinkId}/refund`
    const body = { value: cents, reason: reason || null }
    const { id, status } = (await post<{ refund: Refund }>(path, body, { idempotencyKey })).refund
    // To the user, a failed refund is a refusal. A new attempt needs a new key, because this one would return the
    // failed refund.
    if (status === 'FAILED') {
      setKey(newIdempotencyKey())
      throw new ApiError(200, 'refund_failed', t.failed)
    }
    // The page replaces this toast when the bank has answered.
    toast.good(status === 'DONE' ? t.done : t.processing, refundToast(id))
  }
  return (
    <Confirmation
      history={history}
      cents={cents}
      reason={reason}
      // Reloads after a refusal too, because the refundable amount may have changed.
      onSend={() => refund().finally(onRefunded)}
      onBack={() => setStep('form')}
      onClose={onClose}
    />
  )
}

function AmountForm(props: {
  fee: number
  refundable: number
  fields: ReturnType<typeof useFields<{ value: string; reason: string }>>
  cents: number
  onNext: () => void
  onClose: () => void
}) {
  const t = useTexts()
  const { language, money } = useFormat()
  const { refundsReturnFee } = useService()
  const { fee, refundable, cents } = props
  const { field, set } = props.fields
  const { isWrong, onCheck } = useCheck(cents > 0 && cents <= refundable)
  return (
    <FormDialog
      title={t.title}
      text={t.text}
      action={t.next}
      onCheck={onCheck}
      onSend={async () => props.onNext()}
      onClose={props.onClose}
    >
      <div className="space-y-2">
        <Input
          {...field('value')}
          label={t.value}
          inputMode="decimal"
          className="figures text-xl font-semibold"
          hint={t.left(money(refundable))}
          error={isWrong && t.valueWrong(money(refundable))}
        />
        {cents !== refundable && (
          <Button size="small" onClick={() => set({ value: moneyInputText(refundable, language) })}>
            {t.all}
          </Button>
        )}
      </div>
      <Input {...field('reason')} label={t.reason} hint={t.reasonHint} isOptional maxLength={140} />
      {fee > 0 && <Notice>{refundsReturnFee ? t.noteReturned : t.note(money(fee))}</Notice>}
    </FormDialog>
  )
}

function Confirmation(props: {
  history: Props['history']
  cents: number
  reason: string
  onSend: () => Promise<unknown>
  onBack: () => void
  onClose: () => void
}) {
  const t = useTexts()
  const { money } = useFormat()
  const errorText = useDepositErrorText()
  const { refundsReturnFee } = useService()
  const { history, cents } = props
  const returned = refundsReturnFee ? returnedFeeCents(history, cents) : 0
  const feeText = returned > 0 ? t.feeReturned(money(returned)) : t.feeLost
  return (
    <ConfirmDialog
      title={t.confirmTitle(money(cents))}
      text={t.confirmText}
      action={t.confirm(money(cents))}
      isDanger
      onSend={props.onSend}
      onBack={props.onBack}
      onClose={props.onClose}
      errorText={errorText}
    >
      <DetailList
        details={[
          { name: t.value, value: <Money cents={cents} /> },
          { name: t.fee, value: history.deposit.fee === 0 ? null : feeText },
          { name: t.cost, value: <Money cents={cents - returned} className="font-semibold" /> },
          { name: t.remaining, value: <Money cents={refundableCents(history) - cents} /> },
          { name: t.reason, value: props.reason || null },
        ]}
      />
    </ConfirmDialog>
  )
}
