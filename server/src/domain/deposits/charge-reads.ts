import { Fault } from '../../base/fault.ts'
import { isUuid } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { columnOf, hexId, isoTime } from '../../db/sql-values.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { queryOne, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { requireCode, withGenuineCodes } from './charge-codes.ts'
import { byOwnField, type OwnFields } from '../core/charge-facts.ts'
import { PAYER_MATCH, type PayerMatch } from '../core/payers.ts'
import { CODE_OF_CHARGE } from '../webhooks/event-fields.ts'

export type ChargeStatus = 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'

/** OPENING is an intent that no provider has accepted yet, FAILED one that none did. Both stay internal. */
export type StoredStatus = ChargeStatus | 'OPENING' | 'FAILED'

export type StoredCharge = Required<OwnFields> & {
  id: string // 32 hexadecimal digits, also the provider's txid
  paymentLinkId: string
  accountId: string
  accountName: string
  provider: string
  status: StoredStatus
  /** Empty on a charge that was paid although we never learned its code. */
  emv: string
  /** Null while there is no code, and on charges of a release that did not seal them. */
  codeSeal: Buffer | null
  valueCents: Cents
  originalValueCents: Cents
  feeCents: Cents
  createdAt: Date
  expiresAt: Date
  openingInstance: number | null
  endToEndId: string | null
  paidAt: Date | null
  paidLate: boolean
  /** What the payer paid, if an operator accepted another amount than the value; else null. */
  receivedCents: Cents | null
  refundedCents: Cents
  /** The external id of the code that its payment made it by; else null. */
  code: string | null
  payerMatch: PayerMatch | null
}

export type Charge = Omit<StoredCharge, 'status' | 'openingInstance'> & { status: ChargeStatus }

export function creditedCents(
  charge: Pick<Charge, 'status' | 'receivedCents' | 'valueCents' | 'feeCents'>,
): Cents | null {
  return charge.status === 'COMPLETED' ? paidCents(charge) - charge.feeCents : null
}

export function paidCents(charge: Pick<Charge, 'receivedCents' | 'valueCents'>): Cents {
  return charge.receivedCents ?? charge.valueCents
}

export function isVisible<Row extends Pick<StoredCharge, 'status'>>(
  charge: Row,
): charge is Row & { status: ChargeStatus } {
  return charge.status !== 'OPENING' && charge.status !== 'FAILED'
}

/** It was not paid: it is EXPIRED, CANCELED or FAILED. */
export function hasEnded({ status }: Pick<StoredCharge, 'status'>): boolean {
  return status !== 'OPENING' && status !== 'PENDING' && status !== 'COMPLETED'
}

/** In SQL, the fields of a StoredCharge from `charges c`. */
const CHARGE_FIELDS: Record<keyof StoredCharge, string> = {
  id: hexId('c.id'),
  paymentLinkId: 'c.payment_link_id',
  accountId: 'c.account_id',
  accountName: '(select a.name from accounts a where a.id = c.account_id)',
  provider: 'c.provider',
  status: 'c.status',
  emv: `coalesce(c.emv, '')`,
  codeSeal: 'c.code_seal',
  valueCents: 'c.value_cents',
  originalValueCents: 'c.original_value_cents',
  feeCents: 'c.fee_cents',
  ...byOwnField((name) => `c.${columnOf(name)}`),
  createdAt: 'c.created_at',
  expiresAt: 'c.expires_at',
  openingInstance: 'c.opening_instance',
  endToEndId: 'c.end_to_end_id',
  paidAt: 'c.paid_at',
  paidLate: 'c.paid_late',
  receivedCents: 'c.received_cents',
  refundedCents: 'c.refunded_cents',
  code: CODE_OF_CHARGE,
  payerMatch: PAYER_MATCH,
}

/** Those that their account holder sees; times are ISO 8601 texts. */
export const DEPOSIT_COLUMNS = columnsOf({
  ...omit(CHARGE_FIELDS, ['accountId', 'accountName', 'openingInstance']),
  createdAt: isoTime(CHARGE_FIELDS.createdAt),
  expiresAt: isoTime(CHARGE_FIELDS.expiresAt),
  paidAt: isoTime(CHARGE_FIELDS.paidAt),
})

export const CHARGE_COLUMNS = columnsOf(CHARGE_FIELDS)

/** What a settlement reads of its charges: each further time costs it a date. */
const LOCKED = [
  'id',
  'paymentLinkId',
  'accountId',
  'provider',
  'status',
  'valueCents',
  'originalValueCents',
  'feeCents',
  'externalId',
  'metadata',
  'payer',
  'expiresAt',
] as const

export type MadeByCode = { codeId: string; codeVersion: number; description: string | null }

/** A charge as it was before its payment. */
export type LockedCharge = Pick<StoredCharge, (typeof LOCKED)[number] | 'code'> & {
  /** Another charge of its order is COMPLETED. */
  orderPaid: boolean
  /** Of a charge that the payment makes, and that is in no table yet. */
  made: MadeByCode | null
  /** Charges that lose the row of the order, and the open ones are marked, if this one completes after its end. */
  takesFrom: string[]
}

export const LOCKED_COLUMNS = columnsOf({
  ...Object.fromEntries(LOCKED.map((name) => [name, CHARGE_FIELDS[name]])),
  orderPaid: 'c.order_paid',
})

function columnsOf(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([name, sql]) => `${sql} as "${name}"`)
    .join(', ')
}

function omit(fields: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

const SELECT_CHARGES = `select ${CHARGE_COLUMNS} from charges c`

export async function readCharge(core: Core, chargeId: string): Promise<StoredCharge> {
  const charge = await queryOne<StoredCharge>(core.pool, `${SELECT_CHARGES} where c.id = $1`, [chargeId])
  return (await withGenuineCodes(core, [charge]))[0]!
}

/** Locks are taken in the order of ids. Ids that are no charge's are left out. */
export function lockCharges(tx: Tx, chargeIds: string[]): Promise<StoredCharge[]> {
  return tx.rows(`${SELECT_CHARGES} where c.id = any($1) order by c.id for no key update of c`, [chargeIds])
}

const BY_LINK: SharedRead<StoredCharge> = {
  sql: `${SELECT_CHARGES} where c.payment_link_id = any($1)`,
  keyOf: (charge) => charge.paymentLinkId,
}

/** Whoever has the link may see its payment page and QR code. */
export async function findPublicCharge(core: Core, paymentLinkId: string): Promise<Charge | undefined> {
  const charge = await findByLink(core, paymentLinkId)
  return charge && isVisible(charge) ? requireCode(charge) : undefined
}

/** Null is any account. */
export async function requireCharge(core: Core, accountId: string | null, paymentLinkId: string): Promise<Charge> {
  return ofAccount(accountId, await findByLink(core, paymentLinkId))
}

async function findByLink(core: Core, paymentLinkId: string): Promise<StoredCharge | undefined> {
  const charge = isUuid(paymentLinkId) ? await core.readShared(BY_LINK, paymentLinkId.toLowerCase()) : undefined
  return charge && (await withGenuineCodes(core, [charge]))[0]
}

/** Null is any account. */
export async function requireChargeIn(tx: Tx, accountId: string | null, paymentLinkId: string): Promise<Charge> {
  const [charge] = isUuid(paymentLinkId) ? await tx.rows<StoredCharge>(BY_LINK.sql, [[paymentLinkId]]) : []
  return ofAccount(accountId, charge)
}

/** One statement reads the charges of many callers, so it cannot tell whose each is. */
function ofAccount(accountId: string | null, charge: StoredCharge | undefined): Charge {
  return visible(accountId === null || charge?.accountId === accountId ? charge : undefined)
}

export function visible(charge: StoredCharge | undefined): Charge {
  if (!charge || !isVisible(charge)) throw new Fault('not_found', 'Charge not found')
  return charge
}
