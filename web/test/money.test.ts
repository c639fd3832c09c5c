import { expect, test } from 'vitest'
import { basisPointsText, moneyInputText, moneyText, parseMoney } from '../src/base/money.ts'

const plain = (text: string) => text.replaceAll('\u00A0', ' ')

test('cents become text without a fraction ever being calculated', () => {
  expect(plain(moneyText(5000, 'pt-BR'))).toBe('R$ 50,00')
  expect(plain(moneyText(5, 'pt-BR'))).toBe('R$ 0,05')
  expect(moneyText(-123456, 'en')).toBe('-R$1,234.56')
  expect(moneyText(1, 'en', { sign: true })).toBe('+R$0.01')
  // As a float, the cents of this one would already be wrong.
  expect(plain(moneyText(Number.MAX_SAFE_INTEGER, 'pt-BR'))).toBe('R$ 90.071.992.547.409,91')
})

test.each([
  ['10', 1000],
  ['10,5', 1050],
  ['10.50', 1050],
  ['0,01', 1],
  ['1.234,56', 123456],
  ['1,234.56', 123456],
  ['1.234', 123400],
  ['1.234.567', 123456700],
  [' R$ 1.234,56 ', 123456],
])('%s is understood as %i cents', (typed, cents) => {
  expect(parseMoney(typed)).toBe(cents)
})

test.each(['', '-1', '1,2,3', '1.23456', '1,234,56', '1.2345,00', 'ten', '1e3', '99999999999999999'])(
  '%s is not taken for an amount',
  (typed) => {
    expect(parseMoney(typed)).toBeUndefined()
  },
)

test('what a field shows is read back as the same cents', () => {
  for (const cents of [0, 1, 99, 100, 123456, 999_999_999_999])
    for (const language of ['pt-BR', 'en'] as const) expect(parseMoney(moneyInputText(cents, language))).toBe(cents)
})

test('basis points are per cent, to the point', () => {
  expect(basisPointsText(150, 'pt-BR')).toBe('1,5%')
  expect(basisPointsText(1, 'en')).toBe('0.01%')
})
