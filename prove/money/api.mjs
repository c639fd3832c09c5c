// Calls the service as its clients do, and notes every answer that must never happen.

// Longer than the service takes at most: it gives the bank 8 s.
const TIMEOUT_MS = 20_000

/** `note(claim, text)` records a breach. */
export function makeApi({ url, note, counts }) {
  return async function call(account, method, path, { body, key } = {}) {
    const headers = {
      authorization: `Bearer ${account.key}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(key && { 'idempotency-key': key }),
    }
    let answer
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const response = await fetch(`${url}${path}`, {
        method,
        headers,
        signal,
        ...(body && { body: JSON.stringify(body) }),
      })
      answer = { status: response.status, headers: response.headers, json: await response.json() }
    } catch {
      // The service was killed before it answered, or has not started yet.
      answer = { status: 0, headers: new Headers(), json: {} }
    }
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
    if (answer.status === 500) note('answers', `${method} ${path} was answered with 500 ${JSON.stringify(answer.json)}`)
    return answer
  }
}
