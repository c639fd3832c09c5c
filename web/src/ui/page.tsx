import { Link } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { Card } from './card.tsx'
import { ArrowLeftIcon } from './icons.tsx'
import { Failure } from './states.tsx'

/** The frame of a page. Its title is also the tab's title. */
export function Page(props: {
  title: string
  text?: ReactNode
  actions?: ReactNode
  /** The parent page, such as the list of a single deposit. */
  back?: { to: string; label: string }
  isNarrow?: boolean
  /** What the page is about: its failure replaces the content. */
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
              className="-ml-1 inline-flex min-h-8 items-center gap-1.5 rounded px-1 text-sm font-medium text-soft hover:text-ink"
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
            {props.actions && <div className="flex flex-wrap items-start gap-2">{props.actions}</div>}
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
    document.title = `${title} · guiche`
  }, [title])
  useEffect(() => {
    if (hasFollowed) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    hasFollowed = true
  }, [])
}

let hasFollowed = false
