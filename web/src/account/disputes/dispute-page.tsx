import { useParams } from '@tanstack/react-router'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import { useMay } from '../../base/session.ts'
import type { Dispute } from '../../contract/types.ts'
import { DisputeBadge, DisputeDetails } from '../../deposits/disputes.tsx'
import { Evidence } from '../../deposits/evidence.tsx'
import { Card, Page, Skeleton } from '../../ui/page.tsx'

const useTexts = translations({ title: ['Contestação', 'Dispute'], back: ['Contestações', 'Disputes'] })

/** While a file is being sent, of which no event tells. */
const SENDING_MS = 3_000

export function DisputePage() {
  const t = useTexts()
  const may = useMay()
  const { disputeId = '' } = useParams({ strict: false })
  const path = `/disputes/${encodeURIComponent(disputeId)}`
  const query = useGet<{ dispute: Dispute }>(['dispute', disputeId], path, {
    refetchInterval: ({ state: { data } }) =>
      data?.dispute.evidence.some(({ status }) => status === 'SENDING') ? SENDING_MS : false,
  })
  const dispute = query.data?.dispute
  return (
    <Page
      title={t.title}
      text={dispute && <DisputeBadge status={dispute.status} />}
      back={{ to: '/disputes', label: t.back }}
      query={query}
    >
      {dispute ? (
        <>
          <DisputeDetails dispute={dispute} />
          <Evidence dispute={dispute} path={path} mayGive={may('refunds:write')} />
        </>
      ) : (
        <Card>
          <Skeleton className="h-72 w-full" />
        </Card>
      )}
    </Page>
  )
}
