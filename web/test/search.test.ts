import { expect, test } from 'vitest'
import { findShortcut, keyName, shortcutsOf, SHORTCUTS } from '../src/ui/shortcuts.ts'
import { matchPlaces, type Place } from '../src/search/match-places.ts'

const place = (pt: string, en: string, words?: string): Place => ({
  name: en,
  label: [pt, en],
  icon: () => null,
  act: { to: '/' },
  ...(words && { words }),
})

const PLACES = [
  place('Configurações', 'Settings'),
  place('Novo depósito', 'New deposit', 'cobrar receber'),
  place('Depósitos', 'Deposits'),
  place('Conciliação', 'Reconciliation'),
]
const found = (typed: string) => matchPlaces(PLACES, typed).map(({ name }) => name)

test('a page is found by the beginning of its words, in both languages, with or without accents and case', () => {
  expect(found('DEPOSITOS')).toEqual(['Deposits'])
  expect(found('depó')).toEqual(['New deposit', 'Deposits'])
  expect(found('concilia')).toEqual(['Reconciliation'])
  expect(found('sett')).toEqual(['Settings'])
  expect(found('configuracoes')).toEqual(['Settings'])
})

test('every typed word must fit, in any order, and a middle of a word does not', () => {
  expect(found('dep nov')).toEqual(['New deposit'])
  expect(found('new settings')).toEqual([])
  expect(found('posit')).toEqual([])
  expect(found(' . ')).toEqual([])
})

test('what is called so comes before what only has such a word', () => {
  const places = [place('Exportar extrato', 'Export', 'contador'), place('Contas', 'Accounts')]
  expect(matchPlaces(places, 'conta').map(({ name }) => name)).toEqual(['Accounts', 'Export'])
})

const OWNER = { kind: 'account', scopes: ['balance:read', 'deposits:write', 'payouts:read'] } as const
const CASHIER = { kind: 'account', scopes: ['deposits:today'] } as const
const OPERATOR = { kind: 'operator', scopes: [] } as const

test.each([OWNER, CASHIER, OPERATOR])(
  'no two shortcuts of a person share their keys, and none begins another',
  (who) => {
    const keys = shortcutsOf({ ...who, scopes: [...who.scopes] }).flatMap((shortcut) => shortcut.keys)
    expect(new Set(keys).size).toBe(keys.length)
    for (const key of keys) expect(keys.filter((other) => other.startsWith(`${key} `))).toEqual([])
  },
)

test('people have the shortcuts of what they may see', () => {
  const labels = (who: typeof OWNER | typeof CASHIER | typeof OPERATOR) =>
    shortcutsOf({ ...who, scopes: [...who.scopes] }).map(({ label }) => label[1])
  expect(labels(OWNER)).toContain('Go to the statement')
  expect(labels(CASHIER)).not.toContain('Go to the statement')
  expect(labels(CASHIER)).toContain('New deposit')
  expect(labels(OPERATOR)).not.toContain('New deposit')
  expect(labels(OPERATOR)).toContain('Go to exceptions')
})

test('two keys one after the other are one shortcut, and the first alone is none', () => {
  const mine = shortcutsOf({ ...OWNER, scopes: [...OWNER.scopes] })
  expect(findShortcut(mine, 'g')).toBe('begun')
  expect(findShortcut(mine, 'g s')).toMatchObject({ to: '/statement' })
  expect(findShortcut(mine, 'g x')).toBeUndefined()
  expect(findShortcut(mine, 'x')).toBeUndefined()
})

test('Ctrl-K and ⌘K search on their systems, and other combinations stay with the browser', () => {
  const pressed = (key: string, keys: Partial<Record<'ctrlKey' | 'metaKey' | 'altKey', boolean>>) => ({
    key,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    ...keys,
  })
  expect(keyName(pressed('k', { ctrlKey: true }), false)).toBe('Mod+k')
  expect(keyName(pressed('K', { metaKey: true }), true)).toBe('Mod+k')
  expect(keyName(pressed('k', { ctrlKey: true }), true)).toBeUndefined()
  expect(keyName(pressed('d', { metaKey: true }), false)).toBeUndefined()
  expect(keyName(pressed('j', { altKey: true }), false)).toBeUndefined()
  expect(keyName(pressed('G', {}), false)).toBe('g')
  expect(SHORTCUTS.find(({ keys }) => keys.includes('Mod+k'))).toMatchObject({ dialog: 'search' })
})
