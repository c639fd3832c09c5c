-- How far we have read each provider's list of received Pix, and how each day compared with the ledger.

-- One process at a time sweeps a provider. It writes its claim and moves due_at to the end of a lease, which it renews
-- while it works.
create table sweeps (
  provider text primary key,
  began_at timestamptz not null, -- payments that the provider received earlier are not ours
  swept_until timestamptz not null check (swept_until >= began_at),
  next_closing date not null, -- the day that is closed next; src/domain/core/business-days.ts says when a day begins
  due_at timestamptz not null,
  claim uuid
);

-- A day that is closed again gets another row, and the newest row counts.
create table closings (
  provider text not null,
  day date not null,
  revision integer not null check (revision > 0),
  starts_at timestamptz not null, -- the beginning of the day; on a provider's first day, the time at which we began
  ends_at timestamptz not null check (ends_at > starts_at),
  provider_count bigint not null check (provider_count >= 0),
  provider_total_cents bigint not null check (provider_total_cents >= 0),
  ledger_count bigint not null check (ledger_count >= 0),
  ledger_total_cents bigint not null check (ledger_total_cents >= 0),
  difference_count bigint not null check (difference_count >= 0),
  differences jsonb not null check (jsonb_typeof(differences) = 'array'), -- the first hundred
  closed_at timestamptz not null,
  primary key (provider, day, revision)
);
create index closings_by_day on closings (day desc, provider, revision desc);
create trigger closings_append_only before update or delete or truncate on closings
  for each statement execute function refuse_change();
