import type { Me } from '../contract/types.ts'
import type { Pair } from '../base/pair.ts'
import { makeStore, remember, remembered } from '../base/store.ts'

/** Opens a page, presses what the page marks with `data-shortcut`, or opens a dialog of the frame. */
type Deed = { to: string; open?: string } | { press: 'next' | 'previous' } | { dialog: 'search' | 'shortcuts' }

export type Shortcut = Deed & {
  /** Each does it. Keys after a space are pressed one after the other. */
  keys: readonly string[]
  label: Pair
  /** Without it, everybody has it. */
  kind?: Me['kind']
  /** Who has one of them. */
  scopes?: readonly Me['scopes'][number][]
}

/** What the keys do, for the keyboard and for the sheet that lists them. */
// oxfmt-ignore
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ['Mod+k'], label: ['Buscar', 'Search'], dialog: 'search' },
  { keys: ['?'], label: ['Ver os atalhos', 'Show shortcuts'], dialog: 'shortcuts' },
  { keys: ['g h'], label: ['Ir para a visão geral', 'Go to the overview'], kind: 'account', scopes: ['balance:read'], to: '/' },
  { keys: ['g d'], label: ['Ir para os depósitos', 'Go to deposits'], kind: 'account', to: '/deposits' },
  { keys: ['g s'], label: ['Ir para o extrato', 'Go to the statement'], kind: 'account', scopes: ['balance:read'], to: '/statement' },
  { keys: ['g p'], label: ['Ir para os repasses', 'Go to payouts'], kind: 'account', scopes: ['payouts:read'], to: '/payouts' },
  { keys: ['n'], label: ['Novo depósito', 'New deposit'], kind: 'account', scopes: ['deposits:write', 'deposits:today'], to: '/deposits', open: 'new' },
  { keys: ['j', 'ArrowRight'], label: ['Próximo depósito da lista', 'Next deposit of the list'], kind: 'account', press: 'next' },
  { keys: ['k', 'ArrowLeft'], label: ['Depósito anterior da lista', 'Previous deposit of the list'], kind: 'account', press: 'previous' },
  { keys: ['g h'], label: ['Ir para a visão geral', 'Go to the overview'], kind: 'operator', to: '/operator' },
  { keys: ['g d'], label: ['Ir para as cobranças', 'Go to charges'], kind: 'operator', to: '/operator/deposits' },
  { keys: ['g a'], label: ['Ir para as contas', 'Go to accounts'], kind: 'operator', to: '/operator/accounts' },
  { keys: ['g e'], label: ['Ir para as exceções', 'Go to exceptions'], kind: 'operator', to: '/operator/exceptions' },
  { keys: ['g p'], label: ['Ir para os repasses', 'Go to payouts'], kind: 'operator', to: '/operator/payouts' },
  { keys: ['j', 'ArrowRight'], label: ['Próxima cobrança da lista', 'Next charge of the list'], kind: 'operator', press: 'next' },
  { keys: ['k', 'ArrowLeft'], label: ['Cobrança anterior da lista', 'Previous charge of the list'], kind: 'operator', press: 'previous' },
]

export function shortcutsOf({ kind, scopes }: Pick<Me, 'kind' | 'scopes'>): Shortcut[] {
  return SHORTCUTS.filter(
    (shortcut) =>
      (shortcut.kind === undefined || shortcut.kind === kind) &&
      (shortcut.scopes === undefined || shortcut.scopes.some((scope) => scopes.includes(scope))),
  )
}

/** What these keys do. 'begun' if another key must follow. */
export function findShortcut(shortcuts: readonly Shortcut[], pressed: string): Shortcut | 'begun' | undefined {
  const found = shortcuts.find(({ keys }) => keys.includes(pressed))
  if (found) return found
  return shortcuts.some(({ keys }) => keys.some((key) => key.startsWith(`${pressed} `))) ? 'begun' : undefined
}

type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>

/** The name of a key in the table; undefined for a combination that belongs to the browser. */
export function keyName({ key, ctrlKey, metaKey, altKey }: Pressed, isMac: boolean): string | undefined {
  const name = key.length === 1 ? key.toLowerCase() : key
  const isMod = isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey
  if (altKey || ((ctrlKey || metaKey) && !isMod)) return undefined
  return isMod ? `Mod+${name}` : name
}

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.userAgent)

// Who speaks to the computer types single keys by accident, and can turn them off (WCAG 2.1.4).
const NAME = 'guiche.shortcuts'
const singleKeys = makeStore(remembered(NAME) !== 'off')

/** Whether keys without Ctrl or ⌘ do something. */
export const useHasSingleKeys = singleKeys.use
export const hasSingleKeys = singleKeys.get

export function setSingleKeys(isOn: boolean): void {
  singleKeys.set(isOn)
  remember(NAME, isOn ? 'on' : 'off')
}
