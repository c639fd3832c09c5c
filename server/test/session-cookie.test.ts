import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { setOperatorEnabled } from '../src/domain/users/operators.ts'
import { CONSOLE, makeOperator } from './operators-client.ts'
import { openBrowser, PASSWORD, type Browser } from './sign-in-client.ts'
import { world, type World } from './world.ts'

// One function reads cookies, so a request acts on the person who was checked, however the header is spelled.

const NAME = '__Host-guiche_session'
const ANA = 'ana@loja.example'
const BOB = 'bob@loja.example'
const NEW_PASSWORD = 'another horse, another battery'

/** Bob's cookie under a name that a lenient reader takes for ours, before or behind Ana's. */
const SPELLINGS: Record<string, (ana: string, bob: string) => string> = {
  'a space before =': (ana, bob) => `${NAME} =${bob}; ${NAME}=${ana}`,
  'a tab before =': (ana, bob) => `${NAME}\t=${bob}; ${NAME}=${ana}`,
  'spaces around the name': (ana, bob) => `  ${NAME}  =${bob};${NAME}=${ana}`,
  'quotes around the name': (ana, bob) => `"${NAME}"=${bob}; ${NAME}=${ana}`,
  'quotes around the value': (ana, bob) => `${NAME}=${ana}; ${NAME}="${bob}"`,
  'an empty part': (ana, bob) => `; =; ${NAME} =${bob}; ;${NAME}=${ana}`,
  'a name without a value': (ana, bob) => `x; ${NAME} =${bob}; ${NAME}=${ana}`,
  'another case': (ana, bob) => `${NAME.toUpperCase()}=${bob}; ${NAME}=${ana}`,
  'a no-break space': (ana, bob) => `\u00a0${NAME}=${bob}; ${NAME}=${ana}`,
  'the name twice': (ana, bob) => `${NAME}=${ana}; ${NAME}=${bob}`,
}

test('however a second session is spelled into the header, the first exact one is judged and acted on', async () => {
  const { w, ana, bob } = await prepare()
  for (const [spelling, write] of Object.entries(SPELLINGS)) {
    const ask = asker(w, write(ana.value, bob.value))
    const me = (await ask('GET', 'me')).json().me
    expect([spelling, me?.email]).toEqual([spelling, ANA])
    const listed = (await ask('GET', 'auth/list-sessions')).json() as { userId: string }[]
    expect([spelling, listed.map(({ userId }) => userId)]).toEqual([spelling, [ana.userId]])
  }
})

test('a change of password is done to the person who was judged, and the audit log names that person', async () => {
  const { w, ana, bob } = await prepare()
  for (const [spelling, write] of Object.entries(SPELLINGS)) {
    const payload = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }
    // Both have the same password, so the change would work for either.
    const answer = await asker(w, write(bob.value, ana.value))('POST', 'auth/change-password', payload)
    expect([spelling, answer.statusCode, answer.json().user?.email]).toEqual([spelling, 200, BOB])
    const back = { currentPassword: NEW_PASSWORD, newPassword: PASSWORD }
    expect((await asker(w, `${NAME}=${bob.value}`)('POST', 'auth/change-password', back)).statusCode).toBe(200)
  }
  expect((await openBrowser(w).signIn(ANA)).statusCode).toBe(200)
  const log = await query<{ actor: string; subject: string }>(
    w.pool,
    `select distinct actor, subject from audit_log where action = 'password.changed'`,
  )
  expect(log).toEqual([{ actor: BOB, subject: `user ${bob.userId}` }])
})

test('a session of a disabled operator does nothing beside one that stands', async () => {
  const { w, ana } = await prepare()
  const olga = await makeOperator(w)
  const { value } = await signedIn(w, olga.email)
  await setOperatorEnabled(w.ctx, { operatorId: olga.operatorId, isEnabled: false }, CONSOLE)
  const hashes = () =>
    query<{ password: string }>(
      w.pool,
      'select c.password from credentials c join operators o on o.user_id = c.user_id where o.id = $1',
      [olga.operatorId],
    )
  const before = await hashes()
  const payload = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }
  for (const write of Object.values(SPELLINGS))
    await asker(w, write(ana.value, value))('POST', 'auth/change-password', payload)
  expect(await hashes()).toEqual(before)
})

test('wrong guesses with somebody’s session are counted for that session, whatever stands beside it', async () => {
  const { w, ana, bob } = await prepare()
  const statuses = []
  for (const write of Object.values(SPELLINGS)) {
    const payload = { currentPassword: 'not the password', newPassword: NEW_PASSWORD }
    statuses.push((await asker(w, write(bob.value, ana.value))('POST', 'auth/change-password', payload)).statusCode)
  }
  expect(statuses).toEqual(Array<number>(10).fill(400))
  const payload = { currentPassword: 'not the password', newPassword: NEW_PASSWORD }
  expect((await asker(w, `${NAME}=${bob.value}`)('POST', 'auth/change-password', payload)).statusCode).toBe(429)
  expect((await asker(w, `${NAME}=${ana.value}`)('POST', 'auth/change-password', payload)).statusCode).toBe(400)
})

async function prepare() {
  const w = await world()
  for (const email of [ANA, BOB]) await createAccount(w.ctx, { email, name: 'Loja', password: PASSWORD })
  return { w, ana: await signedIn(w, ANA), bob: await signedIn(w, BOB) }
}

async function signedIn(w: World, email: string): Promise<{ value: string; userId: string; browser: Browser }> {
  const browser = openBrowser(w)
  const { user } = (await browser.signIn(email)).json()
  return { browser, value: browser.cookies.get(NAME)!, userId: user.id }
}

function asker(w: World, cookie: string) {
  return (method: 'GET' | 'POST', path: string, payload?: object) =>
    w.app.inject({
      method,
      url: `/dashboard/api/${path}`,
      headers: { cookie, origin: 'https://guiche.example' },
      ...(payload && { payload }),
    })
}
