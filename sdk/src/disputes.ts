import type { ListDisputesQuery } from './api.ts'
import type { Call, CallOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Dispute } from './types.ts'

/** A PDF, PNG or JPEG file. */
export type NewEvidence = { fileName: string; content: Uint8Array; description?: string | null }

export type Disputes = {
  get(disputeId: string, options?: CallOptions): Promise<Dispute>
  /** Lists disputes, newest first. */
  list(query?: ListDisputesQuery, options?: CallOptions): Pages<Dispute>
  /** Sends a file to the bank that decides. The same file again changes nothing. */
  giveEvidence(disputeId: string, evidence: NewEvidence, options?: CallOptions): Promise<Dispute>
}

export function makeDisputes(call: Call): Disputes {
  return {
    get: async (disputeId, options) => (await call('getDispute', { path: { disputeId } }, options)).dispute,
    list: (query, options) =>
      pagesFrom(async (cursor) => {
        const { disputes, nextCursor } = await call(
          'listDisputes',
          { query: { ...query, ...(cursor && { cursor }) } },
          options,
        )
        return { items: disputes, nextCursor }
      }),
    async giveEvidence(disputeId, { content, ...about }, options) {
      const body = { ...about, content: base64Of(content) }
      return (await call('giveEvidence', { path: { disputeId }, body }, options)).dispute
    },
  }
}

/** Also in browsers. A call with millions of arguments would fail. */
function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768))
  return btoa(text)
}
