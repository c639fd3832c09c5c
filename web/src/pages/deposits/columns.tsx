import { words } from '../../base/language.ts'
import { Badge, Status } from '../../ui/badge.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { Money } from '../../ui/money.tsx'
import { CardLines, type Column } from '../../ui/table.tsx'
import type { Deposit } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    value: 'Valor',
    status: 'Situação',
    about: 'Descrição',
    created: 'Criado em',
    paid: 'Pago em',
    credited: 'Creditado',
    refunded: 'Devolvido',
    partly: 'Devolvido em parte',
    held: 'Em análise',
    kept: 'Outro valor recebido',
    none: '—',
  },
  en: {
    value: 'Amount',
    status: 'Status',
    about: 'Description',
    created: 'Created',
    paid: 'Paid',
    credited: 'Credited',
    refunded: 'Refunded',
    partly: 'Partly refunded',
    held: 'Under review',
    kept: 'Other amount received',
    none: '—',
  },
})

/** Deposits look the same wherever they are listed. */
export function useDepositColumns(): Column<Deposit>[] {
  const t = useWords()
  return [
    { key: 'value', header: t.value, width: 'w-36', cell: (deposit) => <Money cents={deposit.value} /> },
    { key: 'status', header: t.status, cell: (deposit) => <DepositStatus deposit={deposit} /> },
    { key: 'about', header: t.about, width: 'w-[30%]', cell: (deposit) => <About deposit={deposit} /> },
    { key: 'created', header: t.created, cell: ({ createdAt }) => <DateTime at={createdAt} /> },
    {
      key: 'paid',
      header: t.paid,
      isWideOnly: true,
      cell: ({ paidAt }) => (paidAt === null ? <None text={t.none} /> : <DateTime at={paidAt} />),
    },
    {
      key: 'credited',
      header: t.credited,
      align: 'right',
      isWideOnly: true,
      cell: ({ creditedValue }) => (creditedValue === null ? <None text={t.none} /> : <Money cents={creditedValue} />),
    },
  ]
}

/** The same on a phone. */
export function depositCard(deposit: Deposit) {
  return (
    <CardLines
      name={<Money cents={deposit.value} />}
      mark={<DepositStatus deposit={deposit} />}
      text={<Name deposit={deposit} />}
      end={<DateTime at={deposit.createdAt} />}
    />
  )
}

/** How a deposit stands, whether it went back to the payer, and whether money for it is held. */
export function DepositStatus({ deposit }: { deposit: Deposit }) {
  const t = useWords()
  const { status, refundedValue, heldValue, keptValue, value } = deposit
  return (
    <span className="inline-flex flex-wrap gap-1.5">
      <Status status={status} />
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

function None({ text }: { text: string }) {
  return <span className="text-soft">{text}</span>
}
