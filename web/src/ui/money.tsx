import { useLanguage } from '../base/language.ts'
import { moneyText } from '../base/money.ts'

/** Cents as money. `sign`: with + or −, for movements. */
export function Money({ cents, sign = false, className = '' }: { cents: number; sign?: boolean; className?: string }) {
  return <span className={`figures whitespace-nowrap ${className}`}>{moneyText(cents, useLanguage(), { sign })}</span>
}
