import type { ReactNode } from 'react'

/** `isFlush`: the content reaches the edges, as a table does. */
export function Card(props: {
  title?: ReactNode
  text?: ReactNode
  actions?: ReactNode
  isFlush?: boolean
  className?: string
  children?: ReactNode
}) {
  const { title, text, actions, isFlush = false, className = '' } = props
  return (
    <section
      className={`rounded-2xl border border-line bg-card shadow-card ${isFlush ? 'overflow-clip' : ''} ${className}`}
    >
      {(title || actions) && (
        <header className={`flex flex-wrap items-center gap-x-4 gap-y-2 px-5 pt-4 ${isFlush ? 'pb-4' : ''}`}>
          <div className="min-w-0 grow">
            {title && <h2 className="text-base font-semibold">{title}</h2>}
            {text && <p className="text-sm text-soft">{text}</p>}
          </div>
          {actions}
        </header>
      )}
      <div className={isFlush ? '' : 'px-5 pt-4 pb-5'}>{props.children}</div>
    </section>
  )
}

export type Detail = { name: ReactNode; value: ReactNode }

/** Names and values, one per line. Details without a value are left out. */
export function DetailList({ details }: { details: readonly Detail[] }) {
  return (
    <dl className="divide-y divide-line">
      {details
        .filter(({ value }) => value !== null && value !== undefined)
        .map(({ name, value }, index) => (
          <div key={index} className="flex items-center justify-between gap-6 py-2.5 first:pt-0 last:pb-0">
            <dt className="shrink-0 text-soft">{name}</dt>
            <dd className="min-w-0 text-right wrap-anywhere">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** One number; `note` puts it into proportion. */
export function Figure({ label, value, note }: { label: ReactNode; value: ReactNode; note?: ReactNode }) {
  return (
    <div className="min-w-0">
      <p className="text-sm text-soft">{label}</p>
      <p className="figures mt-0.5 truncate text-2xl font-semibold tracking-tight">{value}</p>
      {note !== undefined && <p className="figures mt-0.5 min-h-5 text-sm text-soft">{note}</p>}
    </div>
  )
}
