import type { ProviderDispute, ProviderDisputes, ProviderEvidence } from '../../domain/ports/provider.ts'
import { get, MalformedResponse, startDeadline, type Call } from '../http/call.ts'
import { bodyOf, END_TO_END_ID, isRefusedWith, readOrThrow, type Adapter } from '../http/provider.ts'
import { readDispute, readDisputePage, readEvidence, readOneDispute } from './messages.ts'

// Of 30 days. Woovi closes accounts with fewer.
const MAX_PAGES = 50

/** Woovi answers one of `absentStatuses` for a Pix without a dispute. */
export function makeDisputes(adapter: Adapter, absentStatuses: Set<number>): ProviderDisputes {
  return {
    async find(endToEndId) {
      if (!END_TO_END_ID.test(endToEndId)) return 'absent'
      const bounds = { operation: 'findDispute', deadline: startDeadline(adapter.timings.checkDeadlineMs) }
      const call = get(`/api/v1/dispute/${endToEndId}`, (json) => readOneDispute(json, endToEndId))
      const reply = await adapter.calls.read(call, bounds)
      return isRefusedWith(reply, absentStatuses) ? 'absent' : bodyOf(adapter, bounds, reply)
    },
    list: (window) => listDisputes(adapter, window),
    sendEvidence: (evidence) => sendEvidence(adapter, evidence),
  }
}

async function listDisputes(adapter: Adapter, { from, to }: { from: Date; to: Date }): Promise<ProviderDispute[]> {
  const found: ProviderDispute[] = []
  for (let page = 0, skip = 0; page < MAX_PAGES; page++) {
    const window = { start: from.toISOString(), end: to.toISOString() }
    const query = new URLSearchParams({ ...window, skip: String(skip), limit: String(adapter.timings.pageSize) })
    const call = get(`/api/v1/dispute?${query.toString()}`, (json) => readDisputePage(json, skip))
    const bounds = { operation: 'listDisputes', deadline: startDeadline(adapter.timings.listDeadlineMs) }
    const { disputes, isLast } = await readOrThrow(adapter, call, bounds)
    found.push(...disputes.flatMap(readListed))
    if (isLast) return found
    skip += disputes.length
  }
  adapter.log.warn({ provider: adapter.name }, 'the list of disputes is too long to read it all')
  return found
}

/** The list only says about which to ask, and a notification tells of each too. */
function readListed(entry: unknown): ProviderDispute[] {
  try {
    return [readDispute(entry)]
  } catch (error) {
    if (error instanceof MalformedResponse) return []
    throw error
  }
}

/** Once: whoever asked repeats it, because Woovi does not say what it has. */
async function sendEvidence(adapter: Adapter, evidence: ProviderEvidence): Promise<void> {
  const { disputeId, evidenceId, url, description } = evidence
  // Woovi calls us before it answers, as when it gets a new address for notifications.
  const bounds = { operation: 'sendEvidence', deadline: startDeadline(adapter.timings.registerDeadlineMs) }
  const document = { url, correlationID: evidenceId, ...(description !== null && { description }) }
  const call: Call<void> = {
    method: 'POST',
    path: `/api/v1/dispute/${disputeId}/evidence`,
    body: { documents: [document] },
    read: readEvidence,
    secrets: [url],
  }
  bodyOf(adapter, bounds, await adapter.calls.once(call, bounds))
}
