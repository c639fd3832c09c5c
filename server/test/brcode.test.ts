import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BrCodeError, crc16, decodeBrCode, encodeBrCode } from '../src/base/brcode.ts'

const DYNAMIC =
  '00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630464E4'
const STATIC =
  '00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D'

const sample = { location: 'pix.example.com/qr/v2/abc', merchantName: 'Loja', merchantCity: 'Recife' }

const sealed = (body: string) => `${body}6304${crc16(`${body}6304`)}`

describe('the checksum', () => {
  test('agrees with the published check value', () => {
    expect(crc16('123456789')).toBe('29B1')
  })

  test('always has four digits', () => {
    const seen = Array.from({ length: 500 }, (_, i) => crc16(`code ${i}`))
    expect(seen.every((crc) => /^[0-9A-F]{4}$/.test(crc))).toBe(true)
    expect(seen.some((crc) => crc.startsWith('0'))).toBe(true)
  })
})

describe('encoding', () => {
  test('reproduces a published dynamic code', () => {
    const location = 'pix.example.com/8b3da2f39a4140d1a91abd93113bd441'
    expect(encodeBrCode({ location, merchantName: 'Fulano de Tal', merchantCity: 'BRASILIA' })).toBe(DYNAMIC)
  })

  test('folds accents and drops what ASCII does not have', () => {
    const code = encodeBrCode({ ...sample, merchantName: 'Açaí & Cia ☕ º', merchantCity: 'São João' })
    expect(decodeBrCode(code)).toMatchObject({ merchantName: 'Acai & Cia  o', merchantCity: 'Sao Joao' })
  })

  test('cuts the name at 25 and the city at 15 characters', () => {
    const code = encodeBrCode({ ...sample, merchantName: 'n'.repeat(26), merchantCity: 'c'.repeat(16) })
    expect(decodeBrCode(code)).toMatchObject({ merchantName: 'n'.repeat(25), merchantCity: 'c'.repeat(15) })
  })

  test('carries a location of 77 characters and refuses one of 78', () => {
    expect(decodeBrCode(encodeBrCode({ ...sample, location: 'l'.repeat(77) })).location).toHaveLength(77)
    expect(() => encodeBrCode({ ...sample, location: 'l'.repeat(78) })).toThrow('77')
  })

  test.each([
    ['a location with a scheme', { location: 'https://pix.example.com/x' }],
    ['a location with a space', { location: 'pix.example.com/a b' }],
    ['a name of nothing but emoji', { merchantName: '☕☕' }],
    ['a label with a dash', { label: 'a-b' }],
    ['a label of 26 characters', { label: 'a'.repeat(26) }],
  ])('refuses %s', (_, change) => {
    expect(() => encodeBrCode({ ...sample, ...change })).toThrow(BrCodeError)
  })
})

describe('decoding', () => {
  test('reads a published static code, which has a key and no location', () => {
    expect(decodeBrCode(STATIC)).toEqual({
      singleUse: false,
      pixKey: '123e4567-e12b-12d1-a456-426655440000',
      merchantName: 'Fulano de Tal',
      merchantCity: 'BRASILIA',
    })
  })

  test('reads amounts without cents, as some banks write them', () => {
    const account = '26260014br.gov.bcb.pix2504a/bc'
    const withAmount = (amount: string) => sealed(`000201${account}54${amount}5802BR5901N6001C`)
    expect(decodeBrCode(withAmount('0250')).amountCents).toBe(50_00)
    expect(decodeBrCode(withAmount('0450.5')).amountCents).toBe(50_50)
  })

  test.each([
    ['nothing', '', /ASCII/],
    ['no checksum', '000201', /63 is missing/],
    ['a wrong checksum', `${DYNAMIC.slice(0, -4)}64E5`, /expected 64E4/],
    ['a lower-case checksum', DYNAMIC.slice(0, -4) + DYNAMIC.slice(-4).toLowerCase(), /expected 64E4/],
    ['a field that runs past the end', sealed('0002015999Loja'), /runs past the end/],
    ['a header that is no number', sealed('000201XX02ab'), /no field header/],
    ['a field given twice', sealed('000201000201'), /twice/],
    ['an account of another scheme', sealed('00020126110007br.else5901N6001C'), /not of br.gov.bcb.pix/],
    ['an account without location or key', sealed('00020126180014br.gov.bcb.pix5901N6001C'), /neither/],
    ['no name', sealed('00020126260014br.gov.bcb.pix2504a/bc6001C'), /name/],
    ['an amount that is no number', sealed('00020126260014br.gov.bcb.pix2504a/bc5403abc5901N6001C'), /amount/],
    ['an accent', 'é', /ASCII/],
  ])('refuses %s', (_, text, reason) => {
    expect(() => decodeBrCode(text)).toThrow(reason)
  })
})

describe('whatever is encoded', () => {
  const printable = (maxLength: number) => fc.stringMatching(new RegExp(`^[!-~]([ -~]{0,${maxLength - 2}}[!-~])?$`))
  const inputs = fc.record(
    {
      location: fc.stringMatching(/^[a-z0-9./-]{1,77}$/),
      merchantName: printable(25),
      merchantCity: printable(15),
      amountCents: fc.integer({ min: 1, max: 999_999_999_999 }),
      label: fc.stringMatching(/^[A-Za-z0-9]{1,25}$/),
    },
    { requiredKeys: ['location', 'merchantName', 'merchantCity'] },
  )

  test('is decoded to the same', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        expect(decodeBrCode(encodeBrCode(input))).toEqual({ singleUse: true, ...input })
      }),
    )
  })

  test('is plain ASCII of at most 512 characters, whatever the name', () => {
    fc.assert(
      fc.property(inputs, fc.string({ unit: 'grapheme' }), (input, name) => {
        const code = encodeBrCode({ ...input, merchantName: `L${name}` })
        expect(code).toMatch(/^[\x20-\x7e]{1,512}$/)
        decodeBrCode(code)
      }),
    )
  })

  test('is refused when any one character of it is changed', () => {
    fc.assert(
      fc.property(inputs, fc.nat(), fc.integer({ min: 0x20, max: 0x7e }), (input, place, character) => {
        const code = encodeBrCode(input)
        const at = place % code.length
        const changed = code.slice(0, at) + String.fromCharCode(character) + code.slice(at + 1)
        fc.pre(changed !== code)
        expect(() => decodeBrCode(changed)).toThrow(BrCodeError)
      }),
    )
  })
})
