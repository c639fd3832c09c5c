import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { transact } from '../../src/db/tx.ts'
import { createAccount } from '../../src/domain/accounts/accounts.ts'
import type { Settings } from '../../src/domain/core/settings.ts'
import { createInvitation } from '../../src/domain/users/invitations.ts'
import type { Mailer } from '../../src/domain/ports/mailer.ts'
import { CONSOLE } from '../operators-client.ts'
import { expectAccessible, signIn, useChromium, visit, type Visit } from '../chromium.ts'
import { appWith } from '../requests.ts'
import { nextTotpOf, PASSWORD, totpOf } from '../sign-in-client.ts'
import { until, world, type World } from '../world.ts'

// These tests sign in and out as people do: in a browser, with the links of the emails that they get.

useChromium()

const ANA = 'ana@loja.example'
const NEW_PASSWORD = 'another horse, another battery'

test('an account is made, confirmed by the link in its letter and entered, with a cookie that no script can read', async () => {
  const { w, open } = await service()
  const { page, errors } = await open('pt-BR')
  await page.goto('/')
  await isFocused(page, 'email')
  await page.getByRole('link', { name: 'Criar conta' }).click()
  await page.getByLabel('Nome').waitFor()
  await isFocused(page, 'text')
  await page.getByLabel('Nome').fill('Loja da Ana')
  await page.getByLabel('E-mail').fill(ANA)
  await page.getByLabel('Senha', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Criar conta' }).click()
  await page.getByText(`Enviamos um link para ${ANA}.`).waitFor()
  expect(w.letters).toMatchObject([{ to: ANA, subject: 'Confirme seu e-mail no guiche' }])
  await page.getByRole('link', { name: 'Voltar ao login' }).click()
  await signIn(page, ANA)
  await refused(page, 'Confirme seu e-mail primeiro.')

  await page.goto(w.letters[0]!.link)
  await page.getByText('E-mail confirmado. Agora é só entrar.').waitFor()
  expect(await page.getByLabel('E-mail').inputValue()).toBe(ANA)
  await isFocused(page, 'password')
  await signIn(page, ANA, 'not the password')
  await refused(page, 'E-mail ou senha incorretos.')
  expect(await page.context().cookies()).toEqual([])
  await signIn(page, ANA)
  await page.getByRole('heading', { name: 'Visão geral' }).waitFor()
  await page.getByText('Loja da Ana').first().waitFor()

  const flags = { path: '/', httpOnly: true, secure: true, sameSite: 'Lax' }
  expect(await page.context().cookies()).toMatchObject([
    { name: '__Host-guiche_session', ...flags },
    { name: '__Host-guiche_device', ...flags },
  ])
  expect(await page.evaluate('document.cookie')).toBe('')
  expect(beyondRefusals(errors)).toEqual([])
})

test('in the sandbox without a mail server the page itself shows the link, and after it only the password is missing', async () => {
  const { open } = await service({}, { sendsMail: false })
  for (const [locale, email, says] of [
    ['pt-BR', 'ana@loja.example', PORTUGUESE],
    ['en', 'bob@shop.example', ENGLISH],
  ] as const) {
    const { page, errors } = await open(locale)
    await page.goto('/sign-up')
    await page.getByLabel(says.name).fill('Loja')
    await page.getByLabel(/^E-?mail$/).fill(email)
    await page.getByLabel(says.password, { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: says.create }).click()
    await page.getByText(says.noMail).waitFor()
    await expectAccessible(page, 'the confirmation link')
    // A person who leaves the page gets the link again.
    await page.goto(`/verify-email?email=${email}`)
    await page.getByRole('button', { name: says.show }).click()
    await page.getByRole('link', { name: says.confirm }).click()
    await page.getByText(says.confirmed).waitFor()
    expect(await page.getByLabel(/^E-?mail$/).inputValue()).toBe(email)
    expect(await page.context().cookies()).toEqual([])
    await page.getByLabel(says.password, { exact: true }).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: says.overview }).waitFor()
    expect(beyondRefusals(errors)).toEqual([])
  }
})

test('where nothing is mailed the page says where the link is, and not that it was sent', async () => {
  const { w, open } = await service({}, { sendsMail: false })
  await makeAna(w)
  const { page } = await open('pt-BR')
  await page.goto('/forgot-password')
  await page.getByLabel('E-mail').fill(ANA)
  await page.getByRole('button', { name: 'Gerar link' }).click()
  await page.getByText('o link está no log do servidor').last().waitFor()
  expect(await page.getByText('enviado').count()).toBe(0)
})

test('an invitation fills in its e-mail for good, and one that is used up, expired or unknown says so before the form', async () => {
  const { w, open } = await service()
  const invite = (email: string | null, expiresInDays = 7) =>
    transact(w.pool, (tx) => createInvitation(tx, w.clock.now(), { email, expiresInDays }, CONSOLE))
  const [{ token }, expired] = [await invite(ANA), await invite(null, 1)]
  w.clock.advance(25 * 3_600_000)
  const { page, errors } = await open('pt-BR')
  await page.goto(`/sign-up?invitation=${token}`)
  await page.getByText('Você recebeu um convite. Falta pouco.').waitFor()
  const email = page.getByLabel('E-mail')
  expect([await email.inputValue(), await email.isEditable()]).toEqual([ANA, false])
  await isFocused(page, 'text')
  await expectAccessible(page, 'an invitation')
  await page.getByLabel('Nome').fill('Loja da Ana')
  await page.getByLabel('Senha', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Criar conta' }).click()
  await page.getByText('E-mail confirmado. Agora é só entrar.').waitFor()

  for (const [dead, says] of [
    [token, 'Este convite já foi usado ou cancelado. Peça outro a quem convidou você.'],
    [expired.token, 'Este convite expirou. Peça outro a quem convidou você.'],
    ['nonsense', 'Convite não encontrado. Confira o link: pode faltar uma parte.'],
  ]) {
    await page.goto(`/sign-up?invitation=${dead}`)
    await page.getByRole('heading', { name: 'Este convite não vale mais' }).waitFor()
    await page.getByText(says!).waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)
  }
  expect(errors.filter((error) => !/status of 40[49]/.test(error))).toEqual([])
})

/** Waits until the field of this type has the focus, without a click. */
async function isFocused(page: Page, type: string): Promise<void> {
  await until(`a field of type ${type} has the focus`, async () => {
    return (await page.evaluate('document.activeElement.type')) === type
  })
}

const PORTUGUESE = {
  name: 'Nome',
  password: 'Senha',
  create: 'Criar conta',
  noMail: 'No modo de teste nenhum e-mail é enviado.',
  show: 'Mostrar o link',
  confirm: 'Confirmar e-mail',
  confirmed: 'E-mail confirmado. Agora é só entrar.',
  overview: 'Visão geral',
}
const ENGLISH = {
  name: 'Name',
  password: 'Password',
  create: 'Create account',
  noMail: 'No email is sent in test mode.',
  show: 'Show link',
  confirm: 'Confirm email',
  confirmed: 'Email confirmed. You can sign in now.',
  overview: 'Overview',
}

test('with two steps the password alone opens nothing: the app’s code does, or a recovery code, once', async () => {
  const { w, open } = await service()
  await makeAna(w)
  const { page, errors } = await open('en')
  await page.goto('/settings')
  await signIn(page, ANA)
  const { uri, codes } = await turnOnTwoSteps(page)

  await signOutAndIn(page)
  expect(await page.evaluate('fetch("/dashboard/api/balance").then(({ status }) => status)')).toBe(401)
  // The last digit of a code sends it.
  await page.getByLabel('Code').fill(wrongOf(uri))
  await refused(page, 'Incorrect code.')
  await page.getByLabel('Code').fill(nextTotpOf(uri))
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  await signOutAndIn(page)
  await giveRecoveryCode(page, codes[0]!)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await signOutAndIn(page)
  await giveRecoveryCode(page, codes[0]!)
  await refused(page, 'This recovery code is incorrect or was already used.')
  await page.getByLabel('Recovery code').fill(codes[1]!)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()

  await page.goto('/settings')
  await page.getByRole('button', { name: 'Turn off' }).click()
  const turnOff = page.getByRole('dialog', { name: 'Turn off two-step verification' })
  await turnOff.getByLabel('Your password', { exact: true }).fill(PASSWORD)
  await turnOff.getByLabel('Code from your authenticator app').fill(codes[1]!)
  await expectAccessible(page, 'the code that turns it off')
  await turnOff.getByRole('button', { name: 'Turn off' }).click()
  await refused(page, 'Incorrect code.')
  await turnOff.getByLabel('Code from your authenticator app').fill(codes[2]!)
  await turnOff.getByRole('button', { name: 'Turn off' }).click()
  await page.getByRole('button', { name: 'Turn on' }).waitFor()
  expect(beyondRefusals(errors)).toEqual([])
})

/**
 * Turns on the second factor in the settings. It is on once a code has proved that the app has the secret. What was
 * shown is not shown again.
 */
async function turnOnTwoSteps(page: Page): Promise<{ uri: string; codes: string[] }> {
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue' }).click()
  const scan = page.getByRole('dialog', { name: 'Scan the QR code' })
  const secret = (await scan.locator('code').textContent()) ?? ''
  const uri = `otpauth://totp/guiche?secret=${secret}`
  await expectAccessible(page, 'the secret')
  await scan.getByLabel('6-digit code').fill(wrongOf(uri))
  await scan.getByRole('button', { name: 'Turn on' }).click()
  await refused(page, 'Incorrect code.')
  await scan.getByLabel('6-digit code').fill(totpOf(uri))
  await scan.getByRole('button', { name: 'Turn on' }).click()

  const kept = page.getByRole('dialog', { name: 'Save your recovery codes' })
  await kept.getByRole('listitem').first().waitFor()
  const codes = await kept.getByRole('listitem').allTextContents()
  expect(new Set(codes).size).toBe(10)
  await expectAccessible(page, 'recovery codes')
  await kept.getByRole('button', { name: 'I saved these codes' }).click()
  await page.reload()
  await page.getByRole('button', { name: 'Turn off' }).waitFor()
  const content = await page.content()
  expect([secret, ...codes].filter((text) => content.includes(text))).toEqual([])
  return { uri, codes }
}

/** Signs out and in again. What the browser keeps of a session ends with it, and the theme stays. */
async function signOutAndIn(page: Page): Promise<void> {
  await page.evaluate(`sessionStorage.setItem('left', 'behind'); localStorage.setItem('guiche.theme', 'dark')`)
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.waitForURL('**/sign-in')
  expect(await page.evaluate(`[sessionStorage.getItem('left'), localStorage.getItem('guiche.theme')]`)).toEqual([
    null,
    'dark',
  ])
  await signIn(page, ANA)
  await page.getByRole('heading', { name: 'Two-step verification' }).waitFor()
  await page.waitForURL('**/two-factor')
}

async function giveRecoveryCode(page: Page, code: string): Promise<void> {
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await page.getByLabel('Recovery code').fill(code)
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('a forgotten password is replaced by the link in a letter, which works once and ends every session', async () => {
  const { w, open } = await service()
  await makeAna(w)
  const office = await openOffice(open)
  const { page, errors } = await open('pt-BR')
  await page.goto('/sign-in')
  await page.getByRole('link', { name: 'Esqueci a senha' }).click()
  // The page before has a field of the same name, so the test waits for the new heading.
  await page.getByRole('heading', { name: 'Esqueci a senha' }).waitFor()
  await page.getByLabel('E-mail').fill(ANA)
  await page.getByRole('button', { name: 'Enviar link' }).click()
  await page.getByText('o link foi enviado').waitFor()
  const [letter] = await until('the letter', async () => w.letters.length > 0 && w.letters)
  expect(letter).toMatchObject({ to: ANA, subject: 'Nova senha no guiche' })
  await choosePassword(page, letter!.link, 'senhasenha123')
  await refused(page, 'Esta senha é muito comum.')
  await choosePassword(page, letter!.link)
  await page.getByText('Senha alterada. Entre com a nova.').waitFor()

  await signIn(page, ANA)
  await refused(page, 'E-mail ou senha incorretos.')
  await signIn(page, ANA, NEW_PASSWORD)
  await page.getByRole('heading', { name: 'Visão geral' }).waitFor()
  await isLedToSignIn(office)
  await choosePassword(office.page, letter!.link)
  await refused(office.page, 'Este link não vale mais. Peça outro.')
  expect(beyondRefusals([...errors, ...office.errors])).toEqual([])
})

async function choosePassword(page: Page, link: string, password = NEW_PASSWORD): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Nova senha').fill(password)
  await page.getByRole('button', { name: 'Alterar a senha' }).click()
}

test('where nothing is mailed and money is real, who forgot the password is told whom to ask', async () => {
  const { open } = await service({ mode: 'live' }, { sendsMail: false })
  const { page, errors } = await open('en')
  await page.goto('/forgot-password')
  await page.getByText('This service sends no email. Ask the guiche team to set a new password for you.').waitFor()
  expect(await page.getByRole('textbox').count()).toBe(0)
  await page.goto('/verify-email')
  await page.getByText('Ask the guiche team to confirm your address.').waitFor()
  expect(errors).toEqual([])
})

test('who signs out everywhere else stays, and the others are led to sign in at their next click, and then on', async () => {
  const { w, open } = await service()
  await makeAna(w)
  const office = await openOffice(open)
  const here = await open('pt-BR')
  await here.page.goto('/settings')
  await signIn(here.page, ANA)
  await here.page.getByRole('button', { name: 'Encerrar todas as outras' }).click()
  await here.page.getByRole('dialog').getByRole('button', { name: 'Encerrar todas as outras' }).click()
  await here.page.getByText('As outras sessões foram encerradas.').waitFor()

  await isLedToSignIn(office)
  await signIn(office.page, ANA)
  await office.page.waitForURL('**/statement')
  await here.page.reload()
  await here.page.getByText('Esta sessão').waitFor()
  expect(beyondRefusals([...here.errors, ...office.errors])).toEqual([])
})

/**
 * The page goes to the sign-in once, although two of its requests are refused. The second refusal comes while the page
 * is already leaving.
 */
async function isLedToSignIn({ page, requests }: Visit): Promise<void> {
  const leaving = page.waitForRequest('**/sign-in?*')
  const refusals = ['balance', 'statement'].map((path) => page.waitForResponse(`**/dashboard/api/${path}*`))
  await page.route('**/dashboard/api/balance', async (route) => {
    await leaving
    await route.continue()
  })
  await page.route('**/sign-in?*', async (route) => {
    for (const refusal of await Promise.all(refusals)) await refusal.finished()
    // The page needs time to read it. With too little time a second leaving could pass unnoticed, but a correct page
    // never fails.
    await sleep(300)
    await route.continue()
  })
  const before = requests.length
  await page.getByRole('link', { name: 'Extrato' }).click()
  await page.waitForURL('**/sign-in?to=%2Fstatement&done=session')
  await page.getByText('Sua sessão terminou. Entre de novo.').waitFor()
  await page.getByRole('heading', { name: 'Entrar' }).waitFor()
  await page.unrouteAll()
  expect(requests.slice(before).filter((path) => path === '/sign-in')).toEqual(['/sign-in'])
}

// ---- The service, and its visitors ----

type Service = { w: World; open: (locale: 'pt-BR' | 'en') => Promise<Visit> }

async function service(settings: Partial<Settings> = {}, mailer: Partial<Mailer> = {}): Promise<Service> {
  // The port is chosen beforehand, because the links in emails are opened as they are.
  const port = await freePort()
  const baseURL = `http://127.0.0.1:${port}`
  const w = await world({ settings: { publicUrl: baseURL, ...settings } })
  const app =
    Object.keys(mailer).length === 0 ? w.app : await appWith({ ...w.ctx, mailer: { ...w.ctx.mailer, ...mailer } })
  await app.listen({ port, host: '127.0.0.1' })
  const viewport = { width: 1280, height: 900 }
  return { w, open: (locale) => visit({ baseURL, locale, viewport }) }
}

async function makeAna(w: World): Promise<void> {
  await createAccount(w.ctx, { email: ANA, name: 'Loja da Ana', password: PASSWORD })
}

/** Another browser, in which Ana is signed in, on a page that asks the server for nothing by itself. */
async function openOffice(open: Service['open']): Promise<Visit> {
  const office = await open('pt-BR')
  await office.page.goto('/guide')
  await signIn(office.page, ANA)
  await office.page.getByRole('heading', { name: 'Documentação' }).waitFor()
  return office
}

async function refused(page: Page, text: string): Promise<void> {
  await page.getByRole('alert').filter({ hasText: text }).waitFor()
}

/** The errors of the browser, without the refused requests that these tests cause. */
function beyondRefusals(errors: string[]): string[] {
  return errors.filter((error) => !/status of 40[013]/.test(error))
}

/** A code that the app never shows near this time. */
function wrongOf(uri: string): string {
  const right = [-30_000, 0, 30_000, 60_000].map((ms) => totpOf(uri, Date.now() + ms))
  return ['000000', '111111', '222222', '333333', '444444'].find((code) => !right.includes(code))!
}
