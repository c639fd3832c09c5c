/** The bounds of an adapter. Tests pass smaller ones. */
export type Timings = typeof DEFAULT_TIMINGS

export const DEFAULT_TIMINGS = {
  // A payer waits for the QR code and tries again after about this long.
  createDeadlineMs: 8_000,
  // Per call of a write. After one hang, half of the deadline is left to look up the outcome.
  writeTimeoutMs: 4_000,
  // A caller waits for the query. After this time it is answered from the database.
  checkDeadlineMs: 3_000,
  cancelDeadlineMs: 8_000,
  // Per page of a sweep, which is background work. A thousand Pix take a bank a while.
  listDeadlineMs: 20_000,
  refundDeadlineMs: 15_000,
  // Some providers call the new URL before they answer.
  registerDeadlineMs: 20_000,
  // The most that API Pix allows.
  pageSize: 1_000,
  // Half a million Pix in one window. A sweep that finds more must ask for shorter windows.
  maxPages: 500,
  // With one failure in three, 96 % of reads and writes still succeed.
  readAttempts: 3,
  writeAttempts: 3,
  backoffBaseMs: 100,
  backoffCapMs: 1_000,
  // Ten failures in a row are not chance. A restart of the provider takes about five seconds.
  breakerFailures: 10,
  breakerCoolDownMs: 5_000,
  // A time-out shorter than this says nothing about the provider.
  fairTimeoutMs: 1_000,
  // At 10 calls per second, the lowest limit known, these wait longer than any deadline.
  rateLimitMaxWaiting: 200,
  // For a 429 without Retry-After.
  defaultRetryAfterMs: 1_000,
  // At 200 ms per call these carry 300 calls per second, more than any provider allows.
  connections: 64,
  maxPending: 1_000,
  // A page of a thousand Pix is about half a megabyte.
  maxResponseBytes: 4 * 1024 * 1024,
  connectTimeoutMs: 5_000,
}
