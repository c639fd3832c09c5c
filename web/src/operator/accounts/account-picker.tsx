import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useState } from 'react'
import { get } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { Account } from '../../contract/types.ts'
import { Input } from '../../ui/form/form.tsx'
import { RadioCard } from '../../ui/form/radio-card.tsx'
import { Skeleton } from '../../ui/page.tsx'
import { AccountBadge } from '../labels.tsx'

const useTexts = translations({
  search: ['Buscar conta', 'Search accounts'],
  hint: ['Nome ou e-mail', 'Name or email'],
  accounts: ['Contas encontradas', 'Accounts found'],
  none: ['Nenhuma conta encontrada.', 'No accounts found.'],
  failed: ['A busca falhou. Tente de novo.', 'Search failed. Try again.'],
})

const SHOWN = 5

export function AccountPicker(props: {
  /** The first search, such as the e-mail of the charge's account. */
  first: string
  chosen: Account | undefined
  onChoose: (account: Account) => void
}) {
  const t = useTexts()
  const name = useId()
  const [typed, setTyped] = useState(props.first)
  const search = useDeferredValue(typed.trim())
  const { data, error } = useQuery({
    queryKey: ['account-search', search],
    queryFn: ({ signal }) => get<{ accounts: Account[] }>('/operator/accounts', { search, limit: SHOWN }, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <div className="space-y-3">
      <Input label={t.search} hint={t.hint} type="search" value={typed} onChange={setTyped} maxLength={100} />
      {!data && !error && <Skeleton className="h-14 w-full rounded-lg" />}
      {error && !data && <p className="text-bad">{t.failed}</p>}
      {data?.accounts.length === 0 && <p className="text-soft">{t.none}</p>}
      {data && data.accounts.length > 0 && (
        <fieldset className="space-y-2">
          <legend className="sr-only">{t.accounts}</legend>
          {data.accounts.map((account) => (
            <RadioCard
              key={account.id}
              name={name}
              isChosen={account.id === props.chosen?.id}
              onChoose={() => props.onChoose(account)}
              title={account.name}
              text={account.email}
              badge={account.suspendedAt !== null && <AccountBadge account={account} />}
            />
          ))}
        </fieldset>
      )}
    </div>
  )
}
