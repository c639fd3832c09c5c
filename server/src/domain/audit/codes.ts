import { BrCodeError, decodeBrCode } from '../../base/brcode.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { hex } from './rules.ts'
import { FACTS_SQL, IS_SEALED_SQL, type ChargeSeal } from '../core/charge-seal.ts'

// What PostgreSQL cannot check of a charge: that its id fits what it says, and that its code is one that a payer's bank reads, for its value.

export type CodeDifference = { subject: string; text: string }

type Row = { id: string; facts: string | null; emv: string | null; value: Cents }

// Some megabytes at a time, whatever the size of the books.
const ROWS_AT_ONCE = 10_000

/** `limit` bounds what is named. */
export async function checkCodes(tx: Tx, seal: ChargeSeal, limit: number): Promise<CodeDifference[]> {
  await tx.run(
    `declare codes no scroll cursor for
     select ${hex('c.id')} as id, case when ${IS_SEALED_SQL} then ${FACTS_SQL} end as facts, c.emv, c.value_cents as value from charges c`,
  )
  const differences: CodeDifference[] = []
  const seals = { fitting: 0, unfitting: [] as string[] }
  let next = fetch()
  for (let rows = await next; rows.length > 0 && differences.length < limit; rows = await next) {
    // PostgreSQL makes the next ones ready while these are looked at.
    next = fetch()
    for (const row of rows) {
      const wrong = row.emv === null ? undefined : wrongCode(row.emv, row.value)
      if (wrong !== undefined) differences.push({ subject: `charge ${row.id}`, text: wrong })
      if (row.facts === null) continue
      if (seal.fits(row.id, row.facts)) seals.fitting++
      else if (seals.unfitting.push(row.id) > limit) seals.unfitting.pop()
    }
  }
  await next
  await tx.run('close codes')
  return [...differences, ...unsealed(seals)]

  function fetch(): Promise<Row[]> {
    return tx.rows<Row>(`fetch ${ROWS_AT_ONCE} from codes`)
  }
}

function unsealed({ fitting, unfitting }: { fitting: number; unfitting: string[] }): CodeDifference[] {
  // One line for a command that was given another key than the service has, instead of one for each charge.
  if (fitting === 0 && unfitting.length > 1) {
    const text = `${unfitting.length} or more have ids that do not fit, and none has one that does: is SECRET_KEY the service's own, with those that it replaced?`
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
