import { expect, test } from 'vitest'
import { enter, expectAccessible, overflowPx, serve, signIn, useChromium, visit } from '../chromium.ts'
import { join } from '../members-client.ts'
import { PASSWORD } from '../sign-in-client.ts'
import { until } from '../world.ts'

// People who work in one account, in a browser: from the invitation to what each role shows.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/long/members-browser.test.ts`.
const PICTURES = process.env['PICTURES']

test('an invited cashier signs up by the link, and sees the counter and nothing of the rest', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const owner = await visit({ locale: 'en-US' })
  await enter(owner.page, await w.session(account))
  await owner.page.goto(`${url}/team`)
  await owner.page.getByRole('button', { name: 'Invite' }).click()
  const dialog = owner.page.getByRole('dialog')
  await dialog.getByLabel('Email').fill('rosa@example.com')
  await dialog.getByLabel('Cashier').check()
  await expectAccessible(owner.page, 'the invitation')
  await take(owner, 'invite')
  await dialog.getByRole('button', { name: 'Send invitation' }).click()
  await owner.page.getByText('Open invitations').waitFor()
  await owner.page.getByText('rosa@example.com').first().waitFor()
  await take(owner, 'team-invited')

  const rosa = await visit({ locale: 'pt-BR', viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
  await rosa.page.goto(w.letters[0]!.link)
  await rosa.page.getByLabel('Seu nome').fill('Rosa')
  await rosa.page.getByLabel('Senha', { exact: true }).fill(PASSWORD)
  await take(rosa, 'join')
  await rosa.page.getByRole('button', { name: 'Participar' }).click()
  await rosa.page.getByText('Entre com a senha que você escolheu').waitFor()
  await signIn(rosa.page, 'rosa@example.com')
  await rosa.page.getByRole('button', { name: 'Cobrar R$ 0,00' }).waitFor()
  await expectAccessible(rosa.page, 'the counter of a cashier')
  expect(await overflowPx(rosa.page)).toBe(0)
  await take(rosa, 'cashier')
  expect(await rosa.page.getByRole('navigation').count()).toBe(0)
  await rosa.page.keyboard.type('5000')
  await rosa.page.keyboard.press('Enter')
  await rosa.page.getByRole('img', { name: 'QR code para pagar' }).waitFor()
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
  await take(rosa, 'cashier-deposit')
  // What the role lacks leads back to what it has.
  await rosa.page.goto(`${url}/statement`)
  await rosa.page.getByRole('img', { name: 'QR code para pagar' }).waitFor()
  expect(new URL(rosa.page.url()).pathname).toBe('/counter')
  expect([owner.errors, rosa.errors]).toEqual([[], []])
})

test('a person of two accounts switches in the menu, and a page of the other account does nothing any more', async () => {
  const { w, url } = await serve()
  const [first, second] = [await w.account(), await w.account()]
  await join(w, second.accountId, 'viewer', first.email)
  const session = await w.session(first)
  const one = await visit({ locale: 'en-US' })
  await enter(one.page, session)
  await one.page.goto(`${url}/deposits`)
  await one.page.getByRole('button', { name: 'New deposit' }).first().waitFor()
  const other = await one.page.context().newPage()
  await other.goto(`${url}/deposits`)
  await other.getByRole('button', { name: 'New deposit' }).first().waitFor()
  await one.page.getByLabel('Account').selectOption(second.accountId)
  await one.page.getByText('Viewer').waitFor()
  await take(one, 'switched')
  expect(await one.page.getByRole('button', { name: 'New deposit' }).count()).toBe(0)

  await other.getByRole('button', { name: 'New deposit' }).first().click()
  await other.getByRole('dialog').getByLabel('Amount').fill('50.00')
  await other.getByRole('dialog').getByRole('button', { name: 'Create deposit' }).click()
  await other.getByText('You chose another account in another tab').waitFor()
  expect(await w.count('charges')).toBe(0)
  await until('the first page is quiet', async () => one.errors.length === 0)
})

async function take({ page }: Pick<Awaited<ReturnType<typeof visit>>, 'page'>, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true })
}
