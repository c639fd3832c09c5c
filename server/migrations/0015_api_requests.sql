-- Requests by API keys, for the developers who send them: what was asked and answered, without bodies and values of
-- parameters. See docs/decisions/0046-request-log.md. One partition a day, so that old days are dropped whole. No
-- foreign keys: a row must cost little, and the account's erasure deletes it.
create table api_requests (
  id uuid not null, -- in the order of time
  at timestamptz not null,
  account_id uuid not null,
  key_id uuid not null,
  request_id text not null, -- as the caller sent it, or ours; two requests may have the same
  method text not null,
  route text not null,
  path text not null,
  parameters text not null, -- names of the query string, with commas between them
  status integer not null,
  error_code text,
  error text,
  ms integer not null,
  has_idempotency_key boolean not null,
  network text not null -- the caller's address, without its last part
) partition by range (at);
create index api_requests_of_account on api_requests (account_id, id);
create index api_requests_errors on api_requests (account_id, id) where status >= 400;
create index api_requests_by_request_id on api_requests (request_id, id);
-- For days that have no partition.
create table api_requests_default partition of api_requests default;

-- How many requests of a day are not in api_requests, because too many came at once or the database was away.
create table api_requests_unrecorded (
  account_id uuid not null,
  day date not null,
  count bigint not null check (count > 0),
  primary key (account_id, day)
);
