import { Fault } from '../../base/fault.ts'
import { isUuid } from '../../base/ids.ts'
import { MAX_CENTS, type Cents } from '../../base/money.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { checkReason, differenceOf, writeAudit, type Actor } from '../core/audit-log.ts'
import { priceDeposit, termsFor, type TermsOverrides } from './pricing.ts'
import type { Terms } from '../core/settings.ts'
import type { Core } from '../core/core.ts'

export type AccountTerms = {
  /** What the account has of its own; null: as the deployment says. */
  overrides: TermsOverrides
  /** What a deposit is priced by now. */
  effective: Terms
  /** Newest first; empty for an account that never had terms of its own. */
  history: PastTerms[]
}

export type PastTerms = { validFrom: Date; overrides: TermsOverrides; setBy: string; reason: string }

/** Only what is named changes; null takes the account's own away. */
export type TermsPatch = Partial<TermsOverrides>

// Terms are negotiated a few times a year; whoever wants more than this asks the audit log.
const MAX_HISTORY = 100

/** The overrides of a row of accounts or account_terms, as JSON. */
export function overridesColumn(table: 'a' | 't'): string {
  return `jsonb_build_object('feeBps', ${table}.fee_bps, 'feeFixedCents', ${table}.fee_fixed_cents,
    'feeMinCents', ${table}.fee_min_cents, 'feeMaxCents', ${table}.fee_max_cents, 'feeBearer', ${table}.fee_bearer,
    'valueMinCents', ${table}.value_min_cents, 'valueMaxCents', ${table}.value_max_cents)`
}

export async function readAccountTerms(core: Core, accountId: string): Promise<AccountTerms> {
  const [account] = isUuid(accountId)
    ? await query<{ overrides: TermsOverrides }>(
        core.pool,
        `select ${overridesColumn('a')} as overrides from accounts a where a.id = $1`,
        [accountId],
      )
    : []
  if (!account) throw unknownAccount()
  const history = await query<PastTerms>(
    core.pool,
    `select t.valid_from as "validFrom", ${overridesColumn('t')} as overrides, t.set_by_kind || ' ' || t.set_by as "setBy", t.reason
     from account_terms t where t.account_id = $1 order by t.id desc limit $2`,
    [accountId, MAX_HISTORY],
  )
  return { overrides: account.overrides, effective: termsFor(core.settings.terms, account.overrides), history }
}

/** From now on, and within two seconds everywhere: terms travel with the key. Charges keep the terms that they were made with. */
export async function setAccountTerms(
  core: Core,
  actor: Actor,
  accountId: string,
  patch: TermsPatch,
  reason: string,
): Promise<AccountTerms> {
  const why = checkReason(reason)
  checkRanges(patch)
  if (!isUuid(accountId)) throw unknownAccount()
  const now = core.now()
  await transact(core.pool, async (tx) => {
    const before = await lockOverrides(tx, accountId)
    const after = { ...before, ...patch }
    const difference = differenceOf(before, after)
    // Asked for what is so already: nothing happened, and the history says nothing of it.
    if (!difference) return
    checkTogether(core.settings.terms, after)
    await writeTerms(tx, now, actor, { accountId, terms: after, reason: why })
    await writeAudit(tx, now, actor, {
      action: 'account.terms_changed',
      subject: `account ${accountId}`,
      accountId,
      reason: why,
      details: difference,
    })
  })
  return readAccountTerms(core, accountId)
}

export function unknownAccount(): Fault {
  return new Fault('not_found', 'Account not found')
}

// The account's row serialises those who set terms at the same moment, so that each sees what the one before left.
async function lockOverrides(tx: Tx, accountId: string): Promise<TermsOverrides> {
  const [row] = await tx.rows<{ overrides: TermsOverrides }>(
    `select ${overridesColumn('a')} as overrides from accounts a where a.id = $1 for no key update`,
    [accountId],
  )
  if (!row) throw unknownAccount()
  return row.overrides
}

async function writeTerms(
  tx: Tx,
  now: Date,
  actor: Actor,
  { accountId, terms, reason }: { accountId: string; terms: TermsOverrides; reason: string },
): Promise<void> {
  const values = [
    accountId,
    terms.feeBps,
    terms.feeFixedCents,
    terms.feeMinCents,
    terms.feeMaxCents,
    terms.feeBearer,
    terms.valueMinCents,
    terms.valueMaxCents,
  ]
  await tx.run(
    `update accounts set fee_bps = $2, fee_fixed_cents = $3, fee_min_cents = $4, fee_max_cents = $5, fee_bearer = $6,
       value_min_cents = $7, value_max_cents = $8 where id = $1`,
    values,
  )
  // Two servers' clocks may differ by a moment; the history must not run backwards for it.
  await tx.run(
    `insert into account_terms (account_id, fee_bps, fee_fixed_cents, fee_min_cents, fee_max_cents, fee_bearer, value_min_cents,
       value_max_cents, valid_from, set_by_kind, set_by, reason)
     values ($1, $2, $3, $4, $5, $6, $7, $8,
       greatest($9, (select max(valid_from) from account_terms where account_id = $1)), $10, $11, $12)`,
    [...values, now, actor.kind, actor.name, reason],
  )
}

// ---- What cannot be ----

const RANGES: { [Key in Exclude<keyof Terms, 'feeBearer'>]: { words: string; min: number; max: number } } = {
  feeBps: { words: 'the fee in basis points', min: 0, max: 10_000 },
  feeFixedCents: { words: 'the fixed fee', min: 0, max: MAX_CENTS },
  feeMinCents: { words: 'the least fee', min: 0, max: MAX_CENTS },
  feeMaxCents: { words: 'the greatest fee', min: 0, max: MAX_CENTS },
  valueMinCents: { words: 'the least value', min: 1, max: MAX_CENTS },
  valueMaxCents: { words: 'the greatest value', min: 1, max: MAX_CENTS },
}

function checkRanges(patch: TermsPatch): void {
  for (const key of Object.keys(RANGES) as (keyof typeof RANGES)[]) {
    const [value, { words, min, max }] = [patch[key] ?? null, RANGES[key]]
    if (value !== null && (!Number.isSafeInteger(value) || value < min || value > max))
      throw new Fault('field_invalid', `${words} must be a whole number from ${min} to ${max}`, {
        details: { field: key },
      })
  }
  const bearer = patch.feeBearer ?? null
  if (bearer !== null && bearer !== 'account' && bearer !== 'payer')
    throw new Fault('field_invalid', 'feeBearer must be "account" or "payer"', { details: { field: 'feeBearer' } })
}

/** With the deployment's in place of what the account has not: a least fee alone can be above the deployment's greatest. */
function checkTogether(deployment: Terms, overrides: TermsOverrides): void {
  const terms = termsFor(deployment, overrides)
  const named = (key: 'feeMinCents' | 'feeMaxCents' | 'valueMinCents' | 'valueMaxCents') =>
    `${RANGES[key].words} (${terms[key]}${overrides[key] === null ? ', the deployment’s' : ''})`
  if (terms.feeMinCents !== null && terms.feeMaxCents !== null && terms.feeMinCents > terms.feeMaxCents)
    throw new Fault('terms_invalid', `${named('feeMinCents')} must not be above ${named('feeMaxCents')}`)
  if (terms.valueMinCents > terms.valueMaxCents)
    throw new Fault('terms_invalid', `${named('valueMinCents')} must not be above ${named('valueMaxCents')}`)
  // What is left after the fee grows with the value, and what the payer would pay does too: if neither the greatest nor the least value
  // can be deposited, none between them can.
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
