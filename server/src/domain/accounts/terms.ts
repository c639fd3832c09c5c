import { Fault, invalidField } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { columnOf } from '../../db/sql-values.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { checkReason, differenceOf, writeAudit, type Actor } from '../core/audit-log.ts'
import { readAccountRow } from './accounts.ts'
import type { Core } from '../core/core.ts'
import {
  TERM_NAMES,
  termField,
  TERMS,
  termsFor,
  termSchema,
  type Terms,
  type TermsOverrides,
  priceDeposit,
} from '../core/terms.ts'

export type AccountTerms = {
  overrides: TermsOverrides
  effective: Terms
  history: PastTerms[]
}

export type PastTerms = { validFrom: Date; overrides: TermsOverrides; setBy: string; reason: string }

/** Only the fields given change; null returns to the deployment's default. */
export type TermsPatch = Partial<TermsOverrides>

// Terms are negotiated a few times a year; the audit log has the rest.
const MAX_HISTORY = 100

const AS_JSON = `jsonb_build_object(${TERM_NAMES.map((name) => `'${name}', t.${columnOf(name)}`).join(', ')})`

const NO_TERMS = `'${JSON.stringify(Object.fromEntries(TERM_NAMES.map((name) => [name, null])))}'::jsonb`

/** In SQL, the overrides that a row of account_terms has, or those that an account has now. */
export function overridesColumn(table: 'a' | 't'): string {
  if (table === 't') return AS_JSON
  const newest = `select ${AS_JSON} from account_terms t where t.account_id = a.id order by t.id desc limit 1`
  return `coalesce((${newest}), ${NO_TERMS})`
}

export function readAccountTerms(core: Core, accountId: string): Promise<AccountTerms> {
  return transact(core.pool, async (tx) => {
    const overrides = await readOverrides(tx, accountId)
    const history = await tx.rows<PastTerms>(
      `select t.valid_from as "validFrom", ${overridesColumn('t')} as overrides,
         t.set_by_kind || ' ' || t.set_by as "setBy", t.reason
       from account_terms t where t.account_id = $1 order by t.id desc limit $2`,
      [accountId, MAX_HISTORY],
    )
    return { overrides, effective: termsFor(core.settings.terms, overrides), history }
  })
}

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
    // The lock makes concurrent changes take turns. A later statement sees the terms that the one before it left.
    await readAccountRow(tx, accountId, 'a.id', 'for no key update')
    const before = await readOverrides(tx, accountId)
    const after = { ...before, ...patch }
    const details = differenceOf(before, after)
    if (!details) return
    checkTogether(core.settings.terms, after)
    const id = await writeTerms(tx, now, actor, { accountId, terms: after, reason: checked })
    const change = { subject: `account ${accountId}`, accountId, reason: checked, details }
    await writeAudit(tx, now, actor, { action: 'account.terms_changed', ...change, rows: [['terms', id]] })
  })
  return readAccountTerms(core, accountId)
}

async function readOverrides(tx: Tx, accountId: string): Promise<TermsOverrides> {
  const columns = `${overridesColumn('a')} as overrides`
  return (await readAccountRow<{ overrides: TermsOverrides }>(tx, accountId, columns)).overrides
}

async function writeTerms(
  tx: Tx,
  now: Date,
  actor: Actor,
  { accountId, terms, reason }: { accountId: string; terms: TermsOverrides; reason: string },
): Promise<string> {
  // Two servers' clocks may differ by a moment, and the history must not run backwards.
  const { validFrom } = await tx.one<{ validFrom: Date }>(
    'select greatest($2, max(valid_from)) as "validFrom" from account_terms where account_id = $1',
    [accountId, now],
  )
  const row = {
    account_id: accountId,
    valid_from: validFrom,
    set_by_kind: actor.kind,
    set_by: actor.name,
    reason,
    ...Object.fromEntries(TERM_NAMES.map((name) => [columnOf(name), terms[name]])),
  }
  const [made] = await insertRow<{ id: string }>(tx, 'account_terms', row, 'returning id::text')
  return made!.id
}

function checkRanges(patch: TermsPatch): void {
  for (const name of TERM_NAMES) {
    const { error } = termSchema(name).nullish().safeParse(patch[name])
    if (error) throw invalidField(termField(name), error.issues[0]!.message)
  }
}

/** Includes the deployment's defaults: an account's own minimum fee may be above the deployment's maximum. */
function checkTogether(deployment: Terms, overrides: TermsOverrides): void {
  const terms = termsFor(deployment, overrides)
  const named = (key: 'feeMinCents' | 'feeMaxCents' | 'valueMinCents' | 'valueMaxCents') =>
    `${TERMS[key].words} (${terms[key]}${overrides[key] === null ? ', the deployment’s' : ''})`
  if (terms.feeMinCents !== null && terms.feeMaxCents !== null && terms.feeMinCents > terms.feeMaxCents)
    throw new Fault('terms_invalid', `The ${named('feeMinCents')} must not be above the ${named('feeMaxCents')}`)
  if (terms.valueMinCents > terms.valueMaxCents)
    throw new Fault('terms_invalid', `The ${named('valueMinCents')} must not be above the ${named('valueMaxCents')}`)
  // Both the value after the fee and the payer's total grow with the value: if neither the minimum nor the maximum can
  // be deposited, nothing between them can.
  if (![terms.valueMinCents, terms.valueMaxCents].some((value) => canBeDeposited(terms, value)))
    throw new Fault('terms_invalid', 'These terms allow no deposit: the fee would take all of it')
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
