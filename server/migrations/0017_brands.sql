-- How an account shows itself to payers, what the form of a new deposit begins with, and where payers may be sent back
-- to. See src/domain/accounts/brands.ts.
create table brands (
  id uuid primary key references accounts, -- that of the account
  version integer not null check (version > 0),
  changed_at timestamptz not null,
  display_name text check (length(display_name) between 1 and 60), -- null: the name of the account
  color text check (color ~ '^#[0-9a-f]{6}$'),
  logo text check (logo ~ '^[0-9a-f]{64}\.(png|jpg|webp)$'), -- the file in brand_logos
  cnpj text check (cnpj ~ '^[0-9A-Z]{12}[0-9]{2}$'),
  support_email text check (length(support_email) between 3 and 254),
  support_phone text check (support_phone ~ '^\+[0-9]{8,15}$'),
  support_url text check (support_url like 'https://%' and length(support_url) <= 500),
  default_description text check (length(default_description) between 1 and 140),
  default_expires_in integer check (default_expires_in between 300 and 2592000), -- seconds
  language text not null check (language in ('pt-BR', 'en', 'es')), -- of what payers are sent
  return_origins text[] not null check (cardinality(return_origins) <= 20)
);

-- The bytes of logos, apart from what every payment page reads. The name of a file is the SHA-256 of its bytes.
create table brand_logos (
  id uuid primary key references brands,
  file text not null,
  bytes bytea not null check (length(bytes) between 1 and 262144)
);
create index brand_logos_by_file on brand_logos (file);

-- Where the payment page leads back to once the charge is COMPLETED.
alter table charges add column return_url text;
