import type { CDPSession, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { demandSecondFactor } from '../../src/domain/accounts/members.ts'
import { query } from '../../src/db/tx.ts'
import { enter, expectAccessible, useChromium, visit } from '../chromium.ts'
import { world, type World } from '../world.ts'

// Passkeys with a real browser and an authenticator that the browser emulates: the bytes that are signed are genuine.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/long/passkeys-browser.test.ts`.
const PICTURES = process.env['PICTURES']

test('a passkey is added in the settings, signs in alone as both factors, and is removed', async () => {
  const { w, url } = await serveByName()
  const account = await w.account()
  const { page, errors } = await visit({ locale: 'en-US' })
  const { cdp, authenticatorId } = await plugIn(page)
  await enterByName(page, w, account)
  await addPasskey(page, url, 'Work laptop')
  await expectAccessible(page, 'the passkeys')
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/passkeys.png`, fullPage: true })

  await page.context().clearCookies()
  await demandSecondFactor(w.ctx, { kind: 'account', name: account.email }, account.accountId, true)
  await page.goto(`${url}/sign-in`)
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/sign-in-passkey.png`, fullPage: true })
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(await query(w.pool, 'select by_passkey, account_id from sessions where by_passkey')).toEqual([
    { by_passkey: true, account_id: account.accountId },
  ])
  expect(await w.count('passkey_challenges')).toBe(0)

  await page.goto(`${url}/settings`)
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('None yet.').waitFor()
  await page.context().clearCookies()
  await page.goto(`${url}/sign-in`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByText('This passkey does not work here any more').waitFor()
  const actions = await query<{ action: string }>(
    w.pool,
    `select action from audit_log where action like 'passkey.%' and actor = $1 order by id`,
    [account.email],
  )
  expect(actions.map(({ action }) => action)).toEqual(['passkey.added', 'passkey.removed'])
  expect(errors.filter((text) => !text.includes('401'))).toEqual([])
  await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
})

test('an answer of a passkey signs in once, in time, with a count that grows, and only with its owner known', async () => {
  const { w, url } = await serveByName()
  const account = await w.account()
  const { page } = await visit({ locale: 'en-US' })
  const { cdp, authenticatorId } = await plugIn(page)
  await enterByName(page, w, account)
  await addPasskey(page, url, 'Phone')
  await page.context().clearCookies()
  await page.goto(`${url}/sign-in`)
  const status = (answer: unknown) => page.evaluate<number>(`(${SEND})(${JSON.stringify(answer)})`)
  const sign = () => page.evaluate<object>(`(${SIGN})()`)

  const once = await sign()
  expect(await status(once)).toBe(200)
  // The count alone would refuse the second one.
  await query(w.pool, 'update passkeys set sign_count = 0')
  expect(await status(once)).toBe(401)
  const late = await sign()
  w.clock.advance(5 * 60_000)
  expect(await status(late)).toBe(401)
  // A copy of the device would count from where it was copied.
  const behind = await sign()
  await query(w.pool, 'update passkeys set sign_count = 1000')
  expect(await status(behind)).toBe(401)
  await query(w.pool, 'update passkeys set sign_count = 0')
  // The browser refuses it too, so the page asks for less than the service does.
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  expect(await status(await page.evaluate<object>(`(${SIGN})('discouraged')`))).toBe(401)
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  expect(await status(await sign())).toBe(200)
})

const POST = `(path, body) => fetch('/dashboard/api/auth/' + path, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })`
const SIGN = `async (userVerification = 'required') => {
  const options = await (await (${POST})('passkey/begin', {})).json()
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON({ ...options, userVerification })
  return (await navigator.credentials.get({ publicKey })).toJSON()
}`
const SEND = `async (response) => (await (${POST})('sign-in/passkey', { response })).status`

/** Passkeys belong to a name, and 127.0.0.1 is none. */
async function serveByName(): Promise<{ w: World; url: string }> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const w = await world({ settings: { publicUrl: url } })
  await w.app.listen({ port, host: 'localhost' })
  return { w, url }
}

async function enterByName(page: Page, w: World, account: { accountId: string }): Promise<void> {
  const session = await w.session(account)
  await enter(page, session)
  const [name, value] = session.cookie.split('=') as [string, string]
  await page.context().addCookies([{ name, value, url: 'https://localhost', secure: true, httpOnly: true }])
}

async function addPasskey(page: Page, url: string, name: string): Promise<void> {
  await page.goto(`${url}/settings`)
  await page.getByRole('button', { name: 'Add passkey' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Add passkey' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText(name, { exact: true }).waitFor()
}

async function plugIn(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options })
  return { cdp, authenticatorId }
}
