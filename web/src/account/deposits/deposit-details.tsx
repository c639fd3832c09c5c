import { translations } from '../../base/language.ts'
import type { Deposit, DepositHistory, Refund } from '../../contract/types.ts'
import { Badge, Status } from '../../ui/badge.tsx'
import { Card, DetailList } from '../../ui/card.tsx'
import { Copyable } from '../../ui/data/copy-button.tsx'
import { Table } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { isPayable } from './deposit-amounts.ts'

const useTexts = translations({
  'pt-BR': {
    amounts: 'Valores',
    value: 'Valor',
    asked: 'Valor cobrado',
    paidByPayer: 'O pagador paga',
    fee: 'Tarifa',
    credited: 'Creditado no saldo',
    toCredit: 'A creditar quando for pago',
    refunded: 'Devolvido',
    feeReturned: 'Tarifa devolvida',
    net: 'Líquido',
    received: 'Valor pago',
    none: 'não houve pagamento',
    held: 'Recebido, em análise',
    kept: 'Recebido, já resolvido',
    details: 'Detalhes',
    description: 'Descrição',
    externalId: 'Sua referência',
    endToEndId: 'ID da transação Pix (E2E)',
    created: 'Criado',
    expires: 'Expira',
    expired: 'Validade',
    paid: 'Pago',
    late: { after_expiry: 'com atraso', after_cancel: 'depois de cancelado' },
    copy: (what: string) => `Copiar ${what}`,
    link: 'Link',
    refunds: 'Devoluções',
    status: 'Situação',
    reason: 'Motivo',
    requested: 'Pedida em',
    madeBy: 'Pedida por',
    makers: { account: 'Você', operator: 'Equipe do guiche', provider: 'Provedor de pagamento' },
  },
  en: {
    amounts: 'Amounts',
    value: 'Amount',
    asked: 'Requested amount',
    paidByPayer: 'Payer pays',
    fee: 'Fee',
    credited: 'Credited to balance',
    toCredit: 'Credited once paid',
    refunded: 'Refunded',
    feeReturned: 'Fee returned',
    net: 'Net',
    received: 'Amount paid',
    none: 'nothing was paid',
    held: 'Received, under review',
    kept: 'Received, resolved',
    details: 'Details',
    description: 'Description',
    externalId: 'Your reference',
    endToEndId: 'Pix transaction ID (E2E)',
    created: 'Created',
    expires: 'Expires',
    expired: 'Valid until',
    paid: 'Paid',
    late: { after_expiry: 'late', after_cancel: 'after it was canceled' },
    copy: (what: string) => `Copy ${what}`,
    link: 'Link',
    refunds: 'Refunds',
    status: 'Status',
    reason: 'Reason',
    requested: 'Requested',
    madeBy: 'Requested by',
    makers: { account: 'You', operator: 'guiche team', provider: 'Payment provider' },
  },
})

export function Amounts({ deposit, refunds }: { deposit: Deposit; refunds: readonly Refund[] }) {
  const t = useTexts()
  const { value, originalValue, receivedValue, fee, creditedValue, refundedValue, heldValue, keptValue } = deposit
  const feeReturned = refunds
    .filter((refund) => refund.status === 'DONE')
    .reduce((sum, refund) => sum + refund.returnedFee, 0)
  const hasEnded = deposit.status === 'EXPIRED' || deposit.status === 'CANCELED'
  const isUnpaid = hasEnded && heldValue === 0 && keptValue === 0
  // Two amounts only where the payer bears the fee.
  const asked =
    value === originalValue
      ? [{ name: t.value, value: <Money cents={value} /> }]
      : [
          { name: t.asked, value: <Money cents={originalValue} /> },
          { name: t.paidByPayer, value: <Money cents={value} /> },
        ]
  return (
    <Card title={t.amounts}>
      <DetailList
        details={[
          ...asked,
          { name: t.received, value: receivedValue === null ? null : <Money cents={receivedValue} /> },
          { name: t.received, value: isUnpaid ? t.none : null },
          // Only what is paid costs a fee.
          { name: t.fee, value: hasEnded ? null : <Money cents={-fee} /> },
          {
            name: t.credited,
            value: creditedValue === null ? null : <Money cents={creditedValue} className="font-semibold" />,
          },
          { name: t.toCredit, value: isPayable(deposit) ? <Money cents={value - fee} /> : null },
          { name: t.held, value: heldValue > 0 ? <Money cents={heldValue} className="font-semibold" /> : null },
          { name: t.kept, value: keptValue > 0 ? <Money cents={keptValue} /> : null },
          { name: t.refunded, value: refundedValue > 0 ? <Money cents={-refundedValue} /> : null },
          { name: t.feeReturned, value: feeReturned > 0 ? <Money cents={feeReturned} /> : null },
          {
            name: t.net,
            value:
              creditedValue !== null && refundedValue > 0 ? (
                <Money cents={creditedValue - refundedValue + feeReturned} className="font-semibold" />
              ) : null,
          },
        ]}
      />
    </Card>
  )
}

export function DepositDetails({ history: { deposit, timeline } }: { history: DepositHistory }) {
  const t = useTexts()
  const timing = timeline.find((entry) => entry.kind === 'paid')?.timing
  const { description, status, paidAt, externalId, endToEndId, paymentLinkUrl } = deposit
  const copyable = (name: string, text: string | null) => ({
    name,
    value: text === null ? null : <Copyable text={text} label={t.copy(name)} />,
  })
  return (
    <Card title={t.details}>
      <DetailList
        details={[
          { name: t.description, value: description || null },
          { name: t.created, value: <DateTime at={deposit.createdAt} /> },
          {
            name: status === 'PENDING' ? t.expires : t.expired,
            value: <DateTime at={deposit.expiresAt} relative={status === 'PENDING'} />,
          },
          {
            name: t.paid,
            value: paidAt && (
              <>
                <DateTime at={paidAt} /> {timing && timing !== 'in_time' && <Badge tone="wait">{t.late[timing]}</Badge>}
              </>
            ),
          },
          copyable('ID', deposit.id),
          copyable(t.endToEndId, endToEndId),
          copyable(t.externalId, externalId),
          copyable(t.link, paymentLinkUrl),
        ]}
      />
    </Card>
  )
}

export function Refunds({ refunds }: { refunds: readonly Refund[] }) {
  const t = useTexts()
  return (
    <Card title={t.refunds} isFlush>
      <Table<Refund>
        caption={t.refunds}
        columns={[
          { header: t.value, cell: (refund) => <Money cents={refund.value} className="font-medium" /> },
          { header: t.status, cell: (refund) => <Status status={refund.status} /> },
          { header: t.requested, cell: (refund) => <DateTime at={refund.createdAt} /> },
          { header: t.madeBy, cell: (refund) => t.makers[refund.madeBy] },
          { header: t.reason, cell: (refund) => refund.reason ?? '—' },
        ]}
        list={{ rows: refunds }}
        rowKey={(refund) => refund.id}
      />
    </Card>
  )
}
