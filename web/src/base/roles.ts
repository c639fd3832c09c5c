import type { Role } from '../contract/codes.ts'
import { translations } from './language.ts'
import type { Pair } from './pair.ts'

/** What a member is called. */
export const useRoleNames = translations<Record<Role, Pair>>({
  owner: ['Proprietário', 'Owner'],
  finance: ['Financeiro', 'Finance'],
  developer: ['Desenvolvedor', 'Developer'],
  cashier: ['Caixa', 'Cashier'],
  viewer: ['Leitura', 'Viewer'],
})
