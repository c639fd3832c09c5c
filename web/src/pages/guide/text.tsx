import type { ReactNode } from 'react'

/** The two marks that our texts have: `code` and **bold**. */
export function Text({ children }: { children: string }): ReactNode {
  return children.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part, index) => {
    if (part.startsWith('`'))
      return (
        <code
          key={index}
          className="rounded bg-still-ground px-1 py-0.5 font-mono text-[0.8125em] wrap-anywhere text-still"
        >
          {part.slice(1, -1)}
        </code>
      )
    return part.startsWith('**') ? <b key={index}>{part.slice(2, -2)}</b> : part
  })
}
