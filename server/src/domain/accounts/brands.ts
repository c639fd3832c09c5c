import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { IMAGE_TYPES, readImage, type ImageType } from '../../base/image-file.ts'
import { insertRow } from '../../db/insert-rows.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { columnOf } from '../../db/sql-values.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { readAccountRow } from './accounts.ts'

// How an account shows itself to payers. What is not set has a default, and most accounts have no row.

export const SHOP_LANGUAGES = ['pt-BR', 'en', 'es'] as const

/** What people fill in. The API checks it, and the constraints of the table repeat it. */
export type Shop = {
  /** Null: the name of the account. */
  displayName: string | null
  /** As `#rrggbb`. */
  color: string | null
  /** Without punctuation. */
  cnpj: string | null
  supportEmail: string | null
  supportPhone: string | null
  supportUrl: string | null
  defaultDescription: string | null
  /** In seconds. This and the description are what the form of a new deposit begins with: a program says its own. */
  defaultExpiresIn: number | null
  language: (typeof SHOP_LANGUAGES)[number]
  returnOrigins: string[]
}

/** `version` counts changes, from 0 for an account that never made one. `logo` is a file, see readLogo(). */
export type Brand = Shop & { version: number; logo: string | null }

export const MAX_RETURN_ORIGINS = 20
export const LOGO = { maxBytes: 256 * 1024, maxSide: 2_000 }

export const NO_BRAND: Brand = {
  version: 0,
  logo: null,
  displayName: null,
  color: null,
  cnpj: null,
  supportEmail: null,
  supportPhone: null,
  supportUrl: null,
  defaultDescription: null,
  defaultExpiresIn: null,
  language: 'pt-BR',
  returnOrigins: [],
}

const NAMES = Object.keys(NO_BRAND) as (keyof Brand)[]
const COLUMNS = NAMES.map((name) => `b.${columnOf(name)} as "${name}"`).join(', ')

const BY_ACCOUNT: SharedRead<Brand & { accountId: string }> = {
  sql: `select b.id as "accountId", ${COLUMNS} from brands b where b.id = any($1)`,
  keyOf: ({ accountId }) => accountId,
}

export async function readBrand(core: Core, accountId: string): Promise<Brand> {
  const row = await core.readShared(BY_ACCOUNT, accountId)
  return row ? fieldsOf(row) : NO_BRAND
}

function fieldsOf(brand: Brand): Brand {
  return Object.fromEntries(NAMES.map((name) => [name, brand[name]])) as Brand
}

type Edition = { accountId: string; version: number }

/** `version` is the one that the person saw: a change by somebody else in between is not lost without a word. */
export function changeShop(core: Core, actor: Actor, edition: Edition, shop: Shop): Promise<Brand> {
  return transact(core.pool, (tx) => change(tx, core.now(), actor, edition, shop))
}

/** Undefined takes the logo away. */
export async function changeLogo(
  core: Core,
  actor: Actor,
  edition: Edition,
  bytes: Buffer | undefined,
): Promise<Brand> {
  const stored = bytes && (await logoOf(bytes))
  return transact(core.pool, async (tx) => {
    const brand = await change(tx, core.now(), actor, edition, { logo: stored?.file ?? null })
    // A foreign key leads to the row of the brand, so it comes after.
    await tx.run('delete from brand_logos where id = $1', [edition.accountId])
    if (stored) await insertRow(tx, 'brand_logos', { id: edition.accountId, ...stored })
    return brand
  })
}

async function change(
  tx: Tx,
  now: Date,
  actor: Actor,
  { accountId, version }: Edition,
  changes: Partial<Brand>,
): Promise<Brand> {
  // Two changes of one account take turns.
  await readAccountRow(tx, accountId, 'a.id', 'for no key update')
  const [row] = await tx.rows<Brand>(`select ${COLUMNS} from brands b where b.id = $1`, [accountId])
  const before = row ?? NO_BRAND
  if (before.version !== version)
    throw new Fault('shop_changed', 'Somebody changed the shop meanwhile: load it again', {
      details: { version: before.version },
    })
  const after: Brand = { ...before, ...changes, version: version + 1 }
  const changed = NAMES.filter(
    (name) => name !== 'version' && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  if (changed.length === 0) return before
  await store(tx, now, accountId, after)
  await writeAudit(tx, now, actor, {
    action: 'account.brand_changed',
    subject: `account ${accountId}`,
    accountId,
    details: detailsOf(changed, before, after),
    rows: [['brand', accountId]],
  })
  return after
}

/** Names and contacts are left out: the log cannot forget them when the account is erased. */
function detailsOf(changed: (keyof Brand)[], before: Brand, after: Brand): object {
  if (!changed.includes('returnOrigins')) return { changed }
  const { returnOrigins: was } = before
  return { changed, before: { returnOrigins: was }, after: { returnOrigins: after.returnOrigins } }
}

async function store(tx: Tx, now: Date, accountId: string, brand: Brand): Promise<void> {
  const values = Object.fromEntries(NAMES.map((name) => [columnOf(name), brand[name]]))
  const row = { ...values, changed_at: now }
  const updates = Object.keys(row).map((column) => `${column} = excluded.${column}`)
  await insertRow(tx, 'brands', { id: accountId, ...row }, `on conflict (id) do update set ${updates.join(', ')}`)
}

/** Nothing of it names the account or its people any more. True if there was a row. */
export async function eraseBrand(tx: Tx, now: Date, accountId: string): Promise<boolean> {
  const [row] = await tx.rows<{ version: number }>('select version from brands where id = $1 for update', [accountId])
  if (!row) return false
  await tx.run('delete from brand_logos where id = $1', [accountId])
  await store(tx, now, accountId, { ...NO_BRAND, version: row.version + 1 })
  return true
}

// ---- Logos ----

/** Of a logo as it is stored, which its file names. */
type Logo = { type: string; bytes: Buffer }

async function logoOf(bytes: Buffer): Promise<{ file: string; bytes: Buffer }> {
  if (bytes.length > LOGO.maxBytes) throw refused('bytes')
  const image = await readImage(bytes, LOGO)
  if (typeof image === 'string') throw refused(image)
  return { file: `${hashOf(image.bytes)}.${image.type}`, bytes: image.bytes }
}

const REFUSALS = {
  bytes: `it has more than ${LOGO.maxBytes / 1024} KiB`,
  type: 'it is no PNG, JPEG or WebP',
  damaged: 'it is damaged, or something follows the picture',
  animated: 'it is animated',
  too_large: `it has more than ${LOGO.maxSide} × ${LOGO.maxSide} pixels`,
}

function refused(reason: keyof typeof REFUSALS): Fault {
  return new Fault('logo_refused', `The logo cannot be used: ${REFUSALS[reason]}`, { details: { reason } })
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Anybody may see it. Bytes that were altered in the database do not fit their name, and are not shown. */
export async function readLogo(core: Core, file: string): Promise<Logo | undefined> {
  const [hash = '', extension = ''] = file.split('.')
  if (!/^[0-9a-f]{64}$/.test(hash) || !isImageType(extension)) return undefined
  const [row] = await query<Logo>(core.pool, 'select bytes from brand_logos where file = $1 limit 1', [file])
  if (!row || hashOf(row.bytes) !== hash) return undefined
  return { type: IMAGE_TYPES[extension], bytes: row.bytes }
}

function isImageType(extension: string): extension is ImageType {
  return Object.hasOwn(IMAGE_TYPES, extension)
}
