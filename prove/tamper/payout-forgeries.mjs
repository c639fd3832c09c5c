// Forgeries of payouts: no bank tells of them, so only their seals, transfers and events show what was asked and paid.

/** As sealForgeries(). The victim has one payout of each status. */
export function payoutForgeries({ victim, eve }) {
  const of = (status) => `(select id from payouts where account_id = '${victim}' and status = '${status}')`
  const [requested, paid, rejected] = ['REQUESTED', 'PAID', 'REJECTED'].map(of)
  const hex = (uuid) => `replace((${uuid})::text, '-', '')`
  const ledger = (kind, account) =>
    `(select id from ledger_accounts where kind = '${kind}' and account_id ${account ? `= '${account}'` : 'is null'})`
  const COLUMNS =
    'kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payout_id, account_id, occurred_at, recorded_at'
  const edit = (set, id) => `update payouts set ${set} where id = ${id}`
  const transfer = (set, kind, id) =>
    `update transfers set ${set} where kind = '${kind}' and payout_id = ${id}; select rebook();`
  const event = (from, to, id = paid) =>
    `update events set body = replace(body, ${from}, ${to}) where subject_id = ${id}`
  const keep = (id) => `create temp table kept on commit drop as select * from payouts where id = ${id}`
  const end = (status) => `
    ${keep(requested)};
    insert into transfers (${COLUMNS})
    select '${status === 'PAID' ? 'payout_paid' : 'payout_returned'}', credit_id,
      ${status === 'PAID' ? ledger('paid_out') : 'debit_id'}, amount_cents, 0, 0, payout_id, account_id, occurred_at, recorded_at
    from transfers where kind = 'payout_reserved' and payout_id = ${requested};
    update payouts set status = '${status}', ended_at = requested_at, ended_by_kind = 'console', ended_by = 'ana',
      ${status === 'PAID' ? `reference = 'E9', paid_at = (requested_at at time zone 'America/Sao_Paulo')::date` : `reason = 'no'`}
    where id = (select id from kept); select rebook();`
  const forget = (id) => `
    ${keep(id)};
    delete from transfers where payout_id = (select id from kept);
    delete from events where subject_id = (select id from kept);
    delete from deliveries where event_id not in (select id from events);
    delete from delivery_outcomes where event_id not in (select id from events);
    delete from payouts where id = (select id from kept); select rebook();`

  return [
    [
      'a payout of a cent more, wherever it is told',
      ['row', 'event_seal'],
      `${event(`'"value":' || (select value_cents from payouts where id = ${paid})`, `'"value":' || (select value_cents + 1 from payouts where id = ${paid})`)};
       ${edit('value_cents = value_cents + 1', paid)};
       update transfers set amount_cents = amount_cents + 1 where payout_id = ${paid}; select rebook();`,
    ],
    [
      'a payout of a cent less than was reserved',
      ['transfer', 'row'],
      edit('value_cents = value_cents - 1', requested),
    ],
    ['a payout with another note', ['row'], edit(`note = 'for eve'`, requested)],
    ['a payout that is called paid', ['row', 'payout_event'], end('PAID')],
    ['a payout that is called rejected', ['row', 'payout_event'], end('REJECTED')],
    [
      'a payout that was paid with another reference, wherever it is told',
      ['row', 'event_seal'],
      `${event(`'"reference":"E1"'`, `'"reference":"E2"'`)}; ${edit(`reference = 'E2'`, paid)}`,
    ],
    ['a payout that was paid with another reference', ['payout_event', 'row'], edit(`reference = 'E2'`, paid)],
    ['a payout that was paid by somebody else', ['row'], edit(`ended_by = 'somebody'`, paid)],
    ['a payout that was rejected for another reason', ['payout_event', 'row'], edit(`reason = 'eve'`, rejected)],
    [
      'a payout of another account',
      ['row'],
      `with made as (insert into ledger_accounts (kind, account_id) values ('reserved', '${eve}') returning id)
       insert into ledger_balances (ledger_account_id, may_be_negative) select id, false from made;
       ${edit(`account_id = '${eve}'`, requested)};
       update transfers set debit_id = ${ledger('balance', eve)}, credit_id = ${ledger('reserved', eve)}
       where payout_id = ${requested}; select rebook();`,
    ],
    ['a payout that is gone, with all that tells of it', ['row'], forget(paid)],
    ['a payout that was asked for, and is gone', ['row'], forget(requested)],
    [
      'a payout that nobody asked for',
      ['row'],
      `${keep(requested)};
       insert into payouts select (r).* from (select jsonb_populate_record(o, jsonb_build_object('id', newid(o.requested_at), 'idempotency_key', null, 'request_hash', null)) as r
         from kept k join payouts o using (id)) copied;
       insert into transfers (${COLUMNS}) select t.kind, t.debit_id, t.credit_id, t.amount_cents, 0, 0, o.id, t.account_id, t.occurred_at, t.recorded_at
       from kept k join transfers t on t.payout_id = k.id join payouts o on o.status = 'REQUESTED' and o.id <> k.id; select rebook();`,
    ],
    [
      'a payout that is open again, as when it was asked for',
      ['line_seal'],
      `${keep(paid)};
       delete from transfers where kind = 'payout_paid' and payout_id = ${paid};
       delete from events where subject_id = ${paid};
       delete from deliveries where event_id not in (select id from events);
       delete from delivery_outcomes where event_id not in (select id from events);
       ${edit(`status = 'REQUESTED', ended_at = null, ended_by_kind = null, ended_by = null, reference = null, paid_at = null`, paid)};
       insert into audit_log (at, actor_kind, actor, key_id, action, subject, account_id, reason, details, rows, seal)
       select at, actor_kind, actor, key_id, action, subject, account_id, reason, details, rows, seal from audit_log
       where action = 'payout.requested' and subject = 'payout ' || ${hex('(select id from kept)')}; select rebook();`,
    ],
    [
      'a payout that eve got',
      ['transfer', 'total'],
      transfer(`credit_id = ${ledger('balance', eve)}`, 'payout_paid', paid),
    ],
    [
      'a payout that was returned to eve',
      ['transfer'],
      transfer(`credit_id = ${ledger('balance', eve)}`, 'payout_returned', rejected),
    ],
    [
      'a payout that was reserved at another time',
      ['transfer'],
      transfer(`occurred_at = occurred_at - interval '1 hour'`, 'payout_reserved', requested),
    ],
    [
      'a payout whose end is in no transfer',
      ['transfer', 'total'],
      `delete from transfers where kind = 'payout_paid'; select rebook();`,
    ],
    [
      'a payout that was paid, and the account was not told',
      ['payout_event'],
      `delete from deliveries; delete from delivery_outcomes where event_id in (select id from events where kind = 'PAYOUT_PAID');
       delete from events where kind = 'PAYOUT_PAID'`,
    ],
    [
      'a payout twice, without the index that forbids it',
      ['schema', 'chain'],
      `drop index transfers_once_per_payout; insert into transfers (${COLUMNS})
       select ${COLUMNS} from transfers where kind = 'payout_reserved' and payout_id = ${requested}; select rebook();`,
    ],
  ]
}
