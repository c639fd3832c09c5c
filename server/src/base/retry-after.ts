/** Milliseconds, from seconds or an HTTP date; undefined if there is none, or it cannot be read. */
export function readRetryAfter(header: string | string[] | undefined, now: Date): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? ''
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1_000
  // Date.parse accepts almost anything.
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}
