-- Backups that ended, so that operators are told when there was none for too long. See docs/operations.md.
create table backups (
  ended_at timestamptz primary key,
  place text not null,
  bytes bigint -- null: made by other means than guiche backup
);

-- E-mails are in the language of the dashboard, unless the person chose one for them.
alter table notice_people add column follows_dashboard boolean not null default true;
