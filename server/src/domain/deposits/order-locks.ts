import { prepared } from '../../db/prepared.ts'
import { hexId } from '../../db/sql-values.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { hasEnded, LOCKED_COLUMNS, type LockedCharge, type StoredCharge } from './charge-reads.ts'

// An order is credited once. Its row of external_ids belongs to its open charge, or to the COMPLETED one. A charge that
// is paid after its end takes the row from the open charge and marks it as order_paid. So it must hold the lock of that
// one.

/** The transaction must begin again, with the locks of these charges too: locks are taken in the order of ids. */
class OrderMoved extends Error {
  readonly open: string[]

  constructor(open: string[]) {
    super('another charge of an order was opened or paid while a late payment of the order was booked')
    this.open = open
  }
}

// Each repetition follows a commit of another transaction about the same order. The second attempt is nearly always the
// last.
const MAX_ATTEMPTS = 5

/** transact() for work that may complete ended charges. `open` is for lockForPayments(). */
export async function transactOrders<Result>(
  core: Core,
  work: (tx: Tx, open: string[]) => Promise<Result>,
): Promise<Result> {
  const open: string[] = []
  for (let attempt = 1; ; attempt++) {
    try {
      return await transact(core.pool, (tx) => work(tx, open))
    } catch (error) {
      if (!(error instanceof OrderMoved) || attempt === MAX_ATTEMPTS) throw error
      open.push(...error.open)
    }
  }
}

const LOCK_CHARGES = prepared(
  `select ${LOCKED_COLUMNS} from charges c where c.id = any($1) order by c.id for no key update`,
)

// A charge that a code made is COMPLETED, so nothing completes it again.
const NOT_MADE = { code: null, made: null }

/**
 * By id. Ids that are no charge's are left out. Orders are read only for ended charges with an external id, which are
 * rare.
 */
export async function lockForPayments(tx: Tx, ids: string[], open: string[]): Promise<Map<string, LockedCharge>> {
  if (ids.length === 0) return new Map()
  const locked = await tx.rows<Omit<LockedCharge, 'takesFrom' | 'made' | 'code'>>(LOCK_CHARGES, [[...ids, ...open]])
  const charges = new Map<string, LockedCharge>(
    locked.map((charge) => [charge.id, { ...charge, ...NOT_MADE, takesFrom: [] }]),
  )
  const late = ids.flatMap((id) => charges.get(id) ?? []).filter(isLateForOrder)
  if (late.length > 0) await readOrders(tx, late, charges)
  return charges
}

function isLateForOrder(charge: LockedCharge): boolean {
  return hasEnded(charge) && charge.externalId !== null && !charge.orderPaid
}

type OrderOf = { id: string; holderId: string | null; otherId: string | null; otherStatus: string | null }

// A later statement than the locks. An ended charge has the row of its order only by a mistake: then it is taken too.
const SELECT_ORDERS = `
  select ${hexId('c.id')} as id, ${hexId('e.charge_id')} as "holderId", ${hexId('o.id')} as "otherId",
    o.status as "otherStatus"
  from charges c
  left join external_ids e on e.account_id = c.account_id and e.external_id = c.external_id
  left join charges o on o.account_id = c.account_id and o.external_id = c.external_id and o.id <> c.id
    and o.status in ('OPENING', 'PENDING', 'COMPLETED')
  where c.id = any($1)`

async function readOrders(tx: Tx, late: LockedCharge[], locked: Map<string, LockedCharge>): Promise<void> {
  const open: string[] = []
  for (const order of await tx.rows<OrderOf>(SELECT_ORDERS, [late.map(({ id }) => id)])) {
    const { id, holderId, otherId, otherStatus } = order
    const charge = locked.get(id)!
    if (otherStatus === 'COMPLETED') charge.orderPaid = true
    else if (otherId !== null && !locked.has(otherId)) open.push(otherId)
    charge.takesFrom.push(...[holderId, otherId].filter((other) => other !== null))
  }
  if (open.length > 0) throw new OrderMoved(open)
}

type Late = Pick<LockedCharge, 'id' | 'status' | 'externalId'>

/** `taken` are the charges that have the rows of their orders now. */
export function requireTaken(completed: Late[], taken: string[]): void {
  const ids = new Set(taken)
  if (completed.some((charge) => hasEnded(charge) && charge.externalId !== null && !ids.has(charge.id)))
    throw new OrderMoved([])
}

/** The link of the charge that paid the order. */
export async function findPaid(tx: Tx, { accountId, externalId }: Pick<StoredCharge, 'accountId' | 'externalId'>) {
  const { paymentLinkId } = await tx.one<{ paymentLinkId: string }>(
    `select payment_link_id as "paymentLinkId" from charges
     where account_id = $1 and external_id = $2 and status = 'COMPLETED' order by id limit 1`,
    [accountId, externalId],
  )
  return paymentLinkId
}
