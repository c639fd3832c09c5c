import { invalidField } from '../../base/fault.ts'
import { transact } from '../../db/tx.ts'
import { readAccountRow } from '../accounts/accounts.ts'
import { TIME_ZONE } from '../accounts/time-zone.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import { DAY_ZONE } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'
import { resetDailyTotals } from './daily-totals.ts'

/** By the names of the zone database, without aliases. */
const TIME_ZONES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'))

/** Days that were counted in the old zone are counted again by the next who looks at them. */
export async function changeTimeZone(core: Core, actor: Actor, accountId: string, timeZone: string): Promise<void> {
  const now = core.now()
  await transact(core.pool, async (tx) => {
    // PostgreSQL has a zone database of its own, which may be older. It counts days too.
    const [known] = await tx.rows('select from pg_timezone_names where name = $1', [timeZone])
    if (!known || !TIME_ZONES.has(timeZone))
      throw invalidField('timeZone', `timeZone must be the name of a time zone, such as ${DAY_ZONE}`)
    const columns = `${TIME_ZONE} as "timeZone"`
    const before = await readAccountRow<{ timeZone: string }>(tx, accountId, columns, 'for no key update')
    if (before.timeZone === timeZone) return
    // The default is not stored, so a row that never had another zone keeps its seal.
    await tx.run(`update accounts set time_zone = nullif($2, '${DAY_ZONE}') where id = $1`, [accountId, timeZone])
    await resetDailyTotals(tx, accountId)
    await writeAudit(tx, now, actor, {
      action: 'account.time_zone_changed',
      subject: `account ${accountId}`,
      accountId,
      details: { before, after: { timeZone } },
      rows: [['account', accountId]],
    })
  })
}
