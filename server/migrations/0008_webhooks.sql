-- Events, the webhooks that receive them, the queue of deliveries, their outcomes, and the log of attempts.

create table events (
  id uuid primary key,
  account_id uuid not null references accounts,
  kind text not null,
  subject_id uuid not null,
  body text not null, -- the exact bytes that are sent
  created_at timestamptz not null,
  unique (kind, subject_id)
);
create index events_by_account on events (account_id, id desc);
create trigger events_append_only before update or delete or truncate on events
  for each statement execute function refuse_change();

create table webhooks (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text not null check (length(name) between 1 and 100),
  url text not null check (length(url) between 1 and 2048),
  event_kinds text[] not null check (cardinality(event_kinds) > 0),
  -- Sealed, see src/domain/core/secret-box.ts. The row's id is part of the seal, so a value copied to another row does
  -- not open.
  authorization_box text,
  secret_box text not null,
  previous_secret_box text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  failing_since timestamptz, -- the first failure after the last success
  disabled_at timestamptz,
  disabled_code text, -- the reason for programs
  disabled_reason text, -- the reason for people
  deleted_at timestamptz, -- its deliveries and attempts stay readable
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((previous_secret_box is null) = (previous_secret_until is null))
) with (fillfactor = 80);
create index webhooks_by_account on webhooks (account_id, created_at) where deleted_at is null;

-- Only what is still to be delivered: a row leaves when it is delivered or given up. A claim writes leased_until, which
-- is in no index and for which each page has free space, so claiming touches no index.
-- No foreign keys here and below. Rows are made from the tables to which they would refer, and nothing is ever deleted
-- there; each key would lock and rewrite the referenced row, thousands of times a second.
create table deliveries (
  event_id uuid not null,
  webhook_id uuid not null,
  due_at timestamptz not null,
  leased_until timestamptz,
  attempts integer not null default 0,
  primary key (event_id, webhook_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index deliveries_by_webhook on deliveries (webhook_id, due_at);

create table delivery_outcomes (
  event_id uuid not null,
  webhook_id uuid not null,
  outcome text not null check (outcome in ('delivered', 'failed')),
  attempts integer not null,
  ended_at timestamptz not null,
  primary key (event_id, webhook_id)
);
-- By event and not by time: the log of deliveries is in the order of events.
create index delivery_outcomes_failed_events on delivery_outcomes (webhook_id, event_id) where outcome = 'failed';

-- One partition a day, so that old days are dropped whole.
create table attempts (
  event_id uuid not null,
  webhook_id uuid not null,
  number integer not null,
  at timestamptz not null,
  status integer, -- of the response; null if there was none
  error text,
  error_code text,
  error_detail text,
  latency_ms integer not null,
  excerpt text not null, -- the beginning of the response
  check ((status is null) = (error is not null))
) partition by range (at);
create index attempts_by_event on attempts (event_id, at);
-- For days that have no partition, so that a late worker never loses the record of an attempt.
create table attempts_default partition of attempts default;
