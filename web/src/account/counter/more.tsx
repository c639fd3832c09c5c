import type { ReactNode } from 'react'
import type { Icon } from '../../ui/icons.tsx'

/** Opens below what it is about, without a dialog. */
export function More({ icon: MoreIcon, label, children }: { icon: Icon; label: string; children: ReactNode }) {
  return (
    <details className="w-full max-w-md">
      <summary className="mx-auto flex min-h-11 w-fit list-none items-center gap-2 rounded-lg border border-current/30 px-4 font-semibold [&::-webkit-details-marker]:hidden">
        <MoreIcon className="size-4" />
        {label}
      </summary>
      <div className="mt-3 flex flex-wrap justify-center gap-2 [&_a]:min-h-11 [&_button]:min-h-11">{children}</div>
    </details>
  )
}
