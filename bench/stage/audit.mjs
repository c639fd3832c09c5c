// The end of a run: everything that the bank received is in the books, and the audit proves them.
import { setTimeout as sleep } from 'node:timers/promises'

// The longest that a payment waits is for the next sweep, which comes every minute.
const BOOKED_WITHIN_MS = 180_000
const DAY_ZONE = 'America/Sao_Paulo'

/** Resolves to the exit code of the audit and its report. */
export async function auditBooks(stage, day, show) {
  show('waiting until every payment is booked')
  await waitUntilBooked(stage, day)
  show('auditing the books')
  return stage.service.audit(day)
}

/** In Brasília, as the audit counts days. */
export function today() {
  return new Date().toLocaleDateString('sv-SE', { timeZone: DAY_ZONE })
}

/** Everything that the bank received must come into the books, whatever the load was. */
async function waitUntilBooked({ bank, database }, day) {
  const endMs = performance.now() + BOOKED_WITHIN_MS
  for (;;) {
    const { received } = await bank.ask('state')
    const [{ booked }] = await database.read(
      `select count(*)::int as booked from payments where occurred_at >= $1::timestamp at time zone '${DAY_ZONE}'`,
      [day],
    )
    if (booked === received) return
    if (performance.now() > endMs) throw new Error(`the bank received ${received} payments, and ${booked} are booked`)
    await sleep(500)
  }
}
