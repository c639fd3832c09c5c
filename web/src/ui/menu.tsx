import { DropdownMenu as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import type { Icon } from './icons.tsx'
import { useOpenedByUrl } from './opened-by-url.ts'

type MenuItem = {
  label: ReactNode
  onSelect: () => void
  icon?: Icon
  isDanger?: boolean
}

/** `<Menu trigger={<IconButton label="…"><MoreIcon /></IconButton>} items={[…]} />` */
export function Menu(props: { trigger: ReactNode; items: readonly MenuItem[]; opensBy?: string }) {
  const { trigger, items } = props
  const [isOpen, setOpen] = useOpenedByUrl(props.opensBy)
  return (
    <Radix.Root modal={false} open={isOpen} onOpenChange={setOpen}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      {/* The menu is inside the page's content, because outside of it there is no landmark. */}
      <Radix.Portal container={document.getElementById('content')}>
        <Radix.Content
          align="end"
          sideOffset={6}
          collisionPadding={12}
          className="z-50 min-w-44 animate-appear rounded-xl border border-line bg-raised p-1.5 shadow-float"
        >
          {items.map((item, index) => (
            <Radix.Item
              key={index}
              onSelect={item.onSelect}
              className={`flex min-h-10 cursor-pointer items-center gap-2.5 rounded-lg px-3 text-sm font-medium outline-none data-highlighted:bg-hover ${item.isDanger ? 'text-bad' : ''}`}
            >
              {item.icon && <item.icon className="size-4" />}
              {item.label}
            </Radix.Item>
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
