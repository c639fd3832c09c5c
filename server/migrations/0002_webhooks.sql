-- Webhook endpoints, the queue of deliveries, what became of them, and the log of attempts.

create table webhook_endpoints (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text not null check (length(name) between 1 and 100),
  url text not null check (length(url) between 1 and 2048),
  event_kinds text[] not null check (cardinality(event_kinds) > 0),
  -- Sealed, see src/domain/secret-box.ts; the row's id is part of the seal, so a value copied to another row does not open.
  authorization_box text,
  secret_box text not null,
  previous_secret_box text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  failing_since timestamptz, -- the first failure after the last success
  disabled_at timestamptz,
  disabled_reason text,
  deleted_at timestamptz, -- its deliveries and attempts stay readable
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((previous_secret_box is null) = (previous_secret_until is null))
) with (fillfactor = 80);
create index webhook_endpoints_by_account on webhook_endpoints (account_id, created_at) where deleted_at is null;

-- What is still to be delivered, and nothing else: a row leaves when it is delivered or given up. A claim writes leased_until, which no
-- index mentions and for which each page has room, so that claiming touches no index.
-- No foreign keys here and below: rows are made from the very tables they would point to, nothing there is ever deleted, and each
-- key would lock and rewrite the row it points to, thousands of times a second.
create table deliveries (
  event_id uuid not null,
  endpoint_id uuid not null,
  due_at timestamptz not null,
  leased_until timestamptz,
  attempts integer not null default 0,
  primary key (event_id, endpoint_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index deliveries_by_endpoint on deliveries (endpoint_id, due_at);

create table delivery_outcomes (
  event_id uuid not null,
  endpoint_id uuid not null,
  outcome text not null check (outcome in ('delivered', 'failed')),
  attempts integer not null,
  ended_at timestamptz not null,
  primary key (event_id, endpoint_id)
);
create index delivery_outcomes_failed on delivery_outcomes (endpoint_id, ended_at) where outcome = 'failed';

-- One part a day, so that old days are dropped whole.
create table attempts (
  event_id uuid not null,
  endpoint_id uuid not null,
  number integer not null,
  at timestamptz not null,
  status integer, -- of the answer; null when there was none
  error text,
  latency_ms integer not null,
  excerpt text not null,
  check ((status is null) = (error is not null))
) partition by range (at);
create index attempts_by_event on attempts (event_id, at);
-- Takes what no day's part takes, so that a late worker never costs an attempt's record.
create table attempts_default partition of attempts default;
