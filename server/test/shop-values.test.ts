import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatCnpj, readCnpj } from '../src/base/cnpj.ts'
import { accentsOf, contrast, LEAST_CONTRAST } from '../src/base/contrast.ts'
import { readOrigin, returnLink } from '../src/domain/accounts/return-urls.ts'
import { PAGE_STYLE } from '../src/http/server/page-style.ts'

// ---- CNPJ ----

test('a CNPJ is taken with or without punctuation, with letters since 2026, and only with the right check digits', () => {
  expect(readCnpj('11.222.333/0001-81')).toBe('11222333000181')
  expect(readCnpj('11222333000181')).toBe('11222333000181')
  expect(readCnpj('12.abc.345/01de-35')).toBe('12ABC34501DE35')
  expect(formatCnpj('12ABC34501DE35')).toBe('12.ABC.345/01DE-35')
  for (const wrong of [
    '11222333000180',
    '12ABC34501DE36',
    '1122233300018',
    '00000000000000',
    '12ABC34501DEA5',
    '',
    'x',
  ])
    expect([wrong, readCnpj(wrong)]).toEqual([wrong, undefined])
})

test('another digit or letter at any place of a CNPJ is noticed', () => {
  fc.assert(
    fc.property(fc.nat(11), fc.nat(9).map(String), (at, digit) => {
      const right = '11222333000181'
      fc.pre(right[at] !== digit)
      expect(readCnpj(right.slice(0, at) + digit + right.slice(at + 1))).toBeUndefined()
    }),
  )
})

// ---- Colours ----

const color = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)
/** Of the pages, light and dark. */
const GROUNDS = {
  light: ['#ffffff', '#f4f6f5'],
  dark: ['#18211d', '#0e1412'],
}

test('whatever colour a shop chooses can be read on every ground, and what stands on it too', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  fc.assert(
    fc.property(color, (chosen) => {
      const accents = accentsOf(chosen)!
      for (const scheme of ['light', 'dark'] as const) {
        const { accent, onAccent } = accents[scheme]
        expect(accent).toMatch(/^#[0-9a-f]{6}$/)
        for (const ground of [...GROUNDS[scheme], onAccent])
          expect(contrast(accent, ground)).toBeGreaterThanOrEqual(LEAST_CONTRAST)
      }
    }),
  )
  // The grounds are those of the pages.
  for (const ground of ['#f4f6f5', '#18211d', '#0e1412']) expect(PAGE_STYLE).toContain(ground)
})

test('a colour that can be read stays as it is, and nothing but a colour is one', () => {
  expect(accentsOf('#08745a')!.light.accent).toBe('#08745a')
  expect(accentsOf('#3ecf9f')!.dark.accent).toBe('#3ecf9f')
  for (const hostile of ['', 'red', '#fff', '#08745A', '#08745a;}body{display:none', '#08745a</style>', 'url(x)'])
    expect([hostile, accentsOf(hostile)]).toEqual([hostile, undefined])
})

// ---- The way back ----

test('payers are sent back by https only, and in the sandbox to this machine', () => {
  expect(readOrigin('https://Shop.example.com', 'live')).toBe('https://shop.example.com')
  expect(readOrigin('https://shop.example.com:8443/', 'live')).toBe('https://shop.example.com:8443')
  expect(readOrigin('http://localhost:3000', 'test')).toBe('http://localhost:3000')
  expect(readOrigin('http://127.0.0.1:3000', 'test')).toBe('http://127.0.0.1:3000')
  expect(readOrigin('https://loja.com.br\u{200b}', 'live')).toBeUndefined()
  for (const hostile of [
    'http://localhost:3000',
    'http://shop.example.com',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    '//shop.example.com',
    'shop.example.com',
    'https://user:word@shop.example.com',
    'https://shop.example.com/cart',
    'https://shop.example.com?x',
    'https://shop.example.com#x',
    'https://shop.example.com\\@evil.example',
    'https://shop.example.com\t',
    ' https://shop.example.com',
    '*',
  ])
    expect([hostile, readOrigin(hostile, 'live')]).toEqual([hostile, undefined])
})

test('the link back keeps the caller’s own query and fragment, and says which payment it is about', () => {
  const id = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'
  const origins = ['https://shop.example']
  const added = `paymentLinkId=${id}&status=COMPLETED`
  for (const [given, link] of [
    ['https://shop.example', `https://shop.example/?${added}`],
    ['https://shop.example/done', `https://shop.example/done?${added}`],
    ['https://shop.example/done?', `https://shop.example/done?${added}`],
    ['https://shop.example/done?a=b%20c&s=%2B', `https://shop.example/done?a=b%20c&s=%2B&${added}`],
    ['https://shop.example/#/orders/1', `https://shop.example/?${added}#/orders/1`],
    ['https://shop.example/?q="><script>', `https://shop.example/?q=%22%3E%3Cscript%3E&${added}`],
  ] as const)
    expect([given, returnLink(given, origins, id)]).toEqual([given, link])
  // It was taken off the list after the charge was made.
  expect(returnLink('https://other.example/', origins, id)).toBeUndefined()
})
