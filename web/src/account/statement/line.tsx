import { Link } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { usePair } from '../../base/language.ts'
import { LINE_TITLES } from '../../contract/line-titles.ts'
import type { StatementLine } from '../../contract/types.ts'
import { useStatusText } from '../../ui/badge.tsx'
import { Money } from '../../ui/data/values.tsx'

/** What a kind of line is called. A newer service may have more kinds. */
export function useLineTitle(): (kind: string) => string {
  const inLanguage = usePair()
  return (kind) => (kind in LINE_TITLES ? inLanguage(LINE_TITLES[kind as keyof typeof LINE_TITLES]) : kind)
}

export function LineTitle({ line: { kind, paymentLinkId, payoutId, disputeId } }: { line: StatementLine }) {
  const title = useLineTitle()(kind)
  if (payoutId !== null)
    return (
      <Link to="/payouts" className={ENTRY}>
        {title}
      </Link>
    )
  if (disputeId !== null)
    return (
      <Link to="/disputes/$disputeId" params={{ disputeId }} className={ENTRY}>
        {title}
      </Link>
    )
  if (paymentLinkId === null) return title
  return (
    <Link to="/deposits/$paymentLinkId" params={{ paymentLinkId }} className={ENTRY}>
      {title}
    </Link>
  )
}

const ENTRY = 'font-medium underline decoration-line decoration-2 underline-offset-4 hover:decoration-current'

/** What the account holder knows the deposit by, or how far the payout is. */
export function useNote(): (line: StatementLine) => string {
  const statusText = useStatusText()
  const { day } = useFormat()
  return ({ externalId, description, payout }) => {
    const payoutNote = payout ? [statusText(payout.status), payout.paidAt && day(payout.paidAt), payout.reference] : []
    return [externalId, description, ...payoutNote].filter(Boolean).join(' · ')
  }
}

export function Net({ line: { net } }: { line: StatementLine }) {
  return <Money cents={net} sign className={`font-medium ${net > 0 ? 'text-good' : ''}`} />
}
