import type { BankProfile } from './bank-profile.ts'
import { bb } from './bb.ts'
import { bradesco } from './bradesco.ts'
import { efi } from './efi.ts'
import { inter } from './inter.ts'
import { itau } from './itau.ts'
import { santander } from './santander.ts'
import { sicoob } from './sicoob.ts'
import { sicredi } from './sicredi.ts'

export const BANK_PROFILES = { efi, inter, itau, bb, santander, sicoob, sicredi, bradesco } satisfies Record<
  string,
  BankProfile
>

export type BankName = keyof typeof BANK_PROFILES

export const BANK_NAMES = Object.keys(BANK_PROFILES) as BankName[]
