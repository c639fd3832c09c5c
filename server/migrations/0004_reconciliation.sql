-- How far each provider's list of received Pix was read, and what each day came to.

-- One process sweeps a provider at a time: it puts its claim here and moves due_at to the end of a lease, which it renews while it works.
create table sweeps (
  provider text primary key,
  began_at timestamptz not null, -- what the provider received before this is not ours to look for
  swept_until timestamptz not null check (swept_until >= began_at),
  next_closing date not null, -- the day that is closed next, see src/domain/days.ts for which days these are
  due_at timestamptz not null,
  claim uuid
);

-- A day that is closed again gets another row, and the newest counts.
create table closings (
  provider text not null,
  day date not null,
  revision integer not null check (revision > 0),
  -- The day's bounds, but on a provider's first day the moment at which we began.
  starts_at timestamptz not null,
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

-- Payments are inserted about in the order in which they were made, so a summary of each stretch of the table finds a day. A tree would cost every settlement
-- an entry.
create index payments_by_time on payments using brin (occurred_at) with (autosummarize = on);
