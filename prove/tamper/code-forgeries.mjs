// Forgeries of lasting codes: whose they are, what they allow, and which deposits were made by them.

/**
 * As sealForgeries(). The victim has the code customer-1, whose limits changed and which made deposits before and
 * after and whose held payment was credited, and customer-2, which is closed and holds a payment. Eve has a code
 * customer-1 with a deposit.
 */
export function codeForgeries({ victim, eve }) {
  const code = (name, account = victim) =>
    `(select id from codes where account_id = '${account}' and external_id = '${name}')`
  const [paid, closed, other] = [code('customer-1'), code('customer-2'), code('customer-1', eve)]
  const deposit = `(select id from charges where code_id = ${paid} order by id limit 1)`
  const held = `(select payment_id from exceptions where kind = 'code_closed')`
  const hex = (uuid) => `replace((${uuid})::text, '-', '')`
  const edit = (set, id = paid) => `update codes set ${set} where id = ${id}`
  const charge = (set) => `update charges set ${set} where id = ${deposit}`
  const line = (set, action = 'code.changed') => `
    update audit_log set ${set} where action = '${action}' and subject = 'code ' || ${hex(paid)}`
  const told = (kind, name) =>
    `kind = 'DEPOSIT_${kind}' and account_id = '${victim}' and body::json -> 'data' ->> 'code' = '${name}'`
  const [toldHeld, toldEnd] = [told('HELD', 'customer-2'), told('RELEASED', 'customer-1')]
  const retell = (which, name, value) =>
    `update events set body = regexp_replace(body, '"${name}":("[^"]*"|[0-9]+)', '"${name}":${value}') where ${which}`
  const untell = (which) => `
    delete from deliveries; delete from delivery_outcomes where event_id in (select id from events where ${which});
    delete from events where ${which}`
  const CHARGE = `payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents, created_at,
    expires_at, closed_at, end_to_end_id, paid_at, code_id, code_version`

  return [
    ['a code that leads to eve', ['row'], edit(`emv = (select emv from codes where id = ${other})`)],
    [
      'a code with the seal and the text of another one',
      ['row'],
      edit(`(emv, code_seal) = (select emv, code_seal from codes where id = ${other})`),
    ],
    ['a code of eve', ['code_deposit', 'row'], edit(`account_id = '${eve}', external_id = 'customer-9'`)],
    ['a code that takes more', ['row'], edit('max_value_cents = max_value_cents + 1')],
    ['a code with another description', ['row'], edit(`description = 'for eve'`)],
    ['a closed code that is open', ['row'], edit('closed_at = null', closed)],
    ['an open code that is closed', ['row'], edit('closed_at = changed_at')],
    ['a code that is gone', ['row', 'code_deposit'], `delete from codes where id = ${paid}`],
    [
      'a code that nobody made',
      ['row'],
      `insert into codes select (jsonb_populate_record(k, jsonb_build_object('id', newid(k.created_at), 'external_id', 'new', 'txid', reverse(k.txid)))).* from codes k where id = ${paid}`,
    ],
    ['a deposit of another code', ['code', 'code_deposit'], charge(`code_id = ${closed}`)],
    ['a deposit by a newer version of its code', ['code', 'code_deposit'], charge('code_version = code_version + 1')],
    [
      'a deposit of a code that is called one of no code',
      ['code', 'payment'],
      charge('code_id = null, code_version = null'),
    ],
    ['a deposit of a code with another fee', ['code'], charge('fee_cents = fee_cents - 1')],
    [
      'a deposit of a code whose event names another one',
      ['event_seal', 'deposit_event'],
      `update events set body = replace(body, '"code":"customer-1"', '"code":"customer-2"') where subject_id = ${deposit}`,
    ],
    [
      'a version that allowed less when a deposit was made',
      ['code_deposit', 'line_seal'],
      line(`details = jsonb_set(details, '{maxValueCents}', '1')`, 'code.created'),
    ],
    [
      'a version of which nothing tells',
      ['code_deposit', 'row'],
      `delete from audit_log where action = 'code.created' and subject = 'code ' || ${hex(paid)}`,
    ],
    ['a version that was there before it was', ['line_seal', 'code_deposit'], line(`at = at - interval '1 day'`)],
    [
      'a payment of another code',
      ['code_deposit'],
      `update payments set txid = (select txid from codes where id = ${closed}) where charge_id = ${deposit}`,
    ],
    [
      'a held payment of a closed code that became a deposit',
      ['code', 'code_deposit'],
      `create temp table made on commit drop as select newid(p.recorded_at) as made_id, p.*, k.id as code_id, k.version
         from payments p join codes k on k.txid = p.txid where p.id = ${held};
       insert into charges (id, ${CHARGE}) select made_id, gen_random_uuid(), '${victim}', provider, 'COMPLETED', amount_cents,
         amount_cents, 1, recorded_at, recorded_at, recorded_at, end_to_end_id, occurred_at, code_id, version from made;
       delete from exceptions where payment_id = (select id from made);
       update payments p set credited = true, charge_id = m.made_id, account_id = '${victim}' from made m where p.id = m.id`,
    ],
    [
      'a held payment of a closed code that is called one of nothing',
      ['exception'],
      `update exceptions set kind = 'unknown_charge' where payment_id = ${held}`,
    ],
    ['money that is held of a code, and nobody was told', ['held_event'], untell(toldHeld)],
    ['money that is held of a code, told as less', ['held_event', 'event_seal'], retell(toldHeld, 'receivedValue', 1)],
    [
      'money that is held of a code, told as of another one',
      ['held_event', 'event_seal'],
      retell(toldHeld, 'code', '"customer-1"'),
    ],
    [
      'money that is held of a code, told to eve',
      ['held_event', 'event_seal'],
      `update events set account_id = '${eve}' where ${toldHeld}`,
    ],
    ['held money of a code that was credited, and nobody was told', ['held_event'], untell(toldEnd)],
    [
      'held money of a code that was credited, told as refunded',
      ['held_event', 'event_seal'],
      retell(toldEnd, 'outcome', '"refunded"'),
    ],
    [
      'held money of a code that was credited, told as less',
      ['held_event', 'event_seal'],
      retell(toldEnd, 'creditedValue', 1),
    ],
    [
      'held money of a code, told as released before it was',
      ['held_event', 'event_seal'],
      `update events set created_at = created_at - interval '1 hour' where ${toldEnd}`,
    ],
  ]
}
