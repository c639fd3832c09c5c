-- What the dashboard looks for. Nothing here costs a settlement anything: the counts of days are made by those who look at them.

-- How many deposits each day of an account had, and what they came to, see src/domain/deposit-days.ts.
create table deposit_days (
  account_id uuid not null references accounts,
  day date not null, -- see src/domain/days.ts for which days these are
  created bigint not null,
  paid bigint not null,
  paid_cents bigint not null,
  fee_cents bigint not null,
  primary key (account_id, day)
);

-- How far they are counted: the last deposit in the ledger, what the balance was credited by then in all, and the last charge.
create table deposit_day_marks (
  account_id uuid primary key references accounts,
  transfer_id bigint not null,
  credits_cents bigint not null,
  charge_id uuid not null
);

-- An external id never changes, so that no update of a charge touches this.
create index charges_by_external_id on charges (account_id, external_id) where external_id is not null;

-- The log of deliveries is in the order of events. Nobody looks for failed ones by the time at which they ended.
create index delivery_outcomes_failed_events on delivery_outcomes (endpoint_id, event_id) where outcome = 'failed';
drop index delivery_outcomes_failed;
