import { expect, test } from 'vitest'
import { valuesOf } from '../src/db/insert-rows.ts'

function arrayOf(type: string, values: unknown[]): unknown {
  return valuesOf({ it: [type, (value) => value] }, values)[0]
}

test('a time that is none is refused, and the next one is right', () => {
  expect(() => arrayOf('timestamptz', [new Date(NaN)])).toThrow(RangeError)
  expect(arrayOf('timestamptz', [new Date(0)])).toBe('{1970-01-01T00:00:00.000Z}')
})

test('texts in an array are quoted, so that none is taken for two, for NULL or for its end', () => {
  const texts = ['plain', '', 'a,b', 'NULL', 'say "yes"', 'back\\slash', '}', null, undefined]
  expect(arrayOf('text', texts)).toBe('{"plain","","a,b","NULL","say \\"yes\\"","back\\\\slash","}",NULL,NULL}')
})

test('no values are an empty array', () => {
  expect(arrayOf('text', [])).toBe('{}')
})
