-- The zone of the account's days, by its IANA name: see src/domain/core/business-days.ts. Null: America/Sao_Paulo.
alter table accounts add column time_zone text;
alter table accounts add constraint accounts_time_zone check (length(time_zone) between 1 and 64) not valid;
