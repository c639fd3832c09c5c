import { setLanguage, type Language } from '../base/language.ts'
import type { Pair } from '../base/pair.ts'
import { signOut } from '../base/session.ts'
import { setTheme } from '../base/theme.ts'
import type { Me } from '../contract/types.ts'
import * as icons from '../ui/icons.tsx'
import type { Place } from './match-places.ts'
import { openDialog } from './opened.ts'

type Look = { isDark: boolean; language: Language }
type Action = Place & { kind?: Me['kind']; scopes?: readonly Me['scopes'][number][] }

const LIGHT: Pair = ['Mudar para o tema claro', 'Switch to the light theme']
const DARK: Pair = ['Mudar para o tema escuro', 'Switch to the dark theme']
const PORTUGUESE: Pair = ['Mudar para português', 'Switch to Portuguese']
const ENGLISH: Pair = ['Mudar para inglês', 'Switch to English']

// oxfmt-ignore
const ACTIONS: readonly Action[] = [
  { name: 'new-deposit', label: ['Novo depósito', 'New deposit'], words: 'criar cobrar receber pix create charge', icon: icons.PlusIcon, kind: 'account', scopes: ['deposits:write', 'deposits:today'], act: { to: '/deposits', open: 'new' } },
  { name: 'new-code', label: ['Novo código', 'New code'], words: 'qr fixo permanente cliente lasting static', icon: icons.QrIcon, kind: 'account', scopes: ['deposits:write'], act: { to: '/codes', open: 'new' } },
  { name: 'ask-payout', label: ['Pedir repasse', 'Ask for a payout'], words: 'saque sacar transferir withdraw', icon: icons.PayoutIcon, kind: 'account', scopes: ['payouts:write'], act: { to: '/payouts', open: 'new' } },
  { name: 'export-statement', label: ['Exportar extrato', 'Export the statement'], words: 'ofx csv excel contador accountant', icon: icons.DownloadIcon, kind: 'account', scopes: ['balance:read'], act: { to: '/statement', open: 'export' } },
  { name: 'new-key', label: ['Nova chave de API', 'New API key'], words: 'criar token create', icon: icons.KeyIcon, kind: 'account', scopes: ['keys:write'], act: { to: '/developers', open: 'new' } },
  { name: 'new-webhook', label: ['Adicionar webhook', 'Add webhook'], words: 'novo criar new create', icon: icons.WebhookIcon, kind: 'account', scopes: ['webhooks:write'], act: { to: '/developers/webhooks', open: 'new' } },
  { name: 'invite', label: ['Convidar para a equipe', 'Invite to the team'], words: 'membro pessoa member person', icon: icons.PeopleIcon, kind: 'account', scopes: ['members:write'], act: { to: '/team', open: 'new' } },
  { name: 'new-account', label: ['Criar conta', 'Create account'], words: 'nova new', icon: icons.PlusIcon, kind: 'operator', act: { to: '/operator/accounts', open: 'new' } },
  { name: 'shortcuts', label: ['Ver os atalhos do teclado', 'Show keyboard shortcuts'], words: 'ajuda help', icon: icons.InfoIcon, act: () => openDialog('shortcuts') },
]

/** They are called by what they change to. */
function lookActions({ isDark, language }: Look): Action[] {
  const isEnglish = language === 'en'
  return [
    {
      name: 'theme',
      label: isDark ? LIGHT : DARK,
      words: 'aparência modo mode',
      icon: icons.EyeIcon,
      act: () => setTheme(isDark ? 'light' : 'dark'),
    },
    {
      name: 'language',
      label: isEnglish ? PORTUGUESE : ENGLISH,
      words: 'idioma language',
      icon: icons.BookIcon,
      act: () => setLanguage(isEnglish ? 'pt-BR' : 'en'),
    },
  ]
}

const SIGN_OUT: Action = {
  name: 'sign-out',
  label: ['Sair', 'Sign out'],
  words: 'encerrar sessão logout',
  icon: icons.SignOutIcon,
  act: () => void signOut(),
}

/** What this person may do. */
export function actionsOf(me: Me, look: Look): Place[] {
  return [...ACTIONS, ...lookActions(look), SIGN_OUT].filter(
    ({ name, kind, scopes }) =>
      (kind === undefined || kind === me.kind) &&
      (scopes === undefined || scopes.some((scope) => me.scopes.includes(scope))) &&
      (name !== 'new-deposit' || me.suspendedReason === null),
  )
}
