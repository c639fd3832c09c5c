import { useCursorList, useFilters } from '../../base/queries.ts'
import { translations } from '../../base/language.ts'
import type { Account } from '../../contract/types.ts'
import { DialogButton } from '../../ui/button.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { FilterBar } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { PeopleIcon, PlusIcon } from '../../ui/icons.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { AccountBadge } from '../labels.tsx'
import { Invitations } from './invitations.tsx'
import { NewAccountDialog } from './new-account.tsx'

const useTexts = translations({
  title: ['Contas', 'Accounts'],
  create: ['Criar conta', 'Create account'],
  accounts: ['Contas', 'Accounts'],
  invitations: ['Convites', 'Invitations'],
  search: ['Busque por nome ou e-mail', 'Search by name or email'],
  name: ['Conta', 'Account'],
  balance: ['Saldo', 'Balance'],
  status: ['Situação', 'Status'],
  createdAt: ['Criada em', 'Created'],
  empty: {
    title: ['Nenhuma conta ainda', 'No accounts yet'],
    text: ['Crie a primeira ou convide alguém a se cadastrar.', 'Create the first one or invite someone to sign up.'],
  },
  none: {
    title: ['Nenhuma conta encontrada', 'No accounts found'],
    text: ['Busque por parte do nome ou do e-mail.', 'Search by part of the name or email.'],
  },
})

export function AccountsPage() {
  const t = useTexts()
  return (
    <Page
      title={t.title}
      actions={
        <DialogButton kind="primary" opensBy="new" dialog={(onClose) => <NewAccountDialog onClose={onClose} />}>
          <PlusIcon className="size-5" />
          {t.create}
        </DialogButton>
      }
    >
      <Tabs
        label={t.title}
        tabs={[
          { value: 'accounts', label: t.accounts, content: <AccountList /> },
          { value: 'invitations', label: t.invitations, content: <Invitations /> },
        ]}
      />
    </Page>
  )
}

function AccountList() {
  const t = useTexts()
  const filters = useFilters(['search'])
  const list = useCursorList<Account>({
    path: '/operator/accounts',
    query: filters.values,
    field: 'accounts',
  })
  return (
    <Card isFlush>
      <FilterBar filters={filters} search={{ name: 'search', label: t.search }} />
      <Table
        caption={t.title}
        columns={[
          {
            header: t.name,
            cell: (row) => (
              <>
                <span className="block wrap-anywhere">{row.name}</span>
                <span className="block text-sm font-normal text-soft wrap-anywhere">{row.email}</span>
              </>
            ),
          },
          { header: t.status, width: 'w-36', cell: (row) => <AccountBadge account={row} /> },
          {
            header: t.createdAt,
            width: 'w-52',
            isWideOnly: true,
            cell: (row) => <DateTime at={row.createdAt} />,
          },
          {
            header: t.balance,
            align: 'right',
            width: 'w-44',
            cell: (row) => <Money cents={row.balance} className="font-medium" />,
          },
        ]}
        list={list}
        rowKey={(row) => row.id}
        rowLink={(row) => `/operator/accounts/${row.id}`}
        card={(row) => (
          <CardLines
            name={row.name}
            mark={<AccountBadge account={row} />}
            text={row.email}
            end={<Money cents={row.balance} />}
          />
        )}
        empty={<Empty icon={PeopleIcon} {...(filters.isFiltered ? t.none : t.empty)} />}
      />
    </Card>
  )
}
