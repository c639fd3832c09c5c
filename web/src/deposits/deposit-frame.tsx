import type { ReactNode } from 'react'

/** Two columns: on a phone, what is at the side comes first. */
export function DepositFrame({ side, children }: { side: ReactNode; children: ReactNode }) {
  return (
    <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_24rem]">
      <div className="space-y-6 lg:order-2">{side}</div>
      <div className="min-w-0 space-y-6">{children}</div>
    </div>
  )
}
