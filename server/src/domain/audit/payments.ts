import { BrCodeError, decodeBrCode } from '../../base/brcode.ts'
import type { Cents } from '../../base/money.ts'
import { batchesOf } from '../../db/batches.ts'
import type { Tx } from '../../db/tx.ts'
import { FACTS_SQL, type ChargeSeal } from '../core/charge-facts.ts'
import { check, CODES, findWrong, hex, isMadeAt, NOW, SKEW, VERSIONS, type Checks, type Found } from './rules.ts'

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
    'was paid through another provider': 'p.id is null or p.provider = c.provider',
    'its payment has another amount': 'p.id is null or p.amount_cents = coalesce(c.received_cents, c.value_cents)',
    'received another amount than its value, and no operator matched it':
      'c.received_cents is null or m.id is not null',
    'closed_at is not the time at which it was completed or closed': `
      case when c.status = 'COMPLETED' then c.closed_at = ${COMPLETED_AT} or (c.end_seal is not null and c.closed_at < ${COMPLETED_AT}) else (c.closed_at is null) = (c.status in ('OPENING', 'PENDING')) end`,
    'expired before its time': `c.status <> 'EXPIRED' or c.closed_at >= c.expires_at`,
    'has a code, and is still being opened or failed': `c.status not in ('OPENING', 'FAILED') or c.emv is null`,
    'a process is opening it although it is open': `
      c.opening_instance is null or c.status = 'OPENING' or (c.status = 'COMPLETED' and c.emv is null)`,
    'was paid late, and is not paid': `c.status = 'COMPLETED' or not c.paid_late`,
    refunded_cents: ['c.refunded_cents', 'coalesce(r.cents, 0)'],
    'its id was made at another time than created_at': isMadeAt('c.id', 'c.created_at'),
  },
})

// They are erased a day after the end of the charge. The rest allows for a service that was stopped meanwhile.
const NUMBERS_GONE = `interval '3 days'`

// A payment belongs to the charge that its txid names, or that it made by the code that its txid names. If it
// completed none, it is an exception.
const payment = check({
  subject: `'payment ' || p.end_to_end_id`,
  from: `payments p
  left join (${CODES}) k on k.txid = lower(p.txid) and k.provider = p.provider
  left join charges o on o.code_id = k.id and o.end_to_end_id = p.end_to_end_id
  left join charges c on c.id = case when p.txid ~* '^[0-9a-f]{32}$' then p.txid::uuid else o.id end
  left join (
    select payment_id, count(*) as count, max(resolution) as resolution from exceptions
    where kind not in ('foreign_refund', 'undone_refund') group by 1
  ) x on x.payment_id = p.id`,
  rules: {
    'its id was made at another time than recorded_at': isMadeAt('p.id', 'p.recorded_at'),
    charge_id: ['p.charge_id', 'c.id'],
    account_id: ['p.account_id', 'c.account_id'],
    'completed nothing and is no exception, or was credited and is one too': `
      coalesce(x.count, 0) = case when p.credited and x.resolution is distinct from 'match' then 0 else 1 end`,
  },
})

const oneCode = `
  select 'charge ' || min(${hex('id')}) as subject, format('shares its code with %s more, and only one of them can be paid by it', count(*) - 1) as text
  from charges where emv is not null group by hashtextextended(emv, 0) having count(*) > 1`

// What a code allowed stands in the line of the audit log that tells of its version. Under the lock of the code, so
// that a deposit has the version that was in force.
const codeDeposit = check({
  subject: `'charge ' || ${hex('c.id')}`,
  from: `(select * from charges where code_id is not null) c
  left join (${CODES}) k on k.id = c.code_id
  left join payments p on p.charge_id = c.id and p.credited
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  left join (${VERSIONS}) v on v.subject = 'code ' || ${hex('c.code_id')} and v.version = c.code_version
  left join (${VERSIONS}) n on n.subject = v.subject and n.version = v.version + 1`,
  exists: {
    'was made by a code that is not there': 'k.id is not null',
    'was made by a version of its code of which no line of the audit log tells': 'v.subject is not null',
  },
  rules: {
    'the txid of its payment': ['lower(p.txid)', 'k.txid'],
    'the account of its code': ['c.account_id', 'k.account_id'],
    'the provider of its code': ['c.provider', 'k.provider'],
    'its code was closed': 'v."isOpen"',
    'its value is outside the limits of its code': `
      c.value_cents between coalesce(v."minValueCents", 0) and coalesce(v."maxValueCents", c.value_cents)`,
    'was made by a version of its code that was not in force': `
      v.at <= ${COMPLETED_AT} + ${SKEW} and coalesce(n.at, 'infinity') >= ${COMPLETED_AT} - ${SKEW}`,
    'was made at another time than its payment was booked': `c.created_at = ${COMPLETED_AT}`,
  },
})

// Each payment of a charge that names its payer, with what was answered, decided and is still asked. A number that is
// kept is that of somebody whom a bank may still be asked about.
const payer = check({
  subject: `'charge ' || ${hex('coalesce(c.id, a.charge_id, n.charge_id)')}`,
  from: `(select * from charges where payer is not null) c
  left join payments p on p.charge_id = c.id
  full join payer_answers a on a.end_to_end_id = p.end_to_end_id and a.charge_id = c.id
  full join payer_numbers n on n.charge_id = c.id
  left join exceptions x on x.payment_id = p.id and x.refund_id is null
  left join checks k on k.provider = p.provider and k.subject = 'payer ' || p.end_to_end_id
  left join events e on e.kind = 'DEPOSIT_PAYER_CHECKED' and e.account_id = c.account_id
    and e.subject_id = left(encode(sha256(convert_to(a.end_to_end_id, 'UTF8')), 'hex'), 32)::uuid`,
  exists: {
    'has an answer or a number of a payer, and names none': 'c.id is not null',
  },
  rules: {
    'the account of its payer': ['coalesce(n.account_id, c.account_id)', 'c.account_id'],
    'was credited, and nobody confirmed who paid': `
      not coalesce(p.credited, false) or c.payer::json ->> 'policy' <> 'require' or coalesce(a.answer = 'matched', false)
      or (a.answer is null and coalesce(x.resolution = 'match' and x.resolved_by_kind <> 'system', false))`,
    'was paid by another person, and goes not back to the payer': `
      a.answer is distinct from 'mismatched' or x.kind is distinct from 'payer_unconfirmed'
      or x.resolved_by_kind is distinct from 'system' or x.resolution = 'refund'`,
    'its payer was checked, and there is no event': 'a.end_to_end_id is null or e.id is not null',
    'has a payment whose payer nobody asks about': `
      p.id is null or n.charge_id is null or a.end_to_end_id is not null or k.subject is not null or x.resolution is not null
      or (not p.credited and x.kind is distinct from 'payer_unconfirmed')`,
    'keeps the number of its payer without need': `
      n.charge_id is null or k.subject is not null or c.closed_at is null or c.closed_at > ${NOW} - ${NUMBERS_GONE}`,
  },
})

export const PAYMENT_CHECKS: Checks = { charge, payment, one_code: oneCode, code_deposit: codeDeposit, payer }

// ---- Ids and codes, which SQL cannot check ----

type CodeRow = { id: string; facts: string; emv: string | null; value: Cents }

const CHARGE_CODES = `select 'charge ' || ${hex('c.id')} as id, ${FACTS_SQL} as facts, c.emv, c.value_cents as value from charges c`

/** Checks that each charge's id fits its facts, and that a bank can read its code. */
export function checkCodes(tx: Tx, seal: ChargeSeal, limit: number): Promise<Found[]> {
  return findWrong(batchesOf<CodeRow>(tx, CHARGE_CODES), limit, ({ id, facts, emv, value }) => {
    if (seal.fits(id.replace('charge ', ''), facts)) return emv === null ? undefined : wrongCode(emv, value)
    return 'its id does not fit its account, value, fee, external id, description, link or expiry: one of them was altered'
  })
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
