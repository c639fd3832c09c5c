import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { GUIDE_LANGUAGES, GUIDE_PAGES } from '../../src/http/docs/guide.ts'
import { expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'

// Tests the guide and the reference in a browser. To save pictures: `PICTURES=/tmp/docs npx vitest run
// test/long/docs-browser.test.ts`.

useChromium()

const PICTURES = process.env['PICTURES']
const WIDE = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }
const NARROW = { width: 360, height: 740 }
const READERS = [
  { name: 'wide', viewport: WIDE, colorScheme: 'light', rules: undefined },
  // The elements are the same, and only their colours differ.
  { name: 'phone', viewport: PHONE, colorScheme: 'dark', rules: ['color-contrast'] },
] as const
const PARTS = ['introduction', 'createDeposit', 'createWebhook', 'webhook-signature', 'object-Deposit', 'errors']

test('the reference is accessible and not wider than the window, in the light and on a phone in the dark', async () => {
  const { url } = await serve()
  for (const { name, rules, ...options } of READERS) {
    const { page, requests, errors } = await visit(options)
    await page.goto(`${url}/docs/reference`)
    expect(await overflowPx(page)).toBe(0)
    if (PICTURES) await takePictures(page, `${url}/docs/reference`, name)
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    expect(await overflowPx(page)).toBe(0)
    await expectAccessible(page, name, rules)
    // Not every browser asks for the icon.
    expect(requests.filter((path) => path !== '/icon.svg')).toEqual(['/docs/reference'])
    expect(errors).toEqual([])
  }
})

const GUIDE_READERS = [
  { name: 'wide', viewport: WIDE, colorScheme: 'light', code: 'typescript', rules: undefined },
  { name: 'phone', viewport: NARROW, colorScheme: 'dark', code: 'python', rules: ['color-contrast'] },
] as const

test('every page of the guide is accessible and not wider than the window, in both languages', async () => {
  const { url } = await serve()
  for (const { name, code, rules, ...options } of GUIDE_READERS) {
    const { page, requests, errors } = await visit(options)
    for (const language of GUIDE_LANGUAGES)
      for (const guidePage of GUIDE_PAGES) {
        const address = guidePage === 'start' ? '/docs' : `/docs/${guidePage}`
        await page.goto(`${url}${address}?lang=${language}&code=${code}`)
        expect([name, address, await overflowPx(page)]).toEqual([name, address, 0])
        if (PICTURES)
          await page.screenshot({ path: join(PICTURES, `${name}-${language}-${guidePage}.png`), fullPage: true })
        // Both languages have the same elements.
        if (language === 'en') await expectAccessible(page, `${name} ${address}`, rules)
      }
    expect(requests.filter((path) => !path.startsWith('/docs') && path !== '/icon.svg')).toEqual([])
    expect(errors).toEqual([])
  }
})

test('without JavaScript the guide remembers a language of code from page to page, and stays where it was', async () => {
  const { url } = await serve()
  const { page } = await visit({ viewport: PHONE, javaScriptEnabled: false, locale: 'pt-BR' })
  await page.goto(`${url}/docs`)
  const sample = page.locator('#sample-ensure')
  expect(await sample.locator('pre').textContent()).toContain('guiche.deposits.ensure')
  await sample.getByRole('link', { name: 'PHP' }).click()
  expect(page.url()).toBe(`${url}/docs?code=php#sample-ensure`)
  expect(await sample.locator('pre').textContent()).toContain('<?php')
  expect((await sample.boundingBox())!.y).toBeLessThan(200)

  await page.locator('nav').getByRole('link', { name: 'Depósitos' }).click()
  expect(await page.locator('#sample-create pre').textContent()).toContain("call('POST', '/api/deposit'")
  await page.getByRole('link', { name: 'English' }).click()
  expect(page.url()).toBe(`${url}/docs/deposits?lang=en&code=php`)
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Deposits')
  await page.locator('nav').getByRole('link', { name: 'Webhooks and signatures' }).click()
  expect(await page.locator('#sample-receive pre').textContent()).toContain('hash_equals')

  // The last page of the menu, which is as wide as several screens.
  await page.goto(`${url}/docs/keys?lang=en`)
  expect((await page.getByRole('link', { name: 'Keys and scopes' }).boundingBox())!.x).toBeLessThan(100)
})

test('a pale text is noticed, also between others that can be read', async () => {
  const { page } = await visit({ viewport: WIDE })
  const text = (color: string) => `<p style="color: ${color}">Text</p>`
  const show = (colors: string[]) =>
    page.setContent(`<html lang="en"><title>Page</title><main><h1>Page</h1>${colors.map(text).join('')}</main></html>`)
  await show(['#333', '#333', '#444'])
  await expectAccessible(page, 'dark')
  await show(['#333', '#333', '#ccc', '#333'])
  const found = ['pale', [expect.stringMatching(/^color-contrast: .*#ccc/)]]
  await expect(expectAccessible(page, 'pale')).rejects.toMatchObject({ actual: found })
})

test('without JavaScript the reference shows an operation by its link, and the keyboard reaches every part of it', async () => {
  const { url } = await serve()
  const { page } = await visit({ viewport: WIDE, javaScriptEnabled: false })
  await page.goto(`${url}/docs/reference#createDeposit`)
  const operation = page.locator('#createDeposit')
  expect(await operation.getByRole('heading', { name: 'Create a deposit' }).isVisible()).toBe(true)
  expect(await operation.locator('pre').first().textContent()).toContain(`curl -X POST ${url}/api/deposit`)

  await page.goto(`${url}/docs/reference`)
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('Skip to the content')
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('guiche API')

  const codes = operation.getByRole('link', { name: 'external_id_taken' })
  expect(await codes.isVisible()).toBe(false)
  await operation.locator('summary').first().focus()
  await page.keyboard.press('Enter')
  expect(await codes.isVisible()).toBe(true)
})

async function takePictures(page: Page, url: string, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const part of PARTS) {
      await page.emulateMedia({ colorScheme })
      await page.goto(`${url}#${part}`)
      await page.screenshot({ path: join(PICTURES!, `${name}-${colorScheme}-${part}.png`) })
    }
  await page.emulateMedia({})
}
