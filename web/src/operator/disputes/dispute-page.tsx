import { useParams } from '@tanstack/react-router'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { OperatorDispute } from '../../contract/types.ts'
import { DisputeBadge, DisputeDetails } from '../../deposits/disputes.tsx'
import { Evidence } from '../../deposits/evidence.tsx'
import { Card, Page, Skeleton } from '../../ui/page.tsx'

const useTexts = translations({ title: ['Contestação', 'Dispute'], back: ['Contestações', 'Disputes'] })

/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 15_000

export function OperatorDisputePage() {
  const t = useTexts()
  const { disputeId = '' } = useParams({ strict: false })
  const path = `/operator/disputes/${encodeURIComponent(disputeId)}`
  const query = useGet<{ dispute: OperatorDispute }>(['dispute', disputeId], path, { refetchInterval: REFRESH_MS })
  const dispute = query.data?.dispute
  return (
    <Page
      title={t.title}
      text={dispute && <DisputeBadge status={dispute.status} />}
      back={{ to: '/operator/disputes', label: t.back }}
      query={query}
    >
      {dispute ? (
        <>
          <DisputeDetails dispute={dispute} />
          <Evidence dispute={dispute} path={path} mayGive />
        </>
      ) : (
        <Card>
          <Skeleton className="h-72 w-full" />
        </Card>
      )}
    </Page>
  )
}
