import { Link } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useErrorText } from '../base/error-text.ts'
import { nameTab } from '../base/history.ts'
import { translations } from '../base/language.ts'
import { Button } from './button.tsx'
import { ArrowLeftIcon, RefreshIcon, WarningIcon, type Icon } from './icons.tsx'

/** The frame of a page. Its title is also the tab's title. */
export function Page(props: {
  title: string
  text?: ReactNode
  actions?: ReactNode
  /** The parent page, such as the list of a single deposit. */
  back?: { to: string; label: string; search?: Record<string, string | undefined> }
  isNarrow?: boolean
  /** The query that the page is about: its failure replaces the content. */
  query?: { data?: unknown; error: Error | null; refetch: () => unknown }
  children: ReactNode
}) {
  const { title, text, back, query } = props
  useTitle(title)
  const failed = query?.data === undefined && query?.error
  return (
    <div className="mx-auto w-full max-w-6xl">
      <div className={`space-y-6 ${props.isNarrow ? 'max-w-3xl' : ''}`}>
        <header className="space-y-1">
          {back && (
            <Link
              to={back.to}
              search={back.search ?? {}}
              className="print:hidden -ml-1 inline-flex min-h-8 items-center gap-1.5 rounded px-1 text-sm font-medium text-soft hover:text-ink"
            >
              <ArrowLeftIcon className="size-4" />
              {back.label}
            </Link>
          )}
          <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
            <div className="min-w-0">
              <h1
                tabIndex={-1}
                className="text-2xl leading-tight font-semibold tracking-tight wrap-anywhere outline-none"
              >
                {title}
              </h1>
              {text && <p className="mt-1 max-w-2xl text-soft">{text}</p>}
            </div>
            {props.actions && <div className="flex flex-wrap items-start gap-2 print:hidden">{props.actions}</div>}
          </div>
        </header>
        {failed ? (
          <Card>
            <Failure error={failed} onRetry={() => void query.refetch()} />
          </Card>
        ) : (
          props.children
        )}
      </div>
    </div>
  )
}

/** Sets the tab's title. After a navigation it focuses the heading, where screen readers then start. */
export function useTitle(title: string): void {
  useEffect(() => {
    nameTab(title)
  }, [title])
  useEffect(() => {
    if (hasFollowed) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    hasFollowed = true
  }, [])
}

let hasFollowed = false

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

const useTexts = translations({
  failed: ['Não foi possível carregar', 'Unable to load'],
  retry: ['Tentar de novo', 'Try again'],
})

/** Holds the place of something that loads, in about its size, so that nothing jumps. */
export function Skeleton({ className = 'h-4 w-24' }: { className?: string }) {
  return (
    <span
      aria-hidden="true"
      className={`inline-block max-w-full animate-sheen rounded-md bg-still-ground align-middle ${className}`}
    />
  )
}

type StateProps = { title: ReactNode; text?: ReactNode; action?: ReactNode; icon?: Icon }

/** Says that nothing is here yet, what will be, and how to start. */
export function Empty({ title, text, action, icon: StateIcon }: StateProps) {
  return (
    <div className="flex flex-col items-center px-6 py-14 text-center">
      {StateIcon && (
        <div className="mb-4 rounded-full bg-still-ground p-3.5 text-still">
          <StateIcon className="size-6" />
        </div>
      )}
      <p className="font-semibold">{title}</p>
      {text && <p className="mt-1 max-w-sm text-soft">{text}</p>}
      {action && <div className="mt-5">{action}</div>}
    </div>
  )
}

/** Says why loading failed, and has a button to retry. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const t = useTexts()
  const errorText = useErrorText()
  return (
    <div role="alert" className="flex flex-col items-center px-6 py-14 text-center">
      <div className="mb-4 rounded-full bg-bad-ground p-3.5 text-bad">
        <WarningIcon className="size-6" />
      </div>
      <p className="font-semibold">{t.failed}</p>
      <p className="mt-1 max-w-sm text-soft wrap-anywhere">{errorText(error)}</p>
      {onRetry && (
        <div className="mt-5">
          <Button icon={RefreshIcon} size="small" onClick={onRetry}>
            {t.retry}
          </Button>
        </div>
      )}
    </div>
  )
}
