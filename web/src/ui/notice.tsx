import type { ReactNode } from 'react'
import { CheckIcon, InfoIcon, WarningIcon } from './icons.tsx'

export type Tone = 'good' | 'wait' | 'bad' | 'mark' | 'still'

export const TONES: Record<Tone, string> = {
  good: 'bg-good-ground text-good',
  wait: 'bg-wait-ground text-wait',
  bad: 'bg-bad-ground text-bad',
  mark: 'bg-mark-ground text-mark',
  still: 'bg-still-ground text-still',
}
const ICONS = { good: CheckIcon, wait: WarningIcon, bad: WarningIcon, mark: InfoIcon, still: InfoIcon }

/** Something to know before going on. Screen readers read bad ones at once. */
export function Notice(props: { tone?: Tone; title?: ReactNode; action?: ReactNode; children?: ReactNode }) {
  const { tone = 'still', title, action, children } = props
  const Icon = ICONS[tone]
  return (
    <div role={tone === 'bad' ? 'alert' : undefined} className={`flex gap-3 rounded-lg px-3.5 py-3 ${TONES[tone]}`}>
      <Icon className="mt-0.5 size-5" />
      <div className="min-w-0 grow space-y-1 wrap-anywhere">
        {title && <p className="font-semibold">{title}</p>}
        {children && <div>{children}</div>}
        {action && <div className="pt-1.5">{action}</div>}
      </div>
    </div>
  )
}
