import { Fault, invalidField } from '../../base/fault.ts'
import { parseHexId } from '../../base/ids.ts'
import { isCents, type Cents } from '../../base/money.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { readAccountRow } from '../accounts/accounts.ts'
import { checkReason, type Actor } from '../core/audit-log.ts'
import { dayOf, isDay } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { hashRequest } from '../deposits/intents.ts'
import { endPayout, PAYOUT_COLUMNS, reservePayout, type Payout, type PayoutStatus } from './payout-states.ts'

// An operator works on open payouts one by one, so a longer list is a mistake of a program.
const MAX_REQUESTED = 100

export type PayoutRequest = {
  accountId: string
  valueCents: Cents
  note: string | null
  idempotencyKey: string | null
}

/** A repeated request with the same key answers with the payout as it is now. */
export async function requestPayout(
  core: Core,
  actor: Actor,
  request: PayoutRequest,
): Promise<{ payout: Payout; replayed: boolean }> {
  const { accountId, valueCents, note, idempotencyKey } = request
  if (!isCents(valueCents)) throw invalidField('value', 'value must be a positive integer (cents)')
  const requestHash = hashRequest({ valueCents, note })
  const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, requestHash }
  return transact(core.pool, async (tx) => {
    await lockAccount(tx, accountId)
    const earlier = idempotency && (await findByKey(tx, accountId, actor, idempotency))
    if (earlier) return { payout: earlier, replayed: true }
    await requireRoom(tx, accountId)
    const payout = await reservePayout(tx, core.now(), actor, { accountId, valueCents, note, idempotency })
    return { payout, replayed: false }
  })
}

/** One request of an account after another, and none while its holder is erased. */
async function lockAccount(tx: Tx, accountId: string): Promise<void> {
  const columns = 'a.erased_at as "erasedAt"'
  const { erasedAt } = await readAccountRow<{ erasedAt: Date | null }>(tx, accountId, columns, 'for no key update')
  if (erasedAt) throw new Fault('account_suspended', 'The personal data of this account were erased')
}

async function requireRoom(tx: Tx, accountId: string): Promise<void> {
  const { count } = await tx.one<{ count: number }>(
    `select count(*) from payouts where account_id = $1 and status = 'REQUESTED'`,
    [accountId],
  )
  if (count < MAX_REQUESTED) return
  const text = `An account can have at most ${MAX_REQUESTED} payouts that are REQUESTED`
  throw new Fault('payout_limit', text, { details: { maxPayouts: MAX_REQUESTED } })
}

async function findByKey(
  tx: Tx,
  accountId: string,
  actor: Actor,
  { key, requestHash }: { key: string; requestHash: Buffer },
): Promise<Payout | undefined> {
  const [row] = await tx.rows<Payout & { requestHash: Buffer }>(
    `select o.request_hash as "requestHash", ${PAYOUT_COLUMNS} from payouts o
     where o.account_id = $1 and o.requested_by_kind = $2 and o.idempotency_key = $3`,
    [accountId, actor.kind, key],
  )
  if (!row) return undefined
  const { requestHash: earlierHash, ...payout } = row
  if (!earlierHash.equals(requestHash))
    throw new Fault('idempotency_mismatch', 'Idempotency-Key was already used with a different request')
  return payout
}

export type PayoutFilter = ListFilter & {
  /** Undefined: of all accounts. */
  accountId?: string
  status?: PayoutStatus
}

export async function listPayouts(
  core: Core,
  { accountId, status, from, to, cursor, limit }: PayoutFilter,
): Promise<{ payouts: Payout[]; nextCursor: string | null }> {
  const rows = await query<Payout>(
    core.pool,
    `select ${PAYOUT_COLUMNS} from payouts o
     where o.id < $1
       and ($2::uuid is null or o.account_id = $2)
       and ($3::text is null or o.status = $3)
       and ($4::timestamptz is null or o.requested_at >= $4)
       and ($5::timestamptz is null or o.requested_at < $5)
     order by o.id desc limit $6`,
    [cursorUuid(cursor), accountId, status, from, to, limit + 1],
  )
  const { items: payouts, nextCursor } = page(rows, limit, ({ id }) => id)
  return { payouts, nextCursor }
}

export async function readPayout(core: Core, accountId: string, payoutId: string): Promise<Payout> {
  const sql = `select ${PAYOUT_COLUMNS} from payouts o where o.id = $1 and o.account_id = $2`
  const id = parseHexId(payoutId)
  const [payout] = id ? await query<Payout>(core.pool, sql, [id, accountId]) : []
  if (!payout) throw new Fault('not_found', 'Payout not found')
  return payout
}

/** `paidAt` is a business day, by default today. Repeated with the same reference and day, it changes nothing. */
export function payPayout(
  core: Core,
  actor: Actor,
  payoutId: string,
  { paidAt, ...given }: { reference: string; paidAt?: string | undefined },
): Promise<Payout> {
  const reference = given.reference.trim()
  if (reference === '') throw invalidField('reference', 'reference must not be empty')
  return endRequested(core, payoutId, {
    isRepeated: (payout) => payout.reference === reference && payout.paidAt === (paidAt ?? payout.paidAt),
    end: (tx, now, payout) => {
      const day = requirePayDay(payout, now, paidAt ?? dayOf(now))
      return endPayout(tx, now, actor, payout.id, { status: 'PAID', reference, paidAt: day })
    },
  })
}

/** The money is available again. Repeated with the same reason, it changes nothing. */
export function rejectPayout(core: Core, actor: Actor, payoutId: string, given: string): Promise<Payout> {
  const reason = checkReason(given)
  return endRequested(core, payoutId, {
    isRepeated: (payout) => payout.reason === reason,
    end: (tx, now, payout) => endPayout(tx, now, actor, payout.id, { status: 'REJECTED', reason }),
  })
}

async function endRequested(
  core: Core,
  payoutId: string,
  { isRepeated, end }: { isRepeated(payout: Payout): boolean; end(tx: Tx, now: Date, payout: Payout): Promise<Payout> },
): Promise<Payout> {
  const ended = await transact(core.pool, async (tx) => {
    const payout = await lockPayout(tx, payoutId)
    if (payout.status === 'REQUESTED') return end(tx, core.now(), payout)
    if (isRepeated(payout)) return payout
    throw endedAlready(payout)
  })
  core.wakeDeliveries()
  return ended
}

async function lockPayout(tx: Tx, text: string): Promise<Payout> {
  const id = parseHexId(text)
  const sql = `select ${PAYOUT_COLUMNS} from payouts o where o.id = $1 for no key update`
  const [payout] = id ? await tx.rows<Payout>(sql, [id]) : []
  if (!payout) throw new Fault('not_found', 'Payout not found')
  return payout
}

function requirePayDay({ requestedAt }: Payout, now: Date, day: string): string {
  const [first, last] = [dayOf(requestedAt), dayOf(now)]
  if (isDay(day) && day >= first && day <= last) return day
  const rule = first === last ? first : `a day from ${first} to ${last}`
  throw invalidField('paidAt', `paidAt must be ${rule}: not before the request, and not in the future`)
}

function endedAlready({ status, reference, paidAt, reason }: Payout): Fault {
  const how = status === 'PAID' ? `on ${paidAt} with the reference ${reference}` : `with the reason: ${reason}`
  return new Fault('payout_ended', `Payout is already ${status}, ${how}`, { details: { status } })
}
