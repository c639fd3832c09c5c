import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { translations } from '../base/language.ts'
import { useMe } from '../base/session.ts'
import type { Deposit } from '../contract/types.ts'
import { buttonClass } from '../ui/button.tsx'
import { ChevronRightIcon } from '../ui/icons.tsx'
import { readNeighbours, type DepositFilters } from './deposit-list.ts'

const useTexts = translations({
  account: { newer: ['Depósito anterior', 'Previous deposit'], older: ['Próximo depósito', 'Next deposit'] },
  operator: { newer: ['Cobrança anterior', 'Previous charge'], older: ['Próxima cobrança', 'Next charge'] },
})

const WAYS = [
  { way: 'newer', shortcut: 'previous', turn: 'rotate-180' },
  { way: 'older', shortcut: 'next', turn: '' },
] as const

/** The filters of the list that the reader came from. */
export function useListFilters(): DepositFilters {
  return useLocation({ select: ({ state }) => state.depositFilters }) ?? {}
}

/** Goes through the list that the reader came from, or through all by creation. `path` is that of the list. */
export function NeighbourLinks({ path, deposit }: { path: '/deposits' | '/operator/deposits'; deposit: Deposit }) {
  const { kind } = useMe()
  const t = useTexts()[kind]
  const filters = useListFilters()
  const { data } = useQuery({
    queryKey: ['neighbours', path, filters, deposit.id],
    queryFn: ({ signal }) => readNeighbours(path, filters, deposit, signal),
  })
  return (
    <div className="flex gap-2">
      {WAYS.map(({ way, shortcut, turn }) => {
        const found = data?.[way]
        const look = `${buttonClass({})} px-3!`
        const icon = <ChevronRightIcon className={`size-4 ${turn}`} />
        if (!found)
          return (
            <button key={way} type="button" disabled aria-label={t[way]} title={t[way]} className={look}>
              {icon}
            </button>
          )
        return (
          <Link
            key={way}
            to={`${path}/$paymentLinkId`}
            params={{ paymentLinkId: found.paymentLinkId }}
            state={{ depositFilters: filters }}
            aria-label={t[way]}
            title={t[way]}
            data-shortcut={shortcut}
            className={look}
          >
            {icon}
          </Link>
        )
      })}
    </div>
  )
}
