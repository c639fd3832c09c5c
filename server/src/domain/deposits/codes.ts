import { Fault, invalidField } from '../../base/fault.ts'
import { codeTxidOf, newSecretUuid7, readCodeTxid } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { hexId } from '../../db/sql-values.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { readAccountRow } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import { writeAudit, type Actor, type AuditAction } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { CODE } from '../core/seals.ts'
import { ProviderError, providerNamed } from '../ports/provider.ts'
import { overloaded } from './admission.ts'
import { requireCode, withGenuineCodes } from './charge-codes.ts'

// Lasting codes. Everyone locks the account first if a code is made or opened, and then the row of the code, as the
// settlement of its payments does. Each change is a version, and the line of the audit log says what it allows.

/** Of an account, that are open. One for each customer of a large shop; a program that makes more has a mistake. */
const MAX_CODES = 100_000

export type CodeLimits = { description: string | null; minValueCents: Cents | null; maxValueCents: Cents | null }

export type Code = CodeLimits & {
  id: string // 32 hexadecimal digits
  accountId: string
  accountName: string
  externalId: string
  provider: string
  txid: string
  /** Empty while its provider has not made it. */
  emv: string
  codeSeal: Buffer | null
  version: number
  createdAt: Date
  closedAt: Date | null
}

const CODE_COLUMNS = `
  ${hexId('k.id')} as id, k.account_id as "accountId", (select name from accounts where id = k.account_id) as "accountName",
  k.external_id as "externalId", k.provider, k.txid, coalesce(k.emv, '') as emv, k.code_seal as "codeSeal", k.version,
  k.description, k.min_value_cents as "minValueCents", k.max_value_cents as "maxValueCents", k.created_at as "createdAt",
  k.closed_at as "closedAt"`

type Wanted = CodeLimits & { accountId: string; externalId: string }

// Each repetition follows a change by another request in between.
const MAX_ATTEMPTS = 3

/**
 * Makes the code, or changes what it allows. A closed one is open again, with the code that payers have. What is there
 * already is not changed, so this is safe to repeat.
 */
export async function ensureCode(ctx: Context, actor: Actor, wanted: Wanted): Promise<{ code: Code; isNew: boolean }> {
  const { minValueCents, maxValueCents } = wanted
  if (minValueCents !== null && maxValueCents !== null && minValueCents > maxValueCents)
    throw invalidField('minValue', 'minValue must not be above maxValue')
  const provider = ctx.providers.find(({ createCode }) => createCode !== undefined)?.name
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const stored = await transact(ctx.pool, (tx) => storeCode(tx, ctx.now(), actor, { ...wanted, provider }))
    if (stored.emv !== '') return { code: await shown(ctx, stored), isNew: false }
    const emv = await askForCode(ctx, stored)
    const made = await transact(ctx.pool, (tx) => finishCode(tx, ctx.now(), actor, { ...stored, ...wanted, emv }))
    if (made) return { code: made, isNew: true }
  }
  throw new Fault('in_flight', 'Other requests change this code at this moment: try again', { retryAfterSeconds: 1 })
}

/** Payments of it are held from now on. It is kept, and ensureCode() opens it again. */
export async function closeCode(core: Core, actor: Actor, accountId: string, externalId: string): Promise<Code> {
  const closed = await transact(core.pool, async (tx) => {
    const code = await lockCode(tx, accountId, externalId)
    if (!code || code.emv === '') throw notFound()
    if (code.closedAt !== null) return code
    return changeCode(tx, core.now(), actor, { code, limits: code, closedAt: core.now() })
  })
  return shown(core, closed)
}

/** Of an account that is suspended, for good. The caller holds the lock of the account. */
export async function closeCodesOf(tx: Tx, now: Date, actor: Actor, accountId: string): Promise<void> {
  const codes = await tx.rows<Code>(
    `select ${CODE_COLUMNS} from codes k where k.account_id = $1 and k.closed_at is null and k.emv is not null
     order by k.id for no key update of k`,
    [accountId],
  )
  for (const code of codes) await changeCode(tx, now, actor, { code, limits: code, closedAt: now })
}

export async function readCode(core: Core, accountId: string, externalId: string): Promise<Code> {
  const [code] = await query<Code>(core.pool, `${SELECT_CODE} and k.emv is not null`, [accountId, externalId])
  if (!code) throw notFound()
  return shown(core, code)
}

/** Whoever sees the code may see its page. */
export async function findPublicCode(core: Core, text: string): Promise<Code | undefined> {
  const sql = `select ${CODE_COLUMNS} from codes k where k.txid = $1 and k.emv is not null`
  const [code] = await query<Code>(core.pool, sql, [readCodeTxid(text)])
  return code && shown(core, code)
}

export type CodeFilter = ListFilter & { status?: 'OPEN' | 'CLOSED' }

export async function listCodes(
  core: Core,
  accountId: string,
  { status, from, to, cursor, limit }: CodeFilter,
): Promise<{ codes: Code[]; nextCursor: string | null }> {
  const rows = await query<Code>(
    core.pool,
    `select ${CODE_COLUMNS} from codes k
     where k.account_id = $1 and k.id < $2 and k.emv is not null
       and ($3::text is null or (k.closed_at is null) = ($3 = 'OPEN'))
       and ($4::timestamptz is null or k.created_at >= $4)
       and ($5::timestamptz is null or k.created_at < $5)
     order by k.id desc limit $6`,
    [accountId, cursorUuid(cursor), status, from, to, limit + 1],
  )
  const { items, nextCursor } = page(rows, limit, ({ id }) => id)
  return { codes: await withGenuineCodes(core, items), nextCursor }
}

// ---- Steps ----

const SELECT_CODE = `select ${CODE_COLUMNS} from codes k where k.account_id = $1 and k.external_id = $2`

async function lockCode(tx: Tx, accountId: string, externalId: string): Promise<Code | undefined> {
  const [code] = await tx.rows<Code>(`${SELECT_CODE} for no key update of k`, [accountId, externalId])
  return code
}

/** The intent, without a code to pay yet, or the code as it is wanted. */
async function storeCode(
  tx: Tx,
  now: Date,
  actor: Actor,
  { provider, ...wanted }: Wanted & { provider: string | undefined },
): Promise<Code> {
  const { accountId, externalId } = wanted
  const columns = 'a.erased_at as "erasedAt"'
  const { erasedAt } = await readAccountRow<{ erasedAt: Date | null }>(tx, accountId, columns, 'for no key update')
  if (erasedAt) throw new Fault('account_suspended', 'The personal data of this account were erased')
  const code = await lockCode(tx, accountId, externalId)
  if (code && (code.emv === '' || (code.closedAt === null && isSame(code, wanted)))) return code
  if (code?.closedAt !== null) await requireRoom(tx, accountId)
  if (code) return changeCode(tx, now, actor, { code, limits: wanted, closedAt: null })
  if (provider === undefined)
    throw new Fault('codes_not_offered', 'No payment provider of this service has lasting codes')
  // It stays with this provider, whose key is in the code, whatever is preferred later.
  return insertCode(tx, now, wanted, provider)
}

function isSame(one: CodeLimits, other: CodeLimits): boolean {
  return (['description', 'minValueCents', 'maxValueCents'] as const).every((name) => one[name] === other[name])
}

async function requireRoom(tx: Tx, accountId: string): Promise<void> {
  const { count } = await tx.one<{ count: number }>(
    'select count(*) from codes where account_id = $1 and closed_at is null',
    [accountId],
  )
  if (count < MAX_CODES) return
  throw new Fault('code_limit', `An account can have at most ${MAX_CODES} open codes`, {
    details: { maxCodes: MAX_CODES },
  })
}

async function insertCode(tx: Tx, now: Date, { accountId, externalId, ...limits }: Wanted, provider: string) {
  const id = newSecretUuid7(now)
  const [code] = await insertRow<Code>(
    tx,
    'codes as k',
    {
      id,
      account_id: accountId,
      external_id: externalId,
      provider,
      txid: codeTxidOf(id),
      version: 1,
      ...columnsOf(limits),
      created_at: now,
      changed_at: now,
    },
    `returning ${CODE_COLUMNS}`,
  )
  return code!
}

function columnsOf({ description, minValueCents, maxValueCents }: CodeLimits) {
  return { description, min_value_cents: minValueCents, max_value_cents: maxValueCents }
}

async function askForCode(ctx: Context, { provider, txid, externalId, accountId }: Code): Promise<string> {
  const bank = providerNamed(ctx, provider)
  try {
    const made = await bank.createCode?.({ txid, name: externalId, onBehalfOf: accountId })
    if (made) return made.emv
    throw new Fault('codes_not_offered', 'The payment provider of this code has no lasting codes')
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    ctx.log.warn({ err: error, provider, txid }, 'provider did not make a lasting code')
    if (error.isOverloaded) throw overloaded(error)
    if (error.outcome === 'refused')
      throw new Fault('provider_refused', 'The payment provider refused the code', { cause: error })
    const text = 'The payment provider did not confirm the code, please try again'
    throw new Fault('provider_unavailable', text, { retryAfterSeconds: 2, cause: error })
  }
}

/** Undefined if another request finished it. */
async function finishCode(tx: Tx, now: Date, actor: Actor, made: Code): Promise<Code | undefined> {
  const { id, provider, emv, description, minValueCents, maxValueCents } = made
  const seal = tx.sealer.seal(CODE.textOf({ chargeId: id, provider, emv, hasKey: false }))
  const [code] = await tx.rows<Code>(
    `update codes k set emv = $2, code_seal = $3, changed_at = greatest(changed_at, $4), description = $5,
       min_value_cents = $6, max_value_cents = $7
     where k.id = $1 and k.emv is null returning ${CODE_COLUMNS}`,
    [id, emv, seal, now, description, minValueCents, maxValueCents],
  )
  if (code) await tell(tx, now, actor, 'code.created', code)
  return code
}

/** The caller holds its lock. */
async function changeCode(
  tx: Tx,
  now: Date,
  actor: Actor,
  { code, limits, closedAt }: { code: Code; limits: CodeLimits; closedAt: Date | null },
): Promise<Code> {
  const changed = await tx.one<Code>(
    `update codes k set version = version + 1, changed_at = greatest(changed_at, $2), closed_at = $3, description = $4,
       min_value_cents = $5, max_value_cents = $6
     where k.id = $1 returning ${CODE_COLUMNS}`,
    [code.id, now, closedAt, limits.description, limits.minValueCents, limits.maxValueCents],
  )
  await tell(tx, now, actor, closedAt ? 'code.closed' : 'code.changed', changed)
  return changed
}

/** The audit compares deposits of the code with this line. */
async function tell(tx: Tx, now: Date, actor: Actor, action: AuditAction, code: Code): Promise<void> {
  const { id, accountId, version, minValueCents, maxValueCents, closedAt } = code
  const details = { version, isOpen: closedAt === null, minValueCents, maxValueCents }
  const change = { action, subject: `code ${id}`, accountId, details, rows: [['code', id]] as const }
  await writeAudit(tx, now, actor, change)
}

/** A code that somebody altered is shown to nobody. */
async function shown(core: Core, code: Code): Promise<Code> {
  const [genuine] = await withGenuineCodes(core, [code])
  requireCode({ emv: genuine!.emv, status: 'PENDING' })
  return genuine!
}

function notFound(): Fault {
  return new Fault('not_found', 'Code not found')
}
