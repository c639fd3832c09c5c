// Forgeries of reversals: what an account owes, why, and who decided that it does.

/** As sealForgeries(). The debtor has one reversal, a debt, and a deposit that paid a part of it. */
export function debtForgeries({ debtor, eve }) {
  const ledger = (kind) => `(select id from ledger_accounts where kind = '${kind}' and account_id = '${debtor}')`
  const reversal = `(select r.id from refunds r join charges c on c.id = r.charge_id where r.nature is not null and c.account_id = '${debtor}')`
  const decided = `(select id from exceptions where refund_id = ${reversal})`
  const event = (from, to) =>
    `update events set body = replace(body, '${from}', '${to}') where account_id = '${debtor}' and kind = 'DEPOSIT_REVERSED'`
  const nature = `update refunds set nature = 'other' where id = ${reversal}`
  return [
    ['a reversal for another reason', ['refund_event'], nature],
    [
      'a reversal for another reason, wherever it is told',
      ['event_seal'],
      `${nature}; ${event('"nature":"fraud"', '"nature":"other"')}`,
    ],
    [
      'a reversal that is called a refund that was asked for',
      ['refund_event', 'transfer'],
      `update refunds set nature = null where id = ${reversal}`,
    ],
    [
      'a debt that is erased',
      ['transfer', 'row'],
      `update exceptions set owed_cents = null where id = ${decided};
       delete from transfers where kind in ('reversal_owed', 'debt_paid') and account_id = '${debtor}'; select rebook();`,
    ],
    [
      'a debt of which a part is forgiven',
      ['transfer'],
      `update transfers set amount_cents = amount_cents - 100 where kind = 'reversal_owed' and account_id = '${debtor}'; select rebook();`,
    ],
    [
      'a debt of another account',
      ['transfer'],
      `with made as (insert into ledger_accounts (kind, account_id) values ('owed', '${eve}') returning id)
       insert into ledger_balances (ledger_account_id, may_be_negative) select id, true from made;
       delete from transfers where kind = 'debt_paid' and account_id = '${debtor}';
       update transfers set debit_id = (select id from ledger_accounts where kind = 'owed' and account_id = '${eve}')
       where kind = 'reversal_owed' and account_id = '${debtor}'; select rebook();`,
    ],
    [
      'a payment of a debt that is gone',
      ['debt'],
      `delete from transfers where kind = 'debt_paid' and account_id = '${debtor}'; select rebook();`,
    ],
    [
      'a balance beside a debt, without a transfer',
      ['balance', 'debt'],
      `update ledger_balances set credits_cents = credits_cents + 500 where ledger_account_id = ${ledger('balance')}`,
    ],
    [
      'a reversal that an operator is said to have charged',
      ['row', 'refund_event'],
      `update exceptions set resolved_by_kind = 'console', resolved_by = 'ana' where id = ${decided}`,
    ],
    [
      'terms that leave reversals to an operator',
      ['row'],
      `update account_terms set reversal_policy = 'charge' where reversal_policy = 'operator'`,
    ],
  ]
}
