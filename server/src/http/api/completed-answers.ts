/** Answers to queries of COMPLETED charges, ready to send: their fields are final. EXPIRED charges can be paid late. */
export type CompletedAnswers = {
  /** Undefined also for a charge of another account. */
  find(accountId: string, paymentLinkId: string): string | undefined
  keep(accountId: string, paymentLinkId: string, answer: string): void
}

type Bounds = { maxEntries: number; maxCharacters: number }

// Some 16 MB. Callers ask for a charge until it is completed, hardly ever days later, and then it costs one read.
const BOUNDS: Bounds = { maxEntries: 20_000, maxCharacters: 16_000_000 }

export function makeCompletedAnswers({ maxEntries, maxCharacters }: Bounds = BOUNDS): CompletedAnswers {
  const entries = new Map<string, { accountId: string; answer: string }>()
  let characters = 0

  function drop(paymentLinkId: string): void {
    characters -= entries.get(paymentLinkId)?.answer.length ?? 0
    entries.delete(paymentLinkId)
  }

  return {
    find(accountId, paymentLinkId) {
      const entry = entries.get(paymentLinkId)
      return entry?.accountId === accountId ? entry.answer : undefined
    },
    keep(accountId, paymentLinkId, answer) {
      drop(paymentLinkId)
      entries.set(paymentLinkId, { accountId, answer })
      characters += answer.length
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && characters <= maxCharacters) break
        drop(oldest)
      }
    },
  }
}
