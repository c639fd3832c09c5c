import { translations } from '../base/language.ts'
import { useMe } from '../base/session.ts'
import type { Deposit, DepositHistory, Refund } from '../contract/types.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { Card, DetailList } from '../ui/page.tsx'
import { Copyable, DateTime, Money } from '../ui/data/values.tsx'
import { Table } from '../ui/data/table.tsx'
import { isPayable } from './deposit-amounts.ts'
import { useNatureText } from './natures.ts'

/** Operators read of a charge, and of a shop that is not theirs. */
const useOperatorTexts = translations({
  externalId: ['Referência da loja', 'Reference of the shop'],
  metadata: ['Dados da loja', 'Data of the shop'],
  created: ['Criada', 'Created'],
  paid: ['Paga', 'Paid'],
  late: {
    after_expiry: ['com atraso', 'late'],
    after_cancel: ['depois de cancelada', 'after it was canceled'],
  },
  makers: {
    account: ['Titular da conta', 'Account holder'],
    operator: ['Equipe do guiche', 'guiche team'],
    provider: ['Ninguém aqui: o banco', 'Nobody here: the bank'],
  },
})

const useOwnTexts = translations({
  amounts: ['Valores', 'Amounts'],
  value: ['Valor', 'Amount'],
  asked: ['Valor cobrado', 'Requested amount'],
  paidByPayer: ['O pagador paga', 'Payer pays'],
  fee: ['Tarifa', 'Fee'],
  credited: ['Creditado no saldo', 'Credited to balance'],
  toCredit: ['A creditar quando for pago', 'Credited once paid'],
  refunded: ['Devolvido', 'Refunded'],
  feeReturned: ['Tarifa devolvida', 'Fee returned'],
  net: ['Líquido', 'Net'],
  received: ['Valor pago', 'Amount paid'],
  none: ['não houve pagamento', 'nothing was paid'],
  held: ['Recebido, em análise', 'Received, under review'],
  kept: ['Recebido, já resolvido', 'Received, resolved'],
  details: ['Detalhes', 'Details'],
  description: ['Descrição', 'Description'],
  externalId: ['Sua referência', 'Your reference'],
  metadata: ['Dados próprios', 'Your own data'],
  code: ['Código', 'Code'],
  payer: ['Quem deve pagar', 'Who is to pay'],
  onlyPayer: ['só esta pessoa', 'this person only'],
  payerMatch: {
    matched: ['foi quem pagou', 'is who paid'],
    mismatched: ['outra pessoa pagou', 'another person paid'],
    unknown: ['a confirmar quem pagou', 'payer not confirmed yet'],
  },
  endToEndId: ['ID da transação Pix (E2E)', 'Pix transaction ID (E2E)'],
  created: ['Criado', 'Created'],
  expires: ['Expira', 'Expires'],
  expired: ['Validade', 'Valid until'],
  paid: ['Pago', 'Paid'],
  late: {
    after_expiry: ['com atraso', 'late'],
    after_cancel: ['depois de cancelado', 'after it was canceled'],
  },
  copy: (what: string) => [`Copiar ${what}`, `Copy ${what}`],
  link: ['Link', 'Link'],
  returnUrl: ['Volta para', 'Leads back to'],
  refunds: ['Devoluções', 'Refunds'],
  status: ['Situação', 'Status'],
  reason: ['Motivo', 'Reason'],
  requested: ['Pedida em', 'Requested'],
  madeBy: ['Pedida por', 'Requested by'],
  makers: {
    account: ['Você', 'You'],
    operator: ['Equipe do guiche', 'guiche team'],
    provider: ['Provedor de pagamento', 'Payment provider'],
  },
})

function useTexts() {
  const own = useOwnTexts()
  const ofOperators = useOperatorTexts()
  return useMe().kind === 'operator' ? { ...own, ...ofOperators } : own
}

export function Amounts({ deposit, refunds }: { deposit: Deposit; refunds: readonly Refund[] }) {
  const t = useTexts()
  const { value, originalValue, receivedValue, fee, creditedValue, refundedValue, heldValue, keptValue } = deposit
  const feeReturned = refunds
    .filter((refund) => refund.status === 'DONE')
    .reduce((sum, refund) => sum + refund.returnedFee, 0)
  const hasEnded = deposit.status === 'EXPIRED' || deposit.status === 'CANCELED'
  const isUnpaid = hasEnded && heldValue === 0 && keptValue === 0
  // If the payer bears the fee, there are two amounts.
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

const PAYER_TONES = { matched: 'good', mismatched: 'bad', unknown: 'wait' } as const

export function DepositDetails({ history }: { history: Pick<DepositHistory, 'deposit' | 'timeline'> }) {
  const t = useTexts()
  const { deposit, timeline } = history
  const timing = timeline.find((entry) => entry.kind === 'paid')?.timing
  const { description, status, paidAt, externalId, metadata, endToEndId, paymentLinkUrl, returnUrl, code } = deposit
  const { payer, payerMatch } = deposit
  const data = Object.entries(metadata ?? {})
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
            // A payment of a code makes its deposit, for which nobody waited.
            value: code === null ? <DateTime at={deposit.expiresAt} relative={status === 'PENDING'} /> : null,
          },
          {
            name: t.paid,
            value: paidAt && (
              <>
                <DateTime at={paidAt} /> {timing && timing !== 'in_time' && <Badge tone="wait">{t.late[timing]}</Badge>}
              </>
            ),
          },
          {
            name: t.payer,
            value: payer && (
              <>
                {payer.taxId} {payer.policy === 'require' && <Badge>{t.onlyPayer}</Badge>}{' '}
                {payerMatch && <Badge tone={PAYER_TONES[payerMatch]}>{t.payerMatch[payerMatch]}</Badge>}
              </>
            ),
          },
          copyable('ID', deposit.id),
          copyable(t.endToEndId, endToEndId),
          copyable(t.externalId, externalId),
          copyable(t.code, code),
          copyable(t.link, paymentLinkUrl),
          copyable(t.returnUrl, returnUrl),
          {
            name: t.metadata,
            value: data.length > 0 ? <Metadata entries={data} /> : null,
          },
        ]}
      />
    </Card>
  )
}

function Metadata({ entries }: { entries: [key: string, value: string][] }) {
  return (
    <ul>
      {entries.map(([key, value]) => (
        <li key={key} className="whitespace-pre-wrap">
          <span className="text-soft">{key}:</span> {value}
        </li>
      ))}
    </ul>
  )
}

export function Refunds({ refunds }: { refunds: readonly Refund[] }) {
  const t = useTexts()
  const natureText = useNatureText()
  return (
    <Card title={t.refunds} isFlush>
      <Table<Refund>
        caption={t.refunds}
        columns={[
          { header: t.value, cell: (refund) => <Money cents={refund.value} className="font-medium" /> },
          { header: t.status, cell: (refund) => <Status status={refund.status} /> },
          { header: t.requested, cell: (refund) => <DateTime at={refund.createdAt} /> },
          { header: t.madeBy, cell: (refund) => t.makers[refund.madeBy] },
          { header: t.reason, cell: (refund) => refund.reason ?? (refund.nature ? natureText(refund.nature) : '—') },
        ]}
        list={{ rows: refunds }}
        rowKey={(refund) => refund.id}
      />
    </Card>
  )
}
