import { useEffect, useRef, useState } from 'react'
import { translations } from '../../base/language.ts'
import type { CursorList, List } from '../../base/queries.ts'
import { Button } from '../button.tsx'
import { ArrowLeftIcon } from '../icons.tsx'

// New rows of a list that follows the account. At the top of the first page they just appear. While somebody reads
// further down, on a later page or with a filter, they would push away what is being read, so a button offers them.

const useTexts = translations({
  waiting: (count: number, text: string) => [
    count === 1 ? '1 novo item' : `${text} novos itens`,
    count === 1 ? '1 new item' : `${text} new items`,
  ],
})

/** How long rows that just appeared are marked. */
const MARKED_MS = 3_000
const NONE: ReadonlySet<string> = new Set()

type Steady<Row> = {
  /** The list that this was made of. */
  of: CursorList<Row> | undefined
  shown: readonly Row[] | undefined
  /** Keys of the first page, as the reader has seen it. */
  known: ReadonlySet<string>
  /** The list and its page when it was last complete. */
  name: string | undefined
  page: number
  waiting: number
  marked: ReadonlySet<string>
}

type Keyed<Row> = { keyOf: (row: Row) => string; isReading: boolean }

/** The rows to show, which of them to mark, and the button for those that wait. */
export function useSteadyRows<Row>(list: List<Row> | CursorList<Row>, keyOf: (row: Row) => string) {
  const paged = 'pageNumber' in list ? list : undefined
  const [state, setState] = useState<Steady<Row>>(() => ({ ...EMPTY, of: undefined, shown: undefined }))
  const top = useRef<HTMLDivElement>(null)
  let now = state
  if (paged && isNews(state.of, paged)) {
    now = follow(state, paged, { keyOf, isReading: isReading(paged) })
    setState(now)
  }
  const { marked } = now
  useEffect(() => {
    if (marked.size === 0) return
    const timer = setTimeout(() => setState((latest) => ({ ...latest, marked: NONE })), MARKED_MS)
    return () => clearTimeout(timer)
  }, [marked])
  if (!paged) return { rows: list.rows, marked: NONE, button: null }
  const bring = () => {
    if (paged.pageNumber > 1) paged.toFirst()
    else setState(follow(now, paged, { keyOf, isReading: false }))
    scrollTo({ top: 0 })
    // The button is gone, and with it the focus.
    top.current?.focus({ preventScroll: true })
  }
  const isMore = now.waiting === paged.top?.length && paged.next !== undefined
  const button = <NewRows ref={top} count={now.waiting} isMore={isMore} onBring={bring} />
  return { rows: now.shown, marked, button }
}

const EMPTY = { known: NONE, name: undefined, page: 1, waiting: 0, marked: NONE }

function isNews<Row>(of: CursorList<Row> | undefined, { rows, top, name, pageNumber, isStale }: CursorList<Row>) {
  if (!of) return true
  return (
    of.rows !== rows || of.top !== top || of.name !== name || of.pageNumber !== pageNumber || of.isStale !== isStale
  )
}

function isReading({ isFiltered }: { isFiltered: boolean }): boolean {
  return isFiltered || scrollY > 0 || Boolean(document.activeElement?.closest('tbody'))
}

function follow<Row>(before: Steady<Row>, of: CursorList<Row>, { keyOf, isReading: holds }: Keyed<Row>): Steady<Row> {
  const { rows, top, name, pageNumber: page, isStale } = of
  // What is shown until the right page is there.
  if (isStale || !rows || !top) return { ...before, of, shown: rows, waiting: 0 }
  const keys = top.map(keyOf)
  const known: ReadonlySet<string> = page === 1 ? new Set(keys) : before.known
  const now = { of, name, page, shown: rows, waiting: 0, marked: NONE }
  if (name !== before.name) return { ...now, known: new Set(keys) }
  // The list is newest first, so what is new comes before all that is known.
  const firstKnown = keys.findIndex((key) => before.known.has(key))
  const added = firstKnown < 0 ? keys : keys.slice(0, firstKnown)
  if (added.length === 0) return { ...now, known, marked: before.marked }
  if (page > 1) return { ...now, known, waiting: added.length }
  // Whoever comes back to the first page, or waits for the first row, wants to see it.
  if (before.page > 1 || before.known.size === 0 || !holds) return { ...now, known, marked: new Set(added) }
  const fresh = new Map(rows.map((row) => [keyOf(row), row]))
  const shown = before.shown?.map((row) => fresh.get(keyOf(row)) ?? row)
  return { ...now, known: before.known, shown, waiting: added.length, marked: before.marked }
}

type NewRowsProps = { ref: React.Ref<HTMLDivElement>; count: number; isMore: boolean; onBring: () => void }

/** Takes no room, so that it pushes nothing. It is on the upper edge of the list, or of the screen when scrolled. */
function NewRows({ ref, count, isMore, onBring }: NewRowsProps) {
  const t = useTexts()
  return (
    <div
      ref={ref}
      tabIndex={-1}
      aria-live="polite"
      className="sticky top-8 z-20 flex h-0 justify-center outline-none print:hidden"
    >
      {count > 0 && (
        <Button kind="primary" className="-translate-y-1/2 rounded-full! shadow-float" onClick={onBring}>
          <ArrowLeftIcon className="size-4 rotate-90" />
          {t.waiting(count, isMore ? `${count}+` : String(count))}
        </Button>
      )}
    </div>
  )
}
