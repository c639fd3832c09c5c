import { BrCodeError, decodeBrCode } from '../../base/brcode.ts'
import type { Cents } from '../../base/money.ts'
import { batchesOf } from '../../db/batches.ts'
import type { Tx } from '../../db/tx.ts'
import { FACTS_SQL, type ChargeSeal } from '../core/charge-facts.ts'
import { BANK_SKEW, bornAt, check, hex, SKEW, type Checks, type Found } from './rules.ts'

// What a charge received: its value, unless an operator matched it with a payment of another amount.
const RECEIVED = 'coalesce(c.received_cents, c.value_cents)'
// When the payment completed the charge: when it was recorded, or when its exception was matched.
const COMPLETED_AT = 'coalesce(m.resolved_at, p.recorded_at)'

const charge = check({
  subject: `'charge ' || ${hex('coalesce(c.id, p.charge_id)')}`,
  prefix: `format('(%s, value %s, fee %s) ', coalesce(c.status, 'gone'), c.value_cents, c.fee_cents)`,
  from: `charges c
  full join (select * from payments where credited) p on p.charge_id = c.id
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  left join (
    select r.charge_id, sum(r.amount_cents) as cents
    from refunds r left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
    where r.status = 'DONE' and u.id is null group by 1
  ) r on r.charge_id = c.id`,
  exists: {
    'is not there, but a payment was credited to it': 'c.id is not null',
    'is COMPLETED without a credited payment, or has one and is not': `(c.status = 'COMPLETED') = (p.id is not null)`,
  },
  rules: {
    end_to_end_id: ['c.end_to_end_id', 'p.end_to_end_id'],
    paid_at: ['c.paid_at', 'p.occurred_at'],
    'is of an account that is not there': 'exists (select from accounts a where a.id = c.account_id)',
    'was paid through another provider': 'p.id is null or p.provider = c.provider',
    'its payment names another txid': `p.id is null or lower(p.txid) = ${hex('c.id')}`,
    'its payment has another amount': `p.id is null or p.amount_cents = ${RECEIVED}`,
    received_cents: [
      'c.received_cents',
      'case when m.id is not null and p.amount_cents <> c.value_cents then p.amount_cents end',
    ],
    'was paid before it was made': `p.id is null or p.occurred_at >= c.created_at - ${BANK_SKEW}`,
    'closed_at is not the time at which it was completed or closed': `
      case when c.status = 'COMPLETED' then c.closed_at = ${COMPLETED_AT} or (c.end_seal is not null and c.closed_at < ${COMPLETED_AT}) else (c.closed_at is null) = (c.status in ('OPENING', 'PENDING')) end`,
    'expired before its time': `c.status <> 'EXPIRED' or c.closed_at >= c.expires_at`,
    'was closed before it was made': `c.closed_at >= c.created_at - ${SKEW} or c.closed_at is null`,
    'has a code in a state that has none, or none in a state that has one': `
      case when c.status in ('OPENING', 'FAILED') then c.emv is null when c.status = 'COMPLETED' then true else c.emv is not null end`,
    'a process is opening it although it is open': `
      c.opening_instance is null or c.status = 'OPENING' or (c.status = 'COMPLETED' and c.emv is null)`,
    'was paid late, and is not paid': `c.status = 'COMPLETED' or not c.paid_late`,
    refunded_cents: ['c.refunded_cents', 'coalesce(r.cents, 0)'],
    'expires before it was made': 'c.expires_at > c.created_at',
    ...bornAt('c.id', 'c.created_at'),
  },
})

// A payment belongs to the charge that its txid names. If it completed none, it is an exception.
const payment = check({
  subject: `'payment ' || p.end_to_end_id`,
  from: `payments p
  left join charges c on c.id = case when p.txid ~* '^[0-9a-f]{32}$' then p.txid::uuid end
  left join (
    select payment_id, count(*) as count, max(resolution) as resolution from exceptions
    where kind not in ('foreign_refund', 'undone_refund') group by 1
  ) x on x.payment_id = p.id`,
  rules: {
    ...bornAt('p.id', 'p.recorded_at'),
    charge_id: ['p.charge_id', 'c.id'],
    account_id: ['p.account_id', 'c.account_id'],
    'completed nothing and is no exception, or was credited and is one too': `
      coalesce(x.count, 0) = case when p.credited and x.resolution is distinct from 'match' then 0 else 1 end`,
  },
})

const oneProvider = `
  select 'payment ' || end_to_end_id as subject, format('stands in the books %s times, of %s', count(*), string_agg(provider, ', ' order by provider)) as text
  from payments group by end_to_end_id having count(*) > 1`

const oneCode = `
  select 'charge ' || min(${hex('id')}) as subject, format('shares its code with %s more, and only one of them can be paid by it', count(*) - 1) as text
  from charges where emv is not null group by hashtextextended(emv, 0) having count(*) > 1`

export const PAYMENT_CHECKS: Checks = { charge, payment, one_provider: oneProvider, one_code: oneCode }

// ---- Ids and codes, which SQL cannot check ----

type CodeRow = { id: string; facts: string; emv: string | null; value: Cents }

/** Checks that each charge's id fits its facts, and that a bank can read its code. Names up to about `limit`. */
export async function checkCodes(tx: Tx, seal: ChargeSeal, limit: number): Promise<Found[]> {
  const differences: Found[] = []
  const seals = { fitting: 0, unfitting: [] as string[] }
  const see = (row: CodeRow) => {
    const wrong = row.emv === null ? undefined : wrongCode(row.emv, row.value)
    if (wrong !== undefined) differences.push({ subject: `charge ${row.id}`, text: wrong })
    if (seal.fits(row.id, row.facts)) seals.fitting++
    else if (seals.unfitting.push(row.id) > limit) seals.unfitting.pop()
  }
  const rows = `select ${hex('c.id')} as id, ${FACTS_SQL} as facts, c.emv, c.value_cents as value from charges c`
  for await (const batch of batchesOf<CodeRow>(tx, rows)) {
    batch.forEach(see)
    if (differences.length >= limit) break
  }
  return [...differences, ...unsealed(seals)]
}

function unsealed({ fitting, unfitting }: { fitting: number; unfitting: string[] }): Found[] {
  // One line if the command has another key than the service, instead of one for each charge.
  if (fitting === 0 && unfitting.length > 1) {
    const hint = `is SECRET_KEY the service's own, with those that it replaced?`
    const text = `${unfitting.length} or more have ids that do not fit, and none has one that does: ${hint}`
    return [{ subject: 'charges', text }]
  }
  const text =
    'its id does not fit its account, value, fee, external id, description, link or expiry: one of them was altered'
  return unfitting.map((id) => ({ subject: `charge ${id}`, text }))
}

function wrongCode(emv: string, valueCents: Cents): string | undefined {
  try {
    const { amountCents } = decodeBrCode(emv)
    if (amountCents === undefined || amountCents === valueCents) return undefined
    return `its code is for ${amountCents} cents, and its value is ${valueCents}`
  } catch (error) {
    if (!(error instanceof BrCodeError)) throw error
    return `its code cannot be read: ${error.message}`
  }
}
