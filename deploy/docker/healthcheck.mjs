// Exits 0 if the service in this container answers at the given path with 200. The image has no curl.

const TIMEOUT_MS = 4_000

const [path = '/livez'] = process.argv.slice(2)
const url = `http://127.0.0.1:${process.env['PORT'] || 3000}${path}`
const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined)
process.exit(answer?.ok ? 0 : 1)
