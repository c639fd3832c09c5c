// Speaks to the service as its callers do, and holds it to what it must never do whatever the bank does.

// Longer than the service takes at worst: it gives the bank 8 s.
const PATIENCE_MS = 20_000

/** `note(claim, text)` is told of every breach. */
export function makeApi({ url, note, counts }) {
  return async function call(account, method, path, { body, key } = {}) {
    const headers = {
      authorization: `Bearer ${account.key}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(key && { 'idempotency-key': key }),
    }
    let answer
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS)
      const response = await fetch(`${url}${path}`, {
        method,
        headers,
        signal,
        ...(body && { body: JSON.stringify(body) }),
      })
      answer = { status: response.status, headers: response.headers, json: await response.json() }
    } catch {
      // Killed before it answered, or not up yet: the caller learns nothing, as with any network.
      answer = { status: 0, headers: new Headers(), json: {} }
    }
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
    if (answer.status === 500) note('answers', `${method} ${path} was answered with 500 ${JSON.stringify(answer.json)}`)
    return answer
  }
}
