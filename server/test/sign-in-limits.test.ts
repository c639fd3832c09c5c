import { expect, test } from 'vitest'
import { createAccount } from '../src/domain/accounts/accounts.ts'
import { makeBucketTable } from '../src/http/auth/sign-in-limits.ts'
import { appWith } from './requests.ts'
import { openBrowser, PASSWORD, type Browser } from './sign-in-client.ts'
import { world, type World } from './world.ts'

const ANA = 'ana@loja.example'
const NEW_PASSWORD = 'another horse, another battery'

test('a stranger who tries out passwords keeps nobody from what they do while signed in', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  await attack(w)
  const statuses = [
    await browser.post('reauthenticate', { password: PASSWORD }),
    await browser.post('auth/two-factor/enable', { password: PASSWORD }),
    await browser.post('auth/change-password', { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }),
  ].map(({ statusCode }) => statusCode)
  expect(statuses).toEqual([200, 200, 200])
})

test('a stranger who tries out passwords keeps nobody out of a browser in which they have signed in before', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  await browser.post('auth/sign-out')
  await attack(w)
  expect((await openBrowser(w, '10.9.9.9').signIn(ANA)).statusCode).toBe(429)
  expect((await browser.signIn(ANA)).statusCode).toBe(200)
})

test('who is kept out of a new browser gets in by a new password, which no stranger can keep from them', async () => {
  const { w } = await prepare()
  await attack(w)
  // Emails of other kinds must not use up the limit of this kind.
  for (let time = 0; time < 5; time++)
    await openBrowser(w, `10.3.${time}.1`).post('auth/sign-up/email', { name: 'x', email: ANA, password: NEW_PASSWORD })
  for (let time = 0; time < 5; time++)
    await openBrowser(w, `10.4.${time}.1`).post('auth/send-verification-email', { email: ANA })
  const browser = openBrowser(w, '10.9.9.9')
  expect((await browser.signIn(ANA)).statusCode).toBe(429)
  expect((await browser.post('auth/request-password-reset', { email: ANA })).statusCode).toBe(200)
  const token = new URL(w.letters.at(-1)!.link).searchParams.get('token')!
  expect((await browser.post('auth/reset-password', { newPassword: NEW_PASSWORD, token })).statusCode).toBe(200)
  expect((await browser.signIn(ANA, NEW_PASSWORD)).statusCode).toBe(200)
})

test('a known device has tries of its own, no more than anybody, and for its own person only', async () => {
  const { w, browser } = await prepare()
  await createAccount(w.ctx, { email: 'bia@loja.example', name: 'Bia', password: PASSWORD })
  await browser.signIn(ANA)
  await browser.post('auth/sign-out')
  expect(await guesses(browser, ANA, 11)).toEqual([...Array<number>(10).fill(401), 429])
  await attack(w, 'bia@loja.example')
  expect((await browser.signIn('bia@loja.example')).statusCode).toBe(429)
})

test('a device cookie that we did not sign, or that was made for somebody else, is no known device', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  const name = '__Host-guiche_device'
  const [device, signature] = browser.cookies.get(name)!.split('.') as [string, string]
  const otherSignature = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  await attack(w)
  for (const forged of [`${device}.${otherSignature}`, device, `x.${signature}`, '.', 'a.b']) {
    const stranger = openBrowser(w, '10.9.9.9')
    stranger.cookies.set(name, forged)
    expect([forged, (await stranger.signIn(ANA)).statusCode]).toEqual([forged, 429])
  }
})

test('a device is known also after SECRET_KEY has changed, as long as the old one is listed', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  const signIn = {
    ...w.ctx.settings.signIn,
    secrets: () => ['a newer secret for sign-in, of tests too', ...w.ctx.settings.signIn.secrets()],
  }
  const app = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, signIn } })
  for (let time = 0; time < 10; time++) await openBrowser({ app }, `10.1.${time}.1`).signIn(ANA, 'not the password')
  const phone = openBrowser({ app })
  phone.cookies.set('__Host-guiche_device', browser.cookies.get('__Host-guiche_device')!)
  expect((await phone.signIn(ANA)).statusCode).toBe(200)
})

test('who succeeds gets the try back', async () => {
  const { w } = await prepare()
  for (let time = 0; time < 45; time++) expect((await openBrowser(w).signIn(ANA)).statusCode).toBe(200)
})

test('a stolen session can guess ten times, and its owner is not kept from anything by it', async () => {
  const { w, browser } = await prepare()
  await browser.signIn(ANA)
  const thief = openBrowser(w)
  for (const [name, value] of browser.cookies) thief.cookies.set(name, value)
  const statuses = []
  for (let time = 0; time < 11; time++)
    statuses.push((await thief.post('reauthenticate', { password: 'not the password' })).statusCode)
  expect(statuses).toEqual([...Array<number>(10).fill(400), 429])
  const elsewhere = openBrowser(w, '10.0.0.3')
  await elsewhere.signIn(ANA)
  expect((await elsewhere.post('reauthenticate', { password: PASSWORD })).statusCode).toBe(200)
})

test('from one address only so many letters can be asked for, whoever they are to', async () => {
  const { w } = await prepare()
  const statuses = []
  for (let time = 0; time < 21; time++)
    statuses.push(
      (await openBrowser(w).post('auth/request-password-reset', { email: `n${time}@loja.example` })).statusCode,
    )
  expect(statuses).toEqual([...Array<number>(20).fill(200), 429])
})

test('whoever tries thousands of names does not make the limits forget what was spent on one', () => {
  const table = makeBucketTable({ perSecond: 1 / 60, burst: 10 })
  for (let time = 0; time < 10; time++) expect(table.take('ana', 0)).toBe(0)
  for (let other = 0; other < 30_000; other++) table.take(`n${other}`, 0)
  expect(table.take('ana', 0)).toBe(60)
  expect(table.take('ana', 60_000)).toBe(0)
  expect(table.take('ana', 60_000)).toBe(60)
  table.giveBack('ana')
  expect(table.take('ana', 60_000)).toBe(0)
  // A clock that steps back takes nothing from the bucket.
  expect(table.take('ana', 0)).toBe(60)
})

/** Guesses from many addresses, until all tries for this person are used up. */
async function attack(w: World, email = ANA): Promise<void> {
  for (let time = 0; time < 10; time++) await openBrowser(w, `10.1.${time}.1`).signIn(email, 'not the password')
  expect((await openBrowser(w, '10.2.0.1').signIn(email, 'not the password')).statusCode).toBe(429)
}

async function guesses(browser: Browser, email: string, count: number): Promise<number[]> {
  const statuses = []
  for (let time = 0; time < count; time++) statuses.push((await browser.signIn(email, 'not the password')).statusCode)
  return statuses
}

async function prepare(): Promise<{ w: World; browser: Browser }> {
  const w = await world()
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
  return { w, browser: openBrowser(w) }
}
