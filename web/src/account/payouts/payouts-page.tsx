import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useCursorList, useFilters, useGet } from '../../base/queries.ts'
import { PAYOUT_STATUSES } from '../../contract/codes.ts'
import type { Payout } from '../../contract/types.ts'
import { Status, useStatusText } from '../../ui/badge.tsx'
import { DialogButton } from '../../ui/button.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { PayoutIcon, PlusIcon, SearchIcon } from '../../ui/icons.tsx'
import { Card, Empty, Figure, Page, Skeleton } from '../../ui/page.tsx'
import { AskDialog, type Balance } from './ask-dialog.tsx'

const useTexts = translations({
  title: ['Repasses', 'Payouts'],
  text: [
    'Peça uma parte do seu saldo. A equipe do guiche transfere o valor para você e registra o comprovante aqui.',
    'Ask for a part of your balance. The guiche team transfers it to you and records the bank reference here.',
  ],
  ask: ['Pedir repasse', 'Ask for a payout'],
  available: ['Disponível', 'Available'],
  availableNote: ['para repasses e devoluções', 'for payouts and refunds'],
  reserved: ['Reservado', 'Reserved'],
  reservedNote: ['para repasses já pedidos', 'for payouts you asked for'],
  status: ['Todas as situações', 'All statuses'],
  state: ['Situação', 'Status'],
  requestedAt: ['Pedido em', 'Requested'],
  about: ['Detalhes', 'Details'],
  value: ['Valor', 'Amount'],
  paid: (day: string, reference: string) => [`Pago em ${day} · ${reference}`, `Paid on ${day} · ${reference}`],
  rejected: (reason: string) => [`Recusado: ${reason}`, `Rejected: ${reason}`],
  waiting: ['A equipe do guiche ainda não pagou.', 'The guiche team has not paid it yet.'],
  byOperator: ['Pedido pela equipe do guiche', 'Requested by the guiche team'],
  empty: {
    title: ['Nenhum repasse ainda', 'No payouts yet'],
    text: [
      'Peça o primeiro: o valor fica reservado até a equipe do guiche pagar.',
      'Ask for the first one: the amount is set aside until the guiche team pays it.',
    ],
  },
  none: {
    title: ['Nenhum repasse encontrado', 'No payouts found'],
    text: ['Mude o filtro para ver outros.', 'Change the filter to see others.'],
  },
})

const PAGE_ROWS = 25

export function PayoutsPage() {
  const t = useTexts()
  const statusText = useStatusText()
  const balance = useGet<Balance>(['balance'], '/balance')
  const filters = useFilters(['status'])
  const list = useCursorList<Payout>({
    path: '/payouts',
    query: { ...filters.values, limit: PAGE_ROWS },
    field: 'payouts',
  })
  const sayWhat = useDetails()
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        <DialogButton
          icon={PlusIcon}
          kind="primary"
          opensBy="new"
          dialog={(onClose) => <AskDialog available={balance.data?.available ?? 0} onClose={onClose} />}
        >
          {t.ask}
        </DialogButton>
      }
    >
      <Balances balance={balance} />
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[{ name: 'status', label: t.status, choices: choicesOf(PAYOUT_STATUSES, statusText) }]}
        />
        <Table
          caption={t.title}
          columns={useColumns()}
          list={list}
          rowKey={(payout) => payout.id}
          card={(payout) => (
            <>
              <CardLines
                name={<Money cents={payout.value} />}
                mark={<Status status={payout.status} />}
                text={payout.note}
                end={<DateTime at={payout.requestedAt} isShort />}
              />
              <span className="mt-1 block text-sm wrap-anywhere">{sayWhat(payout)}</span>
            </>
          )}
          empty={
            filters.isFiltered ? <Empty icon={SearchIcon} {...t.none} /> : <Empty icon={PayoutIcon} {...t.empty} />
          }
        />
      </Card>
    </Page>
  )
}

function Balances({ balance: { data, error } }: { balance: { data: Balance | undefined; error: Error | null } }) {
  const t = useTexts()
  const money = (cents: number | undefined) =>
    cents === undefined ? error ? '—' : <Skeleton className="h-7 w-32" /> : <Money cents={cents} />
  return (
    <Card>
      <div className="grid grid-cols-[repeat(auto-fit,minmax(11rem,1fr))] gap-x-4 gap-y-5">
        <Figure label={t.available} value={money(data?.available)} note={t.availableNote} />
        <Figure label={t.reserved} value={money(data?.reserved)} note={t.reservedNote} />
      </div>
    </Card>
  )
}

/** What the account holder wants to know of a payout next. */
function useDetails(): (payout: Payout) => string {
  const t = useTexts()
  const { day } = useFormat()
  return ({ status, paidAt, reference, reason }) => {
    if (status === 'PAID') return t.paid(day(paidAt!), reference!)
    return status === 'REJECTED' ? t.rejected(reason!) : t.waiting
  }
}

function useColumns(): Column<Payout>[] {
  const t = useTexts()
  const sayWhat = useDetails()
  return [
    { header: t.requestedAt, width: 'w-52', cell: (payout) => <DateTime at={payout.requestedAt} /> },
    {
      header: t.about,
      cell: (payout) => (
        <span className="block wrap-anywhere">
          {sayWhat(payout)}
          <span className="block text-sm text-soft">
            {[payout.note, payout.requestedBy === 'operator' && t.byOperator].filter(Boolean).join(' · ')}
          </span>
        </span>
      ),
    },
    { header: t.state, width: 'w-36', cell: (payout) => <Status status={payout.status} /> },
    {
      header: t.value,
      align: 'right',
      width: 'w-36',
      cell: (payout) => <Money cents={payout.value} className="font-medium" />,
    },
  ]
}
