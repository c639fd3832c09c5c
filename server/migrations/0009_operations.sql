-- What operations need to see: which SECRET_KEY seals, whether providers notify us, and keys that read metrics and nothing else.

-- The id of each SECRET_KEY that sealed, never the key. The newest is the one in use: a process without it cannot open what others seal.
create table secret_key_ids (
  id text primary key check (length(id) = 8),
  used_at timestamptz not null
);

-- When each provider last notified us, to within a minute.
create table provider_notifications (
  provider text primary key,
  received_at timestamptz not null
);

-- A monitoring system needs to read metrics, and must not be able to move money.
alter table api_keys drop constraint api_keys_operator_scope;
alter table api_keys add constraint api_keys_operator_scope check (
  case when operator_id is null then not scopes && array['operator', 'metrics:read']
    else scopes = array['operator'] or scopes = array['metrics:read'] end
);
