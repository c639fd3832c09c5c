import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { PAYOUT_STATUSES } from '../../contract/codes.ts'
import type { OperatorPayout } from '../../contract/types.ts'
import { Status, useStatusText } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { CheckIcon, SearchIcon } from '../../ui/icons.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { AskForPayout } from './ask-for-payout.tsx'
import { PayDialog, RejectDialog } from './decide.tsx'

const useTexts = translations({
  title: ['Repasses', 'Payouts'],
  text: [
    'O guiche não transfere dinheiro. Pague cada pedido pelo seu banco e registre aqui o que foi feito.',
    'guiche moves no money. Pay each request from your bank, and record here what was done.',
  ],
  open: ['Em aberto', 'Open'],
  state: ['Situação', 'Status'],
  all: ['Todos', 'All'],
  account: ['Conta', 'Account'],
  requestedAt: ['Pedido em', 'Requested'],
  value: ['Valor', 'Amount'],
  actions: ['Ações', 'Actions'],
  pay: ['Pagar', 'Pay'],
  payOf: (money: string, email: string) => [
    `Registrar o pagamento de ${money} a ${email}`,
    `Record payment of ${money} to ${email}`,
  ],
  reject: ['Recusar', 'Reject'],
  rejectOf: (money: string, email: string) => [`Recusar ${money} a ${email}`, `Reject ${money} to ${email}`],
  paid: (day: string, reference: string) => [`Pago em ${day} · ${reference}`, `Paid on ${day} · ${reference}`],
  empty: {
    title: ['Nenhum repasse em aberto', 'No open payouts'],
    text: ['Para ver os pagos e recusados, use o filtro.', 'Use the filter to see paid and rejected ones.'],
  },
  none: {
    title: ['Nenhum repasse encontrado', 'No payouts found'],
    text: ['Mude o filtro para ver outros.', 'Change the filter to see others.'],
  },
})

/** Without a filter only open ones are listed. */
const ALL = 'all'
/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 20_000

type Deciding = { payout: OperatorPayout; how: 'pay' | 'reject' }

export function OperatorPayoutsPage() {
  const t = useTexts()
  const statusText = useStatusText()
  const [deciding, setDeciding] = useState<Deciding>()
  const filters = useFilters(['status'])
  const { status } = filters.values
  const list = useCursorList<OperatorPayout>({
    path: '/operator/payouts',
    query: { status: status === ALL ? '' : status || 'REQUESTED' },
    field: 'payouts',
    refetchIntervalMs: REFRESH_MS,
  })
  const ended = choicesOf(
    PAYOUT_STATUSES.filter((one) => one !== 'REQUESTED'),
    statusText,
  )
  const close = () => setDeciding(undefined)
  return (
    <Page title={t.title} text={t.text} actions={<AskForPayout />}>
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[{ name: 'status', label: t.open, choices: [...ended, { value: ALL, label: t.all }] }]}
        />
        <Table
          caption={t.title}
          columns={useColumns(setDeciding)}
          list={list}
          rowKey={(payout) => payout.id}
          empty={filters.isFiltered ? <Empty icon={SearchIcon} {...t.none} /> : <Empty icon={CheckIcon} {...t.empty} />}
        />
      </Card>
      {deciding?.how === 'pay' && <PayDialog payout={deciding.payout} onClose={close} />}
      {deciding?.how === 'reject' && <RejectDialog payout={deciding.payout} onClose={close} />}
    </Page>
  )
}

function useColumns(onDecide: (deciding: Deciding) => void): Column<OperatorPayout>[] {
  const t = useTexts()
  const { money, day } = useFormat()
  return [
    {
      header: t.account,
      cell: ({ accountId, email, note, paidAt, reference, reason }) => (
        <span className="block wrap-anywhere">
          <Link to="/operator/accounts/$accountId" params={{ accountId }} className="link font-medium">
            {email}
          </Link>
          <span className="block text-sm text-soft">
            {[note, paidAt !== null && t.paid(day(paidAt), reference!), reason].filter(Boolean).join(' · ')}
          </span>
        </span>
      ),
    },
    { header: t.requestedAt, width: 'w-52', cell: (payout) => <DateTime at={payout.requestedAt} /> },
    { header: t.state, width: 'w-36', cell: (payout) => <Status status={payout.status} /> },
    {
      header: t.value,
      align: 'right',
      width: 'w-36',
      cell: (payout) => <Money cents={payout.value} className="font-medium" />,
    },
    {
      header: <span className="sr-only">{t.actions}</span>,
      align: 'right',
      width: 'w-52',
      cell: (payout) =>
        payout.status === 'REQUESTED' && (
          <span className="inline-flex gap-2">
            <Button
              size="small"
              aria-label={t.payOf(money(payout.value), payout.email)}
              onClick={() => onDecide({ payout, how: 'pay' })}
            >
              {t.pay}
            </Button>
            <Button
              size="small"
              kind="quiet"
              aria-label={t.rejectOf(money(payout.value), payout.email)}
              onClick={() => onDecide({ payout, how: 'reject' })}
            >
              {t.reject}
            </Button>
          </span>
        ),
    },
  ]
}
