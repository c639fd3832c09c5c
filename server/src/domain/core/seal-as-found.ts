import { batchesOf } from '../../db/batches.ts'
import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { readUnsealing } from '../../db/presence.ts'
import { hexId } from '../../db/sql-values.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { checkReason, sealOfRow, SYSTEM, writeLine, type Actor, type RowSeals } from './audit-log.ts'
import { makeTally } from './as-found.ts'
import type { Core } from './core.ts'
import {
  ALL_ROWS,
  codeSeal,
  END,
  endSeal,
  EVENTS,
  fits,
  LINES,
  OUTCOME,
  ROW_TABLES,
  withoutMark,
  type SealedRow,
} from './seals.ts'

// Reads and marks everything once.
const TIMEOUT_MS = 10 * 60_000
// While it waits, changes of people wait too. It is tried again in ten minutes.
const LOCK_TIMEOUT_MS = 1_000
const FIRST_UUID = '00000000-0000-0000-0000-000000000000'
// Locks of a batch are held for milliseconds.
const BATCH = 5_000
// A line of the log stays small enough to show.
const SEALS_PER_LINE = 500
const EVENTS_PER_RANGE = 10_000

type Marking = { actor: Actor; reason: string | null; isFirst: boolean }

/**
 * Seals what the release before this one wrote, once, when no process of it is left. From then on a row without a seal
 * was not written by guiche.
 */
export async function beginSeals(core: Core): Promise<void> {
  const [mark] = await query(core.pool, 'select from seal_marks limit 1')
  if (mark) return
  const unsealing = await transact(core.pool, readUnsealing)
  if (unsealing.length === 0) await sealRows(core, { actor: SYSTEM, reason: null, isFirst: true })
}

/** By an operator who looked at the rows, and lost the key or went back to a release without seals. */
export function sealAsFound(core: Core, actor: Actor, reason: string): Promise<void> {
  return sealRows(core, { actor, reason: checkReason(reason), isFirst: false })
}

/** The first time, a wrong seal stays wrong. */
async function sealRows(core: Core, marking: Marking): Promise<void> {
  const wants = (row: SealedRow) => (marking.isFirst ? row.seal === null : !fits(core.settings, row))
  if (marking.isFirst) await transact(core.pool, requireOneKey)
  await sealCharges(core, wants)
  await sealOutcomes(core, wants)
  await transact(core.pool, (tx) => mark(tx, core.now(), marking, wants))
}

async function mark(
  tx: Tx,
  now: Date,
  { actor, reason, isFirst }: Marking,
  wants: (row: SealedRow) => boolean,
): Promise<void> {
  await tx.setStatementTimeout(TIMEOUT_MS)
  // Of two processes one makes the first mark.
  await tx.run('lock table seal_marks in share row exclusive mode')
  if (isFirst && (await tx.rows('select from seal_marks limit 1')).length > 0) return
  const seals: [string, string][] = [...(await sealEvents(tx, wants)), ...(await sealLines(tx, wants))]
  // A change whose line has an earlier number than ours must be visible here.
  await tx.run(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  await tx.run(`lock table ${ROW_TABLES.join(', ')} in share mode`)
  const rows = await tx.rows<{ name: string; text: string; isNeeded: boolean }>(ALL_ROWS)
  for (const { name, text, isNeeded } of rows) if (isNeeded) seals.push([name, sealOfRow(tx, name, text)])
  let last = ''
  for (let start = 0; start === 0 || start < seals.length; start += SEALS_PER_LINE) {
    const some: RowSeals = Object.fromEntries(seals.slice(start, start + SEALS_PER_LINE))
    const details = { sealed: Object.keys(some).length }
    last = await writeLine(tx, now, actor, { action: 'history.sealed', subject: 'database', reason, details }, some)
  }
  await tx.run('insert into seal_marks (line_id) values ($1)', [last])
}

/** A mark that was removed must not be made anew: the seals of later lines name it, and do not fit without it. */
async function requireOneKey(tx: Tx): Promise<void> {
  for await (const batch of batchesOf<SealedRow>(tx, LINES))
    for (const line of batch)
      if (line.seal && !fits(tx, line))
        throw new Error(
          `The seal of ${line.id} of the audit log does not fit, so no rows are sealed as found: see guiche audit`,
        )
}

async function sealEvents(tx: Tx, wants: (row: SealedRow) => boolean): Promise<[string, string][]> {
  const seals: [string, string][] = []
  let range: { first: string; last: string; rows: SealedRow[] } | undefined
  const close = () => {
    if (!range) return
    const tally = makeTally([range])
    range.rows.forEach(tally.add)
    const name = `events ${range.first} ${range.last}`
    seals.push([name, sealOfRow(tx, name, tally.textOf(0))])
    range = undefined
  }
  for await (const batch of batchesOf<SealedRow>(tx, EVENTS)) {
    for (const row of batch.filter(wants)) {
      range ??= { first: row.id, last: row.id, rows: [] }
      range.last = row.id
      if (range.rows.push(row) === EVENTS_PER_RANGE) close()
    }
  }
  close()
  return seals
}

async function sealLines(tx: Tx, wants: (row: SealedRow) => boolean): Promise<[string, string][]> {
  const seals: [string, string][] = []
  for await (const batch of batchesOf<SealedRow>(tx, LINES))
    for (const { id, texts } of batch.filter(wants)) seals.push([id, sealOfRow(tx, id, withoutMark(texts))])
  return seals
}

// ---- Charges and outcomes, which can be changed ----

// A charge that was paid after its end keeps the end, and nothing tells which of the three it was.
const CHARGES = `
  select ${hexId('c.id')} as id,
    case when c.emv is not null then ${codeSeal('k.charge_id is not null').sql} end as "codeText", c.code_seal as "codeSeal",
    case when c.status = 'COMPLETED' then ${endSeal(`'EXPIRED'`).sql} else ${END.sql} end as "endText", c.end_seal as "endSeal",
    case when c.status = 'COMPLETED' then c.closed_at < coalesce(m.resolved_at, p.recorded_at)
      else c.status in ('EXPIRED', 'CANCELED', 'FAILED') end as "hasEnd"
  from (select * from charges where id > $1 order by id limit ${BATCH}) c
  left join (select distinct charge_id from idempotency_keys) k on k.charge_id = c.id
  left join payments p on p.charge_id = c.id and p.credited
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  order by c.id`

type FoundCharge = {
  id: string
  codeText: string | null
  codeSeal: Buffer | null
  endText: string
  endSeal: Buffer | null
  hasEnd: boolean | null
}

type ChargeSeals = { id: string; code: Buffer | null; end: Buffer | null }

const CHARGE_COLUMNS: Columns<ChargeSeals> = {
  id: ['uuid', ({ id }) => id],
  code_seal: ['bytea', ({ code }) => code],
  end_seal: ['bytea', ({ end }) => end],
}

async function sealCharges({ pool, settings }: Core, wants: (row: SealedRow) => boolean): Promise<void> {
  const sealOf = (id: string, seal: Buffer | null, texts: string) =>
    wants({ id, seal, texts }) ? settings.sealer.seal(texts) : null
  for (let after: string | undefined = FIRST_UUID; after !== undefined;) {
    const rows: FoundCharge[] = await query<FoundCharge>(pool, CHARGES, [after])
    const seals = rows.map(({ id, codeText, codeSeal: code, endText, endSeal: end, hasEnd }): ChargeSeals => ({
      id,
      code: codeText === null ? null : sealOf(id, code, codeText),
      end: hasEnd ? sealOf(id, end, endText) : null,
    }))
    await query(
      pool,
      `update charges c set code_seal = coalesce(n.code_seal, c.code_seal), end_seal = coalesce(n.end_seal, c.end_seal)
       from ${unnestOf(CHARGE_COLUMNS)} where c.id = n.id`,
      valuesOf(
        CHARGE_COLUMNS,
        seals.filter(({ code, end }) => code || end),
      ),
    )
    after = rows.length === BATCH ? rows.at(-1)!.id : undefined
  }
}

const OUTCOMES = `
  select o.event_id as "eventId", o.webhook_id as "webhookId", o.seal, ${OUTCOME.sql} as texts
  from (
    select * from delivery_outcomes where (event_id, webhook_id) > ($1, $2) order by event_id, webhook_id limit ${BATCH}
  ) o order by o.event_id, o.webhook_id`

type FoundOutcome = SealedRow & { eventId: string; webhookId: string }

const OUTCOME_COLUMNS: Columns<FoundOutcome & { found: Buffer }> = {
  event_id: ['uuid', ({ eventId }) => eventId],
  webhook_id: ['uuid', ({ webhookId }) => webhookId],
  texts: ['text', ({ texts }) => texts],
  found: ['bytea', ({ found }) => found],
}

async function sealOutcomes({ pool, settings }: Core, wants: (row: SealedRow) => boolean): Promise<void> {
  for (let after: string[] | undefined = [FIRST_UUID, FIRST_UUID]; after !== undefined;) {
    const rows: FoundOutcome[] = await query<FoundOutcome>(pool, OUTCOMES, after)
    const found = rows.filter(wants).map((row) => ({ ...row, found: settings.sealer.seal(row.texts) }))
    await query(
      pool,
      // A delivery that was sent again meanwhile has stored another outcome, with its own seal.
      `update delivery_outcomes o set seal = n.found from ${unnestOf(OUTCOME_COLUMNS)}
       where o.event_id = n.event_id and o.webhook_id = n.webhook_id and ${OUTCOME.sql} = n.texts`,
      valuesOf(OUTCOME_COLUMNS, found),
    )
    const last = rows.length === BATCH ? rows.at(-1)! : undefined
    after = last && [last.eventId, last.webhookId]
  }
}
