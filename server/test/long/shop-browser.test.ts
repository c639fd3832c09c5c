import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { readImage } from '../../src/base/image-file.ts'
import { changeShop, NO_BRAND } from '../../src/domain/accounts/brands.ts'
import { queryDeposit } from '../../src/domain/deposits/query-deposit.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { grey } from '../image-samples.ts'

// The shop in a browser: an owner changes it, and a payer sees it.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/long/shop-browser.test.ts`.
const PICTURES = process.env['PICTURES']
const PHONE = { viewport: { width: 390, height: 844 }, locale: 'pt-BR' }
const DESK = { viewport: { width: 1440, height: 900 }, locale: 'pt-BR' }
const NBSP = '\u{a0}'

async function takePicture(page: Page, name: string): Promise<void> {
  if (!PICTURES) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
}

test('an owner sees each change in the preview, saves it with a logo, and a payer sees the same', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const { page, errors } = await visit(DESK)
  await enter(page, await w.session(account))
  await page.goto(`${url}/shop`)
  const preview = page.frameLocator('iframe')
  await preview.getByText(account.caller.accountName).waitFor()

  await page.getByLabel('Nome para os pagadores').fill('Loja Aurora')
  await preview.getByText('Loja Aurora').waitFor()
  await page.getByLabel('Cor', { exact: true }).fill('#c2185b')
  await page.getByLabel('E-mail').fill('ajuda@aurora.example')
  await preview.getByRole('link', { name: 'ajuda@aurora.example' }).waitFor()
  await page.getByLabel('Mostrar').selectOption('paid')
  await preview.getByRole('link', { name: 'Voltar para Loja Aurora' }).waitFor()
  await page.getByLabel('Mostrar').selectOption('open')
  expect(await w.count('brands')).toBe(0)

  await page.getByLabel('Logo', { exact: true }).setInputFiles({
    name: 'logo.png',
    mimeType: 'image/png',
    buffer: grey(40, 20),
  })
  await page.getByRole('img', { name: 'Logo escolhido' }).waitFor()
  await page.getByText('O novo logo aparece aqui depois de salvar.').waitFor()
  await page.getByLabel('CNPJ').fill('11.222.333/0001-80')
  await page.getByRole('button', { name: 'Salvar' }).first().click()
  await page.getByText('os dígitos verificadores não batem').waitFor()
  expect(await w.count('brands')).toBe(0)
  await page.getByLabel('CNPJ').fill('11.222.333/0001-81')
  await page.getByRole('button', { name: 'Salvar' }).first().click()
  await page.getByText('Loja salva.').waitFor()
  await preview.locator('.logo img').waitFor()
  await expectAccessible(page, 'my shop')
  await takePicture(page, 'shop-desk')
  await page.setViewportSize(PHONE.viewport)
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await overflowPx(page)).toBe(0)
  await expectAccessible(page, 'my shop on a phone')
  await takePicture(page, 'shop-phone')

  const charge = await w.deposit(account, { description: 'Pedido 1042' })
  const payer = await visit(PHONE)
  await payer.page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  await payer.page.getByText('Loja Aurora').waitFor()
  const logo = await payer.page.evaluate(
    `(({ naturalWidth, naturalHeight }) => [naturalWidth, naturalHeight])(document.querySelector('.logo img'))`,
  )
  expect(logo).toEqual([40, 20])
  // On a phone one copies, so that comes first.
  const top = (selector: string) => payer.page.locator(selector).boundingBox()
  expect((await top('#copy'))!.y).toBeLessThan((await top('.qr'))!.y)
  await takePicture(payer.page, 'shop-payer-phone')
  for (const colorScheme of ['light', 'dark'] as const) {
    await payer.page.emulateMedia({ colorScheme })
    await expectAccessible(payer.page, `the payment page in ${colorScheme}`)
  }
  await payer.page.setViewportSize(DESK.viewport)
  expect((await top('.qr'))!.y).toBeLessThan((await top('#copy'))!.y)
  await takePicture(payer.page, 'shop-payer-desk')
  // Chromium calls the refused CNPJ an error.
  expect([errors, payer.errors]).toEqual([[expect.stringContaining('400')], []])
})

test('leaving with unsaved changes asks first, and discarding brings back what was saved', async () => {
  const { w, url } = await serve()
  const { page } = await visit(DESK)
  await enter(page, await w.session(await w.account()))
  await page.goto(`${url}/shop`)
  await page.getByLabel('Nome para os pagadores').fill('Loja Aurora')
  page.once('dialog', (dialog) => void dialog.dismiss())
  await page.getByRole('link', { name: 'Equipe' }).click()
  await page.getByText('Há alterações que não foram salvas.').waitFor()
  expect(new URL(page.url()).pathname).toBe('/shop')
  await page.getByRole('button', { name: 'Descartar alterações' }).click()
  expect(await page.getByLabel('Nome para os pagadores').inputValue()).toBe('')
  await page.getByRole('link', { name: 'Equipe' }).click()
  await page.waitForURL(`${url}/team`)
})

test('a deposit is shared by WhatsApp in the payers’ language, by the phone’s own sheet, and on paper', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const session = await w.session(account)
  const shop = (await session.ask('GET', '/dashboard/api/shop')).json().shop
  const { name: _, logoUrl: __, ...kept } = shop
  const headers = { cookie: session.cookie, origin: url }
  const payload = {
    ...kept,
    displayName: 'Loja Aurora',
    language: 'en',
    defaultDescription: 'Pedido',
    defaultExpiresIn: 604_800,
  }
  expect((await w.app.inject({ method: 'PUT', url: '/dashboard/api/shop', headers, payload })).statusCode).toBe(200)

  const { page, errors } = await visit(PHONE)
  await page.addInitScript(`navigator.share = async (data) => { window.shared = data }`)
  await enter(page, session)
  await page.goto(`${url}/deposits`)
  await page.getByRole('button', { name: 'Novo depósito' }).first().click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByLabel('Descrição').inputValue()).toBe('Pedido')
  expect(await dialog.getByLabel('Validade').inputValue()).toBe('604800')
  await dialog.getByLabel('Valor').fill('50,00')
  await dialog.getByRole('button', { name: 'Criar depósito' }).click()
  const whatsapp = dialog.getByRole('link', { name: 'WhatsApp' })
  const link = new URL((await whatsapp.getAttribute('href'))!)
  const [{ id }] = (await w.pool.query('select payment_link_id as id from charges')).rows
  const message = 'Pay R$50.00 by Pix to Loja Aurora:'
  expect(link.origin + link.pathname).toBe('https://wa.me/')
  expect(link.searchParams.get('text')!.replace(NBSP, '')).toBe(`${message} ${url}/payment-link/${id}`)
  await dialog.getByRole('button', { name: 'Compartilhar' }).click()
  const shared = await page.evaluate<{ text: string; url: string }>('window.shared')
  expect([shared.text.replace(NBSP, ''), shared.url]).toEqual([message, `${url}/payment-link/${id}`])
  await expectAccessible(page, 'sharing')
  expect(await overflowPx(page)).toBe(0)
  await takePicture(page, 'shop-share')

  // The page prints itself when it is opened for that.
  const paper = await visit(PHONE)
  await paper.page.addInitScript('window.print = () => { window.printed = true }')
  await paper.page.goto(`${url}/payment-link/${id}`)
  expect(await paper.page.evaluate('window.printed')).toBeUndefined()
  const print = await dialog.getByRole('link', { name: 'Imprimir' }).getAttribute('href')
  await paper.page.goto('about:blank')
  await paper.page.goto(print!)
  expect(await paper.page.evaluate('window.printed')).toBe(true)
  expect(errors).toEqual([])
})

test('a receipt prints on one page of A4 and on a roll of 80 mm, without a script', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const charge = await w.deposit(account, {
    description: 'Pedido 1042, com uma descrição comprida que quebra de linha',
  })
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const { page, errors } = await visit({ ...PHONE, javaScriptEnabled: false })
  await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  await page.getByRole('link', { name: 'Ver o recibo' }).click()
  await page.getByRole('heading', { name: 'Recibo' }).waitFor()
  await page.getByText(`R$${NBSP}50,00`).first().waitFor()
  await takePicture(page, 'receipt-phone')
  for (const paper of [{ format: 'A4' }, { width: '80mm', height: '200mm' }]) {
    const pdf = (await page.pdf(paper)).toString('latin1')
    expect([paper, pdf.match(/\/Type\s*\/Page\b/g)?.length]).toEqual([paper, 1])
  }
  // What a roll leaves of its width.
  await page.setViewportSize({ width: 265, height: 600 })
  await page.emulateMedia({ media: 'print' })
  expect(
    await page.evaluate(
      `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('main'))`,
    ),
  ).toBe(true)
  await takePicture(page, 'receipt-roll')
  expect(errors).toEqual([])

  const seen = await visit(PHONE)
  await seen.page.addInitScript('window.print = () => { window.printed = true }')
  await seen.page.goto(`${url}/payment-link/${charge.paymentLinkId}/receipt#print`)
  expect(await seen.page.evaluate('window.printed')).toBe(true)
  await expectAccessible(seen.page, 'the receipt')
  expect(await overflowPx(seen.page)).toBe(0)
})

test('names, texts and addresses that look like markup are text in the browser, however long they are', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const markup = '<img src=x onerror=window.ran=1><script>window.ran=1</script>'
  const { version, logo: _, ...empty } = NO_BRAND
  await changeShop(
    w.ctx,
    { kind: 'account', name: 'owner' },
    { accountId: account.accountId, version },
    {
      ...empty,
      displayName: markup.slice(0, 60),
      color: '#ffff00',
      supportUrl: `https://aurora.example/"><script>window.ran=1</script>`,
      returnOrigins: ['https://aurora.example'],
    },
  )
  const open = await w.deposit(account, { description: markup + 'W'.repeat(79) })
  const paid = await w.deposit(account, { description: markup, returnUrl: `https://aurora.example/?q="><script>` })
  await w.sandbox.pay({ emv: paid.emv })
  await queryDeposit(w.ctx, account.accountId, paid.paymentLinkId)
  const { page, requests, errors } = await visit(PHONE)
  for (const path of [open.paymentLinkId, paid.paymentLinkId, `${paid.paymentLinkId}/receipt`]) {
    await page.goto(`${url}/payment-link/${path}`)
    await page.getByText(markup.slice(0, 60)).first().waitFor()
    expect([path, await page.evaluate('window.ran')]).toEqual([path, undefined])
    expect([path, await overflowPx(page)]).toEqual([path, 0])
    await takePicture(page, `shop-markup-${path.slice(-7)}`)
  }
  const ours = new RegExp(`^/payment-link/(${open.paymentLinkId}|${paid.paymentLinkId})(/events|/receipt)?$`)
  expect(requests.filter((path) => !ours.test(path))).toEqual([])
  expect(errors).toEqual([])
})

test('pictures that a browser made are still drawn after they were written again', async () => {
  const { page } = await visit()
  for (const type of ['image/png', 'image/jpeg', 'image/webp']) {
    const made = await page.evaluate<string>(`(() => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 60, height: 30 })
      const pen = canvas.getContext('2d')
      pen.fillStyle = '#c2185b'
      pen.fillRect(0, 0, 30, 30)
      return canvas.toDataURL('${type}').split(',')[1]
    })()`)
    const image = await readImage(Buffer.from(made, 'base64'), { maxSide: 2_000 })
    if (typeof image === 'string') throw new Error(`${type}: ${image}`)
    const color = await page.evaluate<number[]>(`(async () => {
      const picture = new Image()
      picture.src = 'data:${type};base64,${image.bytes.toString('base64')}'
      await picture.decode()
      const canvas = Object.assign(document.createElement('canvas'), { width: 60, height: 30 })
      const pen = canvas.getContext('2d')
      pen.drawImage(picture, 0, 0)
      return [...pen.getImageData(10, 10, 1, 1).data.slice(0, 3)]
    })()`)
    for (const [index, value] of [0xc2, 0x18, 0x5b].entries())
      expect([type, Math.abs(color[index]! - value) < 8]).toEqual([type, true])
  }
})
