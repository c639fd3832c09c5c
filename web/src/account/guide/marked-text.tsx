import type { ReactNode } from 'react'

export function MarkedText({ children }: { children: string }): ReactNode {
  return children.split(/(`[^`]+`)/).map((part, index) =>
    part.startsWith('`') ? (
      <code
        key={index}
        className="rounded bg-still-ground px-1 py-0.5 font-mono text-[0.8125em] wrap-anywhere text-still"
      >
        {part.slice(1, -1)}
      </code>
    ) : (
      part
    ),
  )
}

export function MarkedParagraph({ children }: { children: string }) {
  return (
    <p>
      <MarkedText>{children}</MarkedText>
    </p>
  )
}
