import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { Button } from './button.tsx'
import { RefreshIcon, WarningIcon } from './icons.tsx'
import { Skeleton } from './skeleton.tsx'

const useWords = words({
  'pt-BR': { loading: 'Carregando', failed: 'Não foi possível carregar', retry: 'Tentar de novo' },
  en: { loading: 'Loading', failed: 'This could not be loaded', retry: 'Try again' },
})

export type Column<Row> = {
  key: string
  header: ReactNode
  cell: (row: Row) => ReactNode
  align?: 'right'
  /** A width class, such as 'w-40'; the others share what is left. */
  width?: string
  /** Left out on phones, where each row is a card. */
  isWideOnly?: boolean
  /** Sentences: on a card they stand below the header and not beside it. */
  isProse?: boolean
  /** The cell has buttons or links of its own: they stay pressable on a row that is a link. */
  isActive?: boolean
}

/** How many rows hold the place while the first ones are on their way. */
const SKELETON_ROWS = 6

/**
 * One table for all lists: rows on a wide screen, cards on a phone, and the same place for loading, nothing and failure.
 * `rows` undefined means that they are on their way.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  rowKey,
  rowLink,
  error,
  onRetry,
  empty,
  isStale = false,
  skeletonRows = SKELETON_ROWS,
  card,
}: {
  /** For screen readers. */
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[] | undefined
  rowKey: (row: Row) => string
  /** The whole row leads there; the first column's cell is the link's name. */
  rowLink?: (row: Row) => string
  error?: unknown
  onRetry?: () => void
  empty: ReactNode
  /** Rows of the question before: they pale until the new ones are here. */
  isStale?: boolean
  skeletonRows?: number
  /** What a row is on a phone, where two lines say more than a column of labels; without it the columns, one below the other. */
  card?: (row: Row) => ReactNode
}) {
  const t = useWords()
  if (rows === undefined && error) return <Failure error={error} {...(onRetry && { onRetry })} />
  if (rows?.length === 0) return <>{empty}</>
  // The roles are said again because a table that is laid out as blocks is no table to some screen readers.
  return (
    <table
      role="table"
      aria-busy={rows === undefined || isStale}
      className="w-full border-collapse text-left max-md:block"
    >
      <caption className="sr-only">{rows === undefined ? `${caption}: ${t.loading}` : caption}</caption>
      <thead role="rowgroup" className="max-md:sr-only">
        <tr role="row">
          {columns.map((column) => (
            <th
              key={column.key}
              role="columnheader"
              scope="col"
              className={`sticky top-0 z-10 border-b border-line bg-card px-3 py-2.5 text-sm font-semibold whitespace-nowrap text-soft first:pl-5 last:pr-5 ${column.align === 'right' ? 'text-right' : ''} ${column.width ?? ''}`}
            >
              {column.header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody
        role="rowgroup"
        className={`divide-y divide-line transition-opacity max-md:block ${isStale ? 'opacity-50' : ''}`}
      >
        {rows === undefined
          ? Array.from({ length: skeletonRows }, (_, index) => (
              <SkeletonRow key={index} columns={columns} hasCard={card !== undefined} />
            ))
          : rows.map((row) => (
              <tr
                key={rowKey(row)}
                role="row"
                className={`relative max-md:block max-md:px-5 max-md:py-3 ${rowLink ? 'hover:bg-hover' : ''}`}
              >
                {card && (
                  <CardCell>
                    {rowLink ? (
                      <Link to={rowLink(row)} className="block after:absolute after:inset-0">
                        {card(row)}
                      </Link>
                    ) : (
                      card(row)
                    )}
                  </CardCell>
                )}
                {columns.map((column, index) => (
                  <Cell key={column.key} column={column} isFirst={index === 0} isWideOnly={card !== undefined}>
                    {rowLink && index === 0 ? (
                      <Link to={rowLink(row)} className="font-medium after:absolute after:inset-0">
                        {column.cell(row)}
                      </Link>
                    ) : (
                      column.cell(row)
                    )}
                  </Cell>
                ))}
              </tr>
            ))}
      </tbody>
    </table>
  )
}

function CardCell({ children }: { children: ReactNode }) {
  return (
    <td role="cell" className="block md:hidden">
      {children}
    </td>
  )
}

function Cell<Row>({
  column,
  isFirst,
  isWideOnly = false,
  children,
}: {
  column: Column<Row>
  isFirst: boolean
  isWideOnly?: boolean
  children: ReactNode
}) {
  return (
    <td
      role="cell"
      className={`px-3 py-3 align-middle ${isFirst ? 'pl-5' : ''} last:pr-5 max-md:px-0! max-md:py-1 ${column.isProse ? 'max-md:block' : 'max-md:flex max-md:items-center max-md:justify-between max-md:gap-4'} ${column.align === 'right' ? 'figures md:text-right' : ''} ${isWideOnly || column.isWideOnly ? 'max-md:hidden!' : ''}`}
    >
      {/* The header again, on cards; screen readers have it from the table. */}
      <span aria-hidden="true" className="shrink-0 text-sm text-soft md:hidden">
        {column.header}
      </span>
      <span
        className={`min-w-0 ${column.isProse ? 'max-md:block' : 'max-md:text-right'} ${column.isActive ? 'relative z-10' : ''}`}
      >
        {children}
      </span>
    </td>
  )
}

function SkeletonRow<Row>({ columns, hasCard }: { columns: readonly Column<Row>[]; hasCard: boolean }) {
  return (
    <tr role="row" className="max-md:block max-md:px-5 max-md:py-3">
      {hasCard && (
        <CardCell>
          <CardLines
            name={<Skeleton className="h-4 w-24" />}
            mark={<Skeleton className="h-4 w-20" />}
            text={<Skeleton className="h-4 w-36" />}
            end={<Skeleton className="h-4 w-28" />}
          />
        </CardCell>
      )}
      {columns.map((column, index) => (
        <Cell key={column.key} column={column} isFirst={index === 0} isWideOnly={hasCard}>
          <Skeleton className="h-4 w-24" />
        </Cell>
      ))}
    </tr>
  )
}

/** A card of two lines: what it is and how it stands, and below, smaller, what else there is to know. */
export function CardLines({ name, mark, text, end }: Record<'name' | 'mark' | 'text' | 'end', ReactNode>) {
  return (
    <span className="block space-y-1">
      <span className="flex min-h-6 items-center justify-between gap-4 font-medium">
        <span className="min-w-0 truncate">{name}</span>
        <span className="shrink-0">{mark}</span>
      </span>
      <span className="flex min-h-5 items-center justify-between gap-4 text-sm text-soft">
        <span className="min-w-0 truncate">{text}</span>
        <span className="shrink-0">{end}</span>
      </span>
    </span>
  )
}

/** Nothing here yet: says what will be, and how to begin. */
export function Empty({
  title,
  text,
  action,
  icon,
}: {
  title: ReactNode
  text?: ReactNode
  action?: ReactNode
  icon?: ReactNode
}) {
  return (
    <div className="flex flex-col items-center px-6 py-14 text-center">
      {icon && <div className="mb-4 rounded-full bg-still-ground p-3.5 text-still">{icon}</div>}
      <p className="font-semibold">{title}</p>
      {text && <p className="mt-1 max-w-sm text-soft">{text}</p>}
      {action && <div className="mt-5">{action}</div>}
    </div>
  )
}

/** It could not be loaded: why, and once more. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useWords()
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
          <Button size="small" onClick={onRetry}>
            <RefreshIcon className="size-4" />
            {t.retry}
          </Button>
        </div>
      )}
    </div>
  )
}
