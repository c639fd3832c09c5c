import { Link } from '@tanstack/react-router'
import { translations } from '../base/language.ts'
import { useGet } from '../base/queries.ts'
import { useMe } from '../base/session.ts'
import type { DisputeStatus } from '../contract/codes.ts'
import type { Dispute, OperatorDispute } from '../contract/types.ts'
import { Badge } from '../ui/badge.tsx'
import { Table, type Column } from '../ui/data/table.tsx'
import { Copyable, DateTime, Money } from '../ui/data/values.tsx'
import type { Tone } from '../ui/notice.tsx'
import { Card, DetailList } from '../ui/page.tsx'

// What account holders and operators see of a dispute alike.

const useTexts = translations({
  status: {
    OPEN: ['Em análise', 'Open'],
    ACCEPTED: ['Aceita', 'Accepted'],
    REJECTED: ['Recusada', 'Rejected'],
    CANCELED: ['Retirada', 'Canceled'],
  },
  details: ['Detalhes', 'Details'],
  ofDeposit: ['Contestação deste pagamento', 'Dispute about this payment'],
  value: ['O pagador pede', 'The payer asks for'],
  held: ['Bloqueado do saldo', 'Set aside from balance'],
  state: ['Situação', 'Status'],
  reason: ['Motivo', 'Reason'],
  opened: ['Aberta em', 'Opened'],
  deadline: ['Provas até', 'Evidence until'],
  ended: ['Encerrada em', 'Ended'],
  deposit: ['Depósito', 'Deposit'],
  charge: ['Cobrança', 'Charge'],
  account: ['Conta', 'Account'],
  provider: ['Provedor', 'Provider'],
  noAccount: ['Nenhuma: o pagamento está em conta transitória', 'None: the payment is in suspense'],
  endToEndId: ['ID da transação Pix (E2E)', 'Pix transaction ID (E2E)'],
})

export type AnyDispute = Dispute | OperatorDispute

// As seen by whoever got the money.
const TONES: Record<DisputeStatus, Tone> = { OPEN: 'wait', ACCEPTED: 'bad', REJECTED: 'good', CANCELED: 'still' }

export function DisputeBadge({ status }: { status: DisputeStatus }) {
  return <Badge tone={TONES[status]}>{useDisputeStatusText()(status)}</Badge>
}

export function useDisputeStatusText(): (status: DisputeStatus) => string {
  const t = useTexts()
  return (status) => t.status[status]
}

export function useDisputeColumns(): Column<AnyDispute>[] {
  const t = useTexts()
  const isOperator = useMe().kind === 'operator'
  return [
    { header: t.deadline, width: 'w-52', cell: (dispute) => <DateTime at={dispute.deadlineAt} /> },
    {
      header: isOperator ? t.account : t.deposit,
      cell: (dispute) => (
        <span className="block wrap-anywhere">
          {'email' in dispute ? (dispute.email ?? t.noAccount) : (dispute.externalId ?? dispute.endToEndId)}
          <span className="block text-sm text-soft">{dispute.reason}</span>
        </span>
      ),
    },
    { header: t.state, width: 'w-36', cell: ({ status }) => <DisputeBadge status={status} /> },
    { header: t.held, align: 'right', width: 'w-40', isWideOnly: true, cell: ({ held }) => <Money cents={held} /> },
    {
      header: t.value,
      align: 'right',
      width: 'w-40',
      cell: ({ value }) => <Money cents={value} className="font-medium" />,
    },
  ]
}

export function DisputeDetails({ dispute }: { dispute: AnyDispute }) {
  const t = useTexts()
  const isOperator = 'provider' in dispute
  const { paymentLinkId, externalId, reason, endedAt } = dispute
  const to = isOperator ? '/operator/deposits/$paymentLinkId' : '/deposits/$paymentLinkId'
  return (
    <Card title={t.details}>
      <DetailList
        details={[
          { name: t.value, value: <Money cents={dispute.value} className="font-semibold" /> },
          { name: t.held, value: <Money cents={dispute.held} /> },
          { name: t.reason, value: reason },
          { name: t.opened, value: <DateTime at={dispute.openedAt} /> },
          { name: t.deadline, value: <DateTime at={dispute.deadlineAt} /> },
          { name: t.ended, value: endedAt && <DateTime at={endedAt} /> },
          {
            name: isOperator ? t.charge : t.deposit,
            value: paymentLinkId && (
              <Link to={to} params={{ paymentLinkId }} className="link">
                {externalId ?? paymentLinkId}
              </Link>
            ),
          },
          { name: t.account, value: isOperator ? (dispute.email ?? t.noAccount) : null },
          { name: t.provider, value: isOperator ? dispute.provider : null },
          { name: t.endToEndId, value: <Copyable text={dispute.endToEndId} /> },
        ]}
      />
    </Card>
  )
}

/** Nothing, unless the payment of the deposit was contested. */
export function DepositDisputes({ paymentLinkId }: { paymentLinkId: string }) {
  const t = useTexts()
  const isOperator = useMe().kind === 'operator'
  const path = isOperator ? '/operator/disputes' : '/disputes'
  const query = { paymentLinkId }
  const { data } = useGet<{ disputes: AnyDispute[] }>(['list', path, query], path, { query })
  if (!data || data.disputes.length === 0) return null
  return (
    <Card title={t.ofDeposit} isFlush>
      <Table<AnyDispute>
        caption={t.ofDeposit}
        columns={[
          { header: t.value, cell: ({ value }) => <Money cents={value} className="font-medium" /> },
          { header: t.state, cell: ({ status }) => <DisputeBadge status={status} /> },
        ]}
        list={{ rows: data.disputes }}
        rowKey={({ id }) => id}
        rowLink={({ id }) => `${path}/${id}`}
      />
    </Card>
  )
}
