import { translations } from '../base/language.ts'
import { useIsFollowing } from '../base/history.ts'
import { useGet } from '../base/queries.ts'
import { useMe } from '../base/session.ts'

const useTexts = translations({
  open: {
    '/operator/exceptions': (count: number) => [count === 1 ? '1 aberta' : `${count} abertas`, `${count} open`],
    '/operator/payouts': (count: number) => [count === 1 ? '1 aberto' : `${count} abertos`, `${count} open`],
    '/operator/disputes': (count: number) => [`${count} em análise`, `${count} open`],
    '/operator/webhooks': (count: number) => [`${count} com falha`, `${count} failing`],
    '/operator/providers': (count: number) => [
      count === 1 ? '1 pede ação' : `${count} pedem ação`,
      count === 1 ? '1 needs action' : `${count} need action`,
    ],
    '/deposits': (count: number) => [`${count} em análise`, `${count} under review`],
  },
  more: (count: number) => [`${count} em aberto`, `${count} open`],
})

/** A number above this says as much as any greater one. */
const MOST = 99

/** What a link to pages is called: "Exceptions, 3 open"; undefined if nothing is open. */
export function useOpenNames(): (label: string, to: readonly string[]) => string | undefined {
  const t = useTexts()
  const counts = useOpenCounts()
  const texts: Readonly<Record<string, (count: number) => string>> = t.open
  return (label, to) => {
    const count = sumOf(counts, to)
    const textOf = (to.length === 1 && texts[to[0]!]) || t.more
    return count === 0 ? undefined : `${label}, ${textOf(count)}`
  }
}

/** How much waits on these pages. Screen readers have it from the name of the link. */
export function OpenCount({ to, className = '' }: { to: readonly string[]; className?: string }) {
  const count = sumOf(useOpenCounts(), to)
  if (count === 0) return null
  // Not a text: the name of the link begins with its texts, and goes on in words.
  return (
    <span
      aria-hidden="true"
      data-count={count > MOST ? `${MOST}+` : count}
      className={`figures min-w-5 rounded-full bg-bad px-1 text-center text-xs leading-5 font-semibold text-card before:content-[attr(data-count)] ${className}`}
    />
  )
}

function sumOf(counts: Readonly<Record<string, number>>, to: readonly string[]): number {
  return to.reduce((sum, page) => sum + (counts[page] ?? 0), 0)
}

/** Operators have no stream, and an account holder may have none for a while. */
const READ_EVERY_MS = 20_000

/** The page that shows what is counted. */
const PAGES: Readonly<Record<string, string>> = {
  exceptions: '/operator/exceptions',
  payouts: '/operator/payouts',
  disputes: '/operator/disputes',
  webhooks: '/operator/webhooks',
  health: '/operator/providers',
  deposits: '/deposits',
}

/** What waits for somebody, by the address of the page that shows it. */
function useOpenCounts(): Readonly<Record<string, number>> {
  const { kind, scopes } = useMe()
  const isOperator = kind === 'operator'
  // An account holder is told by the stream.
  const isFollowing = useIsFollowing()
  const { data } = useGet<{ counts: Readonly<Record<string, number>> }>(
    ['open'],
    isOperator ? '/operator/open' : '/open',
    {
      enabled: isOperator || scopes.includes('deposits:read'),
      refetchInterval: isFollowing ? false : READ_EVERY_MS,
    },
  )
  return Object.fromEntries(Object.entries(data?.counts ?? {}).map(([what, count]) => [PAGES[what], count]))
}
