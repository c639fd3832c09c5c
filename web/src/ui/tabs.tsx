import { Tabs as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { useFilters } from '../base/queries.ts'

type Tab = { value: string; label: ReactNode; content: ReactNode }

/** The open tab is in the URL; without one, the first is open. The tabs scroll sideways if they do not fit. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const filters = useFilters(['tab'])
  const first = tabs[0]?.value ?? ''
  return (
    <Radix.Root
      value={filters.values.tab || first}
      onValueChange={(tab) => filters.set({ tab: tab === first ? '' : tab })}
    >
      <Radix.List aria-label={label} className="flex gap-1 overflow-x-auto overflow-y-hidden border-b border-line">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px min-h-11 shrink-0 border-b-2 border-transparent px-3 font-medium text-soft -outline-offset-2 hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="pt-5">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  )
}
