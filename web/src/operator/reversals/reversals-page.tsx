import { Link } from '@tanstack/react-router'
import { endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import type { Reversal } from '../../contract/types.ts'
import { NATURES, useNatureText } from '../../deposits/natures.ts'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { CheckIcon, SearchIcon } from '../../ui/icons.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Devoluções do banco', 'Reversals'],
  text: [
    'O que os bancos devolveram aos pagadores sem ninguém aqui pedir, como depois de um relato de fraude.',
    'What banks returned to payers without a request from here, such as after a report of fraud.',
  ],
  nature: ['Motivo', 'Nature'],
  account: ['Conta', 'Account'],
  at: ['Data', 'Date'],
  value: ['Valor', 'Amount'],
  outcome: ['Quem arca', 'Borne by'],
  charged: (money: string) => [`Saldo: ${money}`, `Balance: ${money}`],
  owed: (money: string) => [`ficou devido: ${money}`, `owed: ${money}`],
  open: ['Decidir', 'Decide'],
  writtenOff: ['Baixa', 'Written off'],
  held: ['Valor que estava em análise', 'Money that was under review'],
  onlyAccount: ['Só as de uma conta.', 'Only those of one account.'],
  allAccounts: ['Ver as de todas', 'Show all'],
  empty: {
    title: ['Nenhuma devolução do banco', 'No reversals'],
    text: [
      'Quando um banco devolver um pagamento, ela aparece aqui.',
      'When a bank returns a payment, it appears here.',
    ],
  },
  none: {
    title: ['Nenhuma devolução encontrada', 'No reversals found'],
    text: ['Mude o filtro para ver outras.', 'Change the filter to see others.'],
  },
})

/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 20_000

export function ReversalsPage() {
  const t = useTexts()
  const natureText = useNatureText()
  const filters = useFilters(['nature', 'accountId', 'from', 'to'])
  const { from, to, ...asked } = filters.values
  const list = useCursorList<Reversal>({
    path: '/operator/reversals',
    query: { ...asked, from: startOfDayIso(from), to: endOfDayIso(to) },
    field: 'reversals',
    refetchIntervalMs: REFRESH_MS,
  })
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[{ name: 'nature', label: t.nature, choices: choicesOf(NATURES, natureText) }]}
        />
        {asked.accountId !== '' && (
          <p className="px-5 pb-4 text-sm text-soft">
            {t.onlyAccount}{' '}
            <button type="button" className="link" onClick={() => filters.set({ accountId: '' })}>
              {t.allAccounts}
            </button>
          </p>
        )}
        <Table
          caption={t.title}
          columns={useColumns((accountId) => filters.set({ accountId }))}
          list={list}
          rowKey={(reversal) => reversal.id}
          empty={filters.isFiltered ? <Empty icon={SearchIcon} {...t.none} /> : <Empty icon={CheckIcon} {...t.empty} />}
        />
      </Card>
    </Page>
  )
}

function useColumns(onAccount: (accountId: string) => void): Column<Reversal>[] {
  const t = useTexts()
  const natureText = useNatureText()
  const { money } = useFormat()
  const outcomeOf = ({ state, charged, owed, exceptionId }: Reversal) => {
    if (exceptionId === null) return t.held
    if (state !== 'resolved')
      return (
        <Link to="/operator/exceptions/$exceptionId" params={{ exceptionId }} className="link font-medium">
          {t.open}
        </Link>
      )
    if (charged === null) return t.writtenOff
    return [charged > 0 && t.charged(money(charged)), owed && t.owed(money(owed))].filter(Boolean).join(' · ')
  }
  return [
    {
      header: t.account,
      cell: ({ accountId, email, endToEndId, paymentLinkId }) => (
        <span className="block wrap-anywhere">
          <button type="button" className="link font-medium" onClick={() => onAccount(accountId)}>
            {email}
          </button>
          <Link
            to="/operator/deposits/$paymentLinkId"
            params={{ paymentLinkId }}
            className="block font-mono text-xs text-soft"
          >
            {endToEndId}
          </Link>
        </span>
      ),
    },
    { header: t.at, width: 'w-52', cell: (reversal) => <DateTime at={reversal.at} /> },
    { header: t.nature, width: 'w-52', cell: (reversal) => natureText(reversal.nature) },
    { header: t.outcome, width: 'w-52', cell: outcomeOf },
    {
      header: t.value,
      align: 'right',
      width: 'w-36',
      cell: (reversal) => <Money cents={reversal.value} className="font-medium" />,
    },
  ]
}
