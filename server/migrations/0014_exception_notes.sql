-- What operators write about an exception while they find out what to do. Notes are only added.
create table exception_notes (
  id uuid primary key,
  exception_id uuid not null references exceptions,
  number smallint not null check (number between 1 and 100), -- so an exception has at most a hundred
  text text not null check (length(text) between 1 and 1000),
  noted_at timestamptz not null,
  noted_by_kind text not null check (noted_by_kind in ('operator', 'console')),
  noted_by text not null,
  unique (exception_id, number)
);
create trigger exception_notes_append_only before update or delete or truncate on exception_notes
  for each statement execute function refuse_change();
