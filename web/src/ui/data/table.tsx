import { Link, type HistoryState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import type { CursorList, List } from '../../base/queries.ts'
import { Button } from '../button.tsx'
import { useSteadyRows } from './new-rows.tsx'
import { Failure, Skeleton } from '../page.tsx'

const useTexts = translations({
  loading: ['Carregando', 'Loading'],
  pages: ['Páginas', 'Pages'],
  previous: ['Anterior', 'Previous'],
  next: ['Próxima', 'Next'],
  page: (number: number) => [`Página ${number}`, `Page ${number}`],
})

export type Column<Row> = {
  header: ReactNode
  cell: (row: Row) => ReactNode
  align?: 'right'
  /** A width class, such as 'w-40'; the other columns share the rest. */
  width?: string
  /** Left out where there is little room. */
  isWideOnly?: boolean
  /** The cell holds sentences: on a card they go below the header, not beside it. */
  isProse?: boolean
  /** The cell has buttons or links of its own: they stay clickable on a row that is a link. */
  isActive?: boolean
}

type TableProps<Row> = {
  /** Only screen readers see it. */
  caption: string
  columns: readonly Column<Row>[]
  list: List<Row> | CursorList<Row>
  rowKey: (row: Row) => string
  /** The whole row is a link; the first cell is its name. */
  rowLink?: (row: Row) => string
  /** What the page of a row is told of the list. */
  rowState?: HistoryState
  empty?: ReactNode
  skeletonRows?: number
  /** A control at the beginning of a row, such as a checkbox, and what its column is called. */
  control?: { name: string; of: (row: Row) => ReactNode }
  /** Shows a row on a phone. Without it, the columns are one below the other. */
  card?: (row: Row) => ReactNode
}

/** The card of a list is narrower than this on a tablet. */
const WIDE_ONLY = '@max-4xl:hidden!'

/** Shows every list: rows on a wide screen, cards on a phone. Loading, empty, failed and the pages share one place. */
export function Table<Row>(props: TableProps<Row>) {
  const { list, rowKey, empty = null } = props
  const { rows, marked, button } = useSteadyRows(list, rowKey)
  if (rows === undefined && list.error) return <Failure error={list.error} onRetry={list.retry} />
  if (rows?.length === 0) return <>{empty}</>
  return (
    <>
      {button}
      <Grid {...props} rows={rows} marked={marked} />
      {'pageNumber' in list && <Pagination list={list} />}
    </>
  )
}

type GridProps<Row> = TableProps<Row> & { rows: readonly Row[] | undefined; marked: ReadonlySet<string> }

function Grid<Row>(props: GridProps<Row>) {
  const { caption, columns, list, rows, marked, rowKey, rowLink, rowState, skeletonRows = 6, control, card } = props
  const t = useTexts()
  const { isStale = false } = list
  // The roles are repeated because some screen readers ignore a table that is laid out as blocks.
  return (
    <div className="@container">
      <table
        role="table"
        aria-busy={rows === undefined || isStale}
        className="w-full border-collapse text-left max-md:block"
      >
        <caption className="sr-only">{rows === undefined ? `${caption}: ${t.loading}` : caption}</caption>
        <thead role="rowgroup" className="max-md:sr-only">
          <tr role="row">
            {control && (
              <th role="columnheader" scope="col" className="sticky top-0 z-10 w-12 border-b border-line bg-card">
                <span className="sr-only">{control.name}</span>
              </th>
            )}
            {columns.map((column, index) => (
              <th
                key={index}
                role="columnheader"
                scope="col"
                className={`sticky top-0 z-10 border-b border-line bg-card px-3 py-2.5 text-sm font-semibold whitespace-nowrap text-soft first:pl-5 last:pr-5 ${column.align === 'right' ? 'text-right' : ''} ${column.width ?? ''} ${column.isWideOnly ? WIDE_ONLY : ''}`}
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
                <DataRow
                  key={rowKey(row)}
                  row={row}
                  isMarked={marked.has(rowKey(row))}
                  columns={columns}
                  link={rowLink?.(row)}
                  control={control && (control.of(row) ?? '')}
                  state={rowState}
                  card={card?.(row)}
                />
              ))}
        </tbody>
      </table>
    </div>
  )
}

function DataRow<Row>(props: {
  row: Row
  isMarked: boolean
  columns: readonly Column<Row>[]
  link: string | undefined
  control: ReactNode | undefined
  state: HistoryState | undefined
  card: ReactNode | undefined
}) {
  const { row, isMarked, columns, link, control, state, card } = props
  return (
    <tr
      role="row"
      className={`relative max-md:block max-md:px-5 max-md:py-3 motion-safe:transition-colors motion-safe:duration-1000 ${isMarked ? 'bg-good-ground' : ''} ${link === undefined ? '' : 'hover:bg-hover'} ${control === undefined ? '' : 'max-md:pl-14'}`}
    >
      {control !== undefined && <ControlCell>{control}</ControlCell>}
      {card !== undefined && (
        <CardCell>
          <RowLink to={link} state={state} className="block">
            {card}
          </RowLink>
        </CardCell>
      )}
      {columns.map((column, index) => (
        <Cell
          key={index}
          column={column}
          isFirst={index === 0 && control === undefined}
          isWideOnly={card !== undefined}
        >
          <RowLink to={index === 0 ? link : undefined} state={state} className="font-medium">
            {column.cell(row)}
          </RowLink>
        </Cell>
      ))}
    </tr>
  )
}

type RowLinkProps = { to: string | undefined; state: HistoryState | undefined; className: string; children: ReactNode }

function RowLink({ to, state, className, children }: RowLinkProps) {
  if (to === undefined) return children
  return (
    <Link to={to} {...(state && { state })} className={`${className} after:absolute after:inset-0`}>
      {children}
    </Link>
  )
}

/** On a phone beside the card. */
function ControlCell({ children }: { children: ReactNode }) {
  return (
    <td
      role="cell"
      className="relative z-10 w-12 pl-5 align-middle max-md:absolute! max-md:top-3.5 max-md:left-5 max-md:p-0"
    >
      {children}
    </td>
  )
}

function CardCell({ children }: { children: ReactNode }) {
  return (
    <td role="cell" className="block md:hidden">
      {children}
    </td>
  )
}

type CellProps<Row> = { column: Column<Row>; isFirst: boolean; isWideOnly: boolean; children: ReactNode }

function Cell<Row>({ column, isFirst, isWideOnly, children }: CellProps<Row>) {
  return (
    <td
      role="cell"
      className={`px-3 py-3 align-middle ${isFirst ? 'pl-5' : ''} last:pr-5 max-md:px-0! max-md:py-1 ${column.isProse ? 'max-md:block' : 'max-md:flex max-md:items-center max-md:justify-between max-md:gap-4'} ${column.align === 'right' ? 'figures md:text-right' : ''} ${isWideOnly ? 'max-md:hidden!' : ''} ${column.isWideOnly ? WIDE_ONLY : ''}`}
    >
      {/* Cards repeat the header; screen readers have it from the table. */}
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
        <Cell key={index} column={column} isFirst={index === 0} isWideOnly={hasCard}>
          <Skeleton className="h-4 w-24" />
        </Cell>
      ))}
    </tr>
  )
}

/** A card of two lines: name and status, and below, smaller, two details. */
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

/** Hidden while everything fits on one page. */
function Pagination({ list }: { list: CursorList<unknown> }) {
  const t = useTexts()
  if (list.rows === undefined || (list.pageNumber === 1 && !list.next && !list.isFetching)) return null
  return (
    <nav aria-label={t.pages} className="flex items-center justify-between gap-3 border-t border-line px-5 py-3">
      <span aria-live="polite" className="figures text-sm text-soft">
        {t.page(list.pageNumber)}
      </span>
      <div className="flex gap-2">
        <Button size="small" disabled={!list.previous} onClick={list.previous}>
          {t.previous}
        </Button>
        <Button size="small" disabled={!list.next} onClick={list.next}>
          {t.next}
        </Button>
      </div>
    </nav>
  )
}
