import { readFileSync } from 'node:fs'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'
import { GuichePix } from '../src/react.ts'

// shops-browser.test.ts uses the component in a browser.

const LINK = 'https://pay.example.com/payment-link/7c9e6679-7425-40de-944b-e07fc1f90ae7'

test('rendered on a server it is the element with its attributes, and a link for those without scripts', () => {
  const props = { paymentLink: LINK, lang: 'en', theme: 'dark', className: 'checkout', onPaid: () => {} } as const
  const link = createElement('a', { href: LINK }, 'Pay with Pix')
  expect(renderToString(createElement(GuichePix, props, link))).toBe(
    `<guiche-pix payment-link="${LINK}" class="checkout" lang="en" theme="dark"><a href="${LINK}">Pay with Pix</a></guiche-pix>`,
  )
})

test('it is a client component, and the rest of the client needs no React', () => {
  expect(readFileSync(new URL('../src/react.ts', import.meta.url), 'utf8')).toMatch(/^'use client'\n/)
  const { dependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  ) as { dependencies?: object; peerDependenciesMeta: object }
  expect([dependencies, peerDependenciesMeta]).toEqual([undefined, { react: { optional: true } }])
})
