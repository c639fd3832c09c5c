import type { ReactNode } from 'react'
import { translations } from '../base/language.ts'
import { useMe } from '../base/session.ts'
import type { Deposit } from '../contract/types.ts'
import { Badge, ChargeStatus, Status } from '../ui/badge.tsx'
import { CardLines, type Column } from '../ui/data/table.tsx'
import { DateTime, Money } from '../ui/data/values.tsx'

const useOwnTexts = translations({
  value: ['Valor', 'Amount'],
  status: ['Situação', 'Status'],
  about: ['Descrição', 'Description'],
  created: ['Criado em', 'Created'],
  paid: ['Pago em', 'Paid'],
  credited: ['Creditado', 'Credited'],
  refunded: ['Devolvido', 'Refunded'],
  partly: ['Devolvido em parte', 'Partially refunded'],
  held: ['Em análise', 'Under review'],
  kept: ['Outro valor recebido', 'Different amount received'],
})

/** Operators read of a charge, which is feminine in Portuguese. */
const useOperatorTexts = translations({
  created: ['Criada em', 'Created'],
  paid: ['Paga em', 'Paid'],
  refunded: ['Devolvida', 'Refunded'],
  partly: ['Devolvida em parte', 'Partially refunded'],
})

function useTexts() {
  const own = useOwnTexts()
  const ofOperators = useOperatorTexts()
  return useMe().kind === 'operator' ? { ...own, ...ofOperators } : own
}

/** A line below the description, where a column of its own would not fit. */
type Below<Row> = { header: string; cell: (row: Row) => ReactNode }

export function useDepositColumns<Row extends Deposit>(below?: Below<Row>): Column<Row>[] {
  const t = useTexts()
  return [
    { header: t.value, width: 'w-36', cell: (deposit) => <Money cents={deposit.value} /> },
    { header: t.status, cell: (deposit) => <DepositStatus deposit={deposit} /> },
    {
      header: below ? `${t.about} · ${below.header}` : t.about,
      width: 'w-[30%]',
      cell: (deposit) => (
        <>
          <About deposit={deposit} />
          {below?.cell(deposit)}
        </>
      ),
    },
    { header: t.created, cell: ({ createdAt }) => <DateTime at={createdAt} /> },
    {
      header: t.paid,
      isWideOnly: true,
      cell: ({ paidAt }) => (paidAt === null ? <None /> : <DateTime at={paidAt} />),
    },
    {
      header: t.credited,
      align: 'right',
      isWideOnly: true,
      cell: ({ creditedValue }) => (creditedValue === null ? <None /> : <Money cents={creditedValue} />),
    },
  ]
}

export function depositCard(deposit: Deposit) {
  return (
    <CardLines
      name={<Money cents={deposit.value} />}
      mark={<DepositStatus deposit={deposit} />}
      text={<Name deposit={deposit} />}
      end={<DateTime at={deposit.createdAt} isShort />}
    />
  )
}

/** Shows the status of a deposit, and whether it was refunded or money for it is held. */
export function DepositStatus({ deposit }: { deposit: Deposit }) {
  const t = useTexts()
  const { status, refundedValue, heldValue, keptValue, value } = deposit
  const isOperator = useMe().kind === 'operator'
  return (
    <span className="inline-flex flex-wrap gap-1.5">
      {isOperator ? <ChargeStatus status={status} /> : <Status status={status} />}
      {heldValue > 0 && <Badge tone="wait">{t.held}</Badge>}
      {heldValue === 0 && keptValue > 0 && status !== 'COMPLETED' && <Badge>{t.kept}</Badge>}
      {refundedValue > 0 && <Badge>{refundedValue >= value ? t.refunded : t.partly}</Badge>}
    </span>
  )
}

function About({ deposit }: { deposit: Deposit }) {
  const { description, externalId } = deposit
  return (
    <span className="block max-w-72">
      <span className="block truncate">
        <Name deposit={deposit} />
      </span>
      {description && externalId && <span className="block truncate text-sm text-soft">{externalId}</span>}
    </span>
  )
}

function Name({ deposit: { description, externalId, id } }: { deposit: Deposit }) {
  return description || externalId || <code className="font-mono text-sm text-soft">{id.slice(0, 12)}…</code>
}

function None() {
  return <span className="text-soft">—</span>
}
