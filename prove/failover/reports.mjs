// Reads the overview as the owner of the demo account, and how old the service says its data are.

const COOKIE = '__Host-guiche_session'

/** `origin`: the public address of the service. Returns the seconds, or why there are none. */
export async function readDataAge({ url, origin, email, password }) {
  const call = (method, path, { cookie, body } = {}) =>
    fetch(`${url}/dashboard/api/${path}`, {
      method,
      headers: { origin, ...(cookie && { cookie }), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    })
  const answer = await call('POST', 'auth/sign-in/email', { body: { email, password } })
  const cookie = answer.headers
    .getSetCookie()
    .find((line) => line.startsWith(COOKIE))
    ?.split(';')[0]
  if (!cookie) return { trouble: `${email} could not sign in: ${answer.status}` }
  const overview = await call('GET', 'overview', { cookie })
  const age = overview.headers.get('guiche-data-age')
  if (overview.status === 200 && age !== null) return { seconds: Number(age) }
  return { trouble: `the overview was answered with ${overview.status}, and without the age of its data` }
}
