import { Fault, invalidField } from '../../base/fault.ts'
import { MAX_CENTS, type Cents } from '../../base/money.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { checkReason, differenceOf, writeAudit, type Actor } from '../core/audit-log.ts'
import { readAccountRow } from './accounts.ts'
import { priceDeposit, termsFor, type TermsOverrides } from './pricing.ts'
import type { Terms } from '../core/settings.ts'
import type { Core } from '../core/core.ts'

export type AccountTerms = {
  /** The account's own terms; null: the deployment's default. */
  overrides: TermsOverrides
  /** The terms that price a deposit now. */
  effective: Terms
  /** Newest first; empty for an account that never had own terms. */
  history: PastTerms[]
}

export type PastTerms = { validFrom: Date; overrides: TermsOverrides; setBy: string; reason: string }

/** Only the fields given change; null returns to the deployment's default. */
export type TermsPatch = Partial<TermsOverrides>

// Terms are negotiated a few times a year; the audit log has the rest.
const MAX_HISTORY = 100

/** The overrides of a row of accounts or account_terms, as JSON. */
export function overridesColumn(table: 'a' | 't'): string {
  return `jsonb_build_object('feeBps', ${table}.fee_bps, 'feeFixedCents', ${table}.fee_fixed_cents,
    'feeMinCents', ${table}.fee_min_cents, 'feeMaxCents', ${table}.fee_max_cents, 'feeBearer', ${table}.fee_bearer,
    'valueMinCents', ${table}.value_min_cents, 'valueMaxCents', ${table}.value_max_cents)`
}

export function readAccountTerms(core: Core, accountId: string): Promise<AccountTerms> {
  return transact(core.pool, async (tx) => {
    const { overrides } = await readAccountRow<WithOverrides>(tx, accountId, OVERRIDES)
    const history = await tx.rows<PastTerms>(
      `select t.valid_from as "validFrom", ${overridesColumn('t')} as overrides,
         t.set_by_kind || ' ' || t.set_by as "setBy", t.reason
       from account_terms t where t.account_id = $1 order by t.id desc limit $2`,
      [accountId, MAX_HISTORY],
    )
    return { overrides, effective: termsFor(core.settings.terms, overrides), history }
  })
}

type WithOverrides = { overrides: TermsOverrides }
const OVERRIDES = `${overridesColumn('a')} as overrides`

/** Everywhere within two seconds, because cached keys carry the terms. Existing charges keep theirs. */
export async function setAccountTerms(
  core: Core,
  actor: Actor,
  accountId: string,
  patch: TermsPatch,
  reason: string,
): Promise<AccountTerms> {
  const checked = checkReason(reason)
  checkRanges(patch)
  const now = core.now()
  await transact(core.pool, async (tx) => {
    // The lock makes concurrent changes take turns, so that each starts from the terms before it.
    const row = await readAccountRow<WithOverrides>(tx, accountId, OVERRIDES, 'for no key update')
    const before = row.overrides
    const after = { ...before, ...patch }
    const details = differenceOf(before, after)
    // Nothing changes, so neither history nor audit log gets a row.
    if (!details) return
    checkTogether(core.settings.terms, after)
    await writeTerms(tx, now, actor, { accountId, terms: after, reason: checked })
    const change = { subject: `account ${accountId}`, accountId, reason: checked, details }
    await writeAudit(tx, now, actor, { action: 'account.terms_changed', ...change })
  })
  return readAccountTerms(core, accountId)
}

async function writeTerms(
  tx: Tx,
  now: Date,
  actor: Actor,
  { accountId, terms, reason }: { accountId: string; terms: TermsOverrides; reason: string },
): Promise<void> {
  const columns = {
    fee_bps: terms.feeBps,
    fee_fixed_cents: terms.feeFixedCents,
    fee_min_cents: terms.feeMinCents,
    fee_max_cents: terms.feeMaxCents,
    fee_bearer: terms.feeBearer,
    value_min_cents: terms.valueMinCents,
    value_max_cents: terms.valueMaxCents,
  }
  const names = Object.keys(columns)
  const assignments = names.map((name, index) => `${name} = $${index + 2}`).join(', ')
  await tx.run(`update accounts set ${assignments} where id = $1`, [accountId, ...Object.values(columns)])
  // Two servers' clocks may differ by a moment, and the history must not run backwards.
  await tx.run(
    `insert into account_terms (account_id, valid_from, set_by_kind, set_by, reason, ${names.join(', ')})
     select id, greatest($2, (select max(valid_from) from account_terms where account_id = $1)), $3, $4, $5,
       ${names.join(', ')}
     from accounts where id = $1`,
    [accountId, now, actor.kind, actor.name, reason],
  )
}

// ---- Rules ----

const RANGES: { [Key in Exclude<keyof Terms, 'feeBearer'>]: { words: string; min: number; max: number } } = {
  feeBps: { words: 'the fee in basis points', min: 0, max: 10_000 },
  feeFixedCents: { words: 'the fixed fee', min: 0, max: MAX_CENTS },
  feeMinCents: { words: 'the minimum fee', min: 0, max: MAX_CENTS },
  feeMaxCents: { words: 'the maximum fee', min: 0, max: MAX_CENTS },
  valueMinCents: { words: 'the minimum value', min: 1, max: MAX_CENTS },
  valueMaxCents: { words: 'the maximum value', min: 1, max: MAX_CENTS },
}

function checkRanges(patch: TermsPatch): void {
  for (const key of Object.keys(RANGES) as (keyof typeof RANGES)[]) {
    const [value, { words, min, max }] = [patch[key] ?? null, RANGES[key]]
    if (value !== null && (!Number.isSafeInteger(value) || value < min || value > max))
      throw invalidField(key, `${words} must be a whole number from ${min} to ${max}`)
  }
  const bearer = patch.feeBearer ?? null
  if (bearer !== null && bearer !== 'account' && bearer !== 'payer')
    throw invalidField('feeBearer', 'feeBearer must be "account" or "payer"')
}

/** Includes the deployment's defaults: an account's own minimum fee may be above the deployment's maximum. */
function checkTogether(deployment: Terms, overrides: TermsOverrides): void {
  const terms = termsFor(deployment, overrides)
  const named = (key: 'feeMinCents' | 'feeMaxCents' | 'valueMinCents' | 'valueMaxCents') =>
    `${RANGES[key].words} (${terms[key]}${overrides[key] === null ? ', the deployment’s' : ''})`
  if (terms.feeMinCents !== null && terms.feeMaxCents !== null && terms.feeMinCents > terms.feeMaxCents)
    throw new Fault('terms_invalid', `${named('feeMinCents')} must not be above ${named('feeMaxCents')}`)
  if (terms.valueMinCents > terms.valueMaxCents)
    throw new Fault('terms_invalid', `${named('valueMinCents')} must not be above ${named('valueMaxCents')}`)
  // Both the value after the fee and the payer's total grow with the value: if neither the minimum nor the maximum can
  // be deposited, nothing between them can.
  if (![terms.valueMinCents, terms.valueMaxCents].some((value) => canBeDeposited(terms, value)))
    throw new Fault('terms_invalid', 'these terms allow no deposit: the fee would take all of it')
}

function canBeDeposited(terms: Terms, valueCents: Cents): boolean {
  try {
    priceDeposit(terms, valueCents)
    return true
  } catch (error) {
    if (error instanceof Fault) return false
    throw error
  }
}
