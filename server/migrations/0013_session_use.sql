-- Sessions end when nobody uses them, codes of authenticator apps work once, and a person's outstanding links can be found.

-- Null: not used since it was opened. Written at most once a minute.
alter table sessions add column last_used_at timestamptz;

-- The newest time step whose code was accepted. Codes of this step and of earlier ones are refused.
alter table second_factors add column last_step bigint not null default 0;

create index verifications_by_value on verifications (value);
