import { useState } from 'react'
import { useCursorList } from '../../base/cursor-list.ts'
import { useFilters } from '../../base/filters.ts'
import { words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { FilterBar, SearchFilter } from '../../ui/filter-bar.tsx'
import { PeopleIcon, PlusIcon } from '../../ui/icons.tsx'
import { Money } from '../../ui/money.tsx'
import { Page } from '../../ui/page.tsx'
import { Pagination } from '../../ui/pagination.tsx'
import { Empty, Table } from '../../ui/table.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Invitations } from './invitations.tsx'
import { AccountBadge } from './names.tsx'
import { NewAccountDialog } from './new-account.tsx'
import type { Account } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Contas',
    create: 'Criar conta',
    accounts: 'Contas',
    invitations: 'Convites',
    search: 'Nome ou e-mail',
    name: 'Conta',
    balance: 'Saldo',
    status: 'Situação',
    createdAt: 'Criada em',
    empty: 'Nenhuma conta ainda',
    emptyText: 'Crie a primeira, ou mande um convite para que o titular se cadastre.',
    none: 'Nenhuma conta encontrada',
    noneText: 'A busca vale para qualquer parte do nome ou do e-mail.',
  },
  en: {
    title: 'Accounts',
    create: 'Create account',
    accounts: 'Accounts',
    invitations: 'Invitations',
    search: 'Name or e-mail',
    name: 'Account',
    balance: 'Balance',
    status: 'State',
    createdAt: 'Created at',
    empty: 'No accounts yet',
    emptyText: 'Create the first one, or send an invitation so that its holder signs up.',
    none: 'No account found',
    noneText: 'The search takes any part of the name or the e-mail.',
  },
})

export function AccountsPage() {
  const t = useWords()
  const tab = useFilters(['tab'])
  const [isCreating, setCreating] = useState(false)
  return (
    <Page
      title={t.title}
      actions={
        <Button kind="primary" onClick={() => setCreating(true)}>
          <PlusIcon className="size-5" />
          {t.create}
        </Button>
      }
    >
      <Tabs
        label={t.title}
        value={tab.values.tab || 'accounts'}
        onChange={(value) => tab.set({ tab: value === 'accounts' ? '' : value })}
        tabs={[
          { value: 'accounts', label: t.accounts, content: <AccountList /> },
          { value: 'invitations', label: t.invitations, content: <Invitations /> },
        ]}
      />
      {isCreating && <NewAccountDialog onClose={() => setCreating(false)} />}
    </Page>
  )
}

function AccountList() {
  const t = useWords()
  const filters = useFilters(['search'])
  const list = useCursorList<Account>({
    path: '/operator/accounts',
    query: filters.values,
    rows: (answer: { accounts: Account[] }) => answer.accounts,
  })
  return (
    <Card isFlush>
      <FilterBar filters={filters}>
        <SearchFilter filters={filters} name="search" label={t.search} />
      </FilterBar>
      <Table
        caption={t.title}
        columns={[
          {
            key: 'name',
            header: t.name,
            cell: (row) => (
              <>
                <span className="block wrap-anywhere">{row.name}</span>
                <span className="block text-sm font-normal text-soft wrap-anywhere">{row.email}</span>
              </>
            ),
          },
          { key: 'status', header: t.status, width: 'w-36', cell: (row) => <AccountBadge account={row} /> },
          {
            key: 'createdAt',
            header: t.createdAt,
            width: 'w-52',
            isWideOnly: true,
            cell: (row) => <DateTime at={row.createdAt} />,
          },
          {
            key: 'balance',
            header: t.balance,
            align: 'right',
            width: 'w-44',
            cell: (row) => <Money cents={row.balance} className="font-medium" />,
          },
        ]}
        rows={list.rows}
        rowKey={(row) => row.id}
        rowLink={(row) => `/operator/accounts/${row.id}`}
        error={list.error}
        onRetry={list.retry}
        isStale={list.isStale}
        empty={
          <Empty
            title={filters.isFiltered ? t.none : t.empty}
            text={filters.isFiltered ? t.noneText : t.emptyText}
            icon={<PeopleIcon className="size-6" />}
          />
        }
      />
      <Pagination list={list} />
    </Card>
  )
}
