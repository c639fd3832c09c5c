import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useState } from 'react'
import { get } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Input } from '../../ui/field.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Choice } from './choice.tsx'
import { AccountBadge } from './names.tsx'
import type { Account } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    search: 'Buscar a conta',
    hint: 'Nome ou e-mail',
    accounts: 'Contas encontradas',
    none: 'Nenhuma conta encontrada.',
    failed: 'A busca falhou. Tente de novo.',
  },
  en: {
    search: 'Find the account',
    hint: 'Name or e-mail',
    accounts: 'Accounts found',
    none: 'No account found.',
    failed: 'The search failed. Try again.',
  },
})

/** So many fit on a phone; more letters find the others. */
const SHOWN = 5

export function AccountPicker({
  first,
  chosen,
  onChoose,
}: {
  /** What to look for at the beginning, such as the e-mail of the charge's account. */
  first: string
  chosen: Account | undefined
  onChoose: (account: Account) => void
}) {
  const t = useWords()
  const name = useId()
  const [typed, setTyped] = useState(first)
  const search = useDeferredValue(typed.trim())
  const { data, error } = useQuery({
    queryKey: ['account-search', search],
    queryFn: ({ signal }) => get<{ accounts: Account[] }>('/operator/accounts', { search, limit: SHOWN }, { signal }),
    placeholderData: (before) => before,
  })
  return (
    <div className="space-y-3">
      <Input
        label={t.search}
        hint={t.hint}
        type="search"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        maxLength={100}
        autoComplete="off"
      />
      {!data && !error && <Skeleton className="h-14 w-full rounded-lg" />}
      {error && !data && <p className="text-bad">{t.failed}</p>}
      {data?.accounts.length === 0 && <p className="text-soft">{t.none}</p>}
      {data && data.accounts.length > 0 && (
        <fieldset className="space-y-2">
          <legend className="sr-only">{t.accounts}</legend>
          {data.accounts.map((account) => (
            <Choice
              key={account.id}
              name={name}
              isChosen={account.id === chosen?.id}
              onChoose={() => onChoose(account)}
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
