import { get, type Query } from '../base/api.ts'
import { momentsOf } from '../ui/data/periods.ts'
import type { Deposit } from '../contract/types.ts'

/** The filters of the list of deposits, as its URL has them. */
export const DEPOSIT_FILTERS = ['search', 'status', 'accountId', 'period', 'from', 'to'] as const
export type DepositFilters = Partial<Record<(typeof DEPOSIT_FILTERS)[number], string>>

// A row of the list passes its filters on to the page of its deposit, in the history of the browser.
declare module '@tanstack/react-router' {
  interface HistoryState {
    depositFilters?: DepositFilters
  }
}

export function depositQuery({ search, status, accountId, ...period }: DepositFilters): Query {
  return { search, status, accountId, ...momentsOf(period) }
}

type Place = Pick<Deposit, 'id' | 'createdAt'>
type Row = Place & Pick<Deposit, 'paymentLinkId'>
type Page = { deposits: readonly Row[]; nextCursor: string | null }
/** Reads a page of a list, newest first. */
export type ReadPage = (query: Query) => Promise<Page>

/** The deposits beside this one in a list with these filters, whether it has this one or not. */
export async function readNeighbours(path: string, filters: DepositFilters, deposit: Place, signal: AbortSignal) {
  const query = depositQuery(filters)
  const read: ReadPage = (more) => get<Page>(path, { ...query, ...more }, { signal })
  const { from, to } = query
  const [older, newer] = await Promise.all([
    read({ cursor: deposit.id, limit: 1 }),
    findNewer(read, deposit, { from: textOf(from), to: textOf(to) }),
  ])
  return { newer, older: older.deposits[0] }
}

function textOf(value: Query[string]): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The limit of the API. */
const PAGE = 100
// An id is drawn before the deposit is stored, which takes less than this.
const ID_BEFORE_CREATION_MS = 60_000
/** Each round looks at a smaller part of what may hold it. */
const SHRINKS_TO = 16
// From ten years to a millisecond, by sixteenths and then by halves.
const MAX_ROUNDS = 64

/**
 * The next newer deposit. The API's cursors only lead to older ones, so this looks for a period that begins with the
 * deposit and has few enough others to fit on a page, of which the oldest is the next. Most often all newer ones fit.
 */
export async function findNewer(
  read: ReadPage,
  { id, createdAt }: Place,
  bounds: { from?: string | undefined; to?: string | undefined },
): Promise<Row | undefined> {
  const startMs = Math.max(Date.parse(createdAt) - ID_BEFORE_CREATION_MS, Date.parse(bounds.from ?? '1970-01-01'))
  const from = new Date(startMs).toISOString()
  let [emptyMs, fullMs] = [startMs, bounds.to === undefined ? Date.now() : Date.parse(bounds.to)]
  let to = bounds.to
  let crowd: Row | undefined
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { deposits, nextCursor } = await read({ from, to, limit: PAGE })
    const newer = deposits.filter((other) => other.id > id)
    const isWhole = nextCursor === null || newer.length < deposits.length
    const middleMs = to === undefined ? fullMs : Date.parse(to)
    if (isWhole && (newer.length > 0 || to === bounds.to)) return newer.at(-1)
    if (isWhole) emptyMs = middleMs
    else [fullMs, crowd] = [middleMs, newer.at(-1)]
    // So many in one millisecond have no order that a reader could miss.
    if (fullMs - emptyMs <= 1) return crowd
    to = new Date(emptyMs + Math.ceil((fullMs - emptyMs) / (emptyMs === startMs ? SHRINKS_TO : 2))).toISOString()
  }
  return crowd
}
