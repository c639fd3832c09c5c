-- What account holders and operators are told: by the bell of the dashboard, and by e-mail. See
-- docs/decisions/0044-notices.md.

-- Who follows what, and how far each has come. notices: the next leaf of the history. states: when troubles that are no
-- events were last looked for. mail <user>: the last notice that an e-mail to the person has. bell <user>: the last
-- notice that the person has seen.
create table followers (
  name text primary key,
  position bigint not null check (position >= 0),
  moved_at timestamptz not null,
  due_at timestamptz -- of mail <user>: there are notices, and this is when they are sent
);
create index followers_due on followers (due_at) where due_at is not null;

create table notices (
  -- Given under a lock, so that none appears behind one that a follower has passed.
  number bigint primary key check (number > 0),
  account_id uuid, -- null: for the operators
  user_id uuid, -- for this person alone
  kind text not null,
  subject text not null,
  data jsonb not null,
  -- news: it has no end. began: of a trouble. ended: the same trouble is over.
  what text not null check (what in ('news', 'began', 'ended')),
  happened_at timestamptz not null,
  told_at timestamptz not null,
  over_at timestamptz, -- of a trouble that began
  check (over_at is null or what = 'began')
);
create index notices_by_account on notices (account_id, number desc);
create index notices_by_person on notices (user_id, number desc) where user_id is not null;
-- A trouble begins once, and only one that began can end.
create unique index notices_open on notices (kind, subject) where what = 'began' and over_at is null;

-- An e-mail with the notices of one person after one number and up to another.
create table notice_emails (
  id uuid primary key, -- its Message-ID, so that one that is sent again can be known
  user_id uuid not null,
  after_number bigint not null,
  last_number bigint not null,
  created_at timestamptz not null,
  due_at timestamptz, -- when it is sent, or sent again; claiming moves it to the end of the lease
  attempts integer not null default 0,
  sent_at timestamptz,
  failure text,
  check (last_number > after_number),
  check (due_at is null or sent_at is null),
  unique (user_id, after_number) -- no notice is in two e-mails to a person
);
create index notice_emails_due on notice_emails (due_at) where due_at is not null;

-- What a person does not want by e-mail. The bell shows it all the same.
create table notice_choices (
  user_id uuid not null,
  kind text not null,
  primary key (user_id, kind)
);

-- The language of e-mails to a person. Without a row: Portuguese.
create table notice_people (
  user_id uuid primary key,
  language text not null check (language in ('pt-BR', 'en'))
);
