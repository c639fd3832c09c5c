// Forgeries of who paid: whom a deposit names, and what the provider said of its payment.

/**
 * As sealForgeries(). The victim has three deposits that name a payer: one that required it and was paid by it, one
 * that was only verified and paid by another person, one that required it and whose money of another person went back.
 * A fourth one is paid, and the provider has not said by whom.
 */
export function payerForgeries() {
  const named = (policy, answer) =>
    `(select a.end_to_end_id from payer_answers a join charges c on c.id = a.charge_id
      where c.payer::json ->> 'policy' = '${policy}' and a.answer = '${answer}')`
  const [confirmed, verified, returned] = [
    named('require', 'matched'),
    named('verify', 'mismatched'),
    named('require', 'mismatched'),
  ]
  const chargeOf = (endToEndId) => `(select charge_id from payer_answers where end_to_end_id = ${endToEndId})`
  const waiting = `(select x.payment_id from exceptions x where x.kind = 'payer_unconfirmed' and x.resolution is null)`
  const answer = (set, endToEndId) => `update payer_answers set ${set} where end_to_end_id = ${endToEndId}`
  const charge = (set, endToEndId) => `update charges set ${set} where id = ${chargeOf(endToEndId)}`
  const swap = (from, to) => `payer = replace(payer, '${from}', '${to}')`
  const forget = (endToEndId) => `delete from payer_answers where end_to_end_id = ${endToEndId}`

  return [
    ['a payment of another person that is called confirmed', ['payer_seal'], answer(`answer = 'matched'`, verified)],
    [
      'a confirmed payment that is called one of another person',
      ['payer_seal', 'payer'],
      answer(`answer = 'mismatched'`, confirmed),
    ],
    ['an answer of another time', ['payer_seal'], answer(`answered_at = answered_at - interval '1 second'`, verified)],
    [
      'an answer with the seal of another one',
      ['payer_seal'],
      answer(`seal = (select seal from payer_answers where end_to_end_id = ${confirmed})`, verified),
    ],
    ['an answer about another charge', ['payer', 'payer_seal'], answer(`charge_id = ${chargeOf(confirmed)}`, verified)],
    ['an answer that is gone', ['payer', 'deposit_event'], forget(confirmed)],
    [
      'an answer that nobody gave',
      ['payer_seal'],
      `insert into payer_answers select p.end_to_end_id, p.charge_id, 'matched', p.recorded_at, a.seal
       from payments p, payer_answers a where p.id = ${waiting} and a.end_to_end_id = ${confirmed}`,
    ],
    ['a deposit that names another person', ['code'], charge(swap('"hash":"', '"hash":"0'), confirmed)],
    ['a deposit that shows another person', ['code'], charge(swap('"ending":"09"', '"ending":"10"'), confirmed)],
    ['a deposit that only verifies whom it required', ['code'], charge(swap('require', 'verify'), confirmed)],
    ['a deposit that names nobody any more', ['code', 'payer'], charge('payer = null', confirmed)],
    [
      'a deposit that names somebody, and did not',
      ['code'],
      `update charges set payer = (select payer from charges where id = ${chargeOf(verified)})
       where id = (select min(id::text)::uuid from charges where status = 'COMPLETED' and payer is null)`,
    ],
    [
      'money of another person that was credited',
      ['payer', 'charge', 'transfer'],
      `update charges set status = 'COMPLETED', end_to_end_id = ${returned}, paid_at = closed_at where id = ${chargeOf(returned)};
       update payments set credited = true where end_to_end_id = ${returned}`,
    ],
    [
      'money of another person whose decision is another one',
      ['row', 'payer', 'exception'],
      `update exceptions set resolution = 'write_off'
       where payment_id = (select id from payments where end_to_end_id = ${returned}) and kind = 'payer_unconfirmed'`,
    ],
    [
      'a payment whose payer nobody asks about',
      ['payer'],
      `delete from checks where subject = (select 'payer ' || end_to_end_id from payments where id = ${waiting})`,
    ],
    [
      'a number of a payer that is kept',
      ['payer'],
      `insert into payer_numbers select id, account_id, 'x' from charges where id = ${chargeOf(confirmed)};
       update charges set closed_at = closed_at - interval '4 days' where id = ${chargeOf(confirmed)}`,
    ],
    [
      'a number of a payer of a deposit that names nobody',
      ['payer'],
      `insert into payer_numbers select id, account_id, 'x' from charges where payer is null limit 1`,
    ],
    [
      'a deposit whose event says that its payer is not known',
      ['deposit_event', 'event_seal'],
      `update events set body = replace(body, '"payerMatch":"matched"', '"payerMatch":"unknown"')
       where kind = 'DEPOSIT_ASSET_SUCCESS' and subject_id = ${chargeOf(confirmed)}`,
    ],
    [
      'a schema that credits without a confirmed payer',
      ['schema'],
      'alter table charges disable trigger charges_payer',
      'last',
    ],
  ]
}
