// The books in the database, read without the service's code.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Opens the embedded database in `home`, or the one at `databaseUrl`. */
export async function openBooks({ dist, home, databaseUrl }) {
  const { openEmbedded } = await import(pathToFileURL(join(dist, 'db/embedded/server.js')).href)
  const pg = createRequire(join(dist, 'cli.js'))('pg')
  // Stays open to the end, and keeps the database running.
  const embedded = databaseUrl
    ? { databaseUrl, stop: async () => undefined }
    : await openEmbedded({ home, say: () => undefined })
  const client = new pg.Client({ connectionString: embedded.databaseUrl })
  client.on('error', () => undefined)
  await client.connect()
  // BigInt: sums may exceed the safe integers.
  const rows = async (sql) => (await client.query({ text: sql, types: { getTypeParser } })).rows
  const getTypeParser = (oid) => (oid === BIGINT || oid === NUMERIC ? BigInt : pg.types.getTypeParser(oid))

  return {
    databaseUrl: embedded.databaseUrl,
    rows,
    unsettled: async () =>
      Number((await rows(`select count(*) as n from charges where status in ('OPENING', 'PENDING')`))[0].n),
    undelivered: async () => Number((await rows('select count(*) as n from deliveries'))[0].n),
    recorded: async () => new Set((await rows('select end_to_end_id from payments')).map((row) => row.end_to_end_id)),
    /** Finds cursors with times that only a wrong clock can have written. A lease takes two minutes. */
    cursorsAhead: () =>
      rows(
        `select provider, began_at, swept_until, due_at, next_closing::text from sweeps
         where greatest(began_at, swept_until, due_at - interval '2 minutes') > clock_timestamp() + interval '1 minute'
            or next_closing > (clock_timestamp() + interval '1 day')::date`,
      ),
    /** Tells whether a session waits for a lock. */
    isWaitedFor: async () =>
      (await rows(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
        .length > 0,
    /** Locks a charge, so that nothing can be settled for it. Returns a function that releases it. */
    async holdCharge(txid) {
      const holder = new pg.Client({ connectionString: embedded.databaseUrl })
      await holder.connect()
      await holder.query('begin')
      await holder.query('select from charges where id = $1::uuid for update', [txid])
      return () => holder.end()
    },
    refunds: () => rows('select provider_refund_id, source, status, amount_cents from refunds order by id'),
    refundChecks: async () => Number((await rows('select count(*) as n from refund_checks'))[0].n),
    /** What the providers hold for us. */
    cashCents: async () =>
      Number(
        (
          await rows(
            `select coalesce(sum(b.debits_cents - b.credits_cents), 0) as n
             from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id where l.kind = 'cash'`,
          )
        )[0].n,
      ),
    openExceptions: async (kind) =>
      (await rows(`select id from exceptions where kind = '${kind}' and resolved_at is null order by id`)).map(
        ({ id }) => id,
      ),
    async read() {
      return {
        charges: await rows(
          `select replace(c.id::text, '-', '') as txid, c.status, c.value_cents, c.fee_cents, c.end_to_end_id, c.paid_late, a.email
           from charges c join accounts a on a.id = c.account_id`,
        ),
        payments: await rows(
          `select p.end_to_end_id, p.txid, p.amount_cents, p.credited, replace(p.charge_id::text, '-', '') as charge_txid,
             (select count(*) from exceptions x where x.payment_id = p.id and x.resolved_at is null) as exceptions,
             (select x.kind from exceptions x where x.payment_id = p.id) as exception,
             (select coalesce(sum(t.amount_cents), 0) from transfers t where t.payment_id = p.id) as booked_cents,
             (select string_agg(l.kind, ' ' order by l.kind) from transfers t join ledger_accounts l on l.id = t.credit_id
              where t.payment_id = p.id) as booked_to
           from payments p`,
        ),
        balances: await rows(
          `select l.kind, a.email, b.credits_cents - b.debits_cents as balance_cents
           from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id left join accounts a on a.id = l.account_id`,
        ),
        events: await rows(
          `select replace(subject_id::text, '-', '') as txid from events where kind = 'DEPOSIT_ASSET_SUCCESS'`,
        ),
      }
    },
    async close() {
      await client.end()
      await embedded.stop()
    },
  }
}

const BIGINT = 20
const NUMERIC = 1700
