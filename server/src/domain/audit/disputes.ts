import { check, hex, isMadeAt, NOW, SKEW, type Checks } from './rules.ts'

// The worker asks about an open dispute every hour, and sends evidence again within minutes.
const DUE_WITHIN = `interval '1 day'`

// A dispute has a row of its own, with a seal. Its transfers and events have their checks.
const dispute = check({
  subject: `'dispute ' || ${hex('d.id')}`,
  prefix: `format('(of %s cents, %s) ', d.amount_cents, d.status)`,
  from: `disputes d
  left join payments p on p.id = d.payment_id
  left join charges c on c.id = d.charge_id
  left join dispute_checks k on k.provider = p.provider and k.end_to_end_id = p.end_to_end_id`,
  rules: {
    'its id was made at another time than recorded_at': isMadeAt('d.id', 'd.recorded_at'),
    'is about a payment at another provider, or about more than it brought': `
      d.provider = p.provider and d.amount_cents <= p.amount_cents`,
    'names a charge that its payment did not complete, or another account than it has': `
      d.charge_id is null or (p.credited and d.charge_id = p.charge_id and d.account_id = c.account_id)`,
    'began in the future, or ended before it was known': `
      d.opened_at <= d.recorded_at and d.ended_at >= d.recorded_at - ${SKEW} or d.ended_at is null`,
    'is open, and is not asked about': `d.status <> 'OPEN' or k.due_at <= ${NOW} + ${DUE_WITHIN}`,
  },
})

// Its bytes are checked against what was given while they are there.
const evidence = check({
  subject: `'evidence ' || ${hex('e.id')}`,
  from: 'dispute_evidence e left join disputes d on d.id = e.dispute_id',
  rules: {
    'its id was made at another time than given_at': isMadeAt('e.id', 'e.given_at'),
    'was given before the dispute was known, or after it had ended': `
      e.given_at >= d.recorded_at - ${SKEW} and e.given_at <= coalesce(d.ended_at, e.given_at) + ${SKEW}`,
    'is not the file that was given': `
      e.content is null or (sha256(e.content) = e.sha256 and length(e.content) = e.file_bytes)`,
    'is not sent again soon': `e.due_at <= ${NOW} + ${DUE_WITHIN} or e.due_at is null`,
  },
})

export const DISPUTE_CHECKS: Checks = { dispute, evidence }
