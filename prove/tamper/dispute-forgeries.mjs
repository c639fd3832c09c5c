// Forgeries of disputes: the bank of the proof tells of none, so only the test of the audit has them.

/** As sealForgeries(). The victim has a dispute that is OPEN, with evidence, and one that is REJECTED. */
export function disputeForgeries({ victim, eve }) {
  const of = (status) => `(select id from disputes where account_id = '${victim}' and status = '${status}')`
  const [open, rejected] = ['OPEN', 'REJECTED'].map(of)
  const ledger = (kind, account) =>
    `(select id from ledger_accounts where kind = '${kind}' and account_id = '${account}')`
  const COLUMNS =
    'kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, dispute_id, charge_id, account_id, occurred_at, recorded_at'
  const edit = (set, id) => `update disputes set ${set} where id = ${id}`
  const subject = (id) =>
    `(select left(encode(sha256(convert_to('dispute ' || provider || ' ' || provider_dispute_id, 'UTF8')), 'hex'), 32)::uuid from disputes where id = ${id})`
  const event = (from, to, id) =>
    `update events set body = replace(body, ${from}, ${to}) where subject_id = ${subject(id)}`
  const keep = (id) => `create temp table kept on commit drop as select * from disputes where id = ${id}`
  const forgetEvents = `delete from deliveries where event_id not in (select id from events);
    delete from delivery_outcomes where event_id not in (select id from events);`
  const end = (status) => `
    ${keep(open)};
    insert into transfers (${COLUMNS})
    select 'dispute_released', credit_id, debit_id, amount_cents, 0, 0, dispute_id, charge_id, account_id, occurred_at, recorded_at
    from transfers where kind = 'dispute_held' and dispute_id = ${open};
    update disputes set status = '${status}', ended_at = recorded_at where id = (select id from kept); select rebook();`
  const forget = (id) => `
    ${keep(id)};
    delete from transfers where dispute_id = (select id from kept);
    delete from events where subject_id = ${subject('(select id from kept)')}; ${forgetEvents}
    delete from dispute_evidence where dispute_id = (select id from kept);
    delete from disputes where id = (select id from kept); select rebook();`

  return [
    [
      'a dispute that holds a cent less, wherever it is told',
      ['row', 'event_seal'],
      `${event(`'"heldValue":' || (select held_cents from disputes where id = ${open})`, `'"heldValue":' || (select held_cents - 1 from disputes where id = ${open})`, open)};
       ${edit('held_cents = held_cents - 1', open)};
       update transfers set amount_cents = amount_cents - 1 where dispute_id = ${open}; select rebook();`,
    ],
    ['a dispute that holds a cent less than was held', ['transfer', 'row'], edit('held_cents = held_cents - 1', open)],
    ['a dispute with another deadline', ['row'], edit(`deadline_at = deadline_at + interval '1 day'`, open)],
    ['a dispute with another reason', ['row'], edit(`reason = 'eve'`, open)],
    ['a dispute that is called rejected', ['row', 'dispute_event'], end('REJECTED')],
    ['a dispute that is called accepted, without a return', ['row', 'dispute_event'], end('ACCEPTED')],
    [
      'a dispute that was rejected, and is called canceled, wherever it is told',
      ['row', 'event_seal'],
      `${event(`'"status":"REJECTED"'`, `'"status":"CANCELED"'`, rejected)}; ${edit(`status = 'CANCELED'`, rejected)}`,
    ],
    [
      'a dispute of another account',
      ['row', 'dispute'],
      `with made as (insert into ledger_accounts (kind, account_id) values ('held', '${eve}') returning id)
       insert into ledger_balances (ledger_account_id, may_be_negative) select id, false from made;
       ${edit(`account_id = '${eve}'`, open)};
       update transfers set debit_id = ${ledger('balance', eve)}, credit_id = ${ledger('held', eve)}
       where dispute_id = (select id from disputes where account_id = '${eve}'); select rebook();`,
    ],
    ['a dispute that is gone, with all that tells of it', ['row'], forget(rejected)],
    ['a dispute that is open, and is gone', ['row'], forget(open)],
    [
      'a dispute that no provider told of',
      ['row', 'dispute_event'],
      `insert into disputes select (r).* from (select jsonb_populate_record(d, jsonb_build_object('id', newid(d.recorded_at), 'provider_dispute_id', 'forged', 'held_cents', 0)) as r
         from disputes d where d.id = ${rejected}) copied`,
    ],
    [
      'what a dispute held, released to eve',
      ['transfer', 'total'],
      `update transfers set credit_id = ${ledger('balance', eve)} where kind = 'dispute_released' and dispute_id = ${rejected}; select rebook();`,
    ],
    [
      'a dispute whose release is in no transfer',
      ['transfer', 'total'],
      `delete from transfers where kind = 'dispute_released'; select rebook();`,
    ],
    [
      'a dispute of which the account was not told',
      ['dispute_event'],
      `delete from events where kind = 'DISPUTE_ENDED'; ${forgetEvents}`,
    ],
    ['an open dispute that nobody asks about any more', ['dispute'], 'delete from dispute_checks'],
    [
      'a dispute that holds twice, without the index that forbids it',
      ['schema', 'chain'],
      `drop index transfers_once_per_dispute; insert into transfers (${COLUMNS})
       select ${COLUMNS} from transfers where kind = 'dispute_held' and dispute_id = ${open}; select rebook();`,
    ],
    ['evidence with other bytes', ['evidence'], `update dispute_evidence set content = content || 'x'`],
    ['evidence with another hash', ['row', 'evidence'], `update dispute_evidence set sha256 = sha256(content || 'x')`],
    ['evidence that somebody else gave', ['row'], `update dispute_evidence set given_by = 'somebody'`],
    ['evidence that is gone', ['row'], 'delete from dispute_evidence'],
    ['evidence that is never sent', ['evidence'], `update dispute_evidence set due_at = due_at + interval '30 days'`],
  ].map(([name, by, sql]) => [name, by, sql, 'disputes'])
}
