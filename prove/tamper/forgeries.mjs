// Forgeries that a person with a database console could write, each as SQL. Balances, running totals and other copies
// are adjusted wherever possible, so that only the reasoning of the audit can find them.

import { codeForgeries } from './code-forgeries.mjs'
import { debtForgeries } from './debt-forgeries.mjs'
import { historyForgeries } from './history-forgeries.mjs'
import { disputeForgeries } from './dispute-forgeries.mjs'
import { payerForgeries } from './payer-forgeries.mjs'
import { payoutForgeries } from './payout-forgeries.mjs'
import { sealForgeries } from './seal-forgeries.mjs'

/**
 * `by` are checks of the audit, one of which must name the forgery. `bank` instead means that the books are consistent,
 * so only the comparison with the bank can find it. Accounts are those of `makeHistory`: the victim has deposits,
 * refunds and exceptions; eve has a PENDING charge of the same value as a paid deposit of the victim; the debtor owes
 * something for a reversal.
 */
export function forgeries({ victim, eve, debtor }) {
  const NOBODY = `'00000000-0000-7000-8000-000000000000'`
  const at = (
    kind,
  ) => `(select l.id from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id where l.kind = '${kind}'
    order by b.credits_cents - b.debits_cents desc, l.id limit 1)`
  const balance = (account) => `(select id from ledger_accounts where kind = 'balance' and account_id = '${account}')`
  const hex = (column) => `replace(${column}::text, '-', '')`
  const charge = (where) => `(select id from charges where ${where} order by id limit 1)`
  const deposit = charge(
    `account_id = '${victim}' and status = 'COMPLETED' and not paid_late and refunded_cents = 0 and external_id is not null`,
  )
  const otherDeposit = charge(
    `account_id = '${victim}' and status = 'COMPLETED' and not paid_late and external_id is not null and id > ${deposit}`,
  )
  const ofOneOrder = `delete from external_ids where charge_id = ${otherDeposit}`
  const ORDER = `external_id = (select external_id from charges where id = ${deposit})`
  const paymentOf = (chargeId) => `(select id from payments where charge_id = ${chargeId} and credited)`
  const payment = paymentOf(deposit)
  const pendingOfEve = charge(`account_id = '${eve}' and status = 'PENDING'`)
  const canceled = charge(`status = 'CANCELED'`)
  const suspended = `(select p.id from payments p join exceptions x on x.payment_id = p.id where x.kind = 'wrong_amount' and x.resolution is null limit 1)`
  const refund = `(select id from refunds where status = 'DONE' and source = 'balance' and fee_returned_cents > 0 order by id limit 1)`
  const refundEvent = `(select id from events where kind = 'DEPOSIT_REFUNDED' and body like '%"refundId":"' || ${hex(refund)} || '"%')`
  const credited = `(select id from exceptions where resolution = 'credit' limit 1)`
  const matched = `(select id from exceptions where resolution = 'match' limit 1)`
  const post = (kind, from, to, cents, paymentId, more = '') => `
    insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, account_id, occurred_at, recorded_at ${more && ', charge_id'})
    select '${kind}', ${from}, ${to}, ${cents}, 0, 0, p.id, p.account_id, p.occurred_at, p.recorded_at ${more && `, ${more}`} from payments p where p.id = ${paymentId};
    select rebook();`
  const body = (from, to) => `body = replace(body, '${from}', '${to}')`

  return [
    // ---- Transfers
    [
      'a deposit from the victim’s balance to eve’s',
      ['transfer'],
      post('deposit', balance(victim), balance(eve), 200, suspended),
    ],
    ['a deposit out of fees to eve', ['transfer'], post('deposit', at('fees'), balance(eve), 5, suspended)],
    ['a fee that the victim pays to eve', ['transfer'], post('fee', balance(victim), balance(eve), 100, suspended)],
    [
      'a deposit out of suspense to eve',
      ['transfer'],
      post('deposit', at('suspense'), balance(eve), 100, suspended, 'p.charge_id'),
    ],
    [
      'money in suspense that eve has',
      ['transfer', 'total'],
      `update transfers set credit_id = ${balance(eve)} where kind = 'suspense' and payment_id = ${suspended}; select rebook();`,
    ],
    [
      'fees that eve has',
      ['transfer', 'total'],
      `update transfers set credit_id = ${balance(eve)} where kind = 'fee' and payment_id = ${payment}; select rebook();`,
    ],
    [
      'a deposit that eve has',
      ['transfer'],
      `update transfers set credit_id = ${balance(eve)} where kind = 'deposit' and payment_id = ${payment}; select rebook();`,
    ],
    [
      'a deposit of no charge',
      ['transfer'],
      `update transfers set charge_id = null where kind = 'deposit' and payment_id = ${payment}`,
    ],
    [
      'a deposit of another charge',
      ['transfer'],
      `update transfers set charge_id = ${pendingOfEve} where kind = 'deposit' and payment_id = ${payment}`,
    ],
    [
      'a deposit at another time',
      ['transfer'],
      `update transfers set occurred_at = occurred_at - interval '1 hour' where kind = 'deposit' and payment_id = ${payment}`,
    ],
    [
      'a deposit recorded at another time',
      ['transfer'],
      `update transfers set recorded_at = recorded_at + interval '1 second' where kind = 'deposit' and payment_id = ${payment}`,
    ],
    [
      'a fee of another account',
      ['transfer'],
      `update transfers set account_id = '${eve}' where kind = 'fee' and payment_id = ${payment}`,
    ],
    [
      'a deposit of no account',
      ['transfer'],
      `alter table transfers drop constraint transfers_account; update transfers set account_id = null where kind = 'deposit' and payment_id = ${payment}`,
    ],
    [
      'a fee that is gone',
      ['transfer'],
      `delete from transfers where kind = 'fee' and payment_id = ${payment}; select rebook();`,
    ],
    [
      'a deposit that is called a fee, and the fee a deposit',
      ['transfer'],
      `update transfers set kind = case kind when 'fee' then 'suspense' else kind end where payment_id = ${payment} and kind = 'fee'`,
    ],
    [
      'a cent of a deposit booked as fee',
      ['transfer'],
      `update transfers set amount_cents = amount_cents + case kind when 'fee' then 1 else -1 end where payment_id = ${payment} and kind in ('deposit', 'fee'); select rebook();`,
    ],
    [
      'a refund that another account paid',
      ['transfer'],
      `update transfers set debit_id = ${balance(eve)} where kind = 'refund_reserved' and refund_id = ${refund};
      insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, occurred_at, recorded_at)
      select 'deposit', ${at('written_off')}, ${balance(eve)}, 100000, 0, 0, p.id, p.occurred_at, p.recorded_at from payments p where p.id = ${suspended}; select rebook();`,
    ],
    [
      'a refund paid of another payment',
      ['transfer'],
      `update transfers set payment_id = ${payment} where kind = 'refund_paid' and refund_id = ${refund}`,
    ],
    [
      'a transfer twice, without the index that forbids it',
      ['schema', 'balance'],
      `drop index transfers_once_per_payment; insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, account_id, occurred_at, recorded_at)
      select kind, debit_id, credit_id, amount_cents, 0, 0, payment_id, charge_id, account_id, occurred_at, recorded_at from transfers where kind = 'suspense' limit 1; select rebook();`,
    ],
    [
      'a running total that jumps and comes back',
      ['chain'],
      `update transfers set credit_after_cents = credit_after_cents + 1 where kind = 'deposit' and payment_id = ${payment}`,
    ],

    // ---- Rows that are not there, and that no foreign key asks for
    [
      'a deposit of a payment that is not there',
      ['transfer'],
      `update transfers set payment_id = ${NOBODY} where kind = 'deposit' and payment_id = ${payment}`,
    ],
    [
      'a deposit of a charge that is not there',
      ['transfer'],
      `update transfers set charge_id = ${NOBODY} where kind = 'deposit' and payment_id = ${payment}`,
    ],
    [
      'a deposit from a ledger account that is not there',
      ['transfer'],
      `update transfers set debit_id = 0 where kind = 'deposit' and payment_id = ${payment}; select rebook();`,
    ],
    [
      'money in suspense that is in a ledger account that is not there',
      ['transfer', 'total'],
      `update transfers set credit_id = 0 where kind = 'suspense' and payment_id = ${suspended}; select rebook();`,
    ],
    [
      'a refund paid that is not there',
      ['transfer'],
      `update transfers set refund_id = ${NOBODY} where kind = 'refund_paid' and refund_id = ${refund}`,
    ],
    [
      'a credit by an exception that is not there',
      ['transfer'],
      `update transfers set exception_id = ${NOBODY} where kind = 'exception_credited' and exception_id = ${credited}`,
    ],
    [
      'money in suspense of a charge that is not there',
      ['payment'],
      `update payments set charge_id = ${NOBODY} where id = ${suspended}; update transfers set charge_id = ${NOBODY} where payment_id = ${suspended}`,
    ],
    [
      'a payment whose charge is not there',
      ['charge', 'payment'],
      `update payments set charge_id = ${NOBODY} where id = ${payment}`,
    ],
    [
      'an event of an account that is not there',
      ['deposit_event'],
      `update events set account_id = ${NOBODY} where subject_id = ${deposit}`,
    ],
    [
      'an event of a charge that is not there',
      ['deposit_event'],
      `update events set subject_id = ${NOBODY} where subject_id = ${deposit}`,
    ],
    [
      'an external id that is claimed by a charge that is not there',
      ['external_id'],
      `update external_ids set charge_id = ${NOBODY} where charge_id = ${deposit}`,
    ],
    [
      'an idempotency key of a charge that is not there',
      ['idempotency_key'],
      `update idempotency_keys set charge_id = ${NOBODY} where key = (select min(key) from idempotency_keys)`,
    ],
    [
      'a test of an account that is not there',
      ['event_seal'],
      `insert into events select id, ${NOBODY}, 'WEBHOOK_TEST', id, '{"id":"evt_WEBHOOK_TEST_' || ${hex('id')} || '","event":"WEBHOOK_TEST","createdAt":"' || to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        || '","data":{"message":"guiche can reach this address. Nothing was paid."}}', at from (select newid(created_at) as id, created_at as at from events limit 1) e`,
    ],

    // ---- Ledger accounts and balances
    [
      'a balance below zero, allowed by its own row',
      ['transfer', 'chain', 'ledger_account'],
      `update ledger_balances set may_be_negative = true where ledger_account_id = ${balance(victim)};
      ${post('deposit', balance(victim), balance(eve), 9_000_000, suspended)}`,
    ],
    [
      'a balance that may be negative',
      ['ledger_account'],
      `update ledger_balances set may_be_negative = true where ledger_account_id = ${balance(victim)}`,
    ],
    [
      'the same cent debited and credited',
      ['balance'],
      `update ledger_balances set debits_cents = debits_cents + 1, credits_cents = credits_cents + 1 where ledger_account_id = ${balance(victim)}`,
    ],
    [
      'a second row of balances, newer than the first',
      ['balance'],
      `alter table ledger_balances disable trigger ledger_balances_once;
      insert into ledger_balances (ledger_account_id, may_be_negative, credits_cents, version) values (${balance(eve)}, false, 9000000, 1000000);
      alter table ledger_balances enable trigger ledger_balances_once`,
    ],
    [
      'balances of two accounts that swap owners',
      ['transfer'],
      `drop index ledger_accounts_once;
      update ledger_accounts set account_id = case account_id when '${victim}' then '${eve}'::uuid else '${victim}'::uuid end where kind = 'balance' and account_id in ('${victim}', '${eve}');
      create unique index ledger_accounts_once on ledger_accounts (kind, account_id, provider) nulls not distinct`,
    ],
    [
      'cash at a bank that nobody knows',
      ['ledger_account'],
      `with made as (insert into ledger_accounts (kind, provider) values ('cash', 'ghost') returning id) insert into ledger_balances (ledger_account_id, may_be_negative) select id, true from made`,
    ],
    [
      'an account whose balance is gone',
      ['ledger_account'],
      `delete from daily_total_marks; delete from daily_totals; delete from ledger_balances b using ledger_accounts l where l.id = b.ledger_account_id and l.kind = 'balance' and b.credits_cents = 0 and b.debits_cents = 0 and l.account_id <> '${eve}'; delete from ledger_accounts l where kind = 'balance' and not exists (select from ledger_balances b where b.ledger_account_id = l.id)`,
    ],

    [
      'the cash at a bank gone from the ledger',
      ['transfer'],
      `create temp table gone on commit drop as select id from ledger_accounts where kind = 'cash' and provider = 'sandbox';
      delete from ledger_balances where ledger_account_id = (select id from gone); delete from ledger_accounts where id = (select id from gone)`,
    ],
    [
      'what was written off gone from the ledger',
      ['transfer'],
      `create temp table gone on commit drop as select id from ledger_accounts where kind = 'written_off';
      delete from ledger_balances where ledger_account_id = (select id from gone); delete from ledger_accounts where id = (select id from gone)`,
    ],

    // ---- Payments
    [
      'the victim’s payment on eve’s charge',
      ['charge', 'payment'],
      movePayment({ deposit, pendingOfEve, payment, eve, txid: false }),
    ],
    [
      'a payment of another amount, and a charge of that value',
      ['code'],
      `update charges set value_cents = value_cents + 100, original_value_cents = original_value_cents + 100 where id = ${deposit};
      update transfers set amount_cents = amount_cents + 100 where kind = 'deposit' and payment_id = ${payment};
      update events e set body = replace(replace(replace(body, '"value":' || c.value_cents - 100, '"value":' || c.value_cents), '"originalValue":' || c.original_value_cents - 100, '"originalValue":' || c.original_value_cents), '"creditedValue":' || c.value_cents - 100 - c.fee_cents, '"creditedValue":' || c.value_cents - c.fee_cents) from charges c where c.id = ${deposit} and e.subject_id = c.id;
      update payments set amount_cents = amount_cents + 100 where id = ${payment}; select rebook();`,
    ],
    [
      'a payment from the day after tomorrow',
      { bank: true },
      `update payments set occurred_at = occurred_at + interval '20 days' where id = ${payment}; update transfers set occurred_at = occurred_at + interval '20 days' where payment_id = ${payment}; update charges set paid_at = paid_at + interval '20 days' where id = ${deposit};
      update events e set body = regexp_replace(body, '"paidAt":"[^"]*"', '"paidAt":"' || to_char(c.paid_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"') from charges c where c.id = ${deposit} and e.subject_id = c.id;
      delete from daily_total_marks; delete from daily_totals`,
    ],
    [
      'a payment that came a minute before, everywhere but in its event',
      ['deposit_event'],
      `update payments set occurred_at = occurred_at - interval '1 minute' where id = ${payment}; update transfers set occurred_at = occurred_at - interval '1 minute' where payment_id = ${payment};
      update charges set paid_at = paid_at - interval '1 minute' where id = ${deposit}`,
    ],
    [
      'a payment recorded at another time',
      ['payment'],
      `update payments set recorded_at = recorded_at + interval '1 second' where id = ${suspended}; update transfers set recorded_at = recorded_at + interval '1 second' where payment_id = ${suspended}; update exceptions set opened_at = opened_at + interval '1 second' where payment_id = ${suspended}`,
    ],
    ['a payment of another account', ['payment'], `update payments set account_id = '${eve}' where id = ${payment}`],
    [
      'a payment of no account',
      ['payment'],
      `alter table payments drop constraint payments_account; update payments set account_id = null where id = ${payment}`,
    ],
    [
      'another endToEndId on the payment',
      ['charge'],
      `update payments set end_to_end_id = 'E00000000202601010000forged00001' where id = ${payment}`,
    ],
    [
      'another endToEndId on the charge',
      ['charge'],
      `update charges set end_to_end_id = 'E00000000202601010000forged00001' where id = ${deposit}`,
    ],
    [
      'another time of payment on the charge',
      ['charge'],
      `update charges set paid_at = paid_at - interval '1 day' where id = ${deposit}`,
    ],
    ['a charge of nobody', ['code'], `update charges set account_id = gen_random_uuid() where id = ${pendingOfEve}`],
    ['another provider on the charge', ['charge'], `update charges set provider = 'ghost' where id = ${deposit}`],
    [
      'a credited payment that is not credited',
      ['charge'],
      `update payments set credited = false where id = ${payment}`,
    ],
    [
      'a payment in the books of two providers',
      ['schema'],
      `alter table payments drop constraint payments_end_to_end_id_key;
      with made as (insert into ledger_accounts (kind, provider) values ('cash', 'ghost') returning id) insert into ledger_balances (ledger_account_id, may_be_negative) select id, true from made;
      insert into payments select newid(recorded_at), 'ghost', end_to_end_id, txid, amount_cents, charge_id, account_id, false, occurred_at, recorded_at from payments where id = ${payment};
      insert into exceptions (id, payment_id, kind, opened_at) select newid(recorded_at), id, 'wrong_provider', recorded_at from payments where provider = 'ghost';
      insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, account_id, occurred_at, recorded_at)
      select 'suspense', (select id from ledger_accounts where provider = 'ghost'), ${at('suspense')}, amount_cents, 0, 0, id, charge_id, account_id, occurred_at, recorded_at from payments where provider = 'ghost'; select rebook();`,
    ],
    [
      'money in suspense that names another charge',
      ['payment'],
      `update payments set charge_id = ${pendingOfEve} where id = ${suspended}; update transfers set charge_id = ${pendingOfEve} where payment_id = ${suspended}`,
    ],
    ['money in suspense whose txid is gone', ['payment'], `update payments set txid = null where id = ${suspended}`],
    [
      'a stray payment that is gone with all its traces',
      { bank: true },
      `create temp table target on commit drop as select ${suspended} as id;
      delete from transfers where payment_id = (select id from target); delete from exceptions where payment_id = (select id from target);
      delete from payments where id = (select id from target); select rebook();`,
    ],
    [
      'the victim’s payment on eve’s charge, with its txid',
      { bank: true },
      movePayment({ deposit, pendingOfEve, payment, eve, txid: true }),
    ],

    // ---- Charges
    [
      'another fee, consistent in charge, ledger and event',
      ['code'],
      `update charges set fee_cents = fee_cents - 10 where id = ${deposit};
      update transfers set amount_cents = amount_cents + case kind when 'fee' then -10 else 10 end where kind in ('deposit', 'fee') and payment_id = ${payment};
      update events e set body = replace(replace(body, '"fee":' || c.fee_cents + 10, '"fee":' || c.fee_cents), '"creditedValue":' || c.value_cents - c.fee_cents - 10, '"creditedValue":' || c.value_cents - c.fee_cents) from charges c where c.id = ${deposit} and e.subject_id = c.id;
      delete from daily_total_marks; delete from daily_totals; select rebook();`,
    ],
    [
      'another owner, consistent in charge, ledger, event and claims',
      ['code'],
      `create temp table target on commit drop as select ${deposit} as id;
      update charges set account_id = '${eve}' where id = (select id from target);
      update transfers set credit_id = ${balance(eve)} where kind = 'deposit' and charge_id = (select id from target);
      update events set account_id = '${eve}' where subject_id = (select id from target); delete from attempts where event_id in (select id from events where subject_id = (select id from target));
      delete from delivery_outcomes where event_id in (select id from events where subject_id = (select id from target)); delete from deliveries where event_id in (select id from events where subject_id = (select id from target));
      update external_ids set account_id = '${eve}' where charge_id = (select id from target); update idempotency_keys set account_id = '${eve}' where charge_id = (select id from target);
      delete from daily_total_marks; delete from daily_totals; select rebook();`,
    ],
    [
      'another owner, under an id of another version',
      ['code'],
      `create temp table target on commit drop as select id, overlay(id::text placing '7' from 15 for 1)::uuid as forged from charges where id = ${deposit};
      update charges c set id = t.forged, account_id = '${eve}' from target t where c.id = t.id;
      update payments p set charge_id = t.forged, txid = ${hex('t.forged')} from target t where p.charge_id = t.id;
      update transfers x set charge_id = t.forged, credit_id = case x.kind when 'deposit' then ${balance(eve)} else x.credit_id end from target t where x.charge_id = t.id;
      update attempts a set webhook_id = (select id from webhooks where account_id = '${eve}' limit 1) from events e, target t where a.event_id = e.id and e.subject_id = t.id;
      update deliveries d set webhook_id = (select id from webhooks where account_id = '${eve}' limit 1) from events e, target t where d.event_id = e.id and e.subject_id = t.id;
      update delivery_outcomes o set webhook_id = (select id from webhooks where account_id = '${eve}' limit 1) from events e, target t where o.event_id = e.id and e.subject_id = t.id;
      update events e set subject_id = t.forged, account_id = '${eve}', body = replace(body, ${hex('t.id')}, ${hex('t.forged')}) from target t where e.subject_id = t.id;
      update external_ids x set account_id = '${eve}', charge_id = t.forged from target t where x.charge_id = t.id; update idempotency_keys k set account_id = '${eve}', charge_id = t.forged from target t where k.charge_id = t.id;
      delete from daily_total_marks; delete from daily_totals; select rebook();`,
    ],
    [
      'a canceled charge that is called expired',
      ['charge'],
      `update charges set status = 'EXPIRED' where id = ${canceled}`,
    ],
    [
      'an open charge that is called failed',
      ['charge'],
      `delete from external_ids where charge_id = ${pendingOfEve}; update charges set status = 'FAILED', closed_at = created_at where id = ${pendingOfEve}`,
    ],
    [
      'an open charge that is still being opened',
      ['charge'],
      `update charges set status = 'OPENING' where id = ${pendingOfEve}`,
    ],
    [
      'an open charge that is called paid',
      ['charge'],
      `update charges set status = 'COMPLETED', end_to_end_id = 'E00000000202601010000forged00001', paid_at = created_at, closed_at = created_at where id = ${pendingOfEve}`,
    ],
    [
      'a charge that was refunded more',
      ['charge'],
      `update charges set refunded_cents = refunded_cents + 1 where id = ${deposit}`,
    ],
    [
      'codes of two charges that change places',
      ['code'],
      `update charges c set emv = o.emv from charges o where (c.id, o.id) in ((${deposit}, ${canceled}), (${canceled}, ${deposit}))`,
    ],
    [
      'eve’s code on another charge',
      ['code', 'one_code'],
      `update charges set emv = (select emv from charges where id = ${pendingOfEve}) where id = ${deposit}`,
    ],
    ['a torn code', ['code'], `update charges set emv = left(emv, -1) || 'x' where id = ${pendingOfEve}`],
    [
      'a charge that can be paid for longer',
      ['code'],
      `update charges set expires_at = expires_at + interval '1 hour' where id = ${pendingOfEve}; update checks set due_at = due_at + interval '1 hour' where subject = ${hex(pendingOfEve)}`,
    ],
    [
      'another external id, claimed too',
      ['code'],
      `update external_ids set external_id = 'forged' where charge_id = ${deposit}; update charges set external_id = 'forged' where id = ${deposit}; update events set body = regexp_replace(body, '"externalId":"[^"]*"', '"externalId":"forged"') where subject_id = ${deposit}`,
    ],
    ['another description', ['code'], `update charges set description = 'forged' where id = ${deposit}`],
    [
      'another payment link',
      ['code'],
      `update events e set body = replace(body, c.payment_link_id::text, '00000000-0000-4000-8000-000000000001') from charges c where c.id = ${deposit} and e.subject_id = c.id; update charges set payment_link_id = '00000000-0000-4000-8000-000000000001' where id = ${deposit}`,
    ],
    [
      'a charge that was made earlier',
      ['charge'],
      `update charges set created_at = created_at - interval '1 day' where id = ${deposit}; delete from daily_total_marks; delete from daily_totals; delete from idempotency_keys`,
    ],
    ['a deposit that is called late', ['deposit_event'], `update charges set paid_late = true where id = ${deposit}`],
    [
      'a process that opens an open charge',
      ['charge'],
      `update charges set opening_instance = 7 where id = ${pendingOfEve}`,
    ],
    [
      'a charge that was closed at another time',
      ['charge'],
      `update charges set closed_at = closed_at + interval '1 second' where id = ${deposit}`,
    ],

    // ---- Refunds
    [
      'a refund that returned more of the fee, also by the log',
      ['refund'],
      `update refunds set fee_returned_cents = fee_returned_cents + 1 where id = ${refund};
      update transfers set amount_cents = amount_cents + 1, debit_id = ${at('fees')} where kind = 'fee_returned' and refund_id = ${refund};
      update audit_log set details = details || jsonb_build_object('feeReturnedCents', (details ->> 'feeReturnedCents')::int + 1) where subject = 'refund ' || ${hex(refund)};
      update events e set body = replace(body, '"returnedFee":' || r.fee_returned_cents - 1, '"returnedFee":' || r.fee_returned_cents) from refunds r where r.id = ${refund} and e.id = ${refundEvent}; select rebook();`,
    ],
    [
      'a refund that somebody else asked for',
      ['row'],
      `update refunds set requested_by = 'somebody' where id = ${refund}`,
    ],
    ['a refund for another reason', ['row'], `update refunds set reason = 'forged' where id = ${refund}`],
    [
      'a refund that is done and is called failed',
      ['transfer'],
      `update refunds set status = 'FAILED', failure = 'forged' where id = ${refund}`,
    ],
    [
      'a refund that nobody asks about any more',
      ['refund'],
      `update refunds set due_at = due_at + interval '1000 years' where status = 'PROCESSING'`,
      'under way',
    ],
    [
      'a refund with another id at the bank',
      ['refund'],
      `update refunds set provider_refund_id = 'forged' where id = ${refund}`,
    ],
    [
      'a refund that eve bears, also by ledger and log',
      ['refund'],
      `${post('deposit', at('written_off'), balance(eve), 100000, suspended)}
      update refunds set account_id = '${eve}' where id = ${refund}; update transfers set debit_id = ${balance(eve)} where refund_id = ${refund} and kind = 'refund_reserved';
      update transfers set credit_id = ${balance(eve)} where refund_id = ${refund} and kind = 'fee_returned'; update audit_log set account_id = '${eve}' where subject = 'refund ' || ${hex(refund)}; select rebook();`,
    ],
    [
      'a refund that ended at another time',
      ['refund_event'],
      `update refunds set ended_at = ended_at + interval '1 second' where id = ${refund}; update transfers set occurred_at = occurred_at + interval '1 second', recorded_at = recorded_at + interval '1 second' where kind = 'refund_paid' and refund_id = ${refund}`,
    ],
    [
      'a refund of the bank that ended later than it was made',
      ['refund'],
      `update refunds set ended_at = ended_at + interval '1 day' where source = 'provider'`,
    ],
    [
      'a refund that is gone, but for the log',
      ['row'],
      `update charges c set refunded_cents = c.refunded_cents - r.amount_cents from refunds r where r.id = ${refund} and c.id = r.charge_id;
      create temp table target on commit drop as select ${refund} as id, ${refundEvent} as event; delete from attempts where event_id = (select event from target); delete from delivery_outcomes where event_id = (select event from target);
      delete from deliveries where event_id = (select event from target); delete from events where id = (select event from target); delete from transfers where refund_id = (select id from target); delete from refunds where id = (select id from target); select rebook();`,
    ],
    [
      'a refund of a key that was used for another request',
      ['row'],
      `update refunds set request_hash = sha256('forged') where idempotency_key is not null`,
    ],

    [
      'more given back than was paid',
      ['over_refunded'],
      `update refunds set amount_cents = 1000000 where id = ${refund}`,
    ],

    [
      'a refund that is done and was never sent',
      ['refund'],
      `update refunds set sent_at = null, doubted_at = null, absent_since = null where id = ${refund}`,
    ],
    [
      'a refund that was sent before it was asked for',
      ['refund'],
      `update refunds set sent_at = created_at - interval '1 day' where id = ${refund}`,
    ],
    [
      'a refund that an operator ended, but for the log',
      ['row'],
      `update refunds set ended_by_kind = 'console', ended_by = 'x', ended_reason = 'x' where id = ${refund}`,
    ],
    [
      'a line of the log of an operator who ended no refund',
      ['line_seal'],
      `insert into audit_log (at, actor_kind, actor, action, subject, details) select ended_at, 'console', 'x', 'refund.ended', 'refund ' || ${hex('id')}, '{}' from refunds where id = ${refund}`,
    ],
    [
      'a refund that the bank never took back',
      ['row'],
      `insert into exceptions (id, payment_id, refund_id, kind, opened_at) select newid(ended_at), payment_id, id, 'undone_refund', ended_at from refunds where id = ${refund};
      insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, account_id, refund_id, occurred_at, recorded_at)
      select 'refund_undone', t.credit_id, ${at('suspense')}, r.amount_cents, 0, 0, r.payment_id, r.charge_id, r.account_id, r.id, r.ended_at, r.ended_at from refunds r join transfers t on t.refund_id = r.id and t.kind = 'refund_paid' where r.id = ${refund};
      update charges c set refunded_cents = c.refunded_cents - r.amount_cents from refunds r where r.id = ${refund} and c.id = r.charge_id; select rebook();`,
    ],

    [
      'a charge that its provider is said to call paid without a Pix',
      ['unnamed_payment'],
      `insert into exceptions (id, charge_id, kind, opened_at) select newid(created_at), id, 'unnamed_payment', created_at from charges where id = ${pendingOfEve}`,
    ],
    [
      'a refund of the bank that is said to repeat one that was undone',
      ['refund'],
      `update refunds set undone_exception_id = (select id from exceptions where kind = 'foreign_refund' order by id limit 1) where source = 'provider' and exception_id is null and undone_exception_id is null`,
    ],
    [
      'a contradiction of the bank that nobody asks about',
      ['refund_check'],
      `insert into refund_checks (refund_id, due_at) select id, now() + interval '1000 years' from refunds where id = ${refund}`,
    ],

    // ---- Payments that completed their charge out of suspense
    [
      'a matched charge that received more',
      ['charge'],
      'update charges set received_cents = received_cents + 1 where received_cents is not null',
    ],
    [
      'a deposit that is said to have brought more than its value',
      ['charge'],
      `update charges set received_cents = value_cents + 1 where id = ${deposit}`,
    ],
    [
      'a matched payment that eve has',
      ['transfer'],
      `update transfers set credit_id = ${balance(eve)} where kind = 'matched_deposit'; select rebook();`,
    ],
    [
      'a matched payment without its fee',
      ['transfer', 'total'],
      `delete from transfers where kind = 'matched_fee'; select rebook();`,
    ],
    [
      'a match that the log forgot',
      ['row'],
      `delete from audit_log where action = 'exception.resolved' and subject = 'exception ' || ${hex(matched)}`,
    ],
    [
      'a match at another time, in books and event',
      ['row', 'deposit_event'],
      `update exceptions set resolved_at = resolved_at + interval '1 second' where id = ${matched}; update transfers set occurred_at = occurred_at + interval '1 second', recorded_at = recorded_at + interval '1 second' where exception_id = ${matched};
      update charges c set closed_at = x.resolved_at from exceptions x join payments p on p.id = x.payment_id where x.id = ${matched} and c.id = p.charge_id`,
    ],

    // ---- Exceptions
    [
      'an exception of another kind',
      ['exception'],
      `update exceptions set kind = 'second_payment' where payment_id = ${suspended}`,
    ],
    ['an open exception that is gone', ['payment', 'total'], `delete from exceptions where payment_id = ${suspended}`],
    [
      'money out of suspense that went to eve, by all but the log',
      ['row'],
      `update exceptions set account_id = '${eve}' where id = ${credited}; update transfers set credit_id = ${balance(eve)}, charge_id = null where exception_id = ${credited} and kind = 'exception_credited'; select rebook();`,
    ],
    [
      'money out of suspense that nobody decided on',
      ['row'],
      `update exceptions set resolution = 'credit', account_id = '${eve}', resolved_by_kind = 'console', resolved_by = 'x', reason = 'x', resolved_at = opened_at where payment_id = ${suspended};
      insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, exception_id, account_id, charge_id, occurred_at, recorded_at)
      select 'exception_credited', ${at('suspense')}, ${balance(eve)}, p.amount_cents, 0, 0, p.id, x.id, '${eve}', (select c.id from charges c where c.id = p.charge_id and c.account_id = '${eve}'), x.resolved_at, x.resolved_at from payments p join exceptions x on x.payment_id = p.id where p.id = ${suspended}; select rebook();`,
    ],
    [
      'a decision that the log forgot',
      ['row'],
      `delete from audit_log where action = 'exception.resolved' and subject = 'exception ' || ${hex(credited)}`,
    ],
    [
      'a decision at another time',
      ['row'],
      `update exceptions set resolved_at = resolved_at + interval '1 second' where id = ${credited}; update transfers set occurred_at = occurred_at + interval '1 second', recorded_at = recorded_at + interval '1 second' where exception_id = ${credited}`,
    ],
    ['a decision of somebody else', ['row'], `update exceptions set resolved_by = 'somebody' where id = ${credited}`],
    ['a decision for another reason', ['row'], `update exceptions set reason = 'forged' where id = ${credited}`],
    [
      'an exception that was opened earlier',
      ['exception'],
      `update exceptions set opened_at = opened_at - interval '1 day' where payment_id = ${suspended}`,
    ],
    [
      'a refund without us that nobody must decide on',
      ['refund', 'total'],
      `delete from exceptions where kind = 'foreign_refund' and resolution is null`,
    ],
    [
      'a loss that is borne by eve',
      ['exception', 'transfer'],
      `update exceptions set account_id = '${eve}' where resolution = 'charge_account'`,
    ],

    // ---- Events and deliveries
    [
      'an event that tells another value',
      ['deposit_event'],
      `update events set ${body('"value":', '"value":1')} where subject_id = ${deposit}`,
    ],
    [
      'an event with a space more',
      ['deposit_event'],
      `update events set ${body('"value":', '"value": ')} where subject_id = ${deposit}`,
    ],
    [
      'an event of another account',
      ['deposit_event'],
      `update events set account_id = '${eve}' where subject_id = ${deposit}`,
    ],
    [
      'an event at another time',
      ['deposit_event'],
      `update events set created_at = created_at - interval '1 day' where subject_id = ${deposit}`,
    ],
    [
      'an event that is gone with its deliveries',
      ['deposit_event'],
      `delete from attempts where event_id = (select id from events where subject_id = ${deposit}); delete from delivery_outcomes where event_id = (select id from events where subject_id = ${deposit}); delete from events where subject_id = ${deposit}`,
    ],
    [
      'an event of a charge that is not paid',
      ['deposit_event'],
      `insert into events select newid(created_at), '${eve}', kind, ${pendingOfEve}, body, created_at from events where subject_id = ${deposit}`,
    ],
    [
      'an event of a kind that there is not',
      ['event_seal'],
      `insert into events select newid(created_at), '${eve}', 'FORGED', ${pendingOfEve}, '{}', created_at from events where subject_id = ${deposit}`,
    ],
    [
      'an event of a refund that tells another sum',
      ['refund_event'],
      `update events set ${body('"totalRefundedValue":', '"totalRefundedValue":1')} where id = ${refundEvent}`,
    ],
    [
      'an event with the id of another deposit’s',
      ['deposit_event'],
      `update events set body = replace(body, 'evt_DEPOSIT_ASSET_SUCCESS_' || ${hex('subject_id')}, 'evt_DEPOSIT_ASSET_SUCCESS_' || ${hex(pendingOfEve)}) where subject_id = ${deposit}`,
    ],
    [
      'an event of a refund with the id of another one’s, which is its subject too',
      ['refund_event'],
      `update events set body = replace(body, ${hex('subject_id')}, ${hex(refund)}), subject_id = ${refund} where id = ${refundEvent}`,
    ],
    [
      'a delivery that nobody remembers',
      ['delivery'],
      `delete from delivery_outcomes where event_id = (select id from events where subject_id = ${deposit}); delete from deliveries where event_id = (select id from events where subject_id = ${deposit}); delete from attempts where event_id = (select id from events where subject_id = ${deposit})`,
    ],
    [
      'a delivery to another account’s webhook',
      ['delivery'],
      `insert into delivery_outcomes select e.id, w.id, 'delivered', 1, e.created_at from events e, webhooks w where e.subject_id = ${deposit} and w.account_id <> e.account_id limit 1`,
    ],
    [
      'an event that is yet to be sent to another account’s webhook',
      ['delivery'],
      `insert into deliveries (event_id, webhook_id, due_at) select e.id, w.id, e.created_at from events e, webhooks w where e.subject_id = ${deposit} and w.account_id <> e.account_id limit 1`,
    ],
    [
      'a delivery that failed and is called delivered',
      ['delivery_seal'],
      `update delivery_outcomes set outcome = 'delivered' where outcome = 'failed'`,
    ],

    // ---- Queues, cursors and claims
    ['an open charge that nobody asks about', ['check'], `delete from checks where subject = ${hex(pendingOfEve)}`],
    [
      'an open charge that is asked about in a thousand years',
      ['check'],
      `update checks set due_at = due_at + interval '1000 years' where subject = ${hex(pendingOfEve)}`,
    ],
    [
      'a question about a charge that is not there',
      ['check'],
      `insert into checks (provider, subject, kind, account_id, due_at) select 'sandbox', repeat('a', 32), 'charge', '${eve}', now()`,
    ],
    [
      'an open charge that its account does not see in its list',
      ['check'],
      `update checks set account_id = '${victim}' where subject = ${hex(pendingOfEve)}`,
    ],
    [
      'a claim of an external id that is gone',
      ['external_id'],
      `delete from external_ids where charge_id = ${deposit}`,
    ],
    [
      'an external id that two charges have',
      ['external_id'],
      `update charges set external_id = (select external_id from charges where id = ${deposit}) where id = ${charge(`account_id = '${victim}' and status = 'PENDING'`)}`,
    ],
    [
      'an order that is credited twice',
      ['external_id'],
      `${ofOneOrder}; update charges set ${ORDER} where id = ${otherDeposit}`,
    ],
    [
      'an order that is credited twice, as if from before orders were credited once',
      ['event_seal'],
      `${ofOneOrder}; update events set seal = null where subject_id = ${otherDeposit}; update charges set ${ORDER}, paid_late = true where id = ${otherDeposit}`,
    ],
    [
      'a mark that holds the payment of a deposit that can be paid',
      ['external_id'],
      `update charges set order_paid = true where id = ${pendingOfEve}`,
    ],
    [
      'a mark that holds the late payment of a deposit that has ended',
      ['external_id'],
      `update charges set order_paid = true where id = ${canceled}`,
    ],
    [
      'an open deposit of a paid order, without its mark',
      ['external_id'],
      `delete from external_ids where charge_id = ${pendingOfEve}; update charges set external_id = (select external_id from charges where account_id = '${eve}' and status = 'COMPLETED' order by id limit 1) where id = ${pendingOfEve}`,
    ],
    [
      'a claim of a charge that expired',
      ['external_id'],
      `insert into external_ids select account_id, 'forged', id from charges where id = ${canceled}`,
    ],
    [
      'an idempotency key of another account',
      ['idempotency_key'],
      `update idempotency_keys set account_id = '${eve}' where charge_id in (select id from charges where account_id = '${victim}') and key = (select min(key) from idempotency_keys)`,
    ],
    [
      'an idempotency key of another request',
      ['idempotency_key'],
      `update idempotency_keys set request_hash = sha256('forged')`,
    ],
    [
      'a sweep that is ahead of its time',
      ['sweep'],
      `update sweeps set swept_until = swept_until + interval '1000 days'`,
    ],
    ['a sweep that is never due', ['sweep'], `update sweeps set due_at = due_at + interval '1000 days'`],
    ['days that are passed over', ['sweep'], `update sweeps set next_closing = next_closing + 30`],
    [
      'a closed day that is gone',
      ['sweep', 'row'],
      `delete from closings where revision = 1 and (provider, day) = (select provider, min(day) from closings group by 1 limit 1)`,
    ],
    [
      'a closed day of another sum, on both sides',
      ['row'],
      `update closings set ledger_total_cents = ledger_total_cents + 1, provider_total_cents = provider_total_cents + 1 where ledger_count > 0`,
    ],
    [
      'a closed day of another number, on both sides',
      ['row'],
      `update closings set ledger_count = ledger_count + 1, provider_count = provider_count + 1 where ledger_count > 0`,
    ],
    [
      'a closed day whose differences are gone',
      ['row'],
      `update closings set provider_total_cents = provider_total_cents + 1, difference_count = 0, differences = '[]' where ledger_count > 0`,
    ],
    [
      'a closed day that was closed again, with a revision left out',
      ['row'],
      `insert into closings select provider, day, revision + 1000, starts_at, ends_at, provider_count, provider_total_cents, ledger_count, ledger_total_cents, difference_count, differences, closed_at from closings where revision = 1 limit 1`,
    ],

    // ---- Counts of days
    [
      'a deposit more on a day',
      ['deposit_day'],
      `update daily_totals set paid = paid + 1 where account_id = '${victim}'`,
    ],
    [
      'cents more on a day',
      ['deposit_day'],
      `update daily_totals set paid_cents = paid_cents + 1 where account_id = '${victim}'`,
    ],
    ['a day that is gone', ['deposit_day'], `delete from daily_totals where account_id = '${victim}'`],
    ['a day that never was', ['deposit_day'], `insert into daily_totals values ('${eve}', '2020-01-01', 1, 1, 100, 1)`],
    [
      'counts that skip what comes',
      ['deposit_day_mark'],
      `update daily_total_marks set charge_id = 'ffffffff-ffff-7fff-bfff-ffffffffffff'`,
    ],
    [
      'counts that say they are up to date',
      ['deposit_day_mark'],
      `update daily_total_marks set credits_cents = credits_cents + 1000`,
    ],

    // ---- Terms and the audit log
    ['terms that were other', ['row'], `update account_terms set fee_bps = 1`],
    [
      'terms without a line in the log',
      ['row'],
      `insert into account_terms (account_id, valid_from, fee_bps, set_by_kind, set_by, reason) select '${eve}', created_at, 1, 'console', 'x', 'x' from accounts where id = '${eve}'`,
    ],
    [
      'terms without a line in the log, as if from before it began',
      ['row'],
      `insert into account_terms (account_id, valid_from, fee_bps, set_by_kind, set_by, reason) select '${eve}', created_at, 0, 'system', 'migration', 'as found when the history began' from accounts where id = '${eve}'`,
    ],
    [
      'a line of the log that tells other terms',
      ['line_seal'],
      `update audit_log set details = jsonb_set(details, '{after}', '{"feeBps": 1}') where action = 'account.terms_changed'`,
    ],
    [
      'terms that are valid from another day',
      ['row'],
      `update account_terms set valid_from = valid_from - interval '1 day'`,
    ],
    [
      'a suspension that is gone',
      ['row'],
      `update accounts set suspended_at = null, suspended_reason = null where suspended_at is not null`,
    ],
    [
      'a suspension that nobody decided on',
      ['row'],
      `update accounts set suspended_at = created_at, suspended_reason = 'x' where id = '${eve}'`,
    ],
    [
      'an account that nobody erased, called erased',
      ['row'],
      `update accounts set erased_at = suspended_at where suspended_at is not null`,
    ],
    [
      'a line of the log that names another person',
      ['line_seal'],
      `update audit_log set actor = 'somebody' where action = 'refund.requested'`,
    ],
    [
      'a line of the log of a refund that never was',
      ['line_seal'],
      `insert into audit_log (at, actor_kind, actor, action, subject, details) select at, 'console', 'x', 'refund.requested', 'refund ' || repeat('a', 32), '{}' from audit_log limit 1`,
    ],
    [
      'a line of the log from the future',
      ['line_seal'],
      `update audit_log set at = at + interval '1000 days' where id = (select max(id) from audit_log where action not like 'exception.%' and action not like 'refund.%' and action not like 'account.%')`,
    ],

    // ---- What guards the rows
    [
      'a trigger that stays disabled',
      ['schema'],
      'alter table transfers disable trigger transfers_append_only',
      'last',
    ],
    ['a trigger that is gone', ['schema'], 'drop trigger payments_kept on payments', 'last'],
    [
      'a trigger that does nothing',
      ['schema'],
      `create or replace function refuse_change() returns trigger language plpgsql as 'begin return null; end'`,
    ],
    [
      'a balance that moves by more than its transfers',
      ['schema'],
      `create or replace function move_balance(moved_id bigint, debits bigint, credits bigint) returns bigint language sql as 'select 1::bigint'`,
    ],
    ['a constraint that is gone', ['schema'], 'alter table ledger_balances drop constraint ledger_balances_check'],
    [
      'a constraint that holds for new rows alone',
      ['schema'],
      'alter table ledger_balances drop constraint ledger_balances_check; alter table ledger_balances add constraint ledger_balances_check check (may_be_negative or credits_cents >= debits_cents) not valid',
    ],
    ['a unique index that is gone', ['schema'], 'drop index payments_one_credit_per_charge'],
    [
      'a unique index that forbids less',
      ['schema'],
      'drop index payments_one_credit_per_charge; create unique index payments_one_credit_per_charge on payments (charge_id) where credited and amount_cents < 0',
    ],
    ['a rule that swallows deletions', ['schema'], 'create rule swallow as on delete to checks do instead nothing'],
    ['rows that are hidden', ['schema'], 'alter table events enable row level security'],
    ['a table beneath a table', ['schema'], 'create table more_charges () inherits (charges)'],
    [
      'a trigger that nobody knows',
      ['schema'],
      'create trigger more before update on charges for each row execute function refuse_change()',
    ],
    [
      'a trigger that nobody knows, on a table that has none',
      ['schema'],
      'create trigger more before update on api_keys for each row execute function refuse_change()',
    ],
    [
      'a trigger that nobody knows, on a partition',
      ['schema'],
      'create trigger more before update on attempts_default for each row execute function refuse_change()',
    ],
    [
      'a trigger that never fires',
      ['schema'],
      `drop trigger payments_fixed on payments; create trigger payments_fixed before update on payments for each row when (false) execute function refuse_change()`,
      'last',
    ],
    [
      'a trigger that looks at one column',
      ['schema'],
      `drop trigger refunds_fixed on refunds; create trigger refunds_fixed before update on refunds for each row when (old.id is distinct from new.id) execute function refuse_change()`,
      'last',
    ],
    [
      'a constraint that allows everything',
      ['schema'],
      'alter table transfers drop constraint transfers_amount_cents_check; alter table transfers add constraint transfers_amount_cents_check check (true)',
    ],
    [
      'a foreign key that deletes',
      ['schema'],
      'alter table refunds drop constraint refunds_account_id_fkey; alter table refunds add constraint refunds_account_id_fkey foreign key (account_id) references accounts on delete cascade',
    ],
    [
      'a foreign key to another table',
      ['schema'],
      'alter table webhooks drop constraint webhooks_account_id_fkey; alter table webhooks add constraint webhooks_account_id_fkey foreign key (account_id) references daily_total_marks (account_id) not valid',
    ],
    ['a function that finds other tables', ['schema'], `alter function refuse_change() set search_path = 'pg_temp'`],
    [
      'a second function of the same name',
      ['schema'],
      `create function move_balance(moved_id integer) returns bigint language sql as 'select 1::bigint'`,
    ],
    ['a column that may be empty', ['schema'], 'alter table payments alter column amount_cents drop not null'],
    ['a column that fills itself', ['schema'], 'alter table charges alter column fee_cents set default 0'],
    ['a table that a crash empties', ['schema'], 'alter table delivery_outcomes set unlogged'],
    ...sealForgeries({ victim, eve }),
    ...payoutForgeries({ victim, eve }),
    ...disputeForgeries({ victim, eve }),
    ...codeForgeries({ victim, eve }),
    ...debtForgeries({ debtor, eve }),
    ...payerForgeries(),
    ...historyForgeries({ victim, eve }),
  ].map(([name, by, sql, order]) => ({
    name,
    by: Array.isArray(by) ? by : ['provider'],
    isBanks: !Array.isArray(by),
    sql,
    order,
  }))
}

function movePayment({ deposit, pendingOfEve, payment, eve, txid }) {
  const balance = `(select id from ledger_accounts where kind = 'balance' and account_id = '${eve}')`
  return `
    create temp table target on commit drop as select ${deposit} as mine, ${pendingOfEve} as hers, ${payment} as payment;
    update charges h set status = 'COMPLETED', end_to_end_id = m.end_to_end_id, paid_at = m.paid_at, closed_at = m.closed_at
    from charges m, target t where h.id = t.hers and m.id = t.mine;
    update payments p set charge_id = t.hers ${txid ? `, txid = replace(t.hers::text, '-', '')` : ''} from target t where p.id = t.payment;
    update transfers x set charge_id = t.hers, credit_id = case when x.kind = 'deposit' then ${balance} else x.credit_id end from target t where x.payment_id = t.payment;
    update transfers x set amount_cents = case x.kind when 'fee' then c.fee_cents else c.value_cents - c.fee_cents end from target t join charges c on c.id = t.hers where x.payment_id = t.payment;
    delete from attempts where event_id in (select e.id from events e, target t where e.subject_id = t.mine);
    delete from delivery_outcomes where event_id in (select e.id from events e, target t where e.subject_id = t.mine);
    delete from deliveries where event_id in (select e.id from events e, target t where e.subject_id = t.mine);
    update events e set subject_id = t.hers, account_id = '${eve}', body = '{"id":"evt_DEPOSIT_ASSET_SUCCESS_' || replace(t.hers::text, '-', '') || '","event":"DEPOSIT_ASSET_SUCCESS","createdAt":"'
      || to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","data":{"transactionId":"' || replace(c.id::text, '-', '') || '","paymentLinkId":"' || c.payment_link_id
      || '","externalId":' || coalesce(to_json(c.external_id)::text, 'null') || ',"value":' || c.value_cents || ',"originalValue":' || c.original_value_cents || ',"fee":' || c.fee_cents
      || ',"creditedValue":' || c.value_cents - c.fee_cents || ',"status":"COMPLETED","paidLate":false,"endToEndId":"' || c.end_to_end_id || '","paidAt":"'
      || to_char(c.paid_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}}' from target t join charges c on c.id = t.hers where e.subject_id = t.mine;
    update charges c set status = 'PENDING', end_to_end_id = null, paid_at = null, closed_at = null from target t where c.id = t.mine;
    insert into checks (provider, subject, kind, account_id, due_at) select c.provider, replace(c.id::text, '-', ''), 'charge', c.account_id, c.expires_at + interval '1 minute' from charges c, target t where c.id = t.mine on conflict do nothing;
    delete from daily_total_marks; delete from daily_totals; select rebook();`
}

/**
 * Disables all triggers for each forgery, and enables them again. rebook() adjusts balances, running totals and account
 * ids to the transfers.
 */
export function statementsOf({ sql, order }) {
  const triggers = (what) => `do $$ declare guarded regclass; begin
    for guarded in select distinct tgrelid from pg_trigger where not tgisinternal loop
      execute format('alter table %s ${what} trigger user', guarded);
    end loop;
  end $$;`
  const before = `${triggers('disable')}
    create function newid(at timestamptz) returns uuid language sql as $f$
      select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid
    $f$;
    create function rebook() returns void language sql as $f$
      update transfers t set debit_after_cents = r.debit, credit_after_cents = r.credit from (
        select id, max(running) filter (where side = 'd') as debit, max(running) filter (where side = 'c') as credit from (
          select id, side, sum(amount) over (partition by account order by id) as running from (
            select id, 'd' as side, debit_id as account, -amount_cents as amount from transfers
            union all select id, 'c', credit_id, amount_cents from transfers) s) l group by id) r
      where r.id = t.id;
      update ledger_balances b set debits_cents = coalesce((select sum(amount_cents) from transfers where debit_id = b.ledger_account_id), 0),
        credits_cents = coalesce((select sum(amount_cents) from transfers where credit_id = b.ledger_account_id), 0);
      update payments p set account_id = (select account_id from charges c where c.id = p.charge_id);
      update transfers t set account_id = coalesce((select account_id from ledger_accounts where id = t.debit_id),
        (select account_id from ledger_accounts where id = t.credit_id), (select account_id from charges c where c.id = t.charge_id));
    $f$;`
  const after = `drop function newid(timestamptz); drop function rebook();`
  return order === 'last'
    ? [before, `${triggers('enable')} ${after}`, sql]
    : [before, sql, `${triggers('enable')} ${after}`]
}
