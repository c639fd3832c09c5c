// Handlers are synchronous: they read the book, record changes and return. The HTTP server turns the body into text at
// once, and sends it when everything up to `seq` is on disk.
export type Answer = {
  status: number
  body?: unknown
  contentType?: string
  headers?: Record<string, string>
  // The newest journal entry that the answer depends on. An answer must not show what a power cut could undo.
  seq?: number
}

export type Call = {
  params: string[]
  query: string
  body: unknown
  authorization: string | undefined
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

export function parseInstant(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date
}
