import { expect, test } from 'vitest'
import { safeReturnPath } from '../src/base/session.ts'

test('after signing in one goes to a page of ours, or nowhere in particular', () => {
  expect(safeReturnPath('/deposits?status=PENDING')).toBe('/deposits?status=PENDING')
  for (const path of [
    undefined,
    '',
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
  ])
    expect(safeReturnPath(path)).toBeUndefined()
})
