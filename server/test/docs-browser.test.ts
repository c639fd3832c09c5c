import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { expectAccessible, overflowPx, serve, useChromium, visit } from './chromium.ts'

// Tests the reference in a browser. To save pictures: `PICTURES=/tmp/docs npx vitest run test/docs-browser.test.ts`.

useChromium()

const PICTURES = process.env['PICTURES']
const WIDE = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }
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
    await page.goto(`${url}/docs`)
    expect(await overflowPx(page)).toBe(0)
    if (PICTURES) await takePictures(page, `${url}/docs`, name)
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    expect(await overflowPx(page)).toBe(0)
    await expectAccessible(page, name, rules)
    // Not every browser asks for the icon.
    expect(requests.filter((path) => path !== '/icon.svg')).toEqual(['/docs'])
    expect(errors).toEqual([])
  }
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
  await page.goto(`${url}/docs#createDeposit`)
  const operation = page.locator('#createDeposit')
  expect(await operation.getByRole('heading', { name: 'Create a deposit' }).isVisible()).toBe(true)
  expect(await operation.locator('pre').first().textContent()).toContain(`curl -X POST ${url}/api/deposit`)

  await page.goto(`${url}/docs`)
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
