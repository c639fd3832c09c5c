import { useState } from 'react'
import { ApiError, post } from '../../base/api.ts'
import { dayOf } from '../../base/dates.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { OperatorPayout } from '../../contract/types.ts'
import { Money } from '../../ui/data/values.tsx'
import { ConfirmDialog, ReasonDialog } from '../../ui/form/form-dialog.tsx'
import { Input, useFields } from '../../ui/form/form.tsx'
import { DetailList } from '../../ui/page.tsx'

const useTexts = translations({
  payTitle: (money: string) => [`Você pagou ${money}?`, `Did you pay ${money}?`],
  payText: [
    'Registre só depois de transferir pelo banco: o guiche não envia dinheiro. O valor sai do saldo da conta, e não dá para desfazer.',
    'Record this only after the bank transfer: guiche sends no money. The amount leaves the balance of the account, and this cannot be undone.',
  ],
  account: ['Conta', 'Account'],
  value: ['Valor', 'Amount'],
  note: ['Observação', 'Note'],
  reference: ['Referência bancária', 'Bank reference'],
  referenceHint: [
    'Por exemplo, o ID da transação Pix. O titular da conta vê.',
    'Such as the Pix transaction ID. The account holder sees it.',
  ],
  paidAt: ['Pago em', 'Paid on'],
  dayWrong: (from: string) => [
    `O dia não pode ser antes do pedido (${from}) nem no futuro.`,
    `The day cannot be before the request (${from}) or in the future.`,
  ],
  pay: ['Registrar pagamento', 'Record payment'],
  paid: ['Pagamento registrado.', 'Payment recorded.'],
  rejectTitle: (money: string) => [`Recusar o repasse de ${money}?`, `Reject the payout of ${money}?`],
  rejectText: [
    'O valor volta a ficar disponível para a conta. O titular lê o motivo, e não dá para desfazer.',
    'The amount is available to the account again. The account holder reads the reason, and this cannot be undone.',
  ],
  reject: ['Recusar repasse', 'Reject payout'],
  rejected: ['Repasse recusado.', 'Payout rejected.'],
})

const REFRESHES = [['list', '/operator/payouts'], ['open']] as const

type Props = { payout: OperatorPayout; onClose: () => void }

export function PayDialog({ payout, onClose }: Props) {
  const t = useTexts()
  const { money, day } = useFormat()
  const first = dayOf(new Date(payout.requestedAt))
  const [last] = useState(() => dayOf(new Date()))
  const { typed, field } = useFields({ reference: '', paidAt: last })
  const reference = typed.reference.trim()
  return (
    <ConfirmDialog
      title={t.payTitle(money(payout.value))}
      text={t.payText}
      action={t.pay}
      canSend={reference !== '' && typed.paidAt !== ''}
      onSend={() => post(`/operator/payouts/${payout.id}/pay`, { reference, paidAt: typed.paidAt })}
      done={t.paid}
      refreshes={REFRESHES}
      errorText={(error) =>
        error instanceof ApiError && error.details['field'] === 'paidAt' ? t.dayWrong(day(first)) : undefined
      }
      onClose={onClose}
      hidesOldError
    >
      <Summary payout={payout} />
      <Input {...field('reference')} label={t.reference} hint={t.referenceHint} maxLength={100} required />
      <Input {...field('paidAt')} type="date" label={t.paidAt} min={first} max={last} required />
    </ConfirmDialog>
  )
}

export function RejectDialog({ payout, onClose }: Props) {
  const t = useTexts()
  const { money } = useFormat()
  return (
    <ReasonDialog
      isDanger
      title={t.rejectTitle(money(payout.value))}
      text={t.rejectText}
      action={t.reject}
      onSend={(reason) => post(`/operator/payouts/${payout.id}/reject`, { reason })}
      done={t.rejected}
      refreshes={REFRESHES}
      onClose={onClose}
    >
      <Summary payout={payout} />
    </ReasonDialog>
  )
}

function Summary({ payout }: { payout: OperatorPayout }) {
  const t = useTexts()
  return (
    <DetailList
      details={[
        { name: t.account, value: payout.email },
        { name: t.value, value: <Money cents={payout.value} className="font-semibold" /> },
        { name: t.note, value: payout.note },
      ]}
    />
  )
}
