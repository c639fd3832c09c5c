// Proves that the session that is authorized is the session that is acted on, however the Cookie header is spelled, and
// that a member does what the role allows. See prove/README.md.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { openBooks } from './money/books.mjs'
import { makeService } from './money/service.mjs'

const WHOLE_WITHIN_MS = 3 * 60_000
const NAME = '__Host-guiche_session'
/** Requests that change something, and the roles that may make them. */
const CHANGES = {
  payouts: { body: { value: 100 }, may: ['owner', 'finance'] },
  keys: { body: { name: 'prove', scopes: ['deposits:read'] }, may: ['owner', 'developer'] },
  webhooks: { body: { url: 'http://127.0.0.1:9/' }, may: ['owner', 'developer'] },
}
const ROLES = ['owner', 'finance', 'developer', 'cashier', 'viewer']

const { values: options } = parseArgs({ options: { dist: { type: 'string' } } })
if (!options.dist) await ensureBuilt()
const home = mkdtempSync(join(tmpdir(), 'guiche-prove-session-'))
// If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
chmodSync(home, 0o755)
const dist = resolve(options.dist ?? join(root, 'server/dist'))
const service = await makeService({
  dist,
  home,
  clock: { laterMs: 0 },
  env: {},
  ended: (text) => console.log(`the service: ${text}`),
})
setTimeout(() => void end(2, `not done within ${WHOLE_WITHIN_MS / 1000} s`), WHOLE_WITHIN_MS).unref()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end(2, signal))
try {
  const breaches = await prove()
  for (const { claim, text } of breaches) console.log(`NOT HELD ${claim}: ${text}`)
  await end(breaches.length > 0 ? 1 : 0, breaches.length > 0 ? 'a claim failed' : 'HELD one-session, roles')
} catch (error) {
  await end(2, error.stack ?? String(error))
}

async function prove() {
  await service.start()
  const [ana, bob] = [await person('ana@loja.example'), await person('bob@loja.example')]
  const spellings = {
    'a space before =': `${NAME} =${bob.cookie}; ${NAME}=${ana.cookie}`,
    'a tab before =': `${NAME}\t=${bob.cookie}; ${NAME}=${ana.cookie}`,
    'quotes around the name': `"${NAME}"=${bob.cookie}; ${NAME}=${ana.cookie}`,
    'the name twice': `${NAME}=${ana.cookie}; ${NAME}=${bob.cookie}`,
  }
  const breaches = []
  for (const [spelling, cookie] of Object.entries(spellings)) {
    const { me } = await (await call('GET', 'me', { cookie })).json()
    const listed = await (await call('GET', 'auth/list-sessions', { cookie })).json()
    const actedOn = Array.isArray(listed) ? [...new Set(listed.map(({ userId }) => userId))] : [listed.code]
    if (me?.email !== ana.email || actedOn.length !== 1 || actedOn[0] !== ana.id)
      breaches.push({
        claim: 'one-session',
        text: `${spelling}: ${me?.email} was authorized, and user ${actedOn.join(' and ')} was acted on`,
      })
  }
  return [...breaches, ...(await tryRoles(ana))]
}

/** The role is changed under the person's session, past the service. */
async function tryRoles({ id, cookie }) {
  const breaches = []
  const books = await openBooks({ dist, home })
  for (const role of ROLES) {
    await books.rows(`update members set role = '${role}' where user_id = '${id}'`)
    for (const [path, { body, may }] of Object.entries(CHANGES)) {
      const { status } = await call('POST', path, { cookie: `${NAME}=${cookie}`, body })
      const isRefused = status === 403
      if (isRefused === may.includes(role))
        breaches.push({ claim: 'roles', text: `${role}: POST ${path} was answered with ${status}` })
    }
  }
  await books.close()
  return breaches
}

/** Creates an account holder and signs in. */
async function person(email) {
  const made = await service.command('account', 'create', '--email', email, '--name', 'Loja')
  if (made.code !== 0) throw new Error(`creating the account failed: ${made.stderr}`)
  const { password } = JSON.parse(made.stdout)
  const answer = await call('POST', 'auth/sign-in/email', { body: { email, password } })
  const line = answer.headers.getSetCookie().find((cookie) => cookie.startsWith(`${NAME}=`))
  if (!line) throw new Error(`${email} could not sign in: ${answer.status}`)
  return { email, id: (await answer.json()).user.id, cookie: line.slice(NAME.length + 1).split(';')[0] }
}

function call(method, path, { cookie, body } = {}) {
  return fetch(`${service.url}/dashboard/api/${path}`, {
    method,
    headers: {
      origin: service.url,
      ...(cookie && { cookie }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  })
}

/** Exits with 0: the claim held, 1: it failed, or 2: the proof could not run. */
async function end(code, text) {
  console.log(text)
  await service.stop()
  await service.close()
  rmSync(home, { recursive: true, force: true })
  process.exit(code)
}
