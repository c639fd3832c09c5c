-- Totals for the dashboard. Those who look at them bring them up to date, so they cost a settlement nothing.

-- How many deposits an account had each day, and their sums. See src/domain/reports/daily-totals.ts.
create table daily_totals (
  account_id uuid not null references accounts,
  day date not null, -- src/domain/core/business-days.ts says when a day begins
  created bigint not null,
  paid bigint not null,
  paid_cents bigint not null,
  fee_cents bigint not null,
  primary key (account_id, day)
);

-- How far they are counted: the last deposit in the ledger, the sum of all credits of the balance at that time, and the
-- last charge.
create table daily_total_marks (
  account_id uuid primary key references accounts,
  transfer_id bigint not null,
  credits_cents bigint not null,
  charge_id uuid not null
);
