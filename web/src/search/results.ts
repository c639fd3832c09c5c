import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { get } from '../base/api.ts'
import type { Found, Me } from '../contract/types.ts'

/** The server refuses other lengths. */
export const MIN_TYPED = 2
export const MAX_TYPED = 200
/** The pause after the last key, so that not every letter is a request. */
const DELAY_MS = 150
/** Who goes back to what they typed before has it at once. */
const FRESH_MS = 30_000
/** Of each kind. */
const PER_KIND = 5

/** What the server finds for the typed text. A newer text aborts the request for an older one. */
export function useResults(kind: Me['kind'], typed: string) {
  const [asked, setAsked] = useState(typed)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed), DELAY_MS)
    return () => clearTimeout(timer)
  }, [typed])
  const path = kind === 'operator' ? '/operator/search' : '/search'
  const query = useQuery({
    queryKey: ['search', path, asked],
    queryFn: ({ signal }) =>
      get<{ results: Found[] }>(path, { q: asked, limit: PER_KIND }, { signal }).then(({ results }) => results),
    enabled: asked.length >= MIN_TYPED,
    staleTime: FRESH_MS,
    gcTime: FRESH_MS,
    retry: false,
  })
  const isWanted = typed.length >= MIN_TYPED
  const isAnswered = isWanted && asked === typed && !query.isPending
  return {
    results: (isAnswered && query.data) || [],
    error: isAnswered ? query.error : null,
    isWaiting: isWanted && !isAnswered,
    retry: () => void query.refetch(),
  }
}

/** The page that shows a result. */
export function placeOf(kind: Me['kind'], result: Found): { to: string; search?: Record<string, string> } {
  // Without the filter, the list of an operator has open ones only.
  const search = result.kind === 'payout' && result.status !== null ? { status: result.status } : {}
  return { to: pathOf(kind, result), search }
}

function pathOf(kind: Me['kind'], result: Found): string {
  const { id, paymentLinkId, exceptionId, accountId } = result
  const isOperator = kind === 'operator'
  if (isOperator && result.kind === 'exception') return `/operator/exceptions/${exceptionId ?? id}`
  if (result.kind === 'payout') return isOperator ? '/operator/payouts' : '/payouts'
  if (paymentLinkId !== null) return `${isOperator ? '/operator' : ''}/deposits/${paymentLinkId}`
  if (!isOperator) return '/developers/deliveries'
  if (exceptionId !== null) return `/operator/exceptions/${exceptionId}`
  return accountId === null ? '/operator/exceptions' : `/operator/accounts/${accountId}`
}
